package memory

import (
	"bytes"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// order is the state of one want, with its limits, while an exchange claims jobs for the want.
type order struct {
	left  int // number of jobs that may still be claimed
	limit int
	rate  store.Rate
	usage *usage
	kinds []*kindOrder
}

type kindOrder struct {
	store.KindWant
	left  int
	usage *usage
	lanes []*lane
}

// order prepares the claims for one want. Settings that people made for the queue replace the
// settings of the process.
func (t *tx) order(w *store.Want, q *store.Queue) *order {
	o := &order{left: w.Max, limit: w.Limit, rate: w.Rate, usage: usageOf(t.byQueue, w.Queue)}
	if q.Limit > 0 {
		o.limit = q.Limit
	}
	if !q.Rate.Unlimited() {
		o.rate = q.Rate
	}
	for _, k := range w.Kinds {
		o.kinds = append(o.kinds, &kindOrder{
			KindWant: k, left: k.Max, usage: usageOf(t.byKind, k.Kind), lanes: t.works[work{w.Queue, k.Kind}],
		})
	}
	return o
}

// limited reports whether a limit on the running jobs of all processes is reached, for the queue or
// for the kind.
func (o *order) limited(k *kindOrder) bool { return o.usage.full(o.limit) || k.usage.full(k.Limit) }

// start returns the earliest time at which the rates allow another job of the kind to start. The
// result is not before now.
func (o *order) start(k *kindOrder, now job.Micros) job.Micros {
	return max(o.usage.next(o.rate, now), k.usage.next(k.Rate, now))
}

// claims collects the claimed jobs of one exchange.
type claims struct {
	*tx
	holder string
	until  job.Micros // the time at which the leases of the new claims end
	answer *store.Exchanged
	bytes  int // bytes of the payloads that were claimed so far
}

// serve claims jobs for one want and records whether there may be more jobs.
func (c *claims) serve(w *store.Want) {
	q := c.queues[w.Queue]
	if q == nil || q.Mode == store.Paused || w.Max <= 0 {
		return
	}
	o := c.order(w, q)
	c.fill(o)
	if o.left == 0 || c.enough() {
		c.answer.Full = true
	} else if at, ok := c.nextDue(o); ok {
		c.answer.NextDue = min(c.answer.NextDue, at.Sub(c.now))
	}
}

// enough reports whether the exchange has reached its maximum of expired jobs or of
// payload bytes.
func (c *claims) enough() bool {
	return len(c.answer.Expired) >= store.ExpiredMax || c.bytes >= store.ClaimBytes
}

// fill claims due jobs for an order until no job is due or the limits allow no more jobs.
func (c *claims) fill(o *order) {
	for i := range job.PriorityMax {
		for o.left > 0 && !c.enough() {
			r, k := c.head(o, i)
			if r == nil {
				break
			}
			if r.Deadline == 0 || r.Deadline > c.now {
				c.claim(r, o, k)
				continue
			}
			c.expire(r)
		}
	}
}

// head returns the first due job with the given priority. It leaves out kinds that have
// reached a limit.
func (c *claims) head(o *order, priority int) (first *record, of *kindOrder) {
	for _, k := range o.kinds {
		if k.left <= 0 || o.limited(k) || o.start(k, c.now) > c.now {
			continue
		}
		for _, l := range k.lanes {
			r := l.ready[priority].first()
			if r != nil && r.RunAt <= c.now && (first == nil || dueBefore(r, first)) {
				first, of = r, k
			}
		}
	}
	return first, of
}

func (c *claims) claim(r *record, o *order, k *kindOrder) {
	from := r.State
	c.detach(r)
	r.State, r.Token, r.ClaimedAt = job.Running, r.Token+1, c.now
	r.LeaseUntil, r.Holder = c.until, c.holder
	r.crashMax, r.terms = int32(min(max(k.MaxCrashes, 1), job.MaxCrashes)), k.Terms
	c.attach(r)
	o.left--
	k.left--
	o.usage.start(o.rate, c.now)
	k.usage.start(k.Rate, c.now)
	c.started(r)
	c.transition(r, from, job.Claimed, "")
	c.answer.Claims = append(c.answer.Claims, claimOf(r))
	c.bytes += len(r.Payload)
}

func claimOf(r *record) job.Claim {
	return job.Claim{
		ID: r.ID, Token: r.Token, Kind: r.Kind, Queue: r.Queue, Priority: r.Priority,
		Life: r.Life, Counters: r.Counters, CreatedAt: r.CreatedAt, LifeAt: r.LifeAt,
		RunAt: r.RunAt, ClaimedAt: r.ClaimedAt, Deadline: r.Deadline,
		Owner: r.Owner, Correlation: r.Correlation, Batch: r.Batch,
		Attrs: bytes.Clone(r.Attrs), Override: bytes.Clone(r.Override), Memo: bytes.Clone(r.memo), Payload: bytes.Clone(r.Payload),
		Released: r.released,
	}
}

// expire ends a job whose deadline passed before it could start.
func (c *claims) expire(r *record) {
	from := r.State
	terms := r.decided()
	f := terms.Expiry(r.Kind)
	c.answered(r, false, job.Dead, &f)
	c.detach(r)
	c.makeDead(r, job.Expired, job.DeadlineOver, f.Class, f.Fingerprint, "")
	c.transition(r, from, job.Expired, f.Class)
	c.answer.Expired = append(c.answer.Expired, r.ID)
}

// nextDue returns the start time of the next job that the order may claim; see NextDue in
// store.Worker. The second result is false if there is no such job. In each lane and priority,
// nextDue examines only the first remaining job.
func (t *tx) nextDue(o *order) (next job.Micros, ok bool) {
	consider := func(at job.Micros) {
		if !ok || at < next {
			next, ok = at, true
		}
	}
	for _, k := range o.kinds {
		if k.left <= 0 {
			continue
		}
		for _, l := range k.lanes {
			for i := range l.ready {
				switch r := l.ready[i].first(); {
				case r == nil:
				case r.RunAt > t.now:
					consider(r.RunAt)
				case !o.limited(k):
					consider(o.start(k, t.now))
				}
			}
		}
	}
	return next, ok
}
