package memory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The lengths of the time units for which deaths and ends of jobs are counted: minutes and
// hours.
const (
	minute = job.Micros(60_000_000)
	hour   = 60 * minute
)

// start returns the beginning of the time unit that contains the given time.
func start(at, unit job.Micros) job.Micros { return at - at%unit }

// trend returns the number of deaths in each of the last n units of time. The last number is
// for the current unit.
func trend(counts map[job.Micros]int64, now, unit job.Micros, n int) []int64 {
	last := start(now, unit)
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = counts[last-unit*job.Micros(n-1-i)]
	}
	return numbers
}

// countDead changes the counter of the dead letters that have the status, reason, class, kind
// and queue of the dead letter e. It adds the argument by to the counter.
func (t *tx) countDead(e *entry, by int64) {
	c := store.DeadCount{Status: e.Status, Reason: e.Reason, Class: e.Class, Kind: e.Kind, Queue: e.Queue}
	t.entries[c] += by
	if t.entries[c] == 0 {
		delete(t.entries, c)
	}
}

func (t *tx) deadCounts() []store.DeadCount {
	counts := make([]store.DeadCount, 0, len(t.entries))
	for c, n := range t.entries {
		c.N = n
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b store.DeadCount) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status))
	})
	return counts
}

// hour returns the statistics of the current hour.
func (t *tx) hour() *store.Hour {
	at := start(t.now, hour)
	h := t.hours[at]
	if h == nil {
		h = &store.Hour{At: at}
		t.hours[at] = h
	}
	return h
}

func (t *tx) sortedHours() []store.Hour {
	list := make([]store.Hour, 0, len(t.hours))
	for _, at := range slices.Sorted(maps.Keys(t.hours)) {
		list = append(list, *t.hours[at])
	}
	return list
}

// again reports whether the latest attempt of the job came after the first attempt of the
// job's first life. The counters already contain the latest attempt.
func (r *record) again() bool { return r.Counters.Attempts > 1 || r.Life > 1 }

// attempted adds an ended attempt to the statistics of the hour.
func (t *tx) attempted(r *record, cost int64) {
	if r.again() {
		h := t.hour()
		h.Retries++
		h.RetryCost += cost
	}
}

// completed counts a completed job in the statistics of the hour.
func (t *tx) completed(r *record) {
	h := t.hour()
	h.Completed++
	if r.again() {
		h.Recovered++
	}
}

// died counts a death in the statistics of the hour.
func (t *tx) died(r *record, cause job.Cause) {
	t.minutes[start(t.now, minute)]++
	h := t.hour()
	h.Dead++
	if cause == job.Failed && r.again() {
		h.Exhausted++
	}
}
