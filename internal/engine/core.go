package engine

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// returnGrace is the time that a handler has to return after its subprocesses were
	// killed. After this time, its run ends without it.
	returnGrace = time.Second
	// rescueLimit is the largest number of jobs that one call rescues. After a call that failed,
	// the next one rescues fewer: a slow store may not be able to rescue so many jobs within the
	// time limit of a call, and would otherwise never rescue any.
	rescueLimit = 500
	// rescueGap is the shortest time between two rescues, unless a rescue has reached its
	// limit. Without this gap, a rescue would be repeated at once if another transaction
	// has locked the row of a lease that is over.
	rescueGap = time.Second
	// rescueSpread is the largest random delay of a rescue after the end of the earliest
	// lease. All processes know when this lease ends, and should not all rescue at the same
	// time.
	rescueSpread = 500 * time.Millisecond
	// signalsGap is the shortest time between two reads of the store's signals, such as
	// cancellations of jobs.
	signalsGap = 25 * time.Millisecond
	// progressGap is the shortest time between two writes of progress.
	progressGap = time.Second
	// wakeGap is the time until the next step if a step could not do everything that is
	// due.
	wakeGap = time.Millisecond
)

// Core makes all decisions of an engine, without goroutines, clock or I/O. Step takes the
// time and the new events, and returns the actions to execute. Times are durations since an
// origin that the caller chooses.
type Core struct {
	cfg    Config
	queues []*queue
	kinds  []*kind

	queueOf map[string]*queue
	kindOf  map[string]*kind

	tasks []*Task // all runs whose leases this process holds, in any order

	// Fields for fetching jobs.
	more           bool          // whether the store may have new jobs, or a slot has become free
	dueAt          time.Duration // when the earliest known job becomes due
	askedAt        time.Duration // when the core last asked for jobs
	firstQueue     int           // index of the queue whose request for jobs comes first in the next exchange
	emptyExchanges int           // number of exchanges in a row that wrote no outcome and claimed no job
	skipped        bool          // whether the last exchange left out a kind for a queue, because the kind had no free workers
	roundTrip      average       // average duration of an exchange
	pending        []*Task       // outcomes to write, oldest first
	flying         []*Task       // outcomes in the exchange that is being made
	singly         int           // number of outcomes that still have to be written one by one
	request        store.Exchange
	exchange       call

	late late

	// Fields for leases.
	sweepAt    time.Duration // when the next check of a task is due
	beatAt     time.Duration // when the next heartbeat is due
	progressAt time.Duration // earliest time of the next write of progress
	news       int           // number of tasks whose new progress is not written yet
	beating    []*Task       // tasks in the heartbeat that is being made
	beat       call

	suspects suspects

	rescue, signals, declare call
	rescueMost               int // the largest number of jobs that the next call rescues
	presence                 presence
	sick                     sickness      // the trouble that prevents this process from starting any program; see sickness
	ill                      int           // number of present troubles: that of the process counts one, and so does that of each kind
	troubledAt               time.Duration // the time since which calls of the store have been failing; never if the store works
	outage                   bool          // whether a call other than a rescue is failing
	// calmAt is the time from which on rescues may run: one lease after the end of the last outage.
	// An outage may have ended just before the start, and living workers try again after at most
	// backoffMax; so the first value is backoffMax after the start, or one lease after the start if
	// a lease is shorter.
	calmAt time.Duration

	stop    stopPhase
	graceAt time.Duration // when the grace time of the stop ends
	giveUp  time.Duration // when the engine gives up writing outcomes; 0 until the last attempts begin
	handed  int           // number of started runs that the stop has handed back
	unsaved int           // number of outcomes that could not be written at the stop

	out Actions
}

// call is the schedule of one kind of store call. At most one call of a kind is made at a
// time.
type call struct {
	busy   bool
	sentAt time.Duration
	at     time.Duration // the earliest time of the next call of this kind
	fails  int           // the number of calls in a row that have failed
}

func (k *call) send(now time.Duration) {
	k.busy = true
	k.sentAt = now
}

