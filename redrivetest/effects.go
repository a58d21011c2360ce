package redrivetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Effects records what a handler changes outside of its job: mails, payments, rows in other
// systems. The fakes of these systems in a test call Do. The zero value is ready for use. Effects
// are safe for concurrent use.
type Effects struct {
	mu   sync.Mutex
	keys map[string]bool
	had  []string // the effects of the current run
}

// Do records that a handler asked for an effect. The key is the idempotency key, or "" if
// the effect has no key. Do reports whether the effect happens: if the key was used before,
// there is no second effect, as with a service that supports idempotency keys.
func (e *Effects) Do(effect, key string) (happens bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if key != "" {
		if e.keys[key] {
			return false
		}
		if e.keys == nil {
			e.keys = make(map[string]bool)
		}
		e.keys[key] = true
		effect = fmt.Sprintf("%s (key %s)", effect, key)
	}
	e.had = append(e.had, effect)
	return true
}

// next returns the effects of the current run and begins the next run.
func (e *Effects) next() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	had := e.had
	e.had = nil
	return had
}

// Twice runs a handler successfully twice for the same job, as if the process had crashed between
// the handler's last effect and the end of the run. It returns the effects of the second run. A
// handler that is safe to repeat has no effects in the second run.
func Twice[T any](t testing.TB, h func(context.Context, *redrive.Job[T]) error, args T, effects *Effects) (doubled []string) {
	t.Helper()
	e := New(t, nil)
	kind := redrive.Kind[T]("twice")
	first := true
	redrive.Handle(e.Client, kind, func(ctx context.Context, j *redrive.Job[T]) error {
		err := h(ctx, j)
		if err != nil || !first {
			return err
		}
		first = false
		effects.next()
		return failure.Snooze(time.Second)
	}, nil)
	if _, err := e.Enqueue(t.Context(), kind.New(args, nil)); err != nil {
		t.Fatal(err)
	}
	for run, cause := range []job.Cause{job.Snoozed, job.Succeeded} {
		o := e.Work()[0]
		if o.Failure != nil {
			t.Fatalf("redrivetest: run %d of the handler failed: %s", run+1, o.Failure.Message)
		}
		if o.Cause != cause {
			t.Fatalf("redrivetest: run %d of the handler ended as %s, want a success", run+1, o.Cause)
		}
		e.Advance(time.Second)
	}
	return effects.next()
}
