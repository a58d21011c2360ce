package memory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The lengths of the time units by which deaths and ends of jobs are counted.
const (
	minute = job.Micros(60_000_000)
	hour   = 60 * minute
)

// start returns the beginning of the unit that contains a time.
func start(at, unit job.Micros) job.Micros { return at - at%unit }

// trend returns the numbers of the last n units. The current unit comes last.
func trend(counts map[job.Micros]int64, now, unit job.Micros, n int) []int64 {
	last := start(now, unit)
	numbers := make([]int64, n)
	for i := range numbers {
		numbers[i] = counts[last-unit*job.Micros(n-1-i)]
	}
	return numbers
}

// countDead adds by to the counter of dead letters that have the same values as an
// entry now.
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

// again reports whether the current or last attempt of the job came after the first
// attempt of its first life. The attempt is counted already.
func (r *record) again() bool { return r.Counters.Attempts > 1 || r.Life > 1 }

// attempted counts an attempt that has ended.
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

// died counts a death in the statistics.
func (t *tx) died(r *record, cause job.Cause) {
	t.minutes[start(t.now, minute)]++
	h := t.hour()
	h.Dead++
	if cause == job.Failed && r.again() {
		h.Exhausted++
	}
}
