package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func seriesPromises() []promise {
	return []promise{
		{"M6_SeriesByMinuteAndHour", seriesByMinuteAndHour},
		{"M4_SeriesByClass", seriesByClass},
		{"M4_RetriesByClass", retriesByClass},
		{"M4_CostOfAHandOver", costOfAHandOver},
		{"M6_SeriesByQueueAndKind", seriesByQueueAndKind},
		{"M6_EachAttemptIsCountedOnce", attemptsAreCountedOnce},
		{"M6_SeriesSumsTheFigures", seriesSumsTheFigures},
		{"M6_IdleTimeWritesNoFigures", idleWritesNoFigures},
		{"M6_FiguresGoAtTheirTime", figuresGo},
		{"X3_SeriesBounds", seriesBounds},
		{"U3_DueRetriesByMinute", dueByMinute},
		{"U3_DueIsCountedUpToALimit", dueIsCapped},
		{"Q7_HeadsOfLanes", headsOfLanes},
		{"Q7_HeadsHaveTheStatesOfRates", headsHaveTheRates},
	}
}

func (r *rig) series(q store.SeriesQuery) []store.Point {
	points, err := r.Series(ctx(), q)
	r.ok(err)
	return points
}

func (r *rig) storedFigures() []store.StoredFigures { return r.dump().Figures }

const us = 1_000_000 // microseconds in a second

// part of: M6
func seriesByMinuteAndHour(r *rig) {
	same(r, "series of an empty store", len(r.series(store.SeriesQuery{})), 0)
	r.add()
	r.add(func(n *job.New) { n.RunAt = r.in(30 * time.Second) })
	r.clock.Advance(40 * time.Second)
	claims := r.claim(want(2)) // one job has waited for 40 s, the other for 10 s
	r.clock.Advance(15 * time.Second)
	o := failed(claims[0], "A", 0)
	o.Cost = 5
	r.end(o, succeeded(claims[1]))
	r.clock.Advance(10 * time.Second) // the second minute of the figures begins here
	o = succeeded(r.take())           // the job of this run has waited for 10 s
	o.Cost = 7
	r.clock.Advance(time.Second)
	r.end(o)
	first := store.Figures{Enqueued: 2, Started: 2, Completed: 1, Failed: 1, Cost: 5, RunTime: 30 * us, WaitTime: 50 * us}
	second := store.Figures{Started: 1, Completed: 1, Recovered: 1, Retries: 1, RetryCost: 7, Cost: 7, RunTime: us, WaitTime: 10 * us}
	minutes := []store.Point{{At: r.start, Figures: first}, {At: r.start.Add(time.Minute), Figures: second}}
	same(r, "series by minute", r.series(store.SeriesQuery{}), minutes)
	both := first
	both.Add(&second)
	hour := []store.Point{{At: r.start, Figures: both}}
	same(r, "series by hour", r.series(store.SeriesQuery{Step: time.Hour}), hour)
	same(r, "series by two minutes", r.series(store.SeriesQuery{Step: 2 * time.Minute}), hour)
	same(r, "the first minute", r.series(store.SeriesQuery{Since: r.start, Until: r.start.Add(time.Minute)}), minutes[:1])
	same(r, "a part of the second minute", r.series(store.SeriesQuery{Since: r.now() - 1, Until: r.now()}), minutes[1:])
	same(r, "a time after now", len(r.series(store.SeriesQuery{Since: r.in(time.Hour)})), 0)

	r.clock.Advance(time.Hour)
	same(r, "series of the last 60 minutes", r.series(store.SeriesQuery{}), minutes[1:])
	same(r, "series since the start", r.series(store.SeriesQuery{Since: r.start}), minutes)
}

// proves: M4
func seriesByClass(r *rig) {
	for _, class := range []string{"A", "A", "B"} {
		r.add()
		r.end(failed(r.take(), class, time.Hour))
	}
	r.die("B")
	r.add()
	r.end(held(r.take())) // a run that a rule holds is not an attempt
	r.complete()
	got := r.series(store.SeriesQuery{By: store.ByClass})
	point := func(class string, failed, dead int64) store.Point {
		return store.Point{At: r.start, Name: class, Figures: store.Figures{Failed: failed, Dead: dead}}
	}
	same(r, "series by class", got, []store.Point{point("A", 2, 0), point("B", 2, 1), point("ManualReview", 0, 1)})
	same(r, "series by class of another queue", len(r.series(store.SeriesQuery{By: store.ByClass, Queue: "else"})), 0)
	same(r, "series by class of the queue", r.series(store.SeriesQuery{By: store.ByClass, Queue: queue, Kind: kind}), got)
}

