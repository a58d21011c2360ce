package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/check"
	"github.com/redrive/redrive/internal/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A crowd is several stores of one schema, as so many processes have them, and all
// that they are asked at the same time. Its work is bounded by counts. Its clock
// moves with every look at it, so that leases run out without any waiting.
type crowd struct {
	t      *testing.T
	dsn    string
	stores []*Store
	ticks  atomic.Int64

	mu      sync.Mutex
	history check.History
	errs    map[string]int // errors that nobody may see
	ids     []job.ID
	slots   map[job.Micros]int // how often each was said to be fired
}

const (
	crowdStores   = 4
	crowdBatches  = 40 // of each store's two producers
	crowdSteps    = 45 // of everybody else
	crowdLimit    = 3  // of the queue "limited"
	crowdLease    = 2 * time.Second
	crowdTick     = time.Millisecond
	crowdKeys     = 40
	crowdRounds   = 3_000 // until everything must have ended
	crowdSchedule = "nightly"
)

var crowdRate = store.Rate{N: 40, Per: time.Second}

var crowdStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (c *crowd) clock() time.Time {
	return crowdStart.Add(time.Duration(c.ticks.Add(1)) * crowdTick)
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, dsn: pgtest.Database(t), errs: make(map[string]int), slots: make(map[job.Micros]int)}
	for range crowdStores {
		s, err := Open(t.Context(), c.dsn, &Options{Clock: c.clock, StatementTimeout: time.Minute, ReadLimit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // closed already, unless the test has failed
		c.stores = append(c.stores, s)
	}
	return c
}

// must notes an error that none of the calls may end with.
func (c *crowd) must(what string, err error, allowed ...error) bool {
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

func (c *crowd) note(f func(h *check.History)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.history)
}

// someIDs draws ids of jobs that were taken in.
func (c *crowd) someIDs(r *rand.Rand, n int) (ids []job.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		if len(c.ids) > 0 {
			ids = append(ids, c.ids[r.IntN(len(c.ids))])
		}
	}
	return ids
}

// proves: Q6, Q4
func TestQ6_ACrowdOfProcesses(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx := t.Context()
	var all sync.WaitGroup
	work := func(n int, step func(ctx context.Context, s *Store, r *rand.Rand, i int)) {
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
		work(crowdBatches+producer, func(ctx context.Context, s *Store, r *rand.Rand, i int) { c.produce(ctx, s, r, i, producer) })
	}
	for worker := range 2 {
		for k, s := range c.stores {
			w := &crowdWorker{c: c, s: s, r: rand.New(rand.NewPCG(uint64(k), uint64(worker))), name: fmt.Sprintf("w%d.%d", k, worker)}
			all.Go(func() {
				for range 3 * crowdSteps {
					w.step(ctx)
				}
			})
		}
	}
	work(crowdSteps, c.rescue)
	work(crowdSteps+1, c.cancel)
	work(crowdSteps+2, c.act)
	work(crowdSteps+3, c.redrive)
	work(crowdSteps+4, c.keep)
	work(crowdSteps+5, c.fire)
	work(crowdSteps+6, c.queues)
	all.Wait()
	c.drain(ctx)
	c.judge(ctx)
}

