package redrive_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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

// proves: D7
func TestD7_ARedriveStopsByItselfAndGoesOn(t *testing.T) {
	t.Parallel()
	e, causes := broken(t, 900)
	group, err := e.Groups(t.Context(), store.GroupFilter{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(group.Groups, func(g store.Group) bool { return g.Message == "disk is on fire" })
	spec := store.RedriveSpec{Filter: store.DeadFilter{Group: group.Groups[i].Fingerprint}, Canary: 5}
	r, err := e.Redrive(t.Context(), ops, spec)
	if err != nil || r.Total != 300 || r.Change.Priority != store.RedrivePriority {
		t.Fatalf("Redrive: got %+v, error %v; want a redrive of 300 jobs", r, err)
	}
	e.Work()
	if r, err = e.WaitRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveStopped || r.Released != 5 || r.Again != 5 || r.Why == "" {
		t.Errorf("redrive while the cause of the failures persists: got %+v, error %v; want it stopped after its 5 canary jobs", r, err)
	}
	(*causes)[0] = nil
	if _, err := e.ControlRedrive(t.Context(), ops, r.ID, store.RedriveResume); err != nil {
		t.Fatal(err)
	}
	e.Work()
	if r, err = e.WaitRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveEnded || r.Released != 300 || r.Completed != 295 {
		t.Errorf("redrive after the cause is fixed: got %+v, error %v; want it ended, with 295 completed jobs", r, err)
	}
	if n := statuses(t, e); n[job.Resolved] != 295 || n[job.Pending] != 605 { // the 5 canary jobs died again; these deaths are counted as new
		t.Errorf("got the dead letters by status %v, want 295 resolved and 605 pending", n)
	}
	if _, err := e.Redrive(t.Context(), ops, store.RedriveSpec{Filter: store.DeadFilter{Kind: "none"}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a redrive that selects no dead letter: got error %v, want ErrNotFound", err)
	}
}

// proves: D7
func TestD7_ARedriveIsPacedPausedAndCancelled(t *testing.T) {
	t.Parallel()
	e, causes := broken(t, 300)
	*causes = nil
	r, err := e.Redrive(t.Context(), ops, store.RedriveSpec{Canary: -1, Rate: 10})
	if err != nil {
		t.Fatal(err)
	}
	released := func(want int64) {
		t.Helper()
		e.Work()
		if r, err = e.GetRedrive(t.Context(), r.ID); err != nil || r.Released != want || r.Completed != want {
			t.Errorf("got redrive %+v, error %v; want %d jobs retried and completed", r, err, want)
		}
	}
	released(0)
	for i := range int64(4) {
		e.Advance(time.Second)
		released(10 * (i + 1))
	}
	control := func(do store.RedriveOp) {
		t.Helper()
		if _, err := e.ControlRedrive(t.Context(), ops, r.ID, do); err != nil {
			t.Fatal(err)
		}
		e.Advance(time.Second)
	}
	control(store.RedrivePause)
	released(40)
	control(store.RedriveResume)
	released(50)
	control(store.RedriveCancel)
	released(50)
	if r.State != store.RedriveCancelled {
		t.Errorf("got a redrive in state %s, want cancelled", r.State)
	}
}

// proves: D7
func TestD7_RunUntilIdleTakesARedriveToItsEnd(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) { redriveUntilIdle(t, d.open()) })
}

// RunUntilIdle does not rely on a notification about the jobs that its own keeper has made ready. The store
// of this test sends none at all.
//
// part of: D7
func TestD7_RunUntilIdleNeedsNoNotification(t *testing.T) {
	t.Parallel()
	redriveUntilIdle(t, faultstore.New(memory.New(memory.Options{}), faultstore.From("Notify", 1, faultstore.Fault{Before: store.ErrUnavailable})))
}

// redriveUntilIdle lets 700 jobs die, and redrives them with one call of RunUntilIdle.
func redriveUntilIdle(t *testing.T, st store.Store) {
	t.Helper()
	var healed atomic.Bool
	c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error {
		if !healed.Load() {
			return failure.Permanent(errors.New("no"))
		}
		return nil
	})
	specs := slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, 700)
	if _, err := c.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	healed.Store(true)
	r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 700 {
		t.Errorf("got redrive %+v, error %v; want it completed with 700 jobs", r, err)
	}
}

