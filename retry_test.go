package redrive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/retry"
)

// upstream is a service whose first calls fail with an HTTP status.
type upstream struct {
	fails, status, calls int
	after                time.Duration
}

func (u *upstream) call(context.Context) (string, error) {
	if u.calls++; u.calls <= u.fails {
		return "", &said{u.status, u.after}
	}
	return "text", nil
}

type said struct {
	status int
	after  time.Duration
}

func (s *said) Error() string             { return "the service said no" }
func (s *said) StatusCode() int           { return s.status }
func (s *said) RetryAfter() time.Duration { return s.after }

// reading returns an engine whose handler makes one call of the upstream service.
func reading(t *testing.T, u *upstream, s policy.Settings, o retry.Options) (*redrivetest.Engine, redrive.JobID) {
	t.Helper()
	e := redrivetest.New(t, &redrive.Config{Policy: policyOf(t, policy.Spec{Name: "t", Default: s})})
	o.Clock, o.Rand = still{e}, func() float64 { return 0.5 }
	p, err := retry.New("ocr", o)
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(e.Client, render, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		text, err := retry.Do(ctx, p, u.call)
		if err != nil {
			return err
		}
		return j.SetResult(text)
	}, nil)
	receipt, err := e.Enqueue(t.Context(), render.New(renderArgs{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	return e, receipt.ID
}

// still is a clock for the calls that a handler makes with package retry. A wait on this
// clock takes no time.
type still struct{ e *redrivetest.Engine }

func (s still) Now() time.Time                                 { return s.e.Now() }
func (still) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// If a call in a handler has used all its retries, the job is deferred and no attempt is
// counted. The job waits for a little over 300 s, its failure record gives the reason, and
// it completes later.
//
// proves: L3
func TestL3_ExhaustedInAJobIsRescheduled(t *testing.T) {
	t.Parallel()
	u := &upstream{fails: 4, status: 503}
	e, id := reading(t, u, policy.Settings{}, retry.Options{})
	o := e.Work()
	if len(o) != 1 || o[0].Cause != job.Deferred || o[0].State != job.Waiting || o[0].Wait != 315*time.Second || u.calls != 4 {
		t.Fatalf("got outcomes %+v after %d calls of the service, want the job deferred after 4 calls", o, u.calls)
	}
	if f := o[0].Failure; f == nil || f.Message != "ocr retries exhausted: the service said no" || f.HTTPStatus != 503 || f.Sends != 4 {
		t.Errorf("got failure %+v, want the last error of the call, status 503 and 4 sends", f)
	}
	if !strings.Contains(o[0].Decision.Reason(), "handed the job over") || o[0].Decision.Rule != policy.RuleHandOver {
		t.Errorf("got decision %+v, want the rule RuleHandOver and a reason that says that the call handed the job over", o[0].Decision)
	}
	d, err := e.Get(t.Context(), id)
	if err != nil || d.Counters.Attempts != 0 || d.Counters.Deferrals != 1 {
		t.Errorf("got job %+v, error %v; want one deferral and no attempt", d, err)
	}
	e.Advance(314 * time.Second)
	if o := e.Work(); len(o) != 0 {
		t.Errorf("the job ran before it was due: got the outcomes %+v, want no run", o)
	}
	e.Advance(time.Second)
	if o := e.Work(); len(o) != 1 || o[0].State != job.Completed || o[0].Attempt != 1 || string(o[0].Result) != `"text"` {
		t.Errorf("got outcomes %+v, want the job completed", o)
	}
}

// proves: L3
//
// part of: P3
func TestL3_WithinTheJobsOwnLimit_P3(t *testing.T) {
	t.Parallel()
	u := &upstream{fails: 1 << 30, status: 503}
	e, id := reading(t, u, steady(1), retry.Options{})
	for n := range 3 {
		if o := e.Work(); len(o) != 1 || o[0].Cause != job.Deferred {
			t.Fatalf("deferral %d: got the outcomes %+v, want the job deferred", n+1, o)
		}
		e.Advance(315 * time.Second)
	}
	if o := e.Work(); len(o) != 1 || o[0].Cause != job.Failed || o[0].State != job.Retrying || o[0].Wait != time.Minute {
		t.Fatalf("one deferral more than the limit: got the outcomes %+v, want a failed attempt", o)
	}
	e.Advance(time.Minute)
	if o := e.Work(); len(o) != 1 || o[0].State != job.Dead || o[0].Reason != job.MaxRetries {
		t.Fatalf("second failed attempt: got the outcomes %+v, want the job dead", o)
	}
	d, err := e.Get(t.Context(), id)
	if err != nil || d.Counters.Attempts != 2 || d.Counters.Deferrals != 3 || u.calls != 20 {
		t.Errorf("got job %+v, error %v after %d calls of the service; want 2 attempts, 3 deferrals and 20 calls", d, err, u.calls)
	}
}

// A wait that the service has asked for is never shortened, whether the call waits or the
// job.
//
// proves: R3
func TestR3_AHintGoesOverToTheJob(t *testing.T) {
	t.Parallel()
	for hint, want := range map[time.Duration]struct {
		state  redrive.State
		reason job.Reason
		wait   time.Duration
	}{
		120 * time.Second: {job.Waiting, "", 126 * time.Second}, // the hint and a spread of 5 %
		time.Hour:         {job.Waiting, "", time.Hour + 3*time.Minute},
		25 * time.Hour:    {job.Dead, job.HintTooLong, 0},
	} {
		u := &upstream{fails: 1, status: 429, after: hint}
		e, _ := reading(t, u, policy.Settings{}, retry.Options{})
		o := e.Work()
		if len(o) != 1 || o[0].State != want.state || o[0].Reason != want.reason || o[0].Wait != want.wait || u.calls != 1 {
			t.Errorf("hint %v: got outcomes %+v after %d calls; want one call, and the state, reason and wait for this hint", hint, o, u.calls)
		}
	}
}

// The number of sent requests is stored with every run, also with a failed run. If a call
// fails permanently, the job is dead after this run.
//
// proves: L4
func TestL4_SendsAreKeptWithTheRun(t *testing.T) {
	t.Parallel()
	u := &upstream{fails: 3, status: 401}
	e, _ := reading(t, u, policy.Settings{}, retry.Options{})
	if o := e.Work(); len(o) != 1 || o[0].State != job.Dead || o[0].Failure.Sends != 1 || u.calls != 1 {
		t.Errorf("got outcomes %+v after %d calls; want a dead job after one call", o, u.calls)
	}
}

// If a handler has a fallback for a failed call, its job is not deferred.
//
// part of: L3
func TestL3_AFallbackThatSwallowsTheHandOverCompletes(t *testing.T) {
	t.Parallel()
	u := &upstream{fails: 4, status: 503}
	e := redrivetest.New(t, nil)
	p, err := retry.New("storage", retry.Options{Clock: still{e}})
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(e.Client, render, func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		_, err := retry.DoOr(ctx, p, u.call, func(_ context.Context, err error) (string, error) {
			if !errors.Is(err, retry.ErrExhausted) {
				t.Error(err)
			}
			return "", nil // a real program would log the error as a warning here, and continue
		})
		return err
	}, nil)
	if _, err := e.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
		t.Fatal(err)
	}
	if o := e.Work(); len(o) != 1 || o[0].State != job.Completed {
		t.Errorf("got outcomes %+v, want the job completed", o)
	}
}

// The program sets how many times the calls of one run may be sent again.
//
// part of: L4
func TestL4_ResendsOfAProgram(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{Resends: 2})
	p, err := retry.New("ocr", retry.Options{Clock: still{e}})
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{fails: 1 << 30, status: 503}
	redrive.Handle(e.Client, render, func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		_, err := retry.Do(ctx, p, u.call)
		return err
	}, nil)
	if _, err := e.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
		t.Fatal(err)
	}
	if o := e.Work(); len(o) != 1 || u.calls != 3 {
		t.Errorf("got outcomes %+v after %d calls of the service, want 3 calls", o, u.calls)
	}
}