// produce enqueues jobs, some under keys that others use, too, and asks again
// sometimes.
func (c *crowd) produce(ctx context.Context, s *Store, r *rand.Rand, i, producer int) {
	n := 1 + r.IntN(6)
	first, err := s.ReserveIDs(ctx, n)
	if !c.must("reserve", err) {
		return
	}
	jobs := make([]job.New, n)
	notes := make([]check.Enqueue, n)
	for k := range jobs {
		j := &jobs[k]
		*j = job.New{ID: first + job.ID(k), Kind: pickOne(r, "a", "b"), Queue: pickOne(r, "open", "open", "other", "limited", "rated"),
			Priority: int8(1 + r.IntN(4)), Batch: int64(r.IntN(5)), Owner: pickOne(r, "", "al"), Payload: []byte("p"),
			Correlation: fmt.Sprintf("%d", first+job.ID(k))}
		if r.IntN(3) == 0 {
			j.Key, j.Digest = fmt.Sprintf("k%d", r.IntN(crowdKeys)), []byte("d")
		}
		if r.IntN(12) == 0 {
			j.Payload = make([]byte, 2_000)
		}
		if r.IntN(20) == 0 {
			j.Deadline = job.At(c.clock()).Add(time.Duration(r.IntN(2_000)) * time.Millisecond)
		}
		notes[k] = check.Enqueue{Name: j.Correlation, ID: j.ID, Kind: j.Kind, Owner: j.Owner, Key: j.Key, Digest: check.Digest(j.Payload)}
		if j.Key != "" { // one key, one payload
			j.Payload = []byte("p")
			notes[k].Digest = check.Digest(j.Payload)
		}
	}
	receipts, err := s.Enqueue(ctx, jobs)
	if c.must("enqueue", err) {
		for k, receipt := range receipts {
			notes[k].Answer, notes[k].ID, notes[k].Existing = check.Written, receipt.ID, receipt.Existing
		}
	}
	if r.IntN(4) == 0 {
		for k := range jobs {
			jobs[k].Repeat = true
		}
		again, err := c.stores[r.IntN(len(c.stores))].Enqueue(ctx, jobs)
		if c.must("enqueue again", err) {
			for k := range again {
				if again[k].ID != receipts[k].ID {
					c.must("enqueue again", fmt.Errorf("job %d, and %d before", again[k].ID, receipts[k].ID))
				}
			}
		}
	}
	c.note(func(h *check.History) {
		h.Enqueues = append(h.Enqueues, notes...)
		for k := range receipts {
			if !receipts[k].Existing {
				c.ids = append(c.ids, receipts[k].ID)
			}
		}
	})
}

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// crowdWorker is one worker of a store.
type crowdWorker struct {
	c    *crowd
	s    *Store
	r    *rand.Rand
	name string
	held []job.Claim
	late []job.Claim // forgotten, and settled all the same, later
}

// step settles some of what is held, wants more, and extends the rest.
func (w *crowdWorker) step(ctx context.Context) {
	ending := w.held[:0:0]
	var rest []job.Claim
	for _, claim := range w.held {
		switch w.r.IntN(12) {
		case 0, 1, 2: // goes on
			rest = append(rest, claim)
		case 3: // forgotten, as by a process that is killed
			if claim.Counters.Crashes < 2 {
				w.late = append(w.late, claim)
				continue
			}
			ending = append(ending, claim)
		default:
			ending = append(ending, claim)
		}
	}
	w.held = rest
	if n := len(w.late); n > 0 && w.r.IntN(8) == 0 {
		ending, w.late = append(ending, w.late[0]), w.late[1:]
	}
	x := store.Exchange{Holder: w.name, Lease: crowdLease}
	for i := range ending {
		x.Settle = append(x.Settle, w.outcome(&ending[i]))
	}
	kinds := []store.KindWant{{Kind: "a", Max: 9, CrashMax: 4}, {Kind: "b", Max: 9, CrashMax: 4}}
	for _, q := range []store.Want{{Queue: "open", Max: 8}, {Queue: "other", Max: 4}, {Queue: "limited", Max: 2, Limit: crowdLimit},
		{Queue: "rated", Max: 4, Rate: crowdRate}} {
		if w.r.IntN(2) == 0 && len(w.held) < 20 {
			q.Kinds = kinds
			x.Want = append(x.Want, q)
		}
	}
	w.exchange(ctx, x)
	if len(w.held) > 0 && w.r.IntN(3) == 0 {
		w.beat(ctx)
	}
}

func (w *crowdWorker) exchange(ctx context.Context, x store.Exchange) {
	answer, err := w.s.Exchange(ctx, x)
	if !w.c.must("exchange", err) {
		return
	}
	w.held = append(w.held, answer.Claims...)
	w.c.note(func(h *check.History) {
		for i, err := range answer.Settled {
			o := &x.Settle[i]
			note := check.Write{Run: store.Run{ID: o.ID, Token: o.Token}, Cause: o.Cause, To: o.To, Answer: check.Written}
			if err != nil {
				note.Answer = check.Refused
			}
			h.Writes = append(h.Writes, note)
		}
		for i := range answer.Claims {
			a := &answer.Claims[i]
			h.Runs = append(h.Runs, check.Run{Job: a.ID, Life: a.Life, Token: a.Token, Holder: w.name, Start: a.ClaimedAt,
				Digest: check.Digest(a.Payload)})
		}
	})
	for _, err := range answer.Settled {
		w.c.must("settle", err, store.ErrLeaseLost)
	}
}

