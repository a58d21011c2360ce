package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A fleet is several stores of one schema, as so many processes have them, and all
// that they are asked at the same time. Its work is bounded by counts. Its clock
// moves with every look at it, so that leases run out without any waiting.
type fleet struct {
	t      *testing.T
	dsn    string
	stores []*Store
	ticks  atomic.Int64

	mu      sync.Mutex
	history check.History
	errs    map[string]int // errors that nobody may see
	ids     []job.ID
	slots   map[job.Micros]int // how often each was said to be fired
	swept   store.Swept

	// dead is closed at the first death, or when no worker is left that lets a job die. The
	// people who act on dead letters begin then.
	died func()
	dead <-chan struct{}
}

const (
	fleetStores   = 4
	fleetBatches  = 40 // of each store's two producers
	fleetSteps    = 45 // of everybody else
	fleetLimit    = 3  // of the queue "limited"
	fleetLease    = 2 * time.Second
	fleetTick     = time.Millisecond
	fleetKeys     = 40
	fleetRounds   = 3_000 // until everything must have ended
	fleetSchedule = "nightly"
)

// fleetKept is how long things are kept beside all the work: but for the events,
// which say what became of everything, short enough that most is removed.
var fleetKept = store.Retention{Completed: time.Second, Failures: time.Second, Dead: time.Second}

// fleetBusy is what people may hear: they wait for the dead letters for a second, and
// a machine with much else to do may take longer over what is before them.
var fleetBusy = store.ErrUnavailable

var fleetRate = store.Rate{N: 40, Per: time.Second}

// fleetSlack is how much earlier than its turn a start may come at fleetRate.
const fleetSlack = 50 * time.Millisecond

var fleetStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (c *fleet) clock() time.Time {
	return fleetStart.Add(time.Duration(c.ticks.Add(1)) * fleetTick)
}

