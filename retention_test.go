package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// The defaults are those of the catalogue, and not only equal to themselves.
//
// part of: Q6
func TestQ6_DefaultsOfRetention(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	if redrive.CompletedDefault != day || redrive.FailuresDefault != 7*day || redrive.EventsDefault != 7*day || redrive.DeadDefault != 30*day {
		t.Errorf("completed jobs stay for %s, failure records %s, events %s, dead letters %s; want 1, 7, 7 and 30 days",
			redrive.CompletedDefault, redrive.FailuresDefault, redrive.EventsDefault, redrive.DeadDefault)
	}
}

// proves: Q6
func TestQ6_WhatIsDoneWithGoesAndPendingStays(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprintf("drop_pending=%v", drop), func(t *testing.T) {
			t.Parallel()
			e := redrivetest.New(t, &redrive.Config{Retention: redrive.Retention{DropPending: drop, Events: redrive.Forever}})
			redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
				if j.Args.Scene > 0 {
					return failure.Permanent(errors.New("no"))
				}
				return nil
			}, nil)
			completed := enqueue(t, e, render.New(renderArgs{}, nil))
			pending := enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
			resolved := enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
			e.Work()
			if _, err := e.Act(t.Context(), ops, store.Action{Do: store.ActResolve, IDs: []redrive.JobID{resolved}}, nil); err != nil {
				t.Fatal(err)
			}
			last := enqueue(t, e, render.New(renderArgs{}, nil)) // the completed job that ended last is removed, too
			e.Work()
			there := func(after string, ids ...redrive.JobID) {
				t.Helper()
				e.Work()
				var got []redrive.JobID
				for _, id := range []redrive.JobID{completed, pending, resolved, last} {
					if _, err := e.Get(t.Context(), id); err == nil {
						got = append(got, id)
					}
				}
				if !slices.Equal(got, ids) {
					t.Errorf("after %s: got the jobs %v in the store, want %v", after, got, ids)
				}
			}
			e.Advance(24*time.Hour - time.Second)
			there("one day minus one second", completed, pending, resolved, last)
			e.Advance(2 * time.Minute)
			there("a day", pending, resolved)
			e.Advance(29*24*time.Hour - time.Hour)
			there("29 days", pending, resolved)
			e.Advance(time.Hour)
			if drop {
				there("30 days")
			} else {
				there("30 days", pending)
				if f, err := e.Failures(t.Context(), pending); err != nil || len(f) != 1 {
					t.Errorf("got %d failure records of a pending dead letter, error %v; want 1", len(f), err)
				}
			}
		})
	}
}

// proves: T1
func TestT1_LeftoversAreSweptOnASchedule(t *testing.T) {
	t.Parallel()
	base, outside := t.TempDir(), t.TempDir()
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	treasure := filepath.Join(outside, "treasure")
	if err := os.WriteFile(treasure, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{TempDir: base, Logger: quiet, RescueInterval: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var own string
		redrive.Handle(c, render, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
			var err error
			own, err = j.TempDir()
			<-ctx.Done()
			return errors.Join(err, ctx.Err())
		}, nil)
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		elapse(30 * time.Second)
		left := filepath.Join(base, "job-99") // the directory that a killed worker has left
		for _, err := range []error{
			os.Mkdir(left, 0o700),
			os.Symlink(outside, filepath.Join(left, "link")),
			os.Symlink(outside, filepath.Join(base, "job-98")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		elapse(time.Minute)
		synctest.Wait()
		if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the temporary directory of a dead worker: got error %v from Lstat, want it removed", err)
		}
		for _, path := range []string{own, treasure} {
			if _, err := os.Stat(path); err != nil || path == "" {
				t.Errorf("Stat of %q: got error %v, want the path kept", path, err)
			}
		}
		cancel()
		c.Halt()
		<-ended
	})
}

// A job that was processed is skipped, with the summary of its result, also when the retention has removed it. The summary
// of a long result is its beginning.
//
// proves: I1
func TestI1_ASkippedJobHasTheSummaryOfItsResult(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{Retention: redrive.Retention{Completed: time.Hour}})
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		if j.Args.Scene > 1 {
			return j.SetResult(strings.Repeat("x", 1000))
		}
		return j.SetResult(map[string]string{"receipt": "r-7"})
	}, nil)
	long := `"` + strings.Repeat("x", job.SummaryMax-4) + "…"
	for i, want := range []string{1: `{"receipt":"r-7"}`, 2: long} {
		if want == "" {
			continue
		}
		order := render.New(renderArgs{Scene: int64(i)}, &redrive.Options{Owner: "ann", Key: fmt.Sprint("order-", i)})
		first := enqueue(t, e, order)
		e.Work()
		for _, later := range []time.Duration{0, 2 * time.Hour} {
			e.Advance(later)
			e.Work()
			r, err := e.Enqueue(t.Context(), order)
			if err != nil || !r.Skipped() || r.ID != first {
				t.Errorf("enqueue after %s: got %+v, error %v; want the job %d skipped", later, r, err, first)
			}
			p, err := e.Processed(t.Context(), "ann", string(render), fmt.Sprint("order-", i))
			if err != nil || p != (job.Processed{ID: first, Summary: want}) || len(p.Summary) > job.SummaryMax {
				t.Errorf("after %s: got %+v, error %v; want the summary %q", later, p, err, want)
			}
		}
		if _, err := e.Get(t.Context(), first); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("got error %v, want ErrNotFound: the retention has removed the job", err)
		}
	}
}
