package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// part of: U3
func dueByMinute(r *rig) {
	due := func(minutes int) store.DueRetries {
		d, err := r.Due(ctx(), minutes)
		r.ok(err)
		return d
	}
	same(r, "due retries of an empty store", due(2), store.DueRetries{At: r.now(), Minutes: []int64{0, 0}})
	r.add(func(n *job.New) { n.RunAt = r.in(time.Minute) }) // a waiting job is no retry
	r.add()
	r.end(waits(r.take(), job.Snoozed, time.Minute)) // the job waits because of a snooze, so it is not a retry
	for _, delay := range []time.Duration{
		time.Microsecond, time.Minute, time.Minute + time.Microsecond, 90 * time.Second, 2 * time.Hour, 2*time.Hour + time.Microsecond, 0,
	} {
		r.add()
		r.end(failed(r.take(), "A", delay))
	}
	want := store.DueRetries{At: r.now(), Overdue: 1, Minutes: make([]int64, store.DueMinutesMax)}
	want.Minutes[0], want.Minutes[1], want.Minutes[119] = 2, 2, 1
	same(r, "due retries", due(store.DueMinutesMax), want)
	want.Minutes = want.Minutes[:1]
	same(r, "due retries of one minute", due(1), want)
	r.clock.Advance(time.Minute)
	same(r, "due retries a minute later", due(2), store.DueRetries{At: r.now(), Overdue: 3, Minutes: []int64{2, 0}})
}

// A minute with very many retries is counted up to a limit, and the minutes beside it are complete.
//
// part of: U3
func dueIsCapped(r *rig) {
	const n, few = store.DueCountMax + 300, 3
	jobs := make([]job.New, n+2*few)
	for i := range jobs {
		jobs[i] = r.newJob(func(j *job.New) { j.Priority = int8(1 + i%2) })
	}
	for some := range slices.Chunk(jobs, 1_000) {
		r.enqueue(some...)
		claims := r.claim(want(len(some)))
		outcomes := make([]job.Outcome, len(claims))
		for i, c := range claims {
			delay := 90 * time.Second // in the second minute
			switch {
			case c.ID < jobs[few].ID:
				delay = time.Minute
			case c.ID >= jobs[len(jobs)-few].ID:
				delay = 150 * time.Second
			}
			outcomes[i] = failed(c, "A", delay)
		}
		r.end(outcomes...)
	}
	got, err := r.Due(ctx(), 3)
	r.ok(err)
	same(r, "due retries", got, store.DueRetries{At: r.now(), Minutes: []int64{few, store.DueCountMax, few}, Capped: true})
}

// part of: Q7
func headsOfLanes(r *rig) {
	heads := func() []store.Head {
		h, err := r.Heads(ctx())
		r.ok(err)
		return h
	}
	same(r, "heads of an empty store", len(heads()), 0)
	at := func(q, k string, priority int8, in time.Duration) {
		r.add(func(n *job.New) {
			n.Queue, n.Kind, n.Priority, n.Deps, n.RunAt = q, k, priority, fmt.Sprint(priority), r.in(in)
		})
	}
	at("y", "a", 2, time.Hour)
	at("x", "b", 3, 0)
	at("x", "b", 1, 10*time.Second)
	at("x", "b", 4, -10*time.Second)
	at("x", "b", 4, -9*time.Second)
	at("x", "b", 2, 20*time.Second)
	at("x", "a", 2, 0)
	running := r.add(func(n *job.New) { n.Queue, n.Kind = "w", kind })
	r.takeID(running) // a running job is not ready
	r.set(store.QueueChange{Name: "x", Mode: new(store.Paused)})
	want := []store.Head{
		{Queue: "x", Kind: "a", Due: r.now()}, {Queue: "x", Kind: "b", Due: r.in(-10 * time.Second), Later: r.in(10 * time.Second)},
		{Queue: "y", Kind: "a", Later: r.in(time.Hour)},
	}
	same(r, "heads", heads(), want)
	r.clock.Advance(10 * time.Second)
	want[1].Later = r.in(10 * time.Second)
	same(r, "heads later", heads(), want)
}

// The heads have the states of the rates, which give the time of the next start.
//
// part of: Q7
func headsHaveTheRates(r *rig) {
	slow, kindRate := store.Rate{N: 1, Per: time.Minute}, store.Rate{N: 1, Per: time.Hour}
	for range 3 {
		r.add()
	}
	before, err := r.Heads(ctx())
	r.ok(err)
	same(r, "states of rates that were never used", before[0], store.Head{Queue: queue, Kind: kind, Due: r.now()})
	r.clock.Advance(time.Second)
	x, err := r.Exchange(ctx(), store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{
		{Queue: queue, Max: 9, Rate: slow, Kinds: []store.KindWant{{Kind: kind, Max: 9, Rate: kindRate}}}}})
	r.ok(err)
	same(r, "claims", len(x.Claims), 1)
	heads, err := r.Heads(ctx())
	r.ok(err)
	same(r, "next starts of the queue and of the kind", []job.Micros{slow.Next(heads[0].QueueArrival, r.now()), kindRate.Next(heads[0].KindArrival, r.now())},
		[]job.Micros{r.in(time.Minute), r.in(time.Hour)})
}

// readFigures reads three kinds of figures with random queries: series, retries by their due times,
// and the first jobs of lanes.
func (d *duel) readFigures() {
	q := store.SeriesQuery{
		Step:  pick(d.t, "step", time.Minute, 0, 5*time.Minute, time.Hour, 3*time.Hour, 24*time.Hour, time.Second),
		Queue: pick(d.t, "queue", "", "", "x", "y"), Kind: pick(d.t, "kind", "", "", "a", "b"),
		By: pick(d.t, "by", "", store.ByQueue, store.ByKind, store.ByClass, "owner"),
	}
	if chance(d.t, "since", 2) {
		q.Since = d.now().Add(-d.tick("before") * 3)
	}
	if chance(d.t, "until", 4) {
		q.Until = d.now().Add(d.tick("after") - 10*time.Minute)
	}
	d.ask("Series", func(s store.Store) (any, error) { return s.Series(ctx(), q) })
	minutes := pick(d.t, "minutes", 2, 60, store.DueMinutesMax, 0)
	d.ask("Due", func(s store.Store) (any, error) { return s.Due(ctx(), minutes) })
	d.ask("Heads", func(s store.Store) (any, error) { return s.Heads(ctx()) })
}
