package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

var ops = redrive.By{Actor: "ops", Reason: "the upstream is back"}

// broken is an engine whose jobs die of one of three causes, by their scene, until
// the causes are taken out of the list that it returns.
func broken(t *testing.T, jobs int) (e *redrivetest.Engine, causes *[]error) {
	t.Helper()
	causes = &[]error{errors.New("disk is on fire"), errors.New("certificate has expired"), errors.New("no such user")}
	e = redrivetest.New(t, nil)
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		if n := int64(len(*causes)); n > 0 && (*causes)[j.Args.Scene%n] != nil {
			return failure.Permanent((*causes)[j.Args.Scene%n])
		}
		return nil
	}, nil)
	var specs []redrive.Spec
	for i := range jobs {
		specs = append(specs, render.New(renderArgs{Scene: int64(i)}, nil))
	}
	if _, err := e.EnqueueAll(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	e.Work()
	return e, causes
}

// statuses counts the dead letters.
func statuses(t *testing.T, e *redrivetest.Engine) map[job.Status]int64 {
	t.Helper()
	stats, err := e.DeadStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := map[job.Status]int64{}
	for _, c := range stats.Counts {
		n[c.Status] += c.N
	}
	return n
}

// proves: D5, D3
func TestD5_ARetryMayChangeTheJob(t *testing.T) {
	t.Parallel()
	var had []redrive.Info
	var args []int64
	e := redrivetest.New(t, &redrive.Config{PayloadMax: 64, Queues: map[string]redrive.Queue{
		redrive.DefaultQueue: {Workers: 1}, "big": {Workers: 1},
	}})
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		had, args = append(had, j.Info), append(args, j.Args.Scene)
		return failure.Permanent(errors.New("scene is broken"))
	}, nil)
	id := enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
	e.Work()
	for payload, want := range map[string]error{
		`{"scene":` + strings.Repeat(" ", 64) + `2}`: store.ErrTooLarge,
		`{"scene":`: store.ErrInvalid,
	} {
		if err := e.RetryChanged(t.Context(), ops, id, redrive.Change{Payload: []byte(payload)}); !errors.Is(err, want) {
			t.Errorf("payload %q: %v, want %v", payload, err, want)
		}
	}
	if err := e.RetryChanged(t.Context(), ops, id, redrive.Change{Priority: 9}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("priority 9: %v", err)
	}
	twice := 2
	change := redrive.Change{
		Payload: []byte(`{"scene":2}`), Queue: "big", Priority: 3, Delay: time.Minute, Policy: &policy.Override{MaxRetries: &twice},
	}
	if err := e.RetryChanged(t.Context(), ops, id, change); err != nil {
		t.Fatal(err)
	}
	if err := e.RetryChanged(t.Context(), ops, id, change); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the second click: %v, want a conflict", err)
	}
	if e.Work(); len(had) != 1 {
		t.Errorf("it ran before its delay")
	}
	e.Advance(time.Minute)
	e.Work()
	if len(had) != 2 || had[1].Queue != "big" || had[1].Priority != 3 || had[1].Life != 2 || args[1] != 2 {
		t.Fatalf("ran with %v, %+v", args, had)
	}
	j := get(t, e, id)
	if o, err := policy.ParseOverride(j.Policy); err != nil || o == nil || o.MaxRetries == nil || *o.MaxRetries != 2 {
		t.Errorf("settings of the job %q, %v", j.Policy, err)
	}
	original, err := e.Original(t.Context(), id)
	if err != nil || original.Queue != redrive.DefaultQueue || string(original.Payload) != `{"scene":1}` || original.By != "ops" {
		t.Errorf("original %+v, %v", original, err)
	}
	d, err := e.DeadLetter(t.Context(), id)
	if err != nil || d.Status != job.Pending || d.Life != 2 {
		t.Errorf("after the second death: %+v, %v", d, err)
	}
}

