package sqlstore

import (
	"testing"
	"time"
)

// One exchange ends members of 10,000 batches. Each member costs about as much as if there were
// 1,000 batches: the counts of a batch are found by a map. A search from the beginning would take ten times as
// long for each.
//
// part of: B3
func TestB3_Trap14_CountsOfManyBatchesAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	each := func(batches int64) time.Duration {
		best := time.Hour
		for range 20 {
			var txn Txn
			begin := time.Now()
			for id := range batches {
				txn.batchCount(id+1, batchDelta{total: 1})
				txn.batchCount(id+1, batchDelta{endings: endings{completed: 1}})
			}
			best = min(best, time.Since(begin)/time.Duration(batches))
		}
		return best
	}
	few, many := each(1_000), each(10_000)
	if many > 4*few+100*time.Nanosecond {
		t.Errorf("a member takes %s beside 10,000 batches and %s beside 1,000; want about the same", many, few)
	}
}
