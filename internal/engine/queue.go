package engine

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// queue is the state of a queue in this process.
type queue struct {
	Queue
	workers int // the number of slots; each slot is for one running job
	paused  bool
	busy    int     // the number of slots that are taken
	buffer  []*Task // the tasks that are claimed ahead, the oldest first
	runs    average // the average duration of a run of the queue

	asked []int // for each kind: how many requested jobs the store did not return, or notAsked
	wants []store.KindWant
}

// kind is the state of a kind of job in this process.
type kind struct {
	*Kind
	index          int // the index of the kind in Core.kinds
	busy, buffered int
	runs           average // the average duration of a run of the kind
	left           int     // number of further jobs of the kind that the next exchange may request
	sick           sickness
}

// notAsked marks a kind for which an exchange asked for no jobs.
const notAsked = -1

// average is an exponentially weighted mean of durations; 0 means that nothing was
// measured.
type average time.Duration

// averageWeight is the inverse of the weight of a new value in the average.
const averageWeight = 8

func (a *average) add(d time.Duration) {
	d = max(d, 1)
	if *a == 0 {
		*a = average(d)
		return
	}
	*a += (average(d) - *a) / averageWeight
}

// aheadMin is how many jobs a queue with few workers may claim ahead.
const aheadMin = 256

// ahead returns how many jobs to claim in addition to jobs for the free slots, so that the
// slots have work during an exchange. It is the number of jobs that the slots can run
// during two exchanges, because the jobs of one exchange must last until the next one has
// ended. It is 0 if runs are longer than an exchange or were not measured yet.
func (c *Core) ahead(workers int, runs average) int {
	if runs == 0 || runs >= c.roundTrip {
		return 0
	}
	return min(2*workers*int(c.roundTrip/runs), aheadMax(workers))
}

func aheadMax(workers int) int { return max(workers, aheadMin) }

// room returns how many jobs the queue may request.
func (c *Core) room(q *queue) int {
	if q.paused || c.presence.quiet || c.suspects.task != nil {
		return 0
	}
	return q.workers + c.ahead(q.workers, q.runs) - q.busy - len(q.buffer)
}

// kindRoom returns how many jobs of a kind the process may request.
func (c *Core) kindRoom(k *kind) int {
	if k.Workers == 0 {
		return k.sick.room()
	}
	return min(k.sick.room(), k.Workers+c.ahead(k.Workers, k.runs)-k.busy-k.buffered)
}

// hasRoom reports whether this process could take another job.
func (c *Core) hasRoom() bool {
	return c.sick.room() > 0 && slices.ContainsFunc(c.queues, func(q *queue) bool { return c.room(q) > 0 }) &&
		slices.ContainsFunc(c.kinds, func(k *kind) bool { return c.kindRoom(k) > 0 })
}

// wants appends requests for as many jobs as there is room for. If a kind has a limit of
// workers, its room is divided between the queues. If there is less room than queues, the
// queues take turns.
func (c *Core) wants(into []store.Want) []store.Want {
	c.skipped = false
	for _, k := range c.kinds {
		k.left = c.kindRoom(k)
	}
	total := min(job.ExchangeMax, c.sick.room())
	for i := range c.queues {
		q := c.queues[(c.firstQueue+i)%len(c.queues)]
		for k := range q.asked {
			q.asked[k] = notAsked
		}
		room := min(c.room(q), total)
		if room <= 0 {
			c.skipped = c.skipped || c.sick.trouble != nil
			continue
		}
		kinds := c.kindWants(q, room, len(c.queues)-i)
		if len(kinds) == 0 {
			continue
		}
		total -= room
		into = append(into, store.Want{Queue: q.Name, Max: room, Kinds: kinds, Limit: q.Limit, Rate: q.Rate})
	}
	c.firstQueue = (c.firstQueue + 1) % len(c.queues)
	return into
}

func (c *Core) kindWants(q *queue, room, queues int) []store.KindWant {
	q.wants = q.wants[:0]
	for i, k := range c.kinds {
		share := room
		if k.limited() {
			share = min(room, (max(0, k.left)+queues-1)/queues)
			k.left -= share
		}
		if share == 0 {
			c.skipped = true
			continue
		}
		q.asked[i] = share
		_, maxCrashes := k.limits()
		want := store.KindWant{Kind: k.Name, Max: share, MaxCrashes: maxCrashes, Limit: k.Limit, Rate: k.Rate}
		if c.cfg.Terms != nil {
			want.Terms = c.cfg.Terms(k.Name)
		}
		q.wants = append(q.wants, want)
	}
	return q.wants
}

