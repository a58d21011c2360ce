package engine

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// returnGrace is what a handler has to return after its subprocesses were
	// killed; then its run ends without it.
	returnGrace = time.Second
	// rescueLimit bounds one rescue call.
	rescueLimit = 500
	// rescueGap is the least time between two looks for leases that are over, unless
	// there is more to rescue: one may belong to a row that somebody holds.
	rescueGap = time.Second
	// rescueSpread is how much later than the end of the earliest lease a look may be,
	// at random: all processes know of that lease.
	rescueSpread = 500 * time.Millisecond
	// signalsGap keeps a busy store's notifications from becoming as many reads.
	signalsGap = 25 * time.Millisecond
	// progressGap is the least time between two writes of progress.
	progressGap = time.Second
	// wakeGap is how soon a step is repeated that left something due undone.
	wakeGap = time.Millisecond
)

// Core decides everything that an engine does. It has no goroutine and no
// clock and does no I/O: Step takes the time and what has happened and returns
// what is to be done. Times are durations since an origin of the caller's.
type Core struct {
	cfg    Config
	queues []*queue
	kinds  []*kind

	queueOf map[string]*queue
	kindOf  map[string]*kind

	tasks []*Task // every run whose lease is ours, in no order

	// Fetching.
	more     bool          // there may be jobs for us, or there is new room
	dueAt    time.Duration // when the earliest job becomes due, as far as known
	askedAt  time.Duration // when jobs were last asked for
	turn     int           // the queue that asks first
	dry      int           // exchanges in a row that neither wrote nor brought anything
	skipped  bool          // a queue did not get to ask for a kind
	trip     average       // of an exchange
	pending  []*Task       // outcomes to write, oldest first
	flying   []*Task       // outcomes in the exchange under way
	singly   int           // so many outcomes are to be written one by one
	request  store.Exchange
	exchange call

	late late

	// Leases.
	sweepAt    time.Duration // no task needs a look before
	beatAt     time.Duration // no task needs a heartbeat before
	progressAt time.Duration // no progress is written before
	news       int           // tasks with progress to write
	beating    []*Task       // in the heartbeat under way
	beat       call

	rescue, signals, declare call
	troubledAt               time.Duration // since when some call has been failing; never when none is

	stop    stopPhase
	graceAt time.Duration // end of the grace time
	giveUp  time.Duration // end of the last attempts to write; 0 before they began
	handed  int           // started runs handed back by the stop
	unsaved int           // outcomes given up

	out Actions
}

// call is the schedule of one kind of store call. At most one is under way.
type call struct {
	busy   bool
	sentAt time.Duration
	at     time.Duration // not before
	fails  int           // in a row
}

func (k *call) send(now time.Duration) {
	k.busy = true
	k.sentAt = now
}

// NewCore returns the core of an engine, or every problem of its configuration.
func NewCore(cfg Config) (*Core, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Core{
		cfg: cfg, more: true, dueAt: never, sweepAt: never, beatAt: never, troubledAt: never, late: late{since: never},
		queueOf: map[string]*queue{}, kindOf: map[string]*kind{},
	}
	for i := range cfg.Kinds {
		k := &kind{Kind: &cfg.Kinds[i], index: i}
		c.kinds = append(c.kinds, k)
		c.kindOf[k.Name] = k
	}
	for _, q := range cfg.Queues {
		q := &queue{Queue: q, workers: q.Workers, asked: make([]int, len(c.kinds))}
		c.queues = append(c.queues, q)
		c.queueOf[q.Name] = q
	}
	return c, nil
}

// Step takes in what has happened and returns what is to be done.
func (c *Core) Step(now time.Duration, events ...Event) *Actions {
	c.out.reset()
	for _, e := range events {
		e.apply(c, now)
	}
	c.advanceStop(now)
	c.sweep(now)
	c.fill(now)
	c.sendExchange(now)
	c.sendLate(now)
	c.sendBeat(now)
	c.sendRest(now)
	c.out.Stopped = c.done(now)
	if c.out.Wake = c.nextWake(); c.out.Wake <= now {
		c.out.Wake = now + wakeGap
	}
	return &c.out
}

// Idle reports whether nothing is running, buffered or being written, and
// nothing is known to be waiting for this process.
func (c *Core) Idle() bool {
	return len(c.tasks) == 0 && !c.exchange.busy && !c.wantsMore()
}

func (c *Core) wantsMore() bool { return c.more && c.stop == serving && c.hasRoom() }

// sendRest sends the calls that are due by the clock alone.
func (c *Core) sendRest(now time.Duration) {
	if !c.declare.busy && now >= c.declare.at {
		c.declare.send(now)
		c.out.Declare = true
	}
	if !c.signals.busy && now >= c.signals.at {
		c.signals.send(now)
		c.signals.at = never // unless a wake-up comes meanwhile
		c.out.Signals = true
	}
	if now >= c.rescueAt() {
		c.rescue.send(now)
		c.out.Rescue = rescueLimit
	}
}

// rescueAt returns when to rescue next. After an outage our own outcomes go
// first: their leases may be over, and nobody else need run those jobs again. Those
// that are late hold it up for a lease, not for as long as somebody's transaction.
func (c *Core) rescueAt() time.Duration {
	if c.rescue.busy || c.stop != serving || c.exchange.fails > 0 {
		return never
	}
	if c.late.since < never {
		return max(c.rescue.at, c.late.since+c.cfg.Lease)
	}
	return c.rescue.at
}

// nextWake returns when the core has to be asked again.
func (c *Core) nextWake() time.Duration {
	at := min(c.sweepAt, c.exchangeAt(), c.lateAt(), c.nextBeat(), c.rescueAt(), c.stopAt())
	for _, k := range []*call{&c.declare, &c.signals} {
		if !k.busy {
			at = min(at, k.at)
		}
	}
	return at
}

func (Woken) apply(c *Core, now time.Duration) {
	c.more = true
	c.signals.at = min(c.signals.at, max(now, c.signals.sentAt+signalsGap))
}

func (e Declared) apply(c *Core, now time.Duration) {
	if c.answered(&c.declare, e.Err, now) {
		c.declare.at = never
	}
}

func (e Rescued) apply(c *Core, now time.Duration) {
	if !c.answered(&c.rescue, e.Err, now) {
		return
	}
	c.rescue.at = c.rescue.sentAt + c.cfg.RescueInterval
	switch {
	case e.Jobs >= rescueLimit:
		c.rescue.at = now
	case e.Next < never-now-rescueSpread: // as a rule one of our own, which will have been extended
		end := now + e.Next + time.Duration(c.cfg.Rand()*float64(rescueSpread))
		c.rescue.at = min(c.rescue.at, max(end, c.rescue.sentAt+rescueGap))
	}
}

func (e SignalsRead) apply(c *Core, now time.Duration) {
	if !c.answered(&c.signals, e.Err, now) {
		return
	}
	c.signals.at = min(c.signals.at, now+c.cfg.Poll)
	for _, run := range e.Signals.Cancel {
		i := slices.IndexFunc(c.tasks, func(t *Task) bool { return t.name() == run })
		if i >= 0 {
			c.cancel(c.tasks[i], now)
		}
	}
	for _, q := range c.queues {
		q.set(c, e.Signals.Queues)
	}
}

// cancel stops a task because a person asked for it.
func (c *Core) cancel(t *Task, now time.Duration) {
	switch t.phase {
	case buffered:
		t.queue.drop(t)
		t.kind.buffered--
		t.settle(job.Cancel, job.Cancelled)
		c.pend(t)
	case running:
		c.end(t, ErrCancelled, now)
	case ending, abandoned, finished:
	}
}
