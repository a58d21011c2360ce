package storetest

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func limitPromises() []promise {
	return []promise{
		{"Q7_QueueLimitHoldsOverAllProcesses", queueLimitHolds},
		{"Q7_KindLimitHoldsOverAllQueues", kindLimitHolds},
		{"Q7_PersonsLimitWins", personsLimitWins},
		{"Q7_HeldByLimitIsNotDue", heldByLimitIsNotDue},
		{"Q7_QueueRate", queueRate},
		{"Q7_KindRate", kindRate},
		{"Q7_RateHoldsInEverySecond", rateHoldsInEverySecond},
		{"Q7_PersonsRateWins", personsRateWins},
		{"Q7_HeldByRateIsDueAtTheNextStart", heldByRateIsDueAtTheNextStart},
	}
}

func (r *rig) addMany(n int, options ...func(*job.New)) {
	for range n {
		r.add(options...)
	}
}

// claims claims jobs for the process with the given holder name. It returns the number of claimed
// jobs.
func (r *rig) claims(holder string, wants ...store.Want) int {
	return len(r.exchange(store.Exchange{Holder: holder, Want: wants}).Claims)
}

// proves: Q7
func queueLimitHolds(r *rig) {
	r.addMany(9)
	w := want(9, func(w *store.Want) { w.Limit = 3 })
	first := r.take(func(w *store.Want) { w.Limit = 3 })
	same(r, "claims", r.claims("a", w), 2)
	same(r, "claims over the limit", r.claims("b", w), 0)
	r.end(failed(first, "NetworkTimeout", time.Hour))
	same(r, "claims", r.claims("b", w), 1)
	same(r, "claims under no limit", r.claims("c", want(2)), 2)
	same(r, "claims over the limit", r.claims("b", w), 0)
	r.clock.Advance(lease) // a run that has lost its lease does not count in the limit any more
	r.rescue(4)
	same(r, "claims", r.claims("b", w), 2)
}

// proves: Q7
func kindLimitHolds(r *rig) {
	r.addMany(3, func(n *job.New) { n.Queue = "a" })
	r.addMany(3, func(n *job.New) { n.Queue = "b" })
	r.addMany(2, func(n *job.New) { n.Queue, n.Kind = "b", "free" })
	in := func(q string) store.Want {
		return store.Want{Queue: q, Max: 9, Kinds: []store.KindWant{
			{Kind: kind, Max: 9, MaxCrashes: 1, Limit: 4}, {Kind: "free", Max: 9, MaxCrashes: 1},
		}}
	}
	same(r, "claims", r.claims("x", in("a")), 3)
	same(r, "claims", r.claims("y", in("b")), 1+2)
	same(r, "claims over the limit", r.claims("z", in("b"), in("a")), 0)
}

// proves: Q7
func personsLimitWins(r *rig) {
	r.addMany(9)
	w := want(9, func(w *store.Want) { w.Limit = 1 })
	r.set(store.QueueChange{Limit: new(2)})
	same(r, "claims under a person's wider limit", r.claims("a", w), 2)
	r.set(store.QueueChange{Limit: new(3)})
	same(r, "claims", r.claims("a", want(9)), 1)
	r.set(store.QueueChange{Limit: new(0)})
	same(r, "claims with the limit taken back", r.claims("a", w), 0)
	same(r, "claims with the limit taken back", r.claims("a", want(9)), 6)
}

// proves: Q7
func heldByLimitIsNotDue(r *rig) {
	r.addMany(2)
	w := want(9, func(w *store.Want) { w.Limit = 1 })
	x := r.exchange(store.Exchange{Want: []store.Want{w}})
	same(r, "claims and due", []any{len(x.Claims), x.NextDue}, []any{1, store.Never})
}

// proves: Q7
//
// With a rate of six per minute, all processes together start one job every ten seconds.
func queueRate(r *rig) {
	r.addMany(9)
	w := want(9, func(w *store.Want) { w.Rate = store.Rate{N: 6, Per: time.Minute} })
	same(r, "claims", r.claims("a", w), 1)
	r.clock.Advance(10*time.Second - time.Microsecond)
	same(r, "claims too early", r.claims("b", w), 0)
	r.clock.Advance(time.Microsecond)
	same(r, "claims", r.claims("b", w), 1)
	r.clock.Advance(time.Hour) // unused starts do not add up during a long pause
	same(r, "claims after a pause", r.claims("a", w), 1)

	// At a rate of five jobs per second, too, only one starts at once after a pause.
	r.addMany(9, func(n *job.New) { n.Queue = "fast" })
	w = want(9, func(w *store.Want) { w.Queue, w.Rate = "fast", store.Rate{N: 5, Per: time.Second} })
	same(r, "claims", r.claims("a", w), 1)
	r.clock.Advance(149 * time.Millisecond)
	same(r, "claims too early", r.claims("a", w), 0)
	r.clock.Advance(time.Millisecond) // a start may be 50 ms early
	same(r, "claims", r.claims("a", w), 1)
	r.clock.Advance(230 * time.Millisecond) // 30 ms late: the next start makes up for them
	same(r, "claims", r.claims("a", w), 1)
	r.clock.Advance(170 * time.Millisecond)
	same(r, "claims", r.claims("a", w), 1)
}

