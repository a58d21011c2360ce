package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store/memory"
)

type middlewareKey struct{}

// The middleware of the configuration wraps the middleware of the kind, and the first of each list
// is the outermost. All of them are called before the payload is decoded.
func TestMiddleware_WrapsEveryHandler(t *testing.T) {
	t.Parallel()
	var got []string
	named := func(name string) redrive.Middleware {
		return func(next redrive.HandlerFunc) redrive.HandlerFunc {
			return func(ctx context.Context, run *redrive.Info) error {
				path, _ := ctx.Value(middlewareKey{}).(string)
				err := next(context.WithValue(ctx, middlewareKey{}, path+name), run)
				got = append(got, fmt.Sprintf("%s of %s %s: %v", name, run.Kind, run.Payload(), err))
				return err
			}
		}
	}
	e := redrivetest.New(t, &redrive.Config{Middleware: []redrive.Middleware{named("a"), named("b")}})
	path := func(ctx context.Context) { got = append(got, fmt.Sprint("handler after ", ctx.Value(middlewareKey{}))) }
	own := &redrive.HandlerOptions{Middleware: []redrive.Middleware{named("c"), named("d")}}
	redrive.Handle(e.Client, render, func(ctx context.Context, _ *redrive.Job[renderArgs]) error { path(ctx); return nil }, own)
	redrive.HandleRaw(e.Client, "raw", func(ctx context.Context, j *redrive.Job[[]byte]) error {
		path(ctx)
		return failure.Permanent(errors.New(string(j.Args)))
	}, nil)
	enqueue(t, e, render.New(renderArgs{Scene: 7}, nil))
	enqueue(t, e, redrive.NewRaw("raw", []byte("bytes"), nil))
	enqueue(t, e, redrive.NewRaw("render", []byte("no JSON"), nil))
	e.Work()
	bad := `payload of kind "render" does not fit redrive_test.renderArgs: invalid character 'o' in literal null (expecting 'u')`
	want := []string{
		"handler after abcd", `d of render {"scene":7}: <nil>`, `c of render {"scene":7}: <nil>`, `b of render {"scene":7}: <nil>`, `a of render {"scene":7}: <nil>`,
		"handler after ab", "b of raw bytes: bytes", "a of raw bytes: bytes",
		"d of render no JSON: " + bad, "c of render no JSON: " + bad, "b of render no JSON: " + bad, "a of render no JSON: " + bad,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong calls of middlewares and handlers (-want +got):\n%s", diff)
	}
}