// The figures by class show the results of the retries after the failures of a class, and their
// cost.
//
// proves: M4
func retriesByClass(r *rig) {
	end := func(o job.Outcome, cost int64, retried ...string) {
		o.Cost, o.Retried = cost, retried
		r.end(o)
	}
	id := r.add() // fails with A, then with B, and completes
	end(failed(r.takeID(id), "A", 0), 1)
	end(failed(r.takeID(id), "B", 0), 10, "A")
	end(succeeded(r.takeID(id)), 100, "B", "A")
	id = r.add() // fails with A, and dies of C
	end(failed(r.takeID(id), "A", 0), 1_000)
	end(died(r.takeID(id), "C", job.NonRetriable), 10_000, "A")
	r.ok(r.retry(id)) // the next life has not failed yet
	end(succeeded(r.takeID(id)), 100_000)
	point := func(class string, f store.Figures) store.Point {
		return store.Point{At: r.start, Name: class, Figures: f}
	}
	same(r, "retries by class", r.series(store.SeriesQuery{By: store.ByClass}), []store.Point{
		point("A", store.Figures{Failed: 2, Recovered: 1, Exhausted: 1, Retries: 2, RetryCost: 10_010}),
		point("B", store.Figures{Failed: 1, Recovered: 1, Retries: 1, RetryCost: 100}),
		point("C", store.Figures{Failed: 1, Dead: 1}),
	})
	o := succeeded(r.takeID(r.add()))
	o.Retried = []string{""}
	r.unchanged(func() { r.is(r.settle(o), store.ErrInvalid) })
}

// The cost of a run that hands its job over is counted, even if nothing else happens in its minute.
//
// proves: M4
func costOfAHandOver(r *rig) {
	r.add()
	c := r.take()
	at := r.start.Add(time.Minute)
	r.clock.Advance(time.Minute)
	o := waits(c, job.Deferred, time.Second)
	o.Failure, o.Cost = failed(c, "A", 0).Failure, 7
	r.end(o)
	got := r.series(store.SeriesQuery{Since: at, Until: at.Add(time.Minute)})
	same(r, "the minute of the hand-over", got, []store.Point{{At: at, Figures: store.Figures{Cost: 7}}})
	r.clock.Advance(time.Minute)
	c = r.take()
	r.clock.Advance(time.Minute)
	o = waits(c, job.Deferred, time.Second)
	o.Failure = failed(c, "A", 0).Failure
	r.end(o)
	same(r, "the minute of a hand-over without a cost", len(r.series(store.SeriesQuery{Since: r.now(), Until: r.in(time.Minute)})), 0)
}

// part of: M6
func seriesByQueueAndKind(r *rig) {
	for _, of := range [][2]string{{"x", "a"}, {"x", "b"}, {"y", "a"}, {"y", "a"}} {
		r.add(func(n *job.New) {
			n.Queue, n.Kind, n.Deps = of[0], of[1], "d"+fmt.Sprint(len(r.series(store.SeriesQuery{})))
		})
	}
	point := func(name string, n int64) store.Point {
		return store.Point{At: r.start, Name: name, Figures: store.Figures{Enqueued: n}}
	}
	same(r, "series by queue", r.series(store.SeriesQuery{By: store.ByQueue}), []store.Point{point("x", 2), point("y", 2)})
	same(r, "series by kind", r.series(store.SeriesQuery{By: store.ByKind}), []store.Point{point("a", 3), point("b", 1)})
	same(r, "series of a queue", r.series(store.SeriesQuery{Queue: "x"}), []store.Point{point("", 2)})
	same(r, "series of a kind by queue", r.series(store.SeriesQuery{Kind: "a", By: store.ByQueue}), []store.Point{point("x", 1), point("y", 2)})
	same(r, "series of an unknown queue", len(r.series(store.SeriesQuery{Queue: "z"})), 0)
}

