package engine

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// returnGrace is the time that a handler has to return after its subprocesses were
	// killed. After that the run ends without the handler.
	returnGrace = time.Second
	// rescueLimit is the highest number of runs that one rescue call ends.
	rescueLimit = 500
	// rescueGap is the shortest time between two rescues, unless more runs wait to be
	// rescued. Without it, an expired lease on a row that another transaction has locked
	// would cause one rescue after another.
	rescueGap = time.Second
	// rescueSpread is the longest random delay of a rescue after the end of the earliest
	// lease. It spreads the rescues of the processes, which all know when that lease ends.
	rescueSpread = 500 * time.Millisecond
	// signalsGap is the shortest time between two reads of the signals.
	signalsGap = 25 * time.Millisecond
	// progressGap is the shortest time between two writes of progress.
	progressGap = time.Second
	// wakeGap is the time until the next step after a step that could not do everything.
	wakeGap = time.Millisecond
)

// Core makes all decisions of an engine, without goroutines, a clock or I/O. Step takes the
// time and the events, and returns the actions. Times are durations since an origin that
// the caller chooses.
type Core struct {
	cfg    Config
	queues []*queue
	kinds  []*kind

	queueOf map[string]*queue
	kindOf  map[string]*kind

	tasks []*Task // tasks are all runs whose leases this process holds, in any order.

	// These fields are about requesting jobs.
	more     bool          // more is true when there may be new jobs or new room for jobs.
	dueAt    time.Duration // dueAt is when the earliest known job becomes due.
	askedAt  time.Duration // askedAt is when jobs were last requested.
	turn     int           // turn is the index of the queue that requests first.
	dry      int           // dry counts exchanges in a row that wrote nothing and brought no job.
	skipped  bool          // skipped is true when a queue could not request a kind.
	trip     average       // trip is the average duration of an exchange.
	pending  []*Task       // pending are the tasks whose outcomes wait to be written, oldest first.
	flying   []*Task       // flying are the tasks whose outcomes are in the exchange under way.
	singly   int           // singly is the number of outcomes that must still be written one by one.
	request  store.Exchange
	exchange call

	late late

	// These fields are about leases.
	sweepAt    time.Duration // sweepAt is when a task must be checked next.
	beatAt     time.Duration // beatAt is when a task needs its next heartbeat.
	progressAt time.Duration // progressAt is the earliest time of the next write of progress.
	news       int           // news is the number of tasks with progress to write.
	beating    []*Task       // beating are the tasks in the heartbeat under way.
	beat       call

	rescue, signals, declare call
	// troubledAt is the time since when calls have been failing. It is never if no call
	// fails.
	troubledAt time.Duration

	stop    stopPhase
	graceAt time.Duration // graceAt is the end of the grace time.
	giveUp  time.Duration // giveUp is when the last attempts to write end. It is 0 before they begin.
	handed  int           // handed counts the started runs that the stop handed back.
	unsaved int           // unsaved counts the outcomes that could not be written at the stop.

	out Actions
}

// call is the state of one kind of store call. At most one such call is under way.
type call struct {
	busy   bool
	sentAt time.Duration
	at     time.Duration // at is the earliest time of the next call.
	fails  int           // fails counts the failures in a row.
}

func (k *call) send(now time.Duration) {
	k.busy = true
	k.sentAt = now
}

// NewCore returns the core of an engine, or an error that lists all problems of the
// configuration.
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

// Step takes the events and returns the actions that result from them.
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

// Idle reports whether no job is running, buffered or being written, and whether this
// process knows of no job that it could claim.
func (c *Core) Idle() bool {
	return len(c.tasks) == 0 && !c.exchange.busy && !c.wantsMore()
}

func (c *Core) wantsMore() bool { return c.more && c.stop == serving && c.hasRoom() }

// sendRest sends the calls that depend only on the time.
func (c *Core) sendRest(now time.Duration) {
	if !c.declare.busy && now >= c.declare.at {
		c.declare.send(now)
		c.out.Declare = true
	}
	if !c.signals.busy && now >= c.signals.at {
		c.signals.send(now)
		c.signals.at = never // The signals are not read again before the answer or a notification comes.
		c.out.Signals = true
	}
	if now >= c.rescueAt() {
		c.rescue.send(now)
		c.out.Rescue = rescueLimit
	}
}

// rescueAt returns when the next rescue is due. After an outage, the outcomes of this
// process are written first: their leases may have ended, and those jobs must not run
// again. Late outcomes delay a rescue by one lease at most.
func (c *Core) rescueAt() time.Duration {
	if c.rescue.busy || c.stop != serving || c.exchange.fails > 0 {
		return never
	}
	if c.late.since < never {
		return max(c.rescue.at, c.late.since+c.cfg.Lease)
	}
	return c.rescue.at
}

// nextWake returns the time of the next step.
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
	// The earliest lease usually belongs to this process, which extends it before the
	// rescue.
	case e.Next < never-now-rescueSpread:
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

// cancel stops a task that a person has cancelled.
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
