package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/own"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// faulty is a store whose enqueues fail with the errors that the test sets.
type faulty struct {
	*memory.Store
	mu       sync.Mutex
	faults   []fault // the errors of the next calls, in order
	calls    [][]job.New
	called   func()    // a function that each enqueue calls, if it is not nil
	first    []job.New // the jobs of the first call, as the store received them
	reserved int
}

// fault is the error of one call. If effect is true, the call is carried out although it returns
// the error.
type fault struct {
	err    error
	effect bool
}

func (f *faulty) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, slices.Clone(jobs))
	if f.called != nil {
		f.called()
	}
	if f.first == nil {
		f.first = jobs
	}
	if len(f.faults) == 0 {
		return f.Store.Enqueue(ctx, jobs)
	}
	next := f.faults[0]
	f.faults = f.faults[1:]
	if next.effect {
		if _, err := f.Store.Enqueue(ctx, jobs); err != nil {
			return nil, errors.Join(next.err, err)
		}
	}
	return nil, next.err
}

func (f *faulty) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved++
	return f.Store.ReserveIDs(ctx, n)
}

func newFaulty(t *testing.T, faults ...fault) (*faulty, *redrive.Client) {
	t.Helper()
	f := &faulty{Store: memory.New(memory.Options{}), faults: faults}
	c, err := redrive.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func TestEnqueue_AnUnknownCommitBecomesALookUp(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("connection cut: %w", store.ErrUnknown)
	away := fmt.Errorf("cannot reach the server: %w", store.ErrUnavailable)
	full := fmt.Errorf("no space: %w", store.ErrFull)
	tests := map[string][]fault{
		"it had happened":              {{lost, true}},
		"it had not happened":          {{lost, false}},
		"unknown again and again":      {{lost, true}, {lost, true}, {lost, false}},
		"unavailable after it":         {{lost, false}, {away, false}, {away, false}, {lost, true}, {away, false}},
		"full after it":                {{lost, true}, {full, false}},
		"the last try that is allowed": append(slices.Repeat([]fault{{lost, false}}, 11), fault{lost, true}),
	}
	for name, faults := range tests {
		synctest.Test(t, func(t *testing.T) {
			f, c := newFaulty(t, faults...)
			receipts, err := c.EnqueueMany(t.Context(), []redrive.Spec{
				render.New(renderArgs{Scene: 1}, nil), render.New(renderArgs{Scene: 2}, &redrive.Options{Key: "k"}),
			})
			if err != nil {
				t.Fatalf("%s: EnqueueMany: got error %v, want none", name, err)
			}
			page, err := f.List(t.Context(), store.Filter{})
			if err != nil || len(page.Jobs) != 2 {
				t.Fatalf("%s: got %d stored jobs, error %v; want 2", name, len(page.Jobs), err)
			}
			for i, r := range receipts {
				if want := page.Jobs[1-i].ID; r.ID != want || r.State != job.Waiting {
					t.Errorf("%s: got receipt %+v, want the receipt of job %d", name, r, want)
				}
			}
			for i, jobs := range f.calls {
				if jobs[0].ID != f.calls[0][0].ID || jobs[0].Repeat != (i > 0) || jobs[1].Repeat != (i > 0) {
					t.Errorf("%s: call %d had the id %d and Repeat %v; want the same id in all calls, and Repeat from the second call on", name, i+1, jobs[0].ID, jobs[0].Repeat)
				}
			}
			if f.first[0].Repeat { // the store may still be reading the jobs of the first call, which timed out
				t.Errorf("%s: the client changed the jobs of the first call after that call, want them unchanged", name)
			}
		})
	}
}

func TestEnqueue_GivesUpWithTheIDs(t *testing.T) {
	t.Parallel()
	lost := fault{fmt.Errorf("connection cut: %w", store.ErrUnknown), false}
	synctest.Test(t, func(t *testing.T) {
		f, c := newFaulty(t, slices.Repeat([]fault{lost}, 100)...)
		began := time.Now()
		_, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		unknown, ok := errors.AsType[*redrive.UnknownError](err)
		if !ok || !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("got error %v, want an UnknownError", err)
		}
		if diff := cmp.Diff([]redrive.JobID{f.calls[0][0].ID}, unknown.IDs); diff != "" {
			t.Errorf("wrong ids in the UnknownError (-want +got):\n%s", diff)
		}
		if took := time.Since(began); len(f.calls) != 13 || took > 20*time.Second {
			t.Errorf("the client called the store %d times in %v, want 13 calls in about 15 s", len(f.calls), took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, c := newFaulty(t, slices.Repeat([]fault{lost}, 100)...)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Enqueue(ctx, render.New(renderArgs{}, nil))
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want an UnknownError because of the deadline", err)
		}
	})
}

func TestEnqueue_OtherErrorsComeBackAtOnce(t *testing.T) {
	t.Parallel()
	for _, err := range []error{store.ErrUnavailable, store.ErrFull, store.ErrReadOnly, store.ErrDraining} {
		f, c := newFaulty(t, fault{err, false})
		if _, got := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); !errors.Is(got, err) || len(f.calls) != 1 {
			t.Errorf("got error %v after %d calls of the store, want error %v after 1 call", got, len(f.calls), err)
		}
	}
	f, c := newFaulty(t, fault{store.ErrUnknown, false}, fault{store.ErrDraining, false})
	if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); errors.Is(err, store.ErrUnknown) || len(f.calls) != 2 {
		t.Errorf("a repeated enqueue that the store refuses: got error %v after %d calls; want 2 calls and no ErrUnknown", err, len(f.calls))
	}
}

