package redrive_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestEnqueueMiddleware_MistakesAreErrorsAndNothingIsEnqueued(t *testing.T) {
	t.Parallel()
	refused := errors.New("no credit")
	change := func(f func(redrive.Spec) redrive.Spec) redrive.EnqueueMiddleware {
		return passing(func(s specs) { s[0] = f(s[0]) })
	}
	tests := []struct {
		name string
		bad  redrive.EnqueueMiddleware
		want string
	}{
		{"refuses", instead(func(context.Context, specs, redrive.EnqueueFunc) (receipts, error) { return nil, refused }), "no credit"},
		{"forgets to call next", instead(func(context.Context, specs, redrive.EnqueueFunc) (receipts, error) { return nil, nil }),
			"enqueue middleware Config.EnqueueMiddleware[1]: returned no error without calling next, so nothing was enqueued"},
		{"payload too large", change(func(s redrive.Spec) redrive.Spec { return s.WithPayload([]byte(`"` + strings.Repeat("x", 2000) + `"`)) }),
			`enqueue, job 1 of 1: payload of kind "render": 2002 bytes, made by enqueue middleware Config.EnqueueMiddleware[1]: at most 1000 (Config.PayloadMax)`},
		{"payload is no JSON", change(func(s redrive.Spec) redrive.Spec { return s.WithPayload([]byte("x")) }),
			`Config.EnqueueMiddleware[1]: job 1 of 1: payload of kind "render": the 1 bytes are not JSON`},
		{"owner too long", change(func(s redrive.Spec) redrive.Spec {
			return s.WithOptions(redrive.Options{Owner: strings.Repeat("x", 300)})
		}), `Config.EnqueueMiddleware[1]: job 1 of 1: owner of 300 bytes: at most 256`},
		{"priority", change(func(s redrive.Spec) redrive.Spec { return s.WithOptions(redrive.Options{Priority: 9}) }),
			`Config.EnqueueMiddleware[1]: job 1 of 1: job of kind "render": priority 9`},
		{"drops a job", instead(func(ctx context.Context, _ specs, next redrive.EnqueueFunc) (receipts, error) { return next(ctx, nil) }),
			"Config.EnqueueMiddleware[1]: passed on 0 of 1 jobs"},
		{"adds a job", instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
			return next(ctx, append(s, s[0]))
		}), "Config.EnqueueMiddleware[1]: passed on 2 of 1 jobs"},
		{"loses the context", instead(func(_ context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
			return next(context.Background(), s) //nolint:contextcheck // this is the mistake
		}), "Config.EnqueueMiddleware[1]: called next with a context that is not derived from its own"},
		{"swallows an error", instead(func(ctx context.Context, _ specs, next redrive.EnqueueFunc) (receipts, error) {
			_, _ = next(ctx, nil)
			return receipts{{ID: 1}}, nil
		}), "Config.EnqueueMiddleware[1]: passed on 0 of 1 jobs"},
	}
	outer := passing(func(specs) {})
	for _, tt := range tests {
		f := &faulty{Store: memory.New(memory.Options{})}
		c := clientWith(t, f, redrive.Config{PayloadMax: 1000, EnqueueMiddleware: []redrive.EnqueueMiddleware{outer, tt.bad, outer}})
		r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		if err == nil || !strings.Contains(err.Error(), tt.want) || r != (redrive.Receipt{}) {
			t.Errorf("%s: the enqueue returned the error %v\nwant %s", tt.name, err, tt.want)
		}
		if len(f.calls)+f.reserved != 0 {
			t.Errorf("%s: the client called Enqueue of the store %d times and reserved ids %d times, want 0 and 0", tt.name, len(f.calls), f.reserved)
		}
	}
	c := clientWith(t, memory.New(memory.Options{}), redrive.Config{KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"render": {tests[1].bad}}})
	if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err == nil || !strings.Contains(err.Error(), `Config.KindEnqueueMiddleware["render"][0]: returned`) {
		t.Errorf("a mistake of the middleware of the kind: got error %v, want an error that names the middleware", err)
	}
	if _, err := c.Enqueue(t.Context(), convert.New(1, nil)); err != nil {
		t.Errorf("enqueue of a kind without that middleware: got error %v, want none", err)
	}
	_, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{nil}})
	if err == nil || !strings.Contains(err.Error(), "Config.EnqueueMiddleware[0] is nil") {
		t.Errorf("New with a nil middleware: got error %v, want an error that names Config.EnqueueMiddleware[0]", err)
	}
}