// A mistake of a middleware becomes a failure that names it, never a success.
func TestMiddleware_MistakesAreFailures(t *testing.T) {
	t.Parallel()
	wrap := func(do func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error) redrive.Middleware {
		return func(next redrive.HandlerFunc) redrive.HandlerFunc {
			return func(ctx context.Context, run *redrive.Info) error { return do(ctx, run, next) }
		}
	}
	oops := errors.New("oops")
	tests := []mistake{
		{"passes on", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error { return next(ctx, run) }),
			false, job.Completed, 1, 7, "", ""},
		{"forgets to call next", wrap(func(context.Context, *redrive.Info, redrive.HandlerFunc) error { return nil }),
			false, job.Retrying, 0, 7, redrive.CodeBadMiddleware, `returned nil without calling the handler; call next, or return redrive.ErrSkipHandler`},
		{"skips", wrap(func(context.Context, *redrive.Info, redrive.HandlerFunc) error {
			return fmt.Errorf("done before: %w", redrive.ErrSkipHandler)
		}), false, job.Completed, 0, 7, "", ""},
		{"skips too late", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			return errors.Join(next(ctx, run), redrive.ErrSkipHandler)
		}), true, job.Retrying, 1, 7, "", "oops"},
		{"refuses", wrap(func(context.Context, *redrive.Info, redrive.HandlerFunc) error { return failure.Code("CLOSED", oops) }),
			false, job.Retrying, 0, 7, "CLOSED", "oops"},
		{"calls twice", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			return errors.Join(next(ctx, run), next(ctx, run))
		}), false, job.Retrying, 1, 7, redrive.CodeBadMiddleware, "called the handler more than once in a run"},
		{"calls twice and hides it", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			_, _ = next(ctx, run), next(ctx, run)
			return nil
		}), true, job.Retrying, 1, 7, redrive.CodeBadMiddleware, "called the handler more than once in a run; return its error, and the policy decides whether the job runs again: oops"},
		{"loses the Info", wrap(func(ctx context.Context, _ *redrive.Info, next redrive.HandlerFunc) error { return next(ctx, nil) }),
			false, job.Retrying, 0, 7, redrive.CodeBadMiddleware, "with another *Info than it was given"},
		{"panics", wrap(func(context.Context, *redrive.Info, redrive.HandlerFunc) error { panic(oops) }),
			false, job.Retrying, 0, 7, "", "panic: oops"},
		{"ends its goroutine", wrap(func(context.Context, *redrive.Info, redrive.HandlerFunc) error { runtime.Goexit(); return nil }),
			false, job.Retrying, 0, 7, "", "runtime.Goexit"},
		{"forgives", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			_ = next(ctx, run)
			return nil
		}),
			true, job.Completed, 1, 7, "", ""},
		{"sets a payload", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			run.SetPayload([]byte(`{"scene":8}`))
			return next(ctx, run)
		}), false, job.Completed, 1, 8, "", ""},
		{"sets a payload that is no JSON", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			run.SetPayload([]byte(`{`))
			return next(ctx, run)
		}), false, job.Dead, 0, 7, redrive.CodeBadPayload, "does not fit"},
		{"sets a payload larger than an enqueue may have", wrap(func(ctx context.Context, run *redrive.Info, next redrive.HandlerFunc) error {
			run.SetPayload([]byte(`{"scene":9,"title":"` + strings.Repeat("x", job.PayloadMax) + `"}`))
			return errors.Join(next(ctx, run), oops)
		}), false, job.Retrying, 1, 9, "", "oops"},
	}
	onEachStore(t, func(t *testing.T, d database) {
		st := d.open()
		for i, tt := range tests {
			// Each case has a kind with another name, so that no client runs a job of another case.
			kind := redrive.Kind[renderArgs](fmt.Sprintf("case-%d", i))
			var runs atomic.Int64
			c := newClient(t, st, succeed)
			redrive.Handle(c, kind, func(_ context.Context, j *redrive.Job[renderArgs]) error {
				if j.Args.Scene != tt.scene {
					t.Errorf("%s: the handler got scene %d, want scene %d", tt.name, j.Args.Scene, tt.scene)
				}
				runs.Add(1)
				if tt.fails {
					return oops
				}
				return nil
			}, &redrive.HandlerOptions{Middleware: []redrive.Middleware{tt.middleware}})
			// The second job must run like the first one: the end of the first job's run
			// must not matter.
			r, err := c.EnqueueMany(t.Context(), slices.Repeat(specs{kind.New(renderArgs{Scene: 7}, nil)}, 2))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := runs.Load(); n != 2*tt.runs {
				t.Errorf("%s: the handler ran %d times for two jobs, want %d times", tt.name, n, 2*tt.runs)
			}
			for _, receipt := range r {
				tt.check(t, c, receipt.ID)
			}
		}
	})
}

// mistake is a middleware, and the expected end of a job that runs in this middleware.
type mistake struct {
	name       string
	middleware redrive.Middleware
	fails      bool // whether the handler fails
	state      job.State
	runs       int64  // the number of calls of the handler
	scene      int64  // the scene that the handler gets
	code, text string // the code and a part of the text of the failure; empty if the job is completed
}

func (m *mistake) check(t *testing.T, c *redrive.Client, id redrive.JobID) {
	t.Helper()
	j, err := c.Get(t.Context(), id)
	if err != nil || j.State != m.state {
		t.Errorf("%s: got a job with state %s, error %v; want state %s", m.name, j.State, err, m.state)
	}
	if string(j.Payload) != `{"scene":7}` && m.state != job.Completed {
		t.Errorf("%s: the stored payload has changed to %.50s, want it unchanged", m.name, j.Payload)
	}
	failures, err := c.Failures(t.Context(), id)
	switch {
	case err != nil:
		t.Fatal(err)
	case m.state == job.Completed && len(failures) != 0:
		t.Errorf("%s: got the failures %+v of a completed job, want none", m.name, failures)
	case m.state != job.Completed && (len(failures) != 1 || failures[0].Code != m.code || !strings.Contains(failures[0].Message, m.text)):
		t.Errorf("%s: got the failures %+v\nwant one failure with the code %q and the text %q", m.name, failures, m.code, m.text)
	}
}

