package retry_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/retry"
)

// Each attempt has a separate time limit, for any error that the operation returns at the
// limit. The limit of an attempt is not the caller's deadline.
//
// proves: L1
func TestL1_TheLimitOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{
			AttemptTimeout: time.Second, Backoff: backoff.Backoff{Waits: []time.Duration{time.Second}}, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, as := range map[string]func(context.Context) error{
			"its error": context.Context.Err, "its cause": context.Cause,
			"a text": func(context.Context) error { return errors.New("gave up") },
			"an EOF": func(context.Context) error { return io.ErrUnexpectedEOF },
		} {
			var contexts []context.Context
			began := time.Now()
			_, err := retry.Do(t.Context(), p, func(ctx context.Context) (int, error) {
				contexts = append(contexts, ctx)
				<-ctx.Done()
				return 0, as(ctx)
			})
			e := failedWith(t, err)
			if e.Reason != retry.Exhausted || len(e.Attempts) != 4 || time.Since(began) != 7*time.Second {
				t.Errorf("%s: got the error %v after %v, want exhausted retries after 7s", name, err, time.Since(began))
			}
			if e.Attempts[0].Took != time.Second {
				t.Errorf("%s: the first attempt took %v, want its time limit of 1s", name, e.Attempts[0].Took)
			}
			for i := range contexts[1:] {
				if contexts[i] == contexts[i+1] {
					t.Errorf("%s: two attempts have the same context, want a new context for each attempt", name)
				}
			}
		}
		// The answer of the service takes precedence over the time limit.
		_, err = retry.Do(t.Context(), p, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, &status{code: 401}
		})
		if e := failedWith(t, err); e.Reason != retry.Permanent {
			t.Errorf("status 401 when the time limit is reached: got the error %v, want a permanent failure", err)
		}
	})
}

// proves: L1
func TestL1_LimitsAreLookedAtBeforeSleeping(t *testing.T) {
	t.Parallel()
	deadline := func(d time.Duration) func(*testing.T, *rig) context.Context {
		return func(t *testing.T, r *rig) context.Context {
			return &dated{t.Context(), r.clock.now.Add(d)}
		}
	}
	for name, c := range map[string]struct {
		o     retry.Options
		ctx   func(*testing.T, *rig) context.Context
		takes time.Duration // duration of an attempt
		calls int
	}{
		// The waits are 1, 2 and 4 s.
		"no limit":             {calls: 4},
		"a deadline":           {ctx: deadline(3*time.Second + 1), calls: 3}, // the attempts begin at 0, 1 and 3 s
		"just too near":        {ctx: deadline(3 * time.Second), calls: 2},
		"no time to be useful": {ctx: deadline(5 * time.Second), takes: time.Second, calls: 2}, // the attempts run from 0 to 1 s, from 2 to 3 s, and from 5 s on
		"just useful":          {ctx: deadline(6 * time.Second), takes: time.Second, calls: 3},
		"min useful":           {o: retry.Options{MinUseful: 2 * time.Second}, ctx: deadline(3 * time.Second), calls: 2},
		"min useful, first":    {o: retry.Options{MinUseful: 4 * time.Second}, ctx: deadline(3 * time.Second), calls: 0},
		"elapsed":              {o: retry.Options{MaxElapsed: 3*time.Second + 1}, calls: 3},
		"elapsed, attempts":    {o: retry.Options{MaxElapsed: 5 * time.Second}, takes: time.Second, calls: 2},
		"the job's, to begin": {ctx: func(t *testing.T, r *rig) context.Context {
			ctx, _ := retry.WithJob(t.Context(), retry.JobInfo{Deadline: r.clock.now.Add(-time.Second)})
			return ctx
		}, calls: 4},
	} {
		c.o.Backoff = backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Minute}
		r := newRig(t, 0.5, c.o)
		ctx := t.Context()
		if c.ctx != nil {
			ctx = c.ctx(t, r)
		}
		s := always(unavailable)
		s.do = func(context.Context) { r.clock.pass(c.takes) }
		_, err := retry.Do(ctx, r.Strategy, s.op)
		e := failedWith(t, err)
		want, is := retry.OutOfTime, retry.ErrDeadline
		if c.calls == 4 {
			want, is = retry.Exhausted, retry.ErrExhausted
		}
		if s.calls != c.calls || e.Reason != want || !errors.Is(err, is) {
			t.Errorf("%s: got %d calls, want %d; got the error %v", name, s.calls, c.calls, err)
		}
		for i, wait := range r.clock.slept { // waits are never shortened
			if wait != time.Second<<i {
				t.Errorf("%s: wait %d is %v, want the full wait of %v", name, i+1, wait, time.Second<<i)
			}
		}
		if len(r.clock.slept) > max(c.calls-1, 0) {
			t.Errorf("%s: got the waits %v for %d calls, want fewer waits than calls", name, r.clock.slept, c.calls)
		}
	}
}

// dated is a context whose deadline refers to the test's clock.
type dated struct {
	context.Context
	at time.Time
}

func (d *dated) Deadline() (time.Time, bool) { return d.at, true }