// proves: D6, D3
func TestD6_EveryActWorksOnAGroup(t *testing.T) {
	t.Parallel()
	e, causes := broken(t, 300)
	page, err := e.Groups(t.Context(), store.GroupFilter{Largest: true})
	if err != nil || len(page.Groups) != 3 || page.Groups[0].Pending != 100 {
		t.Fatalf("groups %+v, %v", page, err)
	}
	groups := map[string]*store.DeadFilter{}
	for _, g := range page.Groups {
		groups[g.Message] = &store.DeadFilter{Group: g.Fingerprint}
	}
	act := func(do store.Act, f *store.DeadFilter, done int64) store.Acted {
		t.Helper()
		var last int64
		acted, err := e.Act(t.Context(), ops, store.Action{Do: do, Filter: f, Limit: 30}, func(n int64) {
			if n < last || n > last+30 {
				t.Errorf("%s goes from %d to %d in one step of 30", do, last, n)
			}
			last = n
		})
		if err != nil || acted.Done != done || last != done && done > 0 {
			t.Errorf("%s: %+v, the last step told %d, %v; want %d", do, acted, last, err, done)
		}
		return acted
	}
	fire := groups["disk is on fire"]
	seen, err := e.Preview(t.Context(), store.Action{Do: store.ActRetry, Filter: fire})
	if err != nil || seen.Done != 100 || seen.Through < 298 {
		t.Errorf("preview %+v, %v", seen, err)
	}
	(*causes)[0] = nil
	act(store.ActRetry, fire, 100)
	if j := get(t, e, 1); j.Priority != store.RedrivePriority || j.State != job.Waiting {
		t.Errorf("a job of a bulk retry: %+v", j)
	}
	act(store.ActRetry, fire, 0)
	e.Work()
	act(store.ActIgnore, groups["certificate has expired"], 100)
	act(store.ActReopen, groups["certificate has expired"], 100)
	act(store.ActResolve, groups["certificate has expired"], 100)
	act(store.ActPurge, groups["certificate has expired"], 100)
	if n := statuses(t, e); n[job.Resolved] != 100 || n[job.Pending] != 100 || len(n) != 2 {
		t.Errorf("statuses %v", n)
	}
	if _, err := e.Get(t.Context(), 2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a purged job: %v", err)
	}
}

// lossy is a store that loses the answers to acts: of one that happened and one
// that did not.
type lossy struct {
	store.Store
	calls, starts int
}

func (l *lossy) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	switch l.calls++; l.calls % 3 {
	case 1:
		return store.Acted{}, fmt.Errorf("busy: %w", store.ErrUnavailable)
	case 2:
		if _, err := l.Store.Act(ctx, by, a); err != nil {
			return store.Acted{}, err
		}
		return store.Acted{}, store.ErrUnknown
	}
	return l.Store.Act(ctx, by, a)
}

func (l *lossy) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	if l.starts++; l.starts > 1 {
		return l.Store.StartRedrive(ctx, by, r)
	}
	if _, err := l.Store.StartRedrive(ctx, by, r); err != nil {
		return store.Redrive{}, err
	}
	return store.Redrive{}, store.ErrUnknown
}

