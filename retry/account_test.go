package retry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/retry"
)

// Calls that fail at the same time share the resends of the run. A resend is reserved
// when a retry is decided, not after its wait.
//
// proves: L4
func TestL4_TheCapHoldsForParallelCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, ledger := inJob(t)
		p := mustNew(t, "ocr", retry.Options{Logger: quiet, Backoff: backoff.Backoff{Waits: []time.Duration{time.Second}}, Retries: 1})
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() { _ = retry.DoErr(ctx, p, func(context.Context) error { return unavailable }) })
		}
		wg.Wait()
		if ledger.Resends() != retry.ResendsDefault || ledger.Sends() != 500+retry.ResendsDefault {
			t.Errorf("got %d resends and %d sends, want %d resends, and as many sends more than the 500 first sends", ledger.Resends(), ledger.Sends(), retry.ResendsDefault)
		}
	})
}

// A reserved resend is given back when the retry is not made.
//
// part of: L4
func TestL4_AnInterruptedWaitIsGivenBack(t *testing.T) {
	t.Parallel()
	job, ledger := inJob(t)
	ctx, cancel := context.WithCancel(job)
	r := newRig(t, 0.5, retry.Options{})
	r.clock.onNap = func() {
		if ledger.Resends() != 1 {
			t.Errorf("got %d reserved resends during the wait, want 1", ledger.Resends())
		}
		cancel()
	}
	if _, err := retry.Do(ctx, r.Strategy, always(unavailable).op); !errors.Is(err, retry.ErrCancelled) || ledger.Resends() != 0 {
		t.Errorf("a call that was cancelled during its wait: got %d resends and the error %v, want 0 resends and ErrCancelled", ledger.Resends(), err)
	}
}

// The requests of an operation that succeeds at once are no resends, even if there are
// many. The retries of an SDK are resends, and so are all requests of a second attempt.
//
// part of: L4
func TestL4_FirstRequestsAreFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errs []error // errors of the attempts
		want int
	}{
		"at once":                       {nil, 0},
		"success at the second attempt": {[]error{unavailable}, 19 + 20},
		"failure without a retry":       {[]error{&status{code: 404}}, 19},
	} {
		ctx, ledger := inJob(t)
		s := failing(c.errs...)
		s.do = func(ctx context.Context) {
			for range 20 {
				retry.CountSend(ctx)
			}
		}
		_, _ = retry.Do(ctx, newRig(t, 0, retry.Options{}).Strategy, s.op)
		if ledger.Resends() != c.want {
			t.Errorf("%s: got %d resends, want %d", name, ledger.Resends(), c.want)
		}
	}
}

// If the outer call never retries, the call within it may retry.
//
// part of: L4
func TestL4_OnlyACallThatRetriesSuppresses(t *testing.T) {
	t.Parallel()
	ctx, _ := inJob(t)
	inner := newRig(t, 0, retry.Options{Dependency: "s3"})
	for retries, want := range map[int]int{retry.None: 4, 1: 2} {
		outer := newRig(t, 0, retry.Options{Dependency: "s3", Retries: retries})
		s := always(unavailable)
		_, _ = retry.Do(ctx, outer.Strategy, func(ctx context.Context) (int, error) { return retry.Do(ctx, inner.Strategy, s.op) })
		if s.calls != want {
			t.Errorf("outer call with Retries %d: got %d sends, want %d", retries, s.calls, want)
		}
	}
}

// A job's next run must begin before the job's deadline. A hand-over to the queue until a time
// after the deadline would end the job, although its policy may still have a shorter wait.
//
// part of: L3
func TestL3_NoHandOverBeyondTheJobsDeadline(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{
		-time.Hour: 0, 300 * time.Second: 0, 400 * time.Second: 300 * time.Second,
	} {
		r := newRig(t, 0, retry.Options{})
		ctx, _ := retry.WithJob(t.Context(), retry.JobInfo{Deadline: r.clock.now.Add(left)})
		s := always(unavailable)
		s.do = func(ctx context.Context) {
			if at := retry.From(ctx).Deadline; !at.IsZero() {
				t.Errorf("the attempt has the deadline %v, want none", at)
			}
		}
		_, err := retry.Do(ctx, r.Strategy, s.op)
		if e := failedWith(t, err); e.HandOver != want || evidence(err).HandOver != want || e.Reason != retry.Exhausted || s.calls != 4 {
			t.Errorf("%v before the deadline: got a hand-over with the wait %v after %d calls, want the wait %v; the error is %v", left, e.HandOver, s.calls, want, err)
		}
	}
}