// RunUntilEmpty waits for a redrive even when none of its jobs is live.
//
// proves: D7
func TestD7_RunUntilEmptyWaitsForRedrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dead := true
		c := newClient(t, memory.New(memory.Options{}), func(context.Context, *redrive.Job[renderArgs]) error {
			if dead {
				return failure.Permanent(errors.New("no"))
			}
			return nil
		})
		for range 50 {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = false
		r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Rate: 5, Canary: 3})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 50 {
			t.Errorf("got redrive %+v, error %v; want it completed", r, err)
		}
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("50 jobs at 5 per second took %s, want about 10 s", took)
		}
	})
}

// A client does not wait for a redrive if only other clients can run its jobs. The other
// clients complete the redrive.
//
// proves: D7
func TestD7_RunUntilEmptyLeavesRedrivesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		dead := true
		c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error {
			if dead {
				return failure.Permanent(errors.New("no"))
			}
			return nil
		})
		for range 30 {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = false
		r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Canary: 3})
		if err != nil {
			t.Fatal(err)
		}
		other, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		redrive.HandleRaw(other, "other", func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if err := other.RunUntilEmpty(ctx); err != nil || time.Since(began) > time.Minute {
			t.Errorf("RunUntilEmpty took %s, error %v; want less than a minute", time.Since(began), err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.Released != 3 || !r.State.Active() {
			t.Errorf("got redrive %+v, error %v; want it active after it has retried 3 canary jobs", r, err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 30 {
			t.Errorf("got redrive %+v, error %v; want it completed", r, err)
		}
	})
}

// If the answer to the start of a redrive is lost and the call is repeated, the first start
// may become visible only after the repetition. The client still starts one redrive.
//
// proves: D7
func TestD7_ALostStartIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &belated{Store: memory.New(memory.Options{})}
		c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Permanent(errors.New("no")) })
		for range 3 {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Canary: -1})
		if list, lerr := c.Redrives(t.Context()); err != nil || lerr != nil || len(list) != 1 {
			t.Fatalf("got %d redrives after one call of Redrive, error %v of Redrive and error %v of Redrives; want 1 redrive and no errors", len(list), err, lerr)
		}
		two, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Canary: -1})
		if err != nil || two.ID == one.ID {
			t.Errorf("a second call of Redrive returned redrive %d, error %v; want another redrive than the first call", two.ID, err)
		}
	})
}

// A program was killed during a call of Redrive and makes the call again. At that time the redrive
// has already retried all jobs.
//
// proves: D7
func TestD7_AKeyMakesARedriveRepeatable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var healed atomic.Bool
		c := newClient(t, memory.New(memory.Options{}), func(context.Context, *redrive.Job[renderArgs]) error {
			if healed.Load() {
				return nil
			}
			return failure.Permanent(errors.New("no"))
		})
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		var ids [2]int64
		for i := range ids {
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			healed.Store(true)
			r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Key: "after the deploy of May 3"})
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = r.ID
		}
		if ids[0] != ids[1] {
			t.Errorf("got the redrives %v for one key, want one redrive", ids)
		}
	})
}

// belated is a store that loses the answer to the first start of a redrive, and commits that start
// only when it is repeated.
type belated struct {
	store.Store
	first func() error
}

func (b *belated) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	if b.first == nil {
		b.first = func() error { _, err := b.Store.StartRedrive(ctx, by, r); return err }
		return store.Redrive{}, store.ErrUnknown
	}
	if err := b.first(); err != nil {
		return store.Redrive{}, err
	}
	b.first = func() error { return nil }
	return b.Store.StartRedrive(ctx, by, r)
}

// The answer to a start of a redrive is lost, and another person has started a redrive of the same
// set with other changes. The client does not mistake that redrive for its own.
//
// proves: D7
func TestD7_ALostStartIsNotMistakenForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &overtaken{Store: memory.New(memory.Options{})}
		c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Permanent(errors.New("no")) })
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Change: store.Change{Queue: "slow"}})
		if err != nil || r.Change.Queue != "slow" {
			t.Errorf("Redrive: got %+v, error %v; want a redrive with the queue slow, which this client asked for", r, err)
		}
	})
}

// overtaken is a store that loses the first start of a redrive while another person starts another
// redrive.
type overtaken struct {
	store.Store
	starts int
}

func (o *overtaken) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	if o.starts++; o.starts > 1 {
		return o.Store.StartRedrive(ctx, by, r)
	}
	r.Change.Queue, r.Key = "fast", "another"
	if _, err := o.Store.StartRedrive(ctx, by, r); err != nil {
		return store.Redrive{}, err
	}
	return store.Redrive{}, store.ErrUnknown
}