// An attempt, a crash and the end of a job are counted once, even if the call is repeated. A
// refused call is not counted.
//
// proves: M6
func attemptsAreCountedOnce(r *rig) {
	r.add()
	c := r.take()
	for range 3 {
		r.end(failed(c, "A", 0))
	}
	c = r.take()
	r.clock.Advance(lease)
	r.rescue(10)
	r.rescue(10)
	r.is(r.settle(failed(c, "A", 0)), store.ErrLeaseLost)
	bad := succeeded(r.take())
	bad.Token++
	r.is(r.settle(bad), store.ErrLeaseLost)
	bad.Token--
	for range 2 {
		r.end(bad)
	}
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	r.ok(r.cancel(cancelled))
	n := r.newJob()
	r.enqueue(n)
	n.Repeat = true
	r.enqueue(n)
	r.refuse(store.ErrInvalid, r.newJob(), r.newJob(func(n *job.New) { n.Priority = 9 }))
	got := r.series(store.SeriesQuery{Step: time.Hour})
	same(r, "figures", got, []store.Point{{At: r.start, Figures: store.Figures{
		Enqueued: 3, Started: 3, Completed: 1, Recovered: 1, Failed: 1, Crashed: 1, Cancelled: 1, Retries: 1,
	}}})
}

// The points of every series are the sums of the stored figures that the query selects.
//
// part of: M6
func seriesSumsTheFigures(r *rig) {
	for i := range 40 {
		r.add(func(n *job.New) {
			n.Queue, n.Kind = string(rune('p'+i%3)), string(rune('a'+i%4))
			n.Deps = strings.Repeat("d", i%2)
		})
		w := store.Want{Queue: string(rune('p' + i%3)), Max: 1, Kinds: []store.KindWant{{Kind: string(rune('a' + i%4)), Max: 1, MaxCrashes: 1}}}
		for _, c := range r.claim(w) {
			switch i % 3 {
			case 0:
				r.end(failed(c, "C"+fmt.Sprint(i%5), time.Hour))
			case 1:
				r.end(succeeded(c))
			}
		}
		r.clock.Advance(time.Duration(i*7) * time.Minute / 3)
	}
	r.rescue(100)
	d := r.dump()
	for _, step := range []time.Duration{time.Minute, 7 * time.Minute, time.Hour, 24 * time.Hour} {
		for _, q := range []store.SeriesQuery{
			{}, {Queue: "p"}, {Kind: "b"}, {Queue: "q", Kind: "c"}, {By: store.ByQueue}, {By: store.ByKind}, {By: store.ByClass},
			{Queue: "p", By: store.ByKind}, {Kind: "a", By: store.ByQueue}, {Queue: "q", By: store.ByClass},
		} {
			q.Step, q.Since = step, r.start.Add(time.Hour)
			same(r, fmt.Sprintf("series of %+v", q), r.series(q), summed(d, &q))
		}
	}
}

// summed computes a series from the figures of a dump.
func summed(d *store.Dump, q *store.SeriesQuery) (points []store.Point) {
	unit := time.Minute
	if q.Step%time.Hour == 0 {
		unit = time.Hour
	}
	step := job.Micros(q.Step.Microseconds())
	for i := range d.Figures {
		f := &d.Figures[i]
		at := f.At - f.At%step
		since := q.Since - q.Since%step
		// Figures without a queue are the sums of all lanes, so they are not added to the figures
		// of single lanes.
		if f.Unit != unit || f.Queue == "" || f.At < since || q.Queue != "" && q.Queue != f.Queue || q.Kind != "" && q.Kind != f.Kind {
			continue
		}
		if q.By == store.ByClass {
			for _, c := range f.Classes {
				points = append(points, store.Point{At: at, Name: c.Class, Figures: store.Figures{Failed: c.Failed, Dead: c.Dead,
					Recovered: c.Recovered, Exhausted: c.Exhausted, Retries: c.Retries, RetryCost: c.RetryCost}})
			}
			continue
		}
		p := store.Point{At: at, Name: map[store.SeriesBy]string{store.ByQueue: f.Queue, store.ByKind: f.Kind}[q.By], Figures: f.Figures}
		p.Classes = nil
		points = append(points, p)
	}
	slices.SortFunc(points, func(a, b store.Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name)) })
	merged := points[:0]
	for _, p := range points {
		if n := len(merged); n > 0 && merged[n-1].At == p.At && merged[n-1].Name == p.Name {
			merged[n-1].Add(&p.Figures)
		} else {
			merged = append(merged, p)
		}
	}
	return merged
}

// part of: M6
func idleWritesNoFigures(r *rig) {
	r.complete()
	before := r.storedFigures()
	p := process("p", "1")
	for range 10 {
		r.clock.Advance(time.Minute)
		r.none()
		r.rescue(10)
		r.sweep(store.Retention{}, 10)
		r.present(p)
		_, err := r.Signals(ctx(), holder)
		r.ok(err)
	}
	same(r, "figures after ten minutes in which nothing happened", r.storedFigures(), before)
}

