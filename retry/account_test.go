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

// Calls that fail at the same time share what the run may send again: it is taken
// when a retry is decided on, not when the wait for it is over.
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
			t.Errorf("%d sent again, %d in all, want %d", ledger.Resends(), ledger.Sends(), retry.ResendsDefault)
		}
	})
}

// A retry that was decided on and not made costs nothing.
//
// part of: L4
func TestL4_AnInterruptedWaitIsGivenBack(t *testing.T) {
	t.Parallel()
	job, ledger := inJob(t)
	ctx, cancel := context.WithCancel(job)
	r := newRig(t, 0.5, retry.Options{})
	r.clock.onNap = func() {
		if ledger.Resends() != 1 {
			t.Errorf("%d are reserved while it waits, want 1", ledger.Resends())
		}
		cancel()
	}
	if _, err := retry.Do(ctx, r.Strategy, always(unavailable).op); !errors.Is(err, retry.ErrCancelled) || ledger.Resends() != 0 {
		t.Errorf("%d sent again; %v", ledger.Resends(), err)
	}
}

// An operation of many requests does not use up what the job may send again; an SDK
// that retries does, and so does sending all of them again.
//
// part of: L4
func TestL4_FirstRequestsAreFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errs []error // of the attempts
		want int
	}{
		"at once":           {nil, 0},
		"the second time":   {[]error{unavailable}, 19 + 20},
		"not, and no retry": {[]error{&status{code: 404}}, 19},
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
			t.Errorf("%s: %d sent again, want %d", name, ledger.Resends(), c.want)
		}
	}
}

// A call within one that never retries retries by itself.
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
			t.Errorf("outer retries %d: %d sends, want %d", retries, s.calls, want)
		}
	}
}

// The job's deadline is one for a run to begin: a hand-over beyond it would end the
// job, which its policy may still save.
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
				t.Errorf("the attempt has to end at %v", at)
			}
		}
		_, err := retry.Do(ctx, r.Strategy, s.op)
		if e := failedWith(t, err); e.HandOver != want || evidence(err).HandOver != want || e.Reason != retry.Exhausted || s.calls != 4 {
			t.Errorf("%v left: handed over in %v after %d calls, want %v; %v", left, e.HandOver, s.calls, want, err)
		}
	}
}