// outcome ends a run: no job fails for ever.
func (w *crowdWorker) outcome(c *job.Claim) job.Outcome {
	o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed, Cost: 1}
	class := fmt.Sprintf("C%d", w.r.IntN(3))
	failure := &job.Failure{How: "error", Class: class, Message: class, Fingerprint: class + "|" + c.Kind}
	roll := w.r.IntN(20)
	if c.Life > 3 || c.Counters.Sum() > 5 {
		roll = 0
	}
	switch roll {
	case 10, 11, 12:
		o.Cause, o.To, o.Failure, o.Delay = job.Failed, job.Retrying, failure, time.Duration(w.r.IntN(50))*time.Millisecond
	case 13:
		o.Cause, o.To, o.Delay = job.Snoozed, job.Waiting, time.Duration(w.r.IntN(50))*time.Millisecond
	case 14:
		o.Cause, o.To, o.Queue = job.Interrupted, job.Waiting, pickOne(w.r, "", "open", "other", "fresh"+c.Kind)
	case 15, 16, 17:
		o.Cause, o.To, o.Failure, o.Reason = job.Failed, job.Dead, failure, job.NonRetriable
	case 18:
		o.Cause, o.To = job.Cancel, job.Cancelled
	}
	return o
}

func (w *crowdWorker) beat(ctx context.Context) {
	b := store.Beat{Lease: crowdLease}
	for _, claim := range w.held {
		run := store.Run{ID: claim.ID, Token: claim.Token}
		b.Runs = append(b.Runs, run)
		if w.r.IntN(3) == 0 {
			b.Progress = append(b.Progress, job.Progress{ID: run.ID, Token: run.Token, Done: 1, Total: 2})
		}
	}
	status, err := w.s.Heartbeat(ctx, b)
	if !w.c.must("heartbeat", err) {
		return
	}
	held := w.held
	w.held = nil
	for i := range status {
		if status[i].Held {
			w.held = append(w.held, held[i])
		}
	}
}

func (c *crowd) rescue(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	_, err := s.Rescue(ctx, 1+r.IntN(20))
	c.must("rescue", err)
	_, err = s.Signals(ctx, "w0.0")
	c.must("signals", err)
}

var crowdPerson = store.By{Actor: "ann", Reason: "crowd"}

func (c *crowd) cancel(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	ids := c.someIDs(r, 1+r.IntN(4))
	answers, err := s.Cancel(ctx, crowdPerson, ids)
	if c.must("cancel", err) {
		for _, err := range answers {
			c.must("cancel", err, store.ErrConflict)
		}
	}
}

func (c *crowd) act(ctx context.Context, s *Store, r *rand.Rand, i int) {
	if i%3 == 0 {
		answers, err := s.Retry(ctx, crowdPerson, c.someIDs(r, 3))
		if c.must("retry", err) {
			for _, err := range answers {
				c.must("retry", err, store.ErrConflict)
			}
		}
		return
	}
	f := store.DeadFilter{Group: fmt.Sprintf("C%d|%s", r.IntN(3), pickOne(r, "a", "b"))}
	a := store.Action{Do: pickOne(r, store.ActRetry, store.ActResolve, store.ActIgnore, store.ActReopen), Filter: &f, Limit: 1 + r.IntN(10)}
	if a.Do == store.ActIgnore && r.IntN(2) == 0 {
		a.Count = 2
	}
	before, err := s.Preview(ctx, a)
	if !c.must("preview", err) || before.Through == 0 {
		return
	}
	a.Through = before.Through
	_, err = s.Act(ctx, crowdPerson, a)
	c.must("act", err)
}

func (c *crowd) redrive(ctx context.Context, s *Store, r *rand.Rand, i int) {
	if i%20 == 5 {
		f := store.DeadFilter{Class: fmt.Sprintf("C%d", r.IntN(3))}
		all, err := s.Preview(ctx, store.Action{Do: store.ActRetry, Filter: &f})
		if c.must("preview", err) && all.Done > 0 {
			_, err = s.StartRedrive(ctx, crowdPerson, store.RedriveSpec{Filter: f, Through: all.Through, Total: all.Done, Canary: 2, StopShare: 1})
			c.must("start redrive", err, store.ErrTooLarge)
		}
	}
	_, err := s.StepRedrives(ctx, 1+r.IntN(10))
	c.must("step", err)
}

func (c *crowd) keep(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	_, err := s.Sweep(ctx, store.Retention{}, 1+r.IntN(50))
	c.must("sweep", err)
	c.must("fold", s.foldAll(ctx))
	_, err = s.DeadStats(ctx)
	c.must("stats", err)
}

// fire fires slots that all the others fire, too.
func (c *crowd) fire(ctx context.Context, s *Store, _ *rand.Rand, i int) {
	slot := job.At(crowdStart).Add(time.Duration(i-crowdSteps-10) * time.Minute)
	id, err := s.ReserveIDs(ctx, 1)
	if !c.must("reserve", err) {
		return
	}
	n := job.New{ID: id, Kind: "a", Queue: "open", Priority: 2, Correlation: fmt.Sprintf("%d", id), Payload: []byte("p")}
	fired, err := s.Fire(ctx, crowdSchedule, slot, []job.New{n})
	if c.must("fire", err) && fired.Fired {
		c.note(func(h *check.History) {
			c.slots[slot]++
			h.Enqueues = append(h.Enqueues, check.Enqueue{Name: n.Correlation, ID: id, Kind: n.Kind, Digest: check.Digest(n.Payload), Answer: check.Written})
		})
	}
}