// NewCore returns the core of an engine, or an error with all problems of the
// configuration.
func NewCore(cfg Config) (*Core, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Core{
		cfg: cfg, more: true, dueAt: never, sweepAt: never, beatAt: never, troubledAt: never, late: late{since: never},
		calmAt: min(cfg.Lease, backoffMax), rescueMost: rescueLimit,
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

// Step makes one step of the engine: it takes in events and returns the actions that the caller
// must execute.
func (c *Core) Step(now time.Duration, events ...Event) *Actions {
	c.out.reset()
	for _, e := range events {
		e.apply(c, now)
	}
	c.advanceStop(now)
	c.sweep(now)
	c.nurse(now)
	c.fill(now)
	c.sendBegin(now)
	c.sendExchange(now)
	c.sendLate(now)
	c.sendBeat(now)
	c.sendRest(now)
	c.sendSign(now)
	c.out.Stopped = c.done(now)
	if c.out.Wake = c.nextWake(); c.out.Wake <= now {
		c.out.Wake = now + wakeGap
	}
	return &c.out
}

// Idle reports whether the engine has nothing to do: no job is running, buffered or being
// written, and the core knows of no job that this process could claim.
func (c *Core) Idle() bool {
	return len(c.tasks) == 0 && !c.exchange.busy && !c.wantsMore()
}

func (c *Core) wantsMore() bool { return c.more && c.stop == serving && c.hasRoom() }

// sendRest makes those of the following calls that are due: the declaration of the queues, the
// read of the signals, and the rescue.
func (c *Core) sendRest(now time.Duration) {
	if !c.declare.busy && now >= c.declare.at {
		c.declare.send(now)
		c.out.Declare = true
	}
	if !c.signals.busy && now >= c.signals.at {
		c.signals.send(now)
		c.signals.at = never // the answer to this read, or a notification, sets the time of the next read
		c.out.Signals = true
	}
	if now >= c.rescueAt() {
		c.rescue.send(now)
		c.out.Rescue = c.rescueMost
	}
}

// rescueAt returns when the next rescue is due. During an outage of the store, the leases
// of living workers end, too. So a rescue waits until all other calls have worked for one
// lease: by then every living worker has extended its leases or written its outcomes. Late
// outcomes delay a rescue by one lease at most.
func (c *Core) rescueAt() time.Duration {
	if c.rescue.busy || c.stop != serving || c.outage {
		return never
	}
	at := max(c.rescue.at, c.calmAt)
	if c.late.since < never {
		at = max(at, c.late.since+c.cfg.Lease)
	}
	return at
}

// nextWake returns when the next step is due.
func (c *Core) nextWake() time.Duration {
	at := min(c.sweepAt, c.exchangeAt(), c.lateAt(), c.nextBeat(), c.beginAt(), c.rescueAt(), c.signAt(), c.stopAt(), c.nurseAt())
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
	most := c.rescueMost
	if !c.answered(&c.rescue, e.Err, now) {
		c.rescueMost = max(1, most/4)
		return
	}
	c.rescueMost = min(2*most, rescueLimit)
	c.rescue.at = c.rescue.sentAt + c.cfg.RescueInterval
	if e.Jobs >= most {
		c.rescue.at = now
		return
	}
	c.lookBy(now, e.Next)
}

// lookBy schedules a rescue for a time soon after the earliest lease expires, which is the
// given time from now. The rescue often finds nothing, because a living process has extended
// the lease.
func (c *Core) lookBy(now, next time.Duration) {
	if c.rescue.busy || c.rescue.fails > 0 || next >= never-now-rescueSpread {
		return
	}
	end := now + next + time.Duration(c.cfg.Rand()*float64(rescueSpread))
	c.rescue.at = min(c.rescue.at, max(end, c.rescue.sentAt+rescueGap))
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

// cancel stops the task of a job that a person has cancelled.
func (c *Core) cancel(t *Task, now time.Duration) {
	switch t.phase {
	case buffered:
		t.queue.drop(t)
		t.kind.buffered--
		t.settle(job.Cancel, job.Cancelled)
		c.pend(t)
	case beginning:
		c.leaveBegin(t)
		t.settle(job.Cancel, job.Cancelled)
		c.pend(t)
	case running:
		if !t.separate { // the process that has the run learns of the request as well
			c.end(t, ErrCancelled, now)
		}
	case ending, abandoned, finished:
	}
}
