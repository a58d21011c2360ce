// Package redrivetest tests handlers and the decisions about their failures with an engine in
// memory, whose clock only moves when the test says so.
//
//	e := redrivetest.New(t, nil)
//	redrive.Handle(e.Client, Render, render, nil)
//	e.Enqueue(ctx, Render.New(RenderArgs{Scene: 7}, nil))
//	outcomes := e.Work()        // runs the due jobs
//	e.Advance(30 * time.Second) // to the time of the retry
//
// # Owners
//
// A job has the owner that redrive.Options.Owner names; the engine itself sets no owner. The
// handler finds the owner in Job.Owner. The jobs of Attempt and Twice have no owner, because
// these functions take no options: to test a handler that needs an owner, use New.
// RequireEnqueued finds the jobs of all owners; the condition Owner selects one owner, and
// Owner("") selects the jobs without an owner.
//
// # Middleware and hooks
//
// An Engine is a client: it calls the Middleware, the EnqueueMiddleware and the OnOutcome of its
// redrive.Config as a client in production does.
//
//   - Middleware runs inside Work, and its errors and panics are failures of the run.
//   - EnqueueMiddleware runs inside the enqueues of the test.
//   - OnOutcome runs beside Work, on other goroutines, so a function that collects outcomes needs
//     a mutex. Work waits for the calls, at most for Config.Grace (30 s), so the test can check
//     what was collected after Work. The outcomes that Work returns do not depend on OnOutcome.
//   - Client.Events returns the events of the engine's store, with the times of its clock.
//
// Attempt and Twice take no redrive.Config, so they call the handler without middleware and
// without OnOutcome, and the built-in policy decides about failures.
//
// # Other stores
//
// RequireEnqueued and the functions like it work with any client, also on SQLite or PostgreSQL.
// docs/postgres.md has a complete test of a service on PostgreSQL.
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

// Engine is a client on a store in memory with its own clock. It runs jobs only during
// Work.
type Engine struct {
	*redrive.Client

	t     testing.TB
	clock *clock
	store *recorder
}

// New returns an engine for a test. The config may be nil. Its defaults differ from the defaults of
// a client: there is one worker, so that jobs run in order; nothing is logged; temporary
// directories are below t.TempDir; leases last an hour, so that a handler may advance the clock;
// and no data is removed. Config.Clock must be nil.
func New(t testing.TB, config *redrive.Config) *Engine {
	t.Helper()
	var c redrive.Config
	if config != nil {
		c = *config
	}
	if c.Clock != nil {
		t.Fatal("redrivetest: Config.Clock is set, but the engine has its own clock; leave it nil")
	}
	clk := newClock(start)
	c.Clock = clk
	c.Name = cmp.Or(c.Name, "redrivetest")
	c.Lease = cmp.Or(c.Lease, engine.LeaseMax)
	c.TempDir = cmp.Or(c.TempDir, t.TempDir())
	if c.Retention == (redrive.Retention{}) {
		c.Retention = redrive.Retention{
			Completed: redrive.Forever, Failures: redrive.Forever, Dead: redrive.Forever, Events: redrive.Forever, Batches: redrive.Forever,
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

// Advance moves the clock forward. Jobs that become due run at the next Work. A handler may also
// call Advance, for example to reach its time limit.
func (e *Engine) Advance(d time.Duration) { e.clock.advance(d) }

// Work runs the due jobs. If a run makes other jobs due, Work runs these jobs, too. It
// returns the outcomes in the order in which they were stored. It does not run jobs that are
// due later, or that must wait because of a limit or a rate. Entries of Config.Cron fire
// when the clock has passed a slot, and redrives continue as far as they can at that time.
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