// proves: I1
func TestI1_AKeyGivesTheJobThatHoldsIt(t *testing.T) {
	t.Parallel()
	e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		if j.Args.Scene == 13 {
			return failure.Permanent(errors.New("unlucky"))
		}
		return nil
	}, nil)
	with := func(scene int64, owner, key string) redrive.Spec {
		return render.New(renderArgs{Scene: scene}, &redrive.Options{Owner: owner, Key: key})
	}
	again := func(s redrive.Spec, id redrive.JobID, state redrive.State) {
		t.Helper()
		r, err := e.Enqueue(t.Context(), s)
		if want := (redrive.Receipt{ID: id, Existing: true, State: state}); err != nil || r != want {
			t.Errorf("repeated enqueue with the same key: got receipt %+v, error %v; want receipt %+v", r, err, want)
		}
	}
	good, bad := enqueue(t, e, with(7, "ann", "k1")), enqueue(t, e, with(13, "ann", "k2"))
	again(with(7, "ann", "k1"), good, job.Waiting)
	e.Work()
	again(with(7, "ann", "k1"), good, job.Completed)
	again(with(13, "ann", "k2"), bad, job.Dead)
	if out := e.Work(); len(out) != 0 {
		t.Errorf("after enqueues with keys that exist already, jobs ran: %+v; want none", out)
	}
	_, err := e.Enqueue(t.Context(), with(8, "ann", "k1"))
	conflict, ok := errors.AsType[*store.KeyConflict](err)
	if !ok || conflict.ID != good {
		t.Errorf("an enqueue with the same key and another payload: got error %v, want ErrConflict", err)
	}
	if id := enqueue(t, e, with(8, "bob", "k1")); id == good {
		t.Error("an enqueue of owner bob returned the job of owner ann with the same key, want a new job")
	}
	if err := e.Retry(t.Context(), redrive.By{Actor: "ann"}, bad, nil); err != nil {
		t.Errorf("manual retry of a job that has a key: got error %v, want none", err)
	}
}

// proves: I3
func TestI3_AStepKeyIsTheSameOverAttemptsAndLives(t *testing.T) {
	t.Parallel()
	keys := map[string]int{}
	e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		keys[j.StepKey("charge")]++
		return errors.New("oops")
	}, &redrive.HandlerOptions{Schedule: &policy.Schedule{}})
	run := func() {
		for range 5 {
			e.Work()
			e.Advance(time.Minute)
		}
	}
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	run()
	if err := e.Retry(t.Context(), redrive.By{Actor: "ann"}, id, nil); err != nil {
		t.Fatal(err)
	}
	run()
	if j := get(t, e, id); j.Life != 2 || len(keys) != 1 {
		t.Fatalf("got %d different step keys in %d lives, want 1 key in 2 lives; the numbers of runs by key: %v", len(keys), j.Life, keys)
	}
	for key, runs := range keys {
		if runs != 8 || !strings.HasPrefix(key, id.String()+"-") || !strings.HasSuffix(key, "-charge") {
			t.Errorf("step key %q was seen in %d runs, want 8 runs with a key that contains the job id and the step name", key, runs)
		}
	}
	enqueue(t, e, render.New(renderArgs{}, nil))
	run()
	if len(keys) != 2 {
		t.Errorf("got %d different step keys for two jobs, want 2", len(keys))
	}
}

