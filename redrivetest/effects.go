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

// Effects stands for what a handler changes outside: mails, payments, rows of
// other systems. Fakes record there what they were asked to do. The zero value
// is ready, and safe for concurrent use.
type Effects struct {
	mu   sync.Mutex
	keys map[string]bool
	had  []string // in the present run
}

// Do records that the outside was asked for an effect under an idempotency key,
// "" for none. It reports whether the effect happens: a key that was seen before
// makes it happen no second time, as a service that honours keys would have it.
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

// next returns the effects of the present run and begins the next one.
func (e *Effects) next() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	had := e.had
	e.had = nil
	return had
}

// Twice runs a handler to its success twice for the same job, as a crash between
// its last effect and the end of its run makes it happen. It returns the effects
// that the second run had although the first had done everything: none when the
// handler is safe to repeat.
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