// part of: M6
func figuresGo(r *rig) {
	units := func() (n [2]int) { // the numbers of stored minutes and hours
		for _, f := range r.storedFigures() {
			switch {
			case f.Queue != "":
			case f.Unit == time.Minute:
				n[0]++
			default:
				n[1]++
			}
		}
		return n
	}
	r.removed = true
	const minutes = store.SweptFigures + 5
	for range minutes {
		r.add()
		r.clock.Advance(time.Minute)
	}
	same(r, "stored minutes and hours", units(), [2]int{minutes, 2})
	r.clock.Set(r.start.Time().Add(store.MinutesKept - time.Microsecond))
	r.sweep(store.Retention{}, 1)
	same(r, "stored minutes and hours just before the time", units(), [2]int{minutes, 2})
	same(r, "minutes of the series", len(r.series(store.SeriesQuery{Since: r.start})), minutes)
	r.clock.Advance(time.Microsecond)
	same(r, "minutes of the series at the time", len(r.series(store.SeriesQuery{Since: r.start})), minutes-1)
	r.sweep(store.Retention{}, 1)
	same(r, "stored minutes and hours at the time", units(), [2]int{minutes - 1, 2})
	r.clock.Advance(time.Hour + 5*time.Minute)
	swept, err := r.Sweep(ctx(), store.Retention{}, 1)
	r.ok(err)
	same(r, "a sweep has more to do", swept.More, true)
	same(r, "stored minutes and hours after one sweep", units(), [2]int{minutes - 1 - store.SweptFigures, 2})
	r.sweep(store.Retention{}, 1)
	same(r, "stored minutes and hours after all sweeps", units(), [2]int{0, 2})
	same(r, "jobs in the series by hour", r.series(store.SeriesQuery{Since: r.start, Step: time.Hour})[0].Enqueued, int64(60))
	r.clock.Set(r.start.Time().Add(store.HourRowsKept))
	r.sweep(store.Retention{}, 1)
	same(r, "stored minutes and hours after a year", units(), [2]int{0, 1})
	same(r, "hours of the series after a year", len(r.series(store.SeriesQuery{Since: r.start, Step: time.Hour})), 1)
}

// proves: X3
func seriesBounds(r *rig) {
	lanes := int(store.SeriesRowsMax/int64(store.MinutesKept/time.Minute)) + 1
	jobs := make([]job.New, lanes)
	for i := range jobs {
		jobs[i] = r.newJob(func(n *job.New) { n.Deps = fmt.Sprint(i) })
	}
	r.enqueue(jobs...)
	r.clock.Advance(store.MinutesKept)
	all := store.SeriesQuery{Since: r.start, By: store.ByKind}
	half := all
	half.Since = r.now().Add(-store.MinutesKept / 2)
	hours, total, other := all, all, all
	hours.Step, total.By, other.Queue = time.Hour, "", "else"
	for _, q := range []store.SeriesQuery{half, hours, total, other, {Since: 1, Until: 1 << 62}, {Step: store.SeriesStepMax}, {Queue: strings.Repeat("q", job.TextMax)}} {
		r.series(q)
	}
	for _, tt := range []struct {
		q    store.SeriesQuery
		want error
	}{
		{all, store.ErrTooLarge},
		{store.SeriesQuery{Since: -1}, store.ErrInvalid},
		{store.SeriesQuery{Until: -1}, store.ErrInvalid},
		{store.SeriesQuery{Since: 2, Until: 2}, store.ErrInvalid},
		{store.SeriesQuery{Step: time.Second}, store.ErrInvalid},
		{store.SeriesQuery{Step: -time.Minute}, store.ErrInvalid},
		{store.SeriesQuery{Step: 90 * time.Second}, store.ErrInvalid},
		{store.SeriesQuery{Step: store.SeriesStepMax + time.Minute}, store.ErrInvalid},
		{store.SeriesQuery{By: "owner"}, store.ErrInvalid},
		{store.SeriesQuery{Kind: strings.Repeat("k", job.TextMax+1)}, store.ErrTooLarge},
	} {
		if points, err := r.Series(ctx(), tt.q); err == nil {
			r.fail("series of %+v: got %d points, want the error %v", tt.q, len(points), tt.want)
		} else {
			r.is(err, tt.want)
		}
	}
	for _, minutes := range []int{-1, 0, store.DueMinutesMax + 1} {
		_, err := r.Due(ctx(), minutes)
		r.is(err, store.ErrInvalid)
	}
}