// Each worker asks every ten milliseconds. In any period of one second at most one job more than the rate
// starts, and at least 0.95 of the rate is sustained.
//
// proves: Q7
func rateHoldsInEverySecond(r *rig) {
	for _, n := range []int{1, 7, 20, 24, 100, 800} {
		q := fmt.Sprint("rate-", n)
		const seconds, step = 3, 10 * time.Millisecond
		r.addMany(n*(seconds+1), func(j *job.New) { j.Queue = q })
		w := want(60, func(w *store.Want) { w.Queue, w.Rate = q, store.Rate{N: n, Per: time.Second} })
		started := []int{}
		for range seconds * time.Second / step {
			started = append(started, r.claims("a", w))
			r.clock.Advance(step)
			most, all := 0, 0
			for i := max(0, len(started)-int(time.Second/step)-1); i < len(started); i++ {
				most += started[i]
			}
			if most > n+1 {
				r.fail("rate of %d/s: %d starts within a second, want at most %d", n, most, n+1)
			}
			for _, k := range started {
				all += k
			}
			if len(started) == int(seconds*time.Second/step) && float64(all) < 0.95*float64(n*seconds) {
				r.fail("rate of %d/s: %d starts in %d s, want at least 0.95 of the rate", n, all, seconds)
			}
		}
	}
}

// proves: Q7
func kindRate(r *rig) {
	r.addMany(3, func(n *job.New) { n.Queue = "a" })
	r.addMany(3, func(n *job.New) { n.Queue = "b" })
	r.addMany(1, func(n *job.New) { n.Queue, n.Kind = "b", "free" })
	in := func(q string) store.Want {
		return store.Want{Queue: q, Max: 9, Kinds: []store.KindWant{
			{Kind: kind, Max: 9, MaxCrashes: 1, Rate: store.Rate{N: 2, Per: time.Second}}, {Kind: "free", Max: 9, MaxCrashes: 1},
		}}
	}
	same(r, "claims", r.claims("x", in("a")), 1)
	same(r, "claims of the other kind", r.claims("y", in("b")), 1)
	r.clock.Advance(500 * time.Millisecond)
	same(r, "claims", r.claims("y", in("b"), in("a")), 1)
}

// proves: Q7
func personsRateWins(r *rig) {
	r.addMany(9)
	r.set(store.QueueChange{Rate: &store.Rate{N: 3, Per: time.Second}})
	w := want(9, func(w *store.Want) { w.Rate = store.Rate{N: 1, Per: time.Hour} })
	same(r, "claims under a person's wider rate", r.claims("a", w), 1)
	same(r, "claims", r.claims("a", want(9)), 0)
	r.set(store.QueueChange{Rate: &store.Rate{}})
	same(r, "claims with the rate taken back", r.claims("a", want(9)), 8)
}

// proves: Q7
func heldByRateIsDueAtTheNextStart(r *rig) {
	r.addMany(3)
	perMinute := func(n int) store.Rate { return store.Rate{N: n, Per: time.Minute} }
	due := func(w store.Want) time.Duration { return r.exchange(store.Exchange{Want: []store.Want{w}}).NextDue }

	w := want(9, func(w *store.Want) { w.Rate = perMinute(6) })
	same(r, "due after the first start", due(w), 10*time.Second)
	r.clock.Advance(4 * time.Second)
	same(r, "due", due(w), 6*time.Second)

	// If two rates apply to a job, it can start at the later of their start times.
	r.clock.Advance(6 * time.Second)
	w.Kinds[0].Rate = perMinute(2)
	same(r, "due", due(w), 30*time.Second)
	r.clock.Advance(29 * time.Second)
	same(r, "due", due(w), time.Second)

	// If a job becomes due only after the next start that the rate allows, NextDue is its due
	// time.
	r.clock.Advance(time.Second)
	same(r, "due with none left", due(w), store.Never)
	r.add(func(n *job.New) { n.RunAt = r.in(time.Hour) })
	same(r, "due", due(w), time.Hour)
}