// A run whose middleware returns before the handler has returned is not a success, and it
// ends when the handler has returned. If the middleware calls the handler later, the
// handler does not run.
func TestMiddleware_MustWaitForTheHandler(t *testing.T) {
	t.Parallel()
	early := errors.New("the middleware did not wait")
	for name, tt := range map[string]struct {
		late     bool // whether the middleware calls next after it has returned
		panics   bool // whether the middleware panics instead of returning
		returned error
		message  string
	}{
		"nil while the handler runs":       {false, false, nil, "returned nil while the handler still runs"},
		"an error while the handler runs":  {false, false, early, early.Error()},
		"a panic while the handler runs":   {false, true, nil, "the middleware panicked"},
		"nil, and the handler runs later":  {true, false, nil, "returned nil without calling the handler"},
		"an error, the handler runs later": {true, false, early, early.Error()},
		"a panic, the handler runs later":  {true, true, nil, "the middleware panicked"},
	} {
		synctest.Test(t, func(t *testing.T) {
			release, answered := make(chan struct{}), make(chan error, 1)
			var inHandler, called atomic.Int32
			m := memory.New(memory.Options{})
			c := clientWith(t, m, redrive.Config{MaxAttempts: 1, Middleware: []redrive.Middleware{
				func(next redrive.HandlerFunc) redrive.HandlerFunc {
					return func(ctx context.Context, run *redrive.Info) error {
						go func() {
							if tt.late {
								<-release
							}
							answered <- next(ctx, run)
						}()
						synctest.Wait()
						if tt.panics {
							panic("the middleware panicked")
						}
						return tt.returned
					}
				},
			}})
			redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error {
				called.Add(1)
				inHandler.Add(1)
				defer inHandler.Add(-1)
				<-release
				return nil
			}, nil)
			r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
			if err != nil {
				t.Fatal(err)
			}
			if !tt.late {
				time.AfterFunc(time.Second, func() {
					if n, err := c.Get(t.Context(), r.ID); err != nil || n.State != job.Running {
						t.Errorf("%s: while the handler runs the job is %v, error %v; want running", name, n.State, err)
					}
					close(release)
				})
			}
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := inHandler.Load(); n != 0 {
				t.Errorf("%s: the run ended while %d handlers ran, want no running handler", name, n)
			}
			f, err := c.Failures(t.Context(), r.ID)
			if err != nil || len(f) != 1 || !strings.Contains(f[0].Message, tt.message) {
				t.Errorf("%s: got the failures %+v, error %v; want one failure with the text %q", name, f, err, tt.message)
			}
			if tt.late {
				close(release)
			}
			if err := <-answered; tt.late != (err != nil) {
				t.Errorf("%s: the call of next returned error %v, want an error for a late call only", name, err)
			}
			if want := map[bool]int32{false: 1, true: 0}[tt.late]; called.Load() != want {
				t.Errorf("%s: the handler ran %d times, want %d times", name, called.Load(), want)
			}
		})
	}
}

// The time limit of a run also covers a middleware that blocks, and other jobs run meanwhile.
func TestMiddleware_BlocksForTheTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		var ran []time.Duration
		start := time.Now()
		redrive.Handle(c, render, func(context.Context, *redrive.Job[renderArgs]) error {
			ran = append(ran, time.Since(start))
			return nil
		}, &redrive.HandlerOptions{Timeout: time.Minute, Middleware: []redrive.Middleware{func(next redrive.HandlerFunc) redrive.HandlerFunc {
			return func(ctx context.Context, run *redrive.Info) error {
				if run.ID == 1 && run.Run == 1 {
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return next(ctx, run)
			}
		}}})
		if _, err := c.EnqueueMany(t.Context(), []redrive.Spec{render.New(renderArgs{}, nil), render.New(renderArgs{}, nil)}); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(ran) != 2 || ran[0] > time.Second || ran[1] < time.Minute {
			t.Errorf("the handlers ran after %v, want the second job at once and the blocked job after a minute", ran)
		}
		f, err := c.Failures(t.Context(), 1)
		if err != nil || len(f) != 1 || f[0].How != job.ByTimeout {
			t.Errorf("got the failures %+v, error %v; want one failure by the time limit", f, err)
		}
	})
}

func TestMiddleware_NilIsRefused(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Options{})
	_, err := redrive.New(st, &redrive.Config{Middleware: []redrive.Middleware{nil}})
	if err == nil || err.Error() != "redrive: Config.Middleware[0] is nil" {
		t.Errorf("nil in Config.Middleware: got error %v, want an error that names Config.Middleware[0]", err)
	}
	c := newClient(t, st, succeed)
	err = redrive.TryHandleRaw(c, "raw", func(context.Context, *redrive.Job[[]byte]) error { return nil },
		&redrive.HandlerOptions{Middleware: []redrive.Middleware{nil}})
	if err == nil || err.Error() != `redrive: kind "raw": HandlerOptions.Middleware[0] is nil` {
		t.Errorf("nil in HandlerOptions.Middleware: got error %v, want an error that names HandlerOptions.Middleware[0]", err)
	}
	redrive.HandleRaw(c, "raw", func(context.Context, *redrive.Job[[]byte]) error { return nil },
		&redrive.HandlerOptions{Middleware: []redrive.Middleware{func(redrive.HandlerFunc) redrive.HandlerFunc { return nil }}})
	err = c.RunUntilIdle(t.Context())
	if err == nil || err.Error() != `redrive: kind "raw": middleware 1 of 1 returned nil instead of a HandlerFunc` {
		t.Errorf("a middleware that returns nil: got error %v, want an error that names the middleware", err)
	}
}