func (c *crowd) queues(ctx context.Context, s *Store, r *rand.Rand, _ int) {
	change := store.QueueChange{Name: "other", Mode: new(pickOne(r, store.Open, store.Open, store.Paused))}
	if r.IntN(3) == 0 {
		change.Workers = new(r.IntN(4))
	}
	_, err := s.SetQueue(ctx, crowdPerson, change)
	c.must("set queue", err, store.ErrNotFound)
	c.must("declare", s.Declare(ctx, []string{"open", "other", pickOne(r, "x", "y", "z")}))
}

// drain goes on until everything has ended.
func (c *crowd) drain(ctx context.Context) {
	s := c.stores[0]
	_, err := s.SetQueue(ctx, crowdPerson, store.QueueChange{Name: "other", Mode: new(store.Open)})
	c.must("set queue", err)
	w := &crowdWorker{c: c, s: s, r: rand.New(rand.NewPCG(1, 2)), name: "last"}
	kinds := []store.KindWant{{Kind: "a", Max: 900, CrashMax: 4}, {Kind: "b", Max: 900, CrashMax: 4}}
	for range crowdRounds {
		c.ticks.Add(int64(time.Second / crowdTick))
		_, err := s.Rescue(ctx, 1_000)
		c.must("rescue", err)
		step, err := s.StepRedrives(ctx, 1_000)
		c.must("step", err)
		x := store.Exchange{Holder: w.name, Lease: time.Hour}
		for i := range w.held {
			x.Settle = append(x.Settle, job.Outcome{ID: w.held[i].ID, Token: w.held[i].Token, Cause: job.Succeeded, To: job.Completed})
		}
		w.held = nil
		for _, q := range []store.Want{{Queue: "open"}, {Queue: "other"}, {Queue: "limited", Limit: crowdLimit}, {Queue: "rated", Rate: crowdRate},
			{Queue: "fresha"}, {Queue: "freshb"}} {
			q.Max, q.Kinds = 900, kinds
			x.Want = append(x.Want, q)
		}
		w.exchange(ctx, x)
		counts, err := s.Counts(ctx)
		c.must("counts", err)
		live := slices.ContainsFunc(counts, func(n store.Count) bool { return !n.State.Terminal() && n.N > 0 })
		if !live && step.Active == 0 {
			return
		}
		if c.t.Failed() {
			return
		}
	}
	c.t.Error("not everything has ended")
}

// judge compares what was noted with what is there.
func (c *crowd) judge(ctx context.Context) {
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
	c.history.Dump, c.history.Drained = d, true
	for _, v := range check.Check(&c.history) {
		if v.Invariant != check.AuditComplete { // one row tells of many retries
			t.Error(v)
		}
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
	t.Logf("%+v; problems: %q", check.Count(&c.history), report.Problems)
	c.deadlocks()
}

// limits demands that no queue has run more than its limit, nor started more than
// its rate allows.
func (c *crowd) limits(d *store.Dump) {
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
	if most["limited"] > crowdLimit || most["limited"] == 0 {
		c.t.Errorf("%d jobs of a queue with limit %d were running", most["limited"], crowdLimit)
	}
	slices.Sort(starts)
	burst := crowdRate.N // of one second
	for i := range starts {
		for j := i; j < len(starts); j++ {
			window := starts[j].Sub(starts[i])
			if allowed := burst + int(window*time.Duration(crowdRate.N)/crowdRate.Per) + 1; j-i+1 > allowed {
				c.t.Fatalf("%d starts in %s of a queue with rate %d per %s", j-i+1, window, crowdRate.N, crowdRate.Per)
			}
		}
	}
	if len(starts) == 0 {
		c.t.Error("nothing has started in the queue with a rate")
	}
}

// deadlocks demands that the server has had to resolve none: a transaction that is
// run again goes unnoticed else. Connections tell what they know when they end.
func (c *crowd) deadlocks() {
	conn := connected(c.t, c.dsn)
	eventually(c.t, "the stores' connections are gone", func() bool {
		return numberOf(c.t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`) == 1
	})
	if n := numberOf(c.t, conn, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		c.t.Errorf("%d deadlocks", n)
	}
}
