package keeper

import (
	"slices"

	"github.com/redrive/redrive/store"
)

// Going counts the redrives that may still bring jobs to a worker that has nothing
// else to wait for. Before and after are the redrives as they were before and after
// it has found that no job lives that it would run. A redrive that goes on only when
// jobs have ended, and of which none has ended meanwhile, waits for jobs of others:
// its number is in waiting.
func Going(before, after []store.Redrive) (going int64, waiting []int64) {
	for i := range after {
		r := &after[i]
		if !r.State.Active() {
			continue
		}
		same := slices.ContainsFunc(before, func(b store.Redrive) bool { return b.ID == r.ID && numbersOf(&b) == numbersOf(r) })
		if same && r.AwaitsOutcomes() {
			waiting = append(waiting, r.ID)
		} else {
			going++
		}
	}
	return going, waiting
}

func numbersOf(r *store.Redrive) [5]int64 {
	return [...]int64{r.Released, r.Answered, r.Completed, r.Dead, r.Cancelled}
}
