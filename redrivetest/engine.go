// Package redrivetest tests handlers and what becomes of their failures: a whole
// engine in memory, whose clock moves only when the test says so.
//
//	e := redrivetest.New(t, nil)
//	redrive.Handle(e.Client, Render, render, nil)
//	e.Enqueue(ctx, Render.New(RenderArgs{Scene: 7}, nil))
//	outcomes := e.Work()         // runs what is due
//	e.Advance(30 * time.Second)  // to the retry
package redrivetest

import (
	"cmp"
	"log/slog"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/store/memory"
)

// start is the time at which the clock of an Engine begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Engine is a client on a store in memory, with a clock of its own. It runs
// jobs in Work and at no other time.
type Engine struct {
	*redrive.Client

	t     testing.TB
	clock *clock
	store *recorder
}

// New returns an engine for a test. Of the configuration, which may be nil, the
// defaults differ: one worker, so that jobs run in order, no log, temporary
// directories below t.TempDir, leases of an hour, so that a handler may move the
// clock, and everything is kept for ever. Config.Clock must be nil.
func New(t testing.TB, config *redrive.Config) *Engine {
	t.Helper()
	var c redrive.Config
	if config != nil {
		c = *config
	}
	if c.Clock != nil {
		t.Fatal("redrivetest: Config.Clock must be nil: the engine brings its own")
	}
	clk := newClock(start)
	c.Clock = clk
	c.Name = cmp.Or(c.Name, "redrivetest")
	c.Lease = cmp.Or(c.Lease, engine.LeaseMax)
	c.TempDir = cmp.Or(c.TempDir, t.TempDir())
	if c.Retention == (redrive.Retention{}) {
		c.Retention = redrive.Retention{
			Completed: redrive.Forever, Failures: redrive.Forever, Dead: redrive.Forever, Events: redrive.Forever,
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if len(c.Queues) == 0 {
		c.Queues = map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1}}
	}
	s := &recorder{Store: memory.New(memory.Options{Clock: clk.store})}
	client, err := redrive.New(s, &c)
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{Client: client, t: t, clock: clk, store: s}
}

// Now returns the time of the engine's clock.
func (e *Engine) Now() time.Time { return e.clock.store() }

// Advance moves the clock. Jobs that become due run at the next Work; it may
// also be called by a handler, whose time limit it can bring.
func (e *Engine) Advance(d time.Duration) { e.clock.advance(d) }

// Work runs the jobs that are due, and those that become due by it, and returns
// their outcomes in the order in which they were stored. It leaves what is not
// due, and what limits and rates hold back. Schedules of Config.Cron fire when the
// clock has passed a slot, and redrives go as far as they can at that time.
func (e *Engine) Work() []Outcome {
	e.t.Helper()
	var all []Outcome
	for {
		if err := e.RunUntilIdle(e.t.Context()); err != nil {
			e.t.Fatal(err)
		}
		more := e.store.take()
		if len(more) == 0 {
			return all
		}
		all = append(all, more...)
	}
}