// proves: D3
func TestD3_AnActWhoseAnswerIsLostIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &lossy{Store: memory.New(memory.Options{})}
		c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Permanent(errors.New("no")) })
		for range 10 {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Act(t.Context(), ops, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}, Limit: 4}, nil); err != nil {
			t.Fatal(err)
		}
		page, err := c.DeadLetters(t.Context(), store.DeadFilter{Statuses: []job.Status{job.Resolved}}, store.DeadPaging{})
		if err != nil || len(page.Entries) != 10 {
			t.Errorf("%d resolved, %v", len(page.Entries), err)
		}
		for range 2 {
			if _, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Filter: store.DeadFilter{Statuses: []job.Status{job.Resolved}}}); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := c.Redrives(t.Context()); err != nil || len(list) != 2 {
			t.Errorf("%d redrives of 2 calls, %v", len(list), err)
		}
	})
}

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
		t.Fatalf("started %+v, %v", r, err)
	}
	e.Work()
	if r, err = e.WaitRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveStopped || r.Released != 5 || r.Again != 5 || r.Why == "" {
		t.Errorf("with the cause still there: %+v, %v", r, err)
	}
	(*causes)[0] = nil
	if _, err := e.ControlRedrive(t.Context(), ops, r.ID, store.RedriveResume); err != nil {
		t.Fatal(err)
	}
	e.Work()
	if r, err = e.WaitRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Released != 300 || r.Completed != 295 {
		t.Errorf("without the cause: %+v, %v", r, err)
	}
	if n := statuses(t, e); n[job.Resolved] != 295 || n[job.Pending] != 605 { // the canaries have died again: another death
		t.Errorf("statuses %v", n)
	}
	if _, err := e.Redrive(t.Context(), ops, store.RedriveSpec{Filter: store.DeadFilter{Kind: "none"}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a redrive of nothing: %v", err)
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
			t.Errorf("%+v, %v: want %d brought back", r, err, want)
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
		t.Errorf("state %s", r.State)
	}
}

// proves: D7
func TestD7_RunDueTakesARedriveToItsEnd(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, st := range map[string]store.Store{"memory": memory.New(memory.Options{}), "sqlite": file} {
		t.Run(name, func(t *testing.T) {
			var healed atomic.Bool
			c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error {
				if !healed.Load() {
					return failure.Permanent(errors.New("no"))
				}
				return nil
			})
			specs := slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, 700)
			if _, err := c.EnqueueAll(t.Context(), specs); err != nil {
				t.Fatal(err)
			}
			if err := c.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			healed.Store(true)
			r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 700 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// Drain waits for a redrive, also while no job of it is live.
//
// proves: D7
func TestD7_DrainWaitsForRedrives(t *testing.T) {
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
		if err := c.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = false
		r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Rate: 5, Canary: 3})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 50 {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("50 jobs at 5 per second took %s", took)
		}
	})
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
			last := enqueue(t, e, render.New(renderArgs{}, nil)) // the newest end is not removed
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
					t.Errorf("after %s jobs %v are there, want %v", after, got, ids)
				}
			}
			e.Advance(24*time.Hour - time.Second)
			there("a day less a second", completed, pending, resolved, last)
			e.Advance(2 * time.Minute)
			there("a day", pending, resolved, last)
			e.Advance(29*24*time.Hour - time.Hour)
			there("29 days", pending, resolved, last)
			e.Advance(time.Hour)
			if drop {
				there("30 days", last)
			} else {
				there("30 days", pending, last)
				if f, err := e.Failures(t.Context(), pending); err != nil || len(f) != 1 {
					t.Errorf("%d failures of a pending dead letter, %v", len(f), err)
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
		c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{TempDir: base, Logger: quiet, RescueEvery: time.Minute})
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
		left := filepath.Join(base, "job-99") // of a worker that has been killed since
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
			t.Errorf("the leftover is still there: %v", err)
		}
		for _, path := range []string{own, treasure} {
			if _, err := os.Stat(path); err != nil || path == "" {
				t.Errorf("%q is gone: %v", path, err)
			}
		}
		cancel()
		c.Halt()
		<-ended
	})
}

// lookedAt is a store that notes how it is asked to count.
type lookedAt struct {
	store.Store
	previews []store.Action
}

func (l *lookedAt) Preview(ctx context.Context, a store.Action) (store.Acted, error) {
	l.previews = append(l.previews, a)
	return l.Store.Preview(ctx, a)
}

// A store may only count by its counters when no limit is asked for; another one
// of an Act by steps is not that of its preview.
//
// part of: D3
func TestD3_PreviewLeavesTheLimitToTheStore(t *testing.T) {
	t.Parallel()
	st := &lookedAt{Store: memory.New(memory.Options{})}
	c := newClient(t, st, succeed)
	a := store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}, Limit: 7}
	if _, err := c.Preview(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Act(t.Context(), ops, a, nil); err != nil {
		t.Fatal(err)
	}
	if len(st.previews) != 2 || st.previews[0].Limit != 0 || st.previews[1].Limit != 0 {
		t.Errorf("counted by %+v", st.previews)
	}
}

