package redrive_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// working is a client that runs in the background. Its jobs run until the test lets them end.
type working struct {
	*redrive.Client
	t      *testing.T
	logs   *strings.Builder
	cancel context.CancelFunc
	ended  chan error
	gate   chan struct{}
}

// work starts a client on a store inside a bubble of synctest.
func work(t *testing.T, st store.Store, name string) *working {
	t.Helper()
	w := &working{t: t, logs: &strings.Builder{}, ended: make(chan error, 1), gate: make(chan struct{})}
	c, err := redrive.New(st, &redrive.Config{
		Name: name, Build: "b7", Queues: map[string]redrive.Queue{"mail": {Workers: 2}, "other": {Workers: 3}}, TempDir: t.TempDir(),
		Logger: slog.New(slog.NewTextHandler(w.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error { <-w.gate; return nil }, nil)
	w.Client = c
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() { w.ended <- c.Run(ctx) }()
	synctest.Wait()
	return w
}

func (w *working) stop() {
	w.t.Helper()
	w.cancel()
	if err := <-w.ended; err != nil {
		w.t.Errorf("Run: got error %v, want none", err)
	}
}

// later waits for the duration in a synctest bubble, which takes no real time.
func later(d time.Duration) {
	elapse(d)
	synctest.Wait()
}

// enqueue enqueues jobs of the queue "mail".
func (w *working) enqueue(n int) (ids []redrive.JobID) {
	w.t.Helper()
	for range n {
		ids = append(ids, mustEnqueue(w.t, w.Client))
	}
	synctest.Wait()
	return ids
}

func (w *working) wantStates(ids []redrive.JobID, want ...job.State) {
	w.t.Helper()
	for i, id := range ids {
		if j, err := w.Get(w.t.Context(), id); err != nil || j.State != want[i] {
			w.t.Errorf("job %d: got state %s, error %v; want state %s", id, j.State, err, want[i])
		}
	}
}

func dumpOf(t *testing.T, st store.Store) *store.Dump {
	t.Helper()
	d, err := st.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func processesOf(t *testing.T, st store.Store) []store.Process {
	t.Helper()
	list, err := st.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// part of: Q9
func TestQ9_AClientIsListedWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		w := work(t, st, "one")
		w.enqueue(1)
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		later(store.PresentEvery)
		list, err := w.Processes(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("Processes: got %+v, error %v; want one process", list, err)
		}
		now := job.At(time.Now())
		want := store.Process{
			Name: "one", Instance: list[0].Instance, What: "work", Host: host, PID: os.Getpid(), Version: list[0].Version, Build: "b7",
			Policy: w.Policy().Hash(), Queues: []string{"mail", "other"}, Kinds: []string{"render"}, Slots: 5, Running: 1,
			StartedAt: now.Add(-store.PresentEvery), SeenAt: now,
		}
		if diff := cmp.Diff(want, list[0]); diff != "" || want.Instance == "" {
			t.Errorf("wrong entry of the process in the list; the instance %q must not be empty (-want +got):\n%s", want.Instance, diff)
		}
		close(w.gate)
		w.stop()
		if list := processesOf(t, st); len(list) != 0 {
			t.Errorf("after the end of Run the store lists %+v, want no process", list)
		}
	})
}

// A client on which no job is enqueued or ends writes only signs of life to the store. They add
// no event and no entry to the audit log.
//
// part of: Q9
func TestQ9_SignsOfLifeWriteNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := faultstore.New(memory.New(memory.Options{}), nil)
		w := work(t, st, "one")
		later(time.Minute)
		before, signs := dumpOf(t, st), st.Calls("Present")
		later(5 * time.Minute)
		after := dumpOf(t, st)
		if got, want := st.Calls("Present")-signs, 30; got != want {
			t.Errorf("in 5 minutes the client sent %d signs of life, want %d", got, want)
		}
		if len(after.Events) != len(before.Events) || len(after.Audit) != len(before.Audit) {
			t.Errorf("in 5 minutes without jobs: got %d new events and %d new audit rows, want none",
				len(after.Events)-len(before.Events), len(after.Audit)-len(before.Audit))
		}
		w.stop()
	})
}

// part of: Q7
func TestQ7_AQuietClientFinishesItsRunsAndClaimsNothingUntilItIsWoken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		w := work(t, st, "one")
		ids := w.enqueue(3) // two of the jobs run, because there are two workers, and one job waits
		by := redrive.By{Actor: "ann", Reason: "deploy"}
		if err := w.OrderProcess(t.Context(), by, "one", true); err != nil {
			t.Fatal(err)
		}
		later(store.PresentEvery)
		close(w.gate)
		later(time.Minute)
		w.wantStates(ids, job.Completed, job.Completed, job.Waiting)
		if p := processesOf(t, st)[0]; !p.Quiet || p.Running != 0 || p.Silent {
			t.Errorf("got quiet %v, running %d, silent %v; want a quiet process that runs nothing and is not silent", p.Quiet, p.Running, p.Silent)
		}
		if err := w.OrderProcess(t.Context(), by, "one", false); err != nil {
			t.Fatal(err)
		}
		later(store.PresentEvery)
		w.wantStates(ids, job.Completed, job.Completed, job.Completed)
		w.stop()
		if err := w.OrderProcess(t.Context(), by, "one", true); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("an order to a process that has left: got error %v, want ErrNotFound", err)
		}
	})
}

// part of: Q9
func TestQ9_AStoreThatCannotKeepProcessesStopsNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultstore.Fault{
		"fails": {Before: store.ErrUnavailable}, "hangs": {Hang: true}, "is unknown": {After: store.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := faultstore.New(memory.New(memory.Options{}), faultstore.From("Present", 1, fault))
				w := work(t, st, "one")
				close(w.gate)
				later(10 * time.Minute)
				ids := w.enqueue(3)
				later(time.Second)
				w.wantStates(ids, job.Completed, job.Completed, job.Completed)
				began := time.Now()
				w.stop()
				if took := time.Since(began); took > time.Second {
					t.Errorf("Run needed %s to stop, want at most 1 s, because Run must not wait for a failing report of its process", took)
				}
				if n := strings.Count(w.logs.String(), "level=WARN"); n != 1 {
					t.Errorf("got %d warnings, want one:\n%s", n, w.logs)
				}
			})
		})
	}
}

// part of: Q9
func TestQ9_AKilledProcessIsFoundSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		killed := store.Process{Name: "killed", Instance: "1"} // this process never reports again
		if _, err := st.Present(t.Context(), killed); err != nil {
			t.Fatal(err)
		}
		w := work(t, st, "one")
		later(store.SilentAfter + store.PresentEvery)
		if list := processesOf(t, st); len(list) != 2 || !list[0].Silent || list[1].Silent {
			t.Errorf("got the processes %+v, want \"killed\", which is silent, and \"one\", which is not", list)
		}
		w.stop()
		var names []string
		for _, e := range dumpOf(t, st).Events {
			if e.Type == event.ProcessSilent {
				names = append(names, e.Note)
			}
		}
		if strings.Join(names, " ") != "killed" {
			t.Errorf("got events of the silent processes %q, want one event of \"killed\"", names)
		}
	})
}
