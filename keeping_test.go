package redrive_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// keep starts Client.Keep of a client without handlers inside a bubble of synctest. The
// returned function ends it.
func keep(t *testing.T, st store.Store, config redrive.Config) (c *redrive.Client, stop func()) {
	t.Helper()
	config.Name = "server"
	c, err := redrive.New(st, &config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Keep(ctx) }()
	synctest.Wait()
	return c, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Keep: got error %v, want none", err)
		}
	}
}

// A process without handlers ends the runs of a crashed worker, and says so in its log.
//
// part of: Q3
func TestQ3_KeepRescuesJobsOfCrashedWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, logs := memory.New(memory.Options{}), &strings.Builder{}
		c, stop := keep(t, st, redrive.Config{Logger: slog.New(slog.NewTextHandler(logs, nil))})
		id := mustEnqueue(t, c)
		claim := func() []job.Claim {
			x, err := st.Exchange(t.Context(), store.Exchange{Holder: "killed", Lease: 10 * time.Second, Want: []store.Want{
				{Queue: "mail", Max: 1, Kinds: []store.KindWant{{Kind: "render", Max: 1, MaxCrashes: 2}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			return x.Claims
		}
		claim()
		later(40 * time.Second) // by now both the search interval and the lease are over
		if j, err := c.Get(t.Context(), id); err != nil || j.State != job.Waiting || j.Counters.Crashes != 1 {
			t.Errorf("job of the crashed worker: got state %s with %d crashes and error %v, want state waiting with 1 crash", j.State, j.Counters.Crashes, err)
		}
		later(time.Hour) // the job is due again, because this is longer than any wait after a crash
		last := claim()  // this crash is counted only if the worker has written that the run began
		if len(last) != 1 {
			t.Fatalf("got %d claims after the first crash, want 1", len(last))
		}
		if _, err := st.Heartbeat(t.Context(), store.Beat{Lease: 10 * time.Second, Runs: []store.Run{{ID: id, Token: last[0].Token}}, Begin: true}); err != nil {
			t.Fatal(err)
		}
		later(40 * time.Second)
		stop()
		if d, err := c.DeadLetter(t.Context(), id); err != nil || d.Reason != job.Stalled {
			t.Errorf("job after its last crash: got the dead letter %+v and error %v, want a dead letter with the reason stalled", d, err)
		}
		const rescued = `level=WARN msg="job rescued: the lease of its run was over" job=1 kind=render queue=mail `
		for _, want := range []string{rescued + "run=1 crashes=1 worker=killed", rescued + "run=2 crashes=2 worker=killed", `level=ERROR msg="job is dead" job=1`} {
			if !strings.Contains(logs.String(), want) {
				t.Errorf("the log has no line with %s:\n%s", want, logs)
			}
		}
	})
}

// A process without handlers carries out redrives, fires cron entries and removes old jobs.
//
// part of: D7, Q13, Q6
func TestD7_Q13_Q6_KeepDoesTheUpkeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		worker, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(worker, render, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Permanent(errors.New("broken")) }, nil)
		dead, err := worker.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		if err == nil {
			err = worker.RunUntilEmpty(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		cron := []redrive.Cron{{Name: "nightly", Expression: "@every 1h", Spec: render.New(renderArgs{Scene: 7}, nil)}}
		c, stop := keep(t, st, redrive.Config{Cron: cron, Logger: quiet})
		defer stop()
		if _, err := c.Redrive(t.Context(), ops, redrive.RedriveSpec{}); err != nil {
			t.Fatal(err)
		}
		cancelled, last := mustEnqueue(t, c), mustEnqueue(t, c)
		if err := errors.Join(c.Cancel(t.Context(), ops, cancelled), c.Cancel(t.Context(), ops, last)); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Minute)
		if j, err := c.Get(t.Context(), dead.ID); err != nil || j.State != job.Waiting {
			t.Errorf("job of the redrive: got state %s and error %v, want it waiting", j.State, err)
		}
		later(90 * time.Minute)
		crons, err := c.Crons(t.Context())
		if err != nil || len(crons) != 1 || crons[0].Job == 0 {
			t.Errorf("cron entries: got %+v and error %v, want one entry that has fired", crons, err)
		}
		later(redrive.CompletedDefault)
		if _, err := c.Get(t.Context(), cancelled); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("job whose retention is over: got error %v, want ErrNotFound", err)
		}
	})
}

// The process is listed while Keep runs. Apart from the entry in this list, it writes
// nothing to a store without jobs.
//
// part of: Q9
func TestQ9_AKeepingProcessIsListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := faultstore.New(memory.New(memory.Options{}), nil)
		c, stop := keep(t, st, redrive.Config{Build: "b7", Logger: quiet})
		if list := processesOf(t, st); len(list) != 1 || list[0].Name != "server" || list[0].What != "keep" || list[0].Slots != 0 || list[0].Build != "b7" {
			t.Errorf("processes: got %+v, want one process with the name server, which does only the upkeep (What is keep)", list)
		}
		if err := c.Keep(t.Context()); err == nil {
			t.Error("Keep of a client whose Keep still runs: got no error, want one")
		}
		before, signs := dumpOf(t, st), st.Calls("Present")
		later(5 * time.Minute)
		if got, want := st.Calls("Present")-signs, 30; got != want {
			t.Errorf("in 5 minutes the process sent %d signs of life, want %d", got, want)
		}
		if after := dumpOf(t, st); len(after.Events) != len(before.Events) || len(after.Audit) != len(before.Audit) {
			t.Errorf("in 5 minutes without jobs: got %d new events and %d new audit rows, want none",
				len(after.Events)-len(before.Events), len(after.Audit)-len(before.Audit))
		}
		stop()
		if list := processesOf(t, st); len(list) != 0 {
			t.Errorf("after the end of Keep the store lists %+v, want no process", list)
		}
		if err := c.Keep(func() context.Context { ctx, cancel := context.WithCancel(t.Context()); cancel(); return ctx }()); err != nil {
			t.Errorf("Keep again: got error %v, want none", err)
		}
	})
}