// proves: X3
func TestX3_BoundsOfAnEnqueue(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{PayloadMax: 1000})
	payload := func(n int) []redrive.Spec { return []redrive.Spec{redrive.NewRaw("raw", make([]byte, n), nil)} }
	bulk := func(n int) []redrive.Spec { return slices.Repeat(payload(1), n) }
	options := func(o redrive.Options) []redrive.Spec { return []redrive.Spec{render.New(renderArgs{}, &o)} }
	tests := []struct {
		name  string
		specs []redrive.Spec
		want  string // a part of the error text; "" means that the job is accepted
	}{
		{"payload below", payload(999), ""},
		{"payload on", payload(1000), ""},
		{"payload above", payload(1001), `enqueue, job 1 of 1: payload of kind "raw": 1001 bytes: at most 1000 (Config.PayloadMax)`},
		{"bulk below", bulk(job.EnqueueMax - 1), ""},
		{"bulk on", bulk(job.EnqueueMax), ""},
		{"bulk above", bulk(job.EnqueueMax + 1), "enqueue of 10001 jobs: a call takes at most 10000"},
		{"priority first", options(redrive.Options{Priority: 1}), ""},
		{"priority last", options(redrive.Options{Priority: 4}), ""},
		{"priority above", options(redrive.Options{Priority: 5}), `job of kind "render": priority 5: must be 1 to 4`},
		{"priority far above", options(redrive.Options{Priority: 257}), `priority 257: must be 1 to 4`},
		{"priority below", options(redrive.Options{Priority: -1}), `priority -1: must be 1 to 4`},
		{"key on", options(redrive.Options{Key: strings.Repeat("k", job.TextMax)}), ""},
		{"key above", options(redrive.Options{Key: strings.Repeat("k", job.TextMax+1)}), "key of 257 bytes: at most 256"},
		{"queue", options(redrive.Options{Queue: "a b"}), `queue "a b": only letters`},
		{"attributes", options(redrive.Options{Attrs: map[string]any{"f": func() {}}}), `job of kind "render": attributes: json`},
		{"arguments", []redrive.Spec{render.New(renderArgs{}, nil), redrive.Kind[chan int]("c").New(nil, nil)},
			`enqueue, job 2 of 2: encode the arguments of kind "c" as JSON: json: unsupported type`},
	}
	stored := 0
	for _, tt := range tests {
		receipts, err := e.EnqueueMany(t.Context(), tt.specs)
		stored += len(receipts)
		switch {
		case tt.want == "" && (err != nil || len(receipts) != len(tt.specs)):
			t.Errorf("%s: got %d receipts, error %v; want all jobs accepted", tt.name, len(receipts), err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: Enqueue returned the error %v\nwant %s", tt.name, err, tt.want)
		}
	}
	if n := countJobs(t, e.Client); n != stored {
		t.Errorf("got %d jobs in the store, want the %d jobs that have receipts", n, stored)
	}
}

func countJobs(t *testing.T, c *redrive.Client) (n int) {
	t.Helper()
	for filter := (store.Filter{Limit: job.PageMax}); ; {
		page, err := c.List(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.Jobs)
		if filter.From = page.Next; filter.From.IsZero() {
			return n
		}
	}
}

// proves: X3
func TestX3_BoundOfIDsInABulkCall(t *testing.T) {
	t.Parallel()
	_, c := newFaulty(t)
	by := redrive.By{Actor: "ann"}
	ids := make([]redrive.JobID, job.IDsMax+1)
	for i := range ids {
		ids[i] = redrive.JobID(i + 1)
	}
	for name, call := range map[string]func(context.Context, redrive.By, []redrive.JobID) ([]error, error){
		"cancel": c.CancelAll,
		"retry": func(ctx context.Context, by redrive.By, ids []redrive.JobID) ([]error, error) {
			acted, err := c.Act(ctx, by, store.Action{Do: store.ActRetry, IDs: ids}, nil)
			return acted.Errors, err
		},
	} {
		for _, n := range []int{job.IDsMax - 1, job.IDsMax} {
			answers, err := call(t.Context(), by, ids[:n])
			if err != nil || len(answers) != n || !errors.Is(answers[n-1], store.ErrNotFound) {
				t.Errorf("%s of %d ids: got %d answers, error %v; want an answer for each id, the last with ErrNotFound", name, n, len(answers), err)
			}
		}
		if _, err := call(t.Context(), by, ids); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s of %d ids: got error %v, want ErrTooLarge", name, len(ids), err)
		}
	}
}

func TestEnqueue_InsideATransactionSaysWhatToUse(t *testing.T) {
	t.Parallel()
	f, c := newFaulty(t)
	_, err := c.Enqueue(store.MarkTx(t.Context(), f), render.New(renderArgs{}, nil))
	if err == nil || !strings.Contains(err.Error(), "use EnqueueTx") || f.reserved+len(f.calls) > 0 {
		t.Errorf("got error %v after %d calls of the store; want no call and an error that advises to use EnqueueTx", err, f.reserved+len(f.calls))
	}
}

// Kinds that begin with "redrive." are redrive's own: a program cannot enqueue them, and redrive can.
func TestEnqueue_OwnKinds(t *testing.T) {
	t.Parallel()
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := redrive.NewRaw("redrive.record", []byte("x"), nil)
	if _, err := client.Enqueue(t.Context(), spec); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "use another name") {
		t.Errorf("got %v, want an ErrInvalid that says what to do", err)
	}
	if _, err := client.Enqueue(own.Kinds(t.Context()), spec); err != nil {
		t.Error(err)
	}
}
