package redrive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

type (
	specs    = []redrive.Spec
	receipts = []redrive.Receipt
)

// passing returns a middleware that first calls the given function with the jobs of the enqueue
// and then passes them on.
func passing(do func(specs)) redrive.EnqueueMiddleware {
	return func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
		return func(ctx context.Context, s specs) (receipts, error) {
			do(s)
			return next(ctx, s)
		}
	}
}

// instead returns a middleware that calls the given function. Only that function can call next.
func instead(do func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error)) redrive.EnqueueMiddleware {
	return func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
		return func(ctx context.Context, s specs) (receipts, error) { return do(ctx, s, next) }
	}
}

func clientWith(t *testing.T, s store.Store, config redrive.Config) *redrive.Client {
	t.Helper()
	c, err := redrive.New(s, &config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnqueueMiddleware_ChangesEveryEnqueue(t *testing.T) {
	t.Parallel()
	tenant := passing(func(s specs) {
		for i := range s {
			o := s[i].Options()
			o.Queue, o.Priority, o.Owner, o.Correlation = "tenant", 1, "ann", "trace-7"
			o.Attrs["tenant"] = "ann"
			s[i] = s[i].WithOptions(o).WithPayload([]byte(`{"Scene":9}`))
		}
	})
	config := redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{tenant}}
	given := render.New(renderArgs{Scene: 1}, nil)
	check := func(t *testing.T, name string, c *redrive.Client, id redrive.JobID) {
		t.Helper()
		j, err := c.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := []any{j.Queue, int(j.Priority), j.Owner, j.Correlation, string(j.Attrs), string(j.Payload)}
		if diff := cmp.Diff([]any{"tenant", 1, "ann", "trace-7", `{"tenant":"ann"}`, `{"Scene":9}`}, got); diff != "" {
			t.Errorf("%s enqueued a wrong job (-want +got):\n%s", name, diff)
		}
	}
	onEachStore(t, func(t *testing.T, d database) {
		st := d.open()
		c := clientWith(t, st, config)
		r, err := c.Enqueue(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "Enqueue", c, r.ID)
		list := specs{given, given}
		many, err := c.EnqueueMany(t.Context(), list)
		if err != nil || len(many) != 2 || string(list[0].Payload()) == `{"Scene":9}` {
			t.Fatalf("EnqueueMany: got %v, error %v, and the caller's spec has the payload %s; want two receipts and an unchanged spec", many, err, list[0].Payload())
		}
		check(t, "EnqueueMany", c, many[1].ID)
		if d.tx == nil {
			return
		}
		err = d.tx(t.Context(), st, func(ctx context.Context, tx store.Tx) (err error) {
			if r, err = c.EnqueueTx(ctx, tx, given); err != nil {
				return err
			}
			many, err = c.EnqueueManyTx(ctx, tx, list)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "EnqueueTx", c, r.ID)
		check(t, "EnqueueManyTx", c, many[1].ID)
	})
}

func TestEnqueueMiddleware_ChangesTheJobsOfCron(t *testing.T) {
	t.Parallel()
	tenant := passing(func(s specs) {
		for i := range s {
			o := s[i].Options()
			o.Queue, o.Owner = "tenant", "ann"
			s[i] = s[i].WithOptions(o)
		}
	})
	config := redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{tenant}}
	config.Cron = []redrive.Cron{{Name: "nightly", Expression: "@hourly", Spec: render.New(renderArgs{Scene: 1}, nil)}}
	e := redrivetest.New(t, &config)
	redrive.Handle(e.Client, render, succeed, nil)
	e.Work()
	e.Advance(time.Hour)
	e.Work()
	page, err := e.List(t.Context(), store.Filter{})
	if err != nil || len(page.Jobs) != 1 {
		t.Fatalf("List: got %+v, error %v; want one job, made by the cron entry", page, err)
	}
	if j := page.Jobs[0]; j.Owner != "ann" || j.Queue != "tenant" {
		t.Errorf("the job of the cron entry: got owner %q and queue %q, want owner ann and queue tenant", j.Owner, j.Queue)
	}
}

const convert = redrive.Kind[int]("convert")

func TestEnqueueMiddleware_CallsNextAgain(t *testing.T) {
	t.Parallel()
	twice := instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
		if _, err := next(ctx, s); err != nil {
			return next(ctx, s)
		}
		_, err := next(ctx, s)
		return nil, err
	})
	for name, tt := range map[string]struct {
		faults []fault
		want   string
		calls  int
	}{
		"after a success":    {nil, "called next twice; the jobs are enqueued already", 1},
		"after an error":     {[]fault{{store.ErrUnavailable, false}}, "", 2},
		"after no answer":    {slices.Repeat([]fault{{store.ErrUnknown, false}}, 20), "the first call may have enqueued", 1},
		"after a refusal":    {[]fault{{store.ErrDraining, false}, {store.ErrDraining, false}}, store.ErrDraining.Error(), 2},
		"after a full store": {[]fault{{store.ErrFull, false}}, "", 2},
	} {
		f := &faulty{Store: memory.New(memory.Options{}), faults: tt.faults}
		c := clientWith(t, f, redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{twice}})
		ctx, cancel := context.WithCancel(t.Context())
		if name == "after no answer" {
			f.called = cancel // the client looks up the jobs of a lost answer until the context ends
		}
		r, err := c.Enqueue(ctx, render.New(renderArgs{}, nil))
		cancel()
		if tt.want == "" && (err != nil || r.State != job.Waiting) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got receipt %+v, error %v; want error %q", name, r, err, tt.want)
		}
		if len(f.calls) != tt.calls {
			t.Errorf("%s: the client called Enqueue of the store %d times, want %d", name, len(f.calls), tt.calls)
		}
	}
}