// A group is ignored, and taken back, also when nothing of it can be: what counts is
// what dies of it from then on.
//
// proves: D6
func TestD6_AGroupWithoutPendingOnesIsIgnored(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, st := range map[string]store.Store{"memory": memory.New(memory.Options{}), "sqlite": file} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error {
				return failure.Permanent(errors.New("disk is on fire"))
			})
			dies := func(want job.Status) redrive.JobID {
				t.Helper()
				r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
				if err == nil {
					err = c.RunDue(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				if d, err := c.DeadLetter(t.Context(), r.ID); err != nil || d.Status != want {
					t.Errorf("job %d is %s, %v; want %s", r.ID, d.Status, err, want)
				}
				return r.ID
			}
			act := func(a store.Action) {
				t.Helper()
				if acted, err := c.Act(t.Context(), ops, a, nil); err != nil || acted.Done != 0 {
					t.Errorf("%s: %+v, %v; want nothing done", a.Do, acted, err)
				}
			}
			first := dies(job.Pending)
			d, err := c.DeadLetter(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			for _, do := range []store.Act{store.ActResolve, store.ActPurge} { // the store has no dead letters then
				if _, err := c.Act(t.Context(), ops, store.Action{Do: do, IDs: []redrive.JobID{first}, Note: "x"}, nil); err != nil {
					t.Fatal(err)
				}
			}
			group := &store.DeadFilter{Group: d.Fingerprint}
			act(store.Action{Do: store.ActIgnore, Filter: group, Count: 100})
			second := dies(job.Ignored)
			if _, err := c.Act(t.Context(), ops, store.Action{Do: store.ActResolve, IDs: []redrive.JobID{second}}, nil); err != nil {
				t.Fatal(err)
			}
			act(store.Action{Do: store.ActReopen, Filter: &store.DeadFilter{Group: d.Fingerprint, Statuses: []job.Status{job.Ignored}}})
			dies(job.Pending)
		})
	}
}

// Nobody waits for a redrive of jobs that are others' to run, and the others take it
// to its end.
//
// proves: D7
func TestD7_DrainLeavesRedrivesOfOthers(t *testing.T) {
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
		if err := c.Drain(t.Context()); err != nil {
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
		if err := other.Drain(ctx); err != nil || time.Since(began) > time.Minute {
			t.Errorf("waited %s, %v", time.Since(began), err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.Released != 3 || !r.State.Active() {
			t.Errorf("%+v, %v", r, err)
		}
		if err := c.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err = c.GetRedrive(t.Context(), r.ID); err != nil || r.State != store.RedriveCompleted || r.Completed != 30 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// The commit whose answer is lost may become visible only after it was asked again.
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
		if err := c.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Canary: -1})
		if list, lerr := c.Redrives(t.Context()); err != nil || lerr != nil || len(list) != 1 {
			t.Fatalf("%d redrives of one call, %v, %v", len(list), err, lerr)
		}
		two, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Canary: -1})
		if err != nil || two.ID == one.ID {
			t.Errorf("another call gave redrive %d, %v", two.ID, err)
		}
	})
}

// A program that was killed in a call of Redrive makes it again, when the redrive has
// brought everything back.
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
			if err := c.RunDue(t.Context()); err != nil {
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
			t.Errorf("redrives %v of one key", ids)
		}
	})
}

// belated is a store that loses the answer to the first start of a redrive, and
// commits it when it is asked again.
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

// A redrive of the same set that somebody else has started, and that changes the
// jobs in another way, is not taken for the one whose answer is lost.
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
		if err := c.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Change: store.Change{Queue: "slow"}})
		if err != nil || r.Change.Queue != "slow" {
			t.Errorf("started %+v, %v", r, err)
		}
	})
}

// overtaken is a store that loses the first start of a redrive, while somebody
// starts another one.
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