func newFleet(t *testing.T) *fleet {
	c := &fleet{t: t, dsn: pgtest.Database(t), errs: make(map[string]int), slots: make(map[job.Micros]int)}
	for range fleetStores {
		s, err := Open(t.Context(), c.dsn, &Options{Clock: c.clock, StatementTimeout: 10 * time.Minute, ReadLimit: 10 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // closed already, unless the test has failed
		c.stores = append(c.stores, s)
	}
	dead := make(chan struct{})
	c.died, c.dead = sync.OnceFunc(func() { close(dead) }), dead
	for range 4 {
		if _, err := c.stores[0].CreateBatch(t.Context(), store.By{}, store.NewBatch{}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// must notes an error that none of the calls may end with.
func (c *fleet) must(what string, err error, allowed ...error) bool {
	if err == nil {
		return true
	}
	for _, a := range allowed {
		if errors.Is(err, a) {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs[what+": "+err.Error()]++
	return false
}

func (c *fleet) note(f func(h *check.History)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.history)
}

// someIDs draws ids of jobs that were taken in.
func (c *fleet) someIDs(r *rand.Rand, n int) (ids []job.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		if len(c.ids) > 0 {
			ids = append(ids, c.ids[r.IntN(len(c.ids))])
		}
	}
	return ids
}

// proves: Q4, Q13
// part of: Q6, Q7
func TestQ4_Q13_AFleetOfProcesses(t *testing.T) {
	t.Parallel()
	c := newFleet(t)
	ctx := t.Context()
	var all, workers sync.WaitGroup
	work := func(n int, step fleetStep) {
		for k, s := range c.stores {
			seed := uint64(len(c.stores)*n + k)
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				for i := range n {
					step(ctx, s, r, i)
				}
			})
		}
	}
	for producer := range 2 {
		work(fleetBatches+producer, c.produce)
	}
	for worker := range 2 {
		for k, s := range c.stores {
			w := &fleetWorker{c: c, s: s, r: rand.New(rand.NewPCG(uint64(k), uint64(worker))), name: fmt.Sprintf("w%d.%d", k, worker)}
			workers.Go(func() {
				for range 3 * fleetSteps {
					w.step(ctx)
				}
			})
		}
	}
	work(fleetSteps, c.rescue)
	work(fleetSteps+1, c.cancel)
	work(fleetSteps+2, c.afterDeath(c.act))
	work(fleetSteps+3, c.afterDeath(c.redrive))
	work(fleetSteps+4, c.keep)
	work(fleetSteps+5, c.fire)
	work(fleetSteps+6, c.queues)
	workers.Wait()
	c.died()
	all.Wait()
	c.drain(ctx)
	c.compare(ctx)
}

// fleetStep is one call of somebody who is no worker.
type fleetStep = func(ctx context.Context, s *Store, r *rand.Rand, i int)

// afterDeath makes a step wait until there is a dead letter.
func (c *fleet) afterDeath(step fleetStep) fleetStep {
	return func(ctx context.Context, s *Store, r *rand.Rand, i int) {
		<-c.dead
		step(ctx, s, r, i)
	}
}

// drain goes on until everything has ended.
func (c *fleet) drain(ctx context.Context) {
	s := c.stores[0]
	_, err := s.SetQueue(ctx, fleetPerson, store.QueueChange{Name: "other", Mode: new(store.Open)})
	c.must("set queue", err)
	w := &fleetWorker{c: c, s: s, r: rand.New(rand.NewPCG(1, 2)), name: "last"}
	kinds := []store.KindWant{{Kind: "a", Max: 900, MaxCrashes: 4}, {Kind: "b", Max: 900, MaxCrashes: 4}}
	for range fleetRounds {
		c.ticks.Add(int64(time.Second / fleetTick))
		_, err := s.Rescue(ctx, 1_000)
		c.must("rescue", err)
		step, err := s.StepRedrives(ctx, 1_000)
		c.must("step", err)
		x := store.Exchange{Holder: w.name, Lease: time.Hour}
		for i := range w.held {
			x.Settle = append(x.Settle, job.Outcome{ID: w.held[i].ID, Token: w.held[i].Token, Cause: job.Succeeded, To: job.Completed})
		}
		w.held = nil
		for _, q := range []store.Want{{Queue: "open"}, {Queue: "other"}, {Queue: "limited", Limit: fleetLimit}, {Queue: "rated", Rate: fleetRate},
			{Queue: "fresha"}, {Queue: "freshb"}} {
			q.Max, q.Kinds = 900, kinds
			x.Want = append(x.Want, q)
		}
		w.exchange(ctx, x)
		counts, err := s.Counts(ctx)
		c.must("counts", err)
		live := slices.ContainsFunc(counts, func(n store.Count) bool { return !n.State.Terminal() && n.N > 0 })
		if !live && step.Active == 0 {
			for range 50 { // what others held is left to a later sweep
				c.keep(ctx, s, w.r, 0)
			}
			return
		}
		if c.t.Failed() {
			return
		}
	}
	c.t.Error("not everything has ended")
}

// compare compares what was noted with what is there.
func (c *fleet) compare(ctx context.Context) {
	t := c.t
	for what, n := range c.errs {
		t.Errorf("%d times: %s", n, what)
	}
	d, err := c.stores[1].Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	c.history.Dump, c.history.Drained, c.history.Retention = d, true, true
	for _, v := range check.Check(&c.history) {
		if v.Invariant != check.AuditComplete { // one row tells of many retries
			t.Error(v)
		}
	}
	if err := check.Figures(d, false); err != nil {
		t.Error(err)
	}
	for slot, n := range c.slots {
		if n != 1 {
			t.Errorf("slot %s was fired %d times", slot.Time(), n)
		}
	}
	c.limits(d)
	for i := range d.Redrives {
		r := &d.Redrives[i]
		if r.Answered != r.Released || r.Completed+r.Dead+r.Cancelled != r.Released {
			t.Errorf("redrive %d has ended: %d released, %d answered, %d completed, %d dead, %d cancelled",
				r.ID, r.Released, r.Answered, r.Completed, r.Dead, r.Cancelled)
		}
	}
	report, err := Diagnose(ctx, c.dsn, "", c.clock)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		if strings.Contains(p, "please report this") { // others are of the server
			t.Error(p)
		}
	}
	if n := &c.swept; n.Completed == 0 || n.Failures == 0 || n.Dead == 0 {
		t.Errorf("too little was swept: %+v", *n)
	}
	t.Logf("%+v; swept %+v; %s; problems: %q", check.Count(&c.history), c.swept, time.Duration(c.ticks.Load())*fleetTick, report.Problems)
	c.deadlocks()
}

// limits demands that no queue has run more than its limit, nor started more than
// its rate allows.
func (c *fleet) limits(d *store.Dump) {
	running, most := map[string]int{}, map[string]int{}
	var starts []job.Micros
	queueOf := make(map[job.ID]string)
	for i := range d.Events {
		e := &d.Events[i]
		switch {
		case e.Type == event.JobClaimed:
			running[e.Queue]++
			most[e.Queue] = max(most[e.Queue], running[e.Queue])
			queueOf[e.Job] = e.Queue
			if e.Queue == "rated" {
				starts = append(starts, e.At)
			}
		case e.From == job.Running:
			running[queueOf[e.Job]]--
		}
	}
	if most["limited"] > fleetLimit || most["limited"] == 0 {
		c.t.Errorf("%d jobs of a queue with limit %d were running", most["limited"], fleetLimit)
	}
	slices.Sort(starts)
	for i := range starts {
		for j := i; j < len(starts); j++ {
			window := starts[j].Sub(starts[i])
			if allowed := int((window+fleetSlack)*time.Duration(fleetRate.N)/fleetRate.Per) + 2; j-i+1 > allowed {
				c.t.Fatalf("%d starts in %s of a queue with rate %d per %s", j-i+1, window, fleetRate.N, fleetRate.Per)
			}
		}
	}
	if len(starts) == 0 {
		c.t.Error("nothing has started in the queue with a rate")
	}
}

// deadlocks demands that the server has had to resolve none: a transaction that is
// run again goes unnoticed else. Connections tell what they know when they end.
func (c *fleet) deadlocks() {
	conn := connected(c.t, c.dsn)
	eventually(c.t, "the stores' connections are gone", func() bool {
		return numberOf(c.t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`) == 1
	})
	if n := numberOf(c.t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		c.t.Errorf("%d deadlocks", n)
	}
}
