package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
)

var ops = redrive.By{Actor: "ops", Reason: "the upstream is back"}

// broken returns an engine whose jobs die. There are three causes of death, and the scene of a job
// selects one. The test removes a cause by setting its entry in the returned list to nil.
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
	if _, err := e.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	e.Work()
	return e, causes
}

// statuses counts the dead letters by status.
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
		return failure.Permanent(errors.New("the scene is broken"))
	}, nil)
	id := enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
	e.Work()
	for payload, want := range map[string]error{
		`{"scene":` + strings.Repeat(" ", 64) + `2}`: store.ErrTooLarge,
		`{"scene":`: store.ErrInvalid,
	} {
		if err := e.Retry(t.Context(), ops, id, &redrive.Change{Payload: []byte(payload)}); !errors.Is(err, want) {
			t.Errorf("retry with the payload %q: got error %v, want %v", payload, err, want)
		}
	}
	if err := e.Retry(t.Context(), ops, id, &redrive.Change{Priority: 9}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("retry with priority 9: got error %v, want ErrInvalid", err)
	}
	twice := 2
	change := redrive.Change{
		Payload: []byte(`{"scene":2}`), Queue: "big", Priority: 3, Delay: new(time.Minute), Policy: &policy.Override{MaxRetries: &twice},
	}
	if err := e.Retry(t.Context(), ops, id, &change); err != nil {
		t.Fatal(err)
	}
	if err := e.Retry(t.Context(), ops, id, &change); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second retry of the same job: got error %v, want ErrConflict", err)
	}
	if e.Work(); len(had) != 1 {
		t.Errorf("the retried job ran before its delay was over, want no run")
	}
	e.Advance(time.Minute)
	e.Work()
	if len(had) != 2 || had[1].Queue != "big" || had[1].Priority != 3 || had[1].Life != 2 || args[1] != 2 {
		t.Fatalf("the handler got the arguments %v and the jobs %+v; want a second run in life 2 with the changed scene, queue and priority", args, had)
	}
	j := get(t, e, id)
	if o, err := policy.ParseOverride(j.Override); err != nil || o == nil || o.MaxRetries == nil || *o.MaxRetries != 2 {
		t.Errorf("got the job's own retry settings %q, error %v; want at most 2 retries", j.Override, err)
	}
	original, err := e.Original(t.Context(), id)
	if err != nil || original.Queue != redrive.DefaultQueue || string(original.Payload) != `{"scene":1}` || original.By != "ops" {
		t.Errorf("Original: got %+v, error %v; want the job with its first queue and payload, changed by ops", original, err)
	}
	d, err := e.DeadLetter(t.Context(), id)
	if err != nil || d.Status != job.Pending || d.Life != 2 {
		t.Errorf("after the second death: got dead letter %+v, error %v; want it pending in life 2", d, err)
	}
}

// proves: D6, D3
func TestD6_EveryActWorksOnAGroup(t *testing.T) {
	t.Parallel()
	e, causes := broken(t, 300)
	page, err := e.Groups(t.Context(), store.GroupFilter{Largest: true})
	if err != nil || len(page.Groups) != 3 || page.Groups[0].Pending != 100 {
		t.Fatalf("Groups: got %+v, error %v; want three groups of 100 jobs", page, err)
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
				t.Errorf("the number of %s dead letters went from %d to %d in one step, want a change of at most 30", do, last, n)
			}
			last = n
		})
		if err != nil || acted.Done != done || last != done && done > 0 {
			t.Errorf("%s: got the result %+v, last progress %d, error %v; want %d dead letters changed", do, acted, last, err, done)
		}
		return acted
	}
	fire := groups["disk is on fire"]
	seen, err := e.Preview(t.Context(), store.Action{Do: store.ActRetry, Filter: fire})
	if err != nil || seen.Done != 100 || seen.Through < 298 {
		t.Errorf("Preview: got %+v, error %v; want 100 dead letters", seen, err)
	}
	(*causes)[0] = nil
	act(store.ActRetry, fire, 100)
	if j := get(t, e, 1); j.Priority != store.RedrivePriority || j.State != job.Waiting {
		t.Errorf("got the retried job %+v, want it waiting with the priority of redrives", j)
	}
	act(store.ActRetry, fire, 0)
	e.Work()
	act(store.ActIgnore, groups["certificate has expired"], 100)
	act(store.ActReopen, groups["certificate has expired"], 100)
	act(store.ActResolve, groups["certificate has expired"], 100)
	act(store.ActPurge, groups["certificate has expired"], 100)
	if n := statuses(t, e); n[job.Resolved] != 100 || n[job.Pending] != 100 || len(n) != 2 {
		t.Errorf("got the dead letters by status %v, want 100 resolved and 100 pending", n)
	}
	if _, err := e.Get(t.Context(), 2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a purged job: got error %v, want ErrNotFound", err)
	}
}

// lossy is a store that loses the answers of two calls. It carries out one of these calls;
// it does not carry out the other one.
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
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Act(t.Context(), ops, store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}, Limit: 4}, nil); err != nil {
			t.Fatal(err)
		}
		page, err := c.DeadLetters(t.Context(), store.DeadFilter{Statuses: []job.Status{job.Resolved}}, store.DeadPaging{})
		if err != nil || len(page.Entries) != 10 {
			t.Errorf("got %d resolved dead letters, error %v; want 10", len(page.Entries), err)
		}
		for range 2 {
			if _, err := c.Redrive(t.Context(), ops, store.RedriveSpec{Filter: store.DeadFilter{Statuses: []job.Status{job.Resolved}}}); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := c.Redrives(t.Context()); err != nil || len(list) != 2 {
			t.Errorf("got %d redrives after 2 calls of Redrive, error %v; want 2 redrives", len(list), err)
		}
	})
}

// lookedAt is a store that records the arguments of calls of Preview.
type lookedAt struct {
	store.Store
	previews []store.Action
}

func (l *lookedAt) Preview(ctx context.Context, a store.Action) (store.Acted, error) {
	l.previews = append(l.previews, a)
	return l.Store.Preview(ctx, a)
}

// Client.Preview asks the store for a preview without a limit, because the store can then use its
// counters. An Act with a limit asks for a preview in the same way.
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
		t.Errorf("got the previews %+v, want two previews without a limit", st.previews)
	}
}

// A group can be ignored and reopened even when none of its dead letters can be changed. The
// action then affects only later deaths.
//
// proves: D6
func TestD6_AGroupWithoutPendingOnesIsIgnored(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, db database) {
		c := newClient(t, db.open(), func(context.Context, *redrive.Job[renderArgs]) error {
			return failure.Permanent(errors.New("disk is on fire"))
		})
		dies := func(want job.Status) redrive.JobID {
			t.Helper()
			r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
			if err == nil {
				err = c.RunUntilIdle(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if d, err := c.DeadLetter(t.Context(), r.ID); err != nil || d.Status != want {
				t.Errorf("dead letter of job %d: got status %s, error %v; want status %s", r.ID, d.Status, err, want)
			}
			return r.ID
		}
		act := func(a store.Action) {
			t.Helper()
			if acted, err := c.Act(t.Context(), ops, a, nil); err != nil || acted.Done != 0 {
				t.Errorf("%s of a group without entries to change: got the result %+v, error %v; want no dead letter changed", a.Do, acted, err)
			}
		}
		first := dies(job.Pending)
		d, err := c.DeadLetter(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range []store.Act{store.ActResolve, store.ActPurge} { // after this purge the store has no dead letters
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