// accept adds the jobs that an exchange has claimed.
func (c *Core) accept(claims []job.Claim, now time.Duration) {
	tasks := make([]Task, len(claims))
	for i := range claims {
		t := &tasks[i]
		*t = Task{Claim: &claims[i], arrivedAt: now, sentAt: c.exchange.sentAt, confirmedAt: c.exchange.sentAt}
		c.add(t)
		c.sweepBy(c.staleAt(t))
		c.beatBy(c.beatDue(t))
		t.queue, t.kind = c.queueOf[t.Claim.Queue], c.kindOf[t.Claim.Kind]
		if t.queue == nil || t.kind == nil {
			c.note(Note{Kind: ClaimUnknown, Task: t})
			t.settle(job.Interrupted, job.Waiting)
			c.pend(t)
			continue
		}
		c.buffer(t, now)
		t.queue.asked[t.kind.index]--
		t.kind.buffered++
		c.trialBegins(t)
	}
}

// buffer adds a task to the buffer of its queue. A job that has crashed comes before the
// jobs that have not, because its claim counts one more crash if this process is killed.
func (c *Core) buffer(t *Task, now time.Duration) {
	q := t.queue
	at := len(q.buffer)
	if t.crashed() {
		at = slices.IndexFunc(q.buffer, func(b *Task) bool { return !b.crashed() })
		if at < 0 {
			at = len(q.buffer)
		}
	}
	q.buffer = slices.Insert(q.buffer, at, t)
	c.suspect(t, now)
}

// asksAgain reports whether the core must request jobs again at once. It must if the store has
// returned all requested jobs of a kind and there is room for more, or if a queue was left out of
// the last exchange.
func (c *Core) asksAgain() bool {
	for _, q := range c.queues {
		for i, k := range c.kinds {
			if k.limited() && q.asked[i] == 0 && c.kindRoom(k) > 0 {
				return true
			}
		}
	}
	return c.skipped && c.emptyExchanges < len(c.queues)
}

// fill starts buffered tasks as long as there are free slots, and hands back tasks that
// must not stay in the buffer any longer.
func (c *Core) fill(now time.Duration) {
	for _, q := range c.queues {
		if len(q.buffer) == 0 {
			continue
		}
		keep := q.buffer[:0]
		for _, t := range q.buffer {
			switch {
			case now >= c.staleAt(t):
				q.runs = max(q.runs, average(c.cfg.Lease/3)) // tasks have waited too long for a slot, so the runs take longer than the average says
				t.kind.runs = max(t.kind.runs, q.runs)
				c.handBack(t)
			case c.stop != serving || q.paused || c.presence.quiet || c.expired(t, now) || c.unfit(t):
				c.handBack(t)
			case c.suspects.task != nil && c.suspects.task != t:
				c.handBack(t)
			case c.suspects.task == t && !c.alone():
				keep = append(keep, t)
			case q.busy < q.workers && (t.kind.Workers == 0 || t.kind.busy < t.kind.Workers):
				switch {
				case t.lastChance() && t != c.suspects.task && c.separates(now):
					c.separate(t, now)
				case t.endsJob():
					c.begin(t)
				default:
					c.start(t, now)
				}
			case len(keep) >= aheadMax(q.workers):
				c.handBack(t)
			default:
				keep = append(keep, t)
			}
		}
		clear(q.buffer[len(keep):])
		q.buffer = keep
	}
}

// staleAt returns when a buffered task has waited too long for a slot. A suspect waits
// until the running tasks have ended, however long they run.
func (c *Core) staleAt(t *Task) time.Duration {
	if t == c.suspects.task {
		return c.lostAt(t)
	}
	return min(t.arrivedAt+c.cfg.Lease/3, c.lostAt(t))
}

// expired reports whether the deadline of a buffered task may have passed. ClaimedAt is the
// time at which the store began to claim the job, which is not before the exchange was sent.
func (c *Core) expired(t *Task, now time.Duration) bool {
	return t.Claim.Deadline > 0 && t.Claim.ClaimedAt.Add(now-t.sentAt) >= t.Claim.Deadline
}

// drop removes a task from the buffer.
func (q *queue) drop(t *Task) {
	q.buffer = slices.DeleteFunc(q.buffer, func(b *Task) bool { return b == t })
}

// set applies the settings that the store has for the queue.
func (q *queue) set(c *Core, settings []store.Queue) {
	workers, paused := q.Workers, false
	if i := slices.IndexFunc(settings, func(s store.Queue) bool { return s.Name == q.Name }); i >= 0 {
		paused = settings[i].Mode == store.Paused
		if settings[i].Workers > 0 {
			workers = min(settings[i].Workers, WorkersMax)
		}
	}
	if workers != q.workers || paused != q.paused {
		q.workers, q.paused = workers, paused
		c.more = true
	}
}