// A panic of a middleware reaches the caller. Jobs are enqueued only if the middleware called next
// before the panic, and only if the caller's transaction, if there is one, is not rolled back. No
// lock stays locked.
func TestEnqueueMiddleware_APanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var before, after bool // before: the middleware panics before it calls next; after: it panics after next has returned
		st := d.open()
		c := clientWith(t, st, redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{
			instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
				if before {
					panic("oops")
				}
				r, err := next(ctx, s)
				if after {
					panic("oops")
				}
				return r, err
			}),
		}})
		spec := render.New(renderArgs{}, nil)
		panics := func(enqueue func() error) {
			t.Helper()
			defer func() {
				if p := recover(); p != "oops" {
					t.Errorf("the test recovered %v, want the panic of the middleware", p)
				}
			}()
			t.Errorf("the enqueue returned error %v, want a panic", enqueue())
		}
		jobs := func(what string, want int) {
			t.Helper()
			if n := countJobs(t, c); n != want {
				t.Errorf("%s: got %d jobs in the store, want %d", what, n, want)
			}
		}
		enqueue := func() error { _, err := c.Enqueue(t.Context(), spec); return err }
		before = true
		panics(enqueue)
		jobs("a panic before next", 0)
		before, after = false, true
		panics(enqueue)
		jobs("a panic after next", 1)
		if d.tx != nil {
			rolledBack := errors.New("rolled back")
			for _, when := range []*bool{&before, &after} {
				before, after = false, false
				*when = true
				for _, end := range []error{rolledBack, nil} {
					err := d.tx(t.Context(), st, func(ctx context.Context, tx store.Tx) error {
						panics(func() error { _, err := c.EnqueueTx(ctx, tx, spec); return err })
						return end
					})
					if !errors.Is(err, end) {
						t.Fatal(err)
					}
				}
			}
			jobs("panics in transactions, one of them after next and committed", 2)
		}
		before, after = false, false
		if err := enqueue(); err != nil {
			t.Errorf("an enqueue after the panics: got error %v, want none", err)
		}
	})
}

func TestEnqueueMiddleware_BlocksUntilTheCallersContextEnds(t *testing.T) {
	t.Parallel()
	blocked := make(chan struct{})
	c := clientWith(t, memory.New(memory.Options{}), redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{
		instead(func(ctx context.Context, _ specs, _ redrive.EnqueueFunc) (receipts, error) {
			close(blocked)
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-blocked; cancel() }()
	if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("enqueue with a context that has ended: got error %v, want context.Canceled", err)
	}
	select {
	case <-blocked:
	default:
		t.Error("the enqueue ended, but its middleware was not called; want a call")
	}
}

// If a middleware returns while next still runs, the enqueue returns ErrUnknown, because the
// jobs may be enqueued.
func TestEnqueueMiddleware_ReturnsWhileNextRuns(t *testing.T) {
	t.Parallel()
	errImpatient := errors.New("impatient")
	for _, returned := range []error{nil, errImpatient} {
		inside, release, answered := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		c := clientWith(t, memory.New(memory.Options{}), redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{
			func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
				return func(ctx context.Context, s specs) (receipts, error) {
					go func() {
						_, err := next(ctx, s)
						answered <- err
					}()
					<-inside
					return nil, returned
				}
			},
			func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
				return func(ctx context.Context, s specs) (receipts, error) {
					close(inside)
					<-release
					return next(ctx, s)
				}
			},
		}})
		_, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		if !errors.Is(err, store.ErrUnknown) || returned != nil && !errors.Is(err, returned) {
			t.Errorf("enqueue whose middleware returned the error %v while next ran: got error %v, want ErrUnknown and the error of the middleware, if it is not nil", returned, err)
		}
		close(release)
		<-answered
	}
}
