package memory

import (
	"cmp"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The lengths of the time units for which deaths are counted: minutes and hours.
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

// countDead adds the given number to one counter: that of the dead letters with the same status,
// reason, class, kind and queue as the dead letter e.
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