func TestEnqueueMiddleware_WhatFollowsASuccess(t *testing.T) {
	t.Parallel()
	after := errors.New("cannot write the log")
	var late redrive.EnqueueFunc
	var lateCtx context.Context
	var lateSpecs specs
	answer := error(nil)
	c := clientWith(t, memory.New(memory.Options{}), redrive.Config{EnqueueMiddleware: []redrive.EnqueueMiddleware{
		instead(func(ctx context.Context, s specs, next redrive.EnqueueFunc) (receipts, error) {
			late, lateCtx, lateSpecs = next, ctx, s
			_, _ = next(ctx, s)
			return receipts{{ID: 77}, {ID: 78}}, answer
		}),
	}})
	if r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil || r.ID != 1 {
		t.Errorf("got receipt %+v, error %v; want the receipt of the store", r, err)
	}
	answer = after
	if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); !errors.Is(err, after) {
		t.Errorf("got error %v, want the error that the middleware returned", err)
	}
	if n := countJobs(t, c); n != 2 {
		t.Errorf("got %d jobs in the store, want 2", n)
	}
	if _, err := late(lateCtx, lateSpecs); err == nil || !strings.Contains(err.Error(), "after it had returned") {
		t.Errorf("a call of next after the middleware had returned: got error %v, want an error", err)
	}
}

// withEmptyMiddlewares returns a client whose enqueues of the kind render pass through n
// middlewares that do nothing, either those of the client or those of the kind.
func withEmptyMiddlewares(tb testing.TB, n int, ofKind bool) *redrive.Client {
	tb.Helper()
	all := slices.Repeat([]redrive.EnqueueMiddleware{passing(func(specs) {})}, n)
	config := &redrive.Config{EnqueueMiddleware: all}
	if ofKind {
		config = &redrive.Config{KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"render": all}}
	}
	c, err := redrive.New(&sink{Store: memory.New(memory.Options{})}, config)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Three empty middlewares of a client add one allocation to an enqueue, those of a kind one
// more.
func TestEnqueueMiddleware_Allocations(t *testing.T) {
	spec := render.New(renderArgs{}, nil)
	allocations := func(c *redrive.Client) float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := c.Enqueue(t.Context(), spec); err != nil {
				t.Fatal(err)
			}
		})
	}
	without := allocations(withEmptyMiddlewares(t, 0, false))
	for ofKind, most := range map[bool]float64{false: 1, true: 2} {
		if got := allocations(withEmptyMiddlewares(t, 3, ofKind)) - without; got > most {
			t.Errorf("three empty middlewares (of a kind: %t) add %.0f allocations to an enqueue, want at most %.0f", ofKind, got, most)
		}
	}
}

// BenchmarkEnqueueMiddleware measures what three empty middlewares add to an enqueue.
func BenchmarkEnqueueMiddleware(b *testing.B) {
	for _, tt := range []struct {
		name   string
		n      int
		ofKind bool
	}{{"0", 0, false}, {"3", 3, false}, {"3 of the kind", 3, true}} {
		b.Run(tt.name, func(b *testing.B) {
			c := withEmptyMiddlewares(b, tt.n, tt.ofKind)
			spec := render.New(renderArgs{}, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Enqueue(b.Context(), spec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
