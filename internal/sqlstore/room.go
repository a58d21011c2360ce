package sqlstore

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// kindRoom says how many more jobs a claim may take: of one kind, or of all kinds in one
// queue. It also says which limits apply.
type kindRoom struct {
	want     store.KindWant
	max      int
	limit    int // number of further jobs that may run in all processes; valid if limited is true
	limited  bool
	rate     store.Rate
	scope    string
	arrival  job.Micros
	rateRoom int
	started  int
}

func (k *kindRoom) open() bool {
	return k.max > 0 && (!k.limited || k.limit > 0) && (k.rate.Unlimited() || k.rateRoom > 0)
}

func (k *kindRoom) take() {
	k.max--
	k.limit--
	k.rateRoom--
	k.started++
}

// nextStart returns when a due job that a limit delays may start. The result is false if that
// time is not known, because the job waits for another run to end; a notification reports that
// end.
func (k *kindRoom) nextStart(now job.Micros) (job.Micros, bool) {
	if k.max <= 0 || k.limited && k.limit <= 0 {
		return 0, false
	}
	if k.rate.Unlimited() || k.rateRoom > 0 {
		return now, true
	}
	return k.rate.Next(k.rate.Take(k.arrival, now, k.started), now), true
}

func (t *Txn) room(want store.KindWant, scope string, limit int, rate store.Rate, running int64) *kindRoom {
	k := &kindRoom{want: want, max: want.Max, limited: limit > 0, limit: limit - int(running), rate: rate, scope: scope}
	if !rate.Unlimited() {
		k.arrival = t.cat.rates[scope]
		k.rateRoom = rate.Room(k.arrival, t.now)
	}
	return k
}

// left is the first job of its lane and priority that a claim has left unclaimed.
type left struct {
	at   job.Micros
	room *kindRoom
}

// due returns the time at which the job may be claimed, and whether this time is known.
func (l left) due(now job.Micros, all *kindRoom) (job.Micros, bool) {
	if l.at > now {
		return l.at, l.room.max > 0
	}
	own, ok1 := l.room.nextStart(now)
	queue, ok2 := all.nextStart(now)
	return max(own, queue), ok1 && ok2
}

// charge records in the rate limits the jobs that this exchange has claimed.
func (c *claimer) charge(k *kindRoom) error {
	if k.rate.Unlimited() || k.started == 0 {
		return nil
	}
	arrival := k.rate.Take(k.arrival, c.t.now, k.started)
	c.t.cat.rates[k.scope] = arrival
	_, err := c.t.exec(setRate, text(k.scope), num(arrival))
	return err
}
