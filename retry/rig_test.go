package retry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// rig is a strategy with the test's clock, fixed random numbers and a captured log.
type rig struct {
	*retry.Strategy
	clock *clock
	log   *bytes.Buffer
}

// newRig makes a strategy whose random numbers are all u.
func newRig(t *testing.T, u float64, o retry.Options) *rig {
	t.Helper()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	log := &bytes.Buffer{}
	o.Clock, o.Rand = c, func() float64 { return u }
	o.Logger = slog.New(retry.LogHandler(log, nil))
	p, err := retry.New("ocr", o)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{p, c, log}
}

// lines returns the log lines so far.
func (r *rig) lines(t *testing.T) (all []map[string]any) {
	t.Helper()
	for dec := json.NewDecoder(bytes.NewReader(r.log.Bytes())); dec.More(); {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

// clock is a clock that advances only when a call sleeps or when a test moves it.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
	onNap func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	nap := c.onNap
	c.mu.Unlock()
	if nap != nil {
		nap()
	}
	return ctx.Err()
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// status is an error with an HTTP status.
type status struct {
	code  int
	after time.Duration
	text  string
}

func (s *status) Error() string             { return "the service said no" + s.text }
func (s *status) StatusCode() int           { return s.code }
func (s *status) RetryAfter() time.Duration { return s.after }

// script is an operation that fails with the given errors, one after the other. Then it
// succeeds and returns how often it was called.
type script struct {
	errs  []error
	calls int
	do    func(ctx context.Context)
}

func failing(errs ...error) *script { return &script{errs: errs} }

// always returns a script that always fails with err.
func always(err error) *script {
	s := &script{errs: make([]error, 1000)}
	for i := range s.errs {
		s.errs[i] = err
	}
	return s
}

func (s *script) op(ctx context.Context) (int, error) {
	s.calls++
	if s.do != nil {
		s.do(ctx)
	}
	if s.calls <= len(s.errs) {
		return -1, s.errs[s.calls-1]
	}
	return s.calls, nil
}

// failedWith returns the error of a call, which must be an *Error.
func failedWith(t *testing.T, err error) *retry.Error {
	t.Helper()
	e, ok := errors.AsType[*retry.Error](err)
	if !ok {
		t.Fatalf("got the error %T %v, want a *retry.Error", err, err)
	}
	return e
}

var unavailable = &status{code: 503}

func inJob(t *testing.T) (context.Context, *retry.Ledger) {
	t.Helper()
	return retry.WithJob(t.Context(), retry.JobInfo{ID: "j7", Correlation: "c9"})
}

// evidence returns the evidence that a job's policy would get.
func evidence(err error) failure.Evidence { return failure.Of(err) }
