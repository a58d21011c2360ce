package retry

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats are the counts of one operation since its strategy was made.
type Stats struct {
	Operation    string
	Calls        int64 // calls that have ended
	Sends        int64 // sends of these calls, as transports counted them, else one per attempt
	Retried      int64 // calls that needed more than one attempt
	Recovered    int64 // retried calls that succeeded
	Exhausted    int64 // calls that ended without success, although waiting might have helped
	HandedOver   int64 // calls that handed their job over instead
	FailedFast   int64 // calls that ended because waiting cannot help
	Cancelled    int64 // calls that their caller ended
	Suppressed   int64 // calls that were made once because a call around them retries
	Unclassified int64 // failures with an unknown error
	// AddedP95 is the time from the first failure to the end of the call that 95 % of
	// the retried calls did not exceed, rounded up to a power of two of milliseconds.
	AddedP95 time.Duration
}

// Stats returns the counts of the strategy's operation. They are not read atomically
// together.
func (p *Strategy) Stats() Stats {
	c := p.counters
	first := c.first.Load()
	return Stats{
		Operation: p.o.Operation, Calls: first + c.calls.Load(), Sends: first + c.sends.Load(),
		Retried: c.added.sum(), Recovered: c.recovered.Load(), Exhausted: c.exhausted.Load(), HandedOver: c.handedOver.Load(),
		FailedFast: c.failedFast.Load(), Cancelled: c.cancelled.Load(), Suppressed: c.suppressed.Load(),
		Unclassified: c.unclassified.Load(), AddedP95: c.added.quantile(0.95),
	}
}

type counters struct {
	first atomic.Int64 // calls that succeeded at once, and their sends

	calls, sends, recovered, exhausted, handedOver, failedFast, cancelled, suppressed, unclassified atomic.Int64

	added histogram
}

func (c *counters) retried(d time.Duration) { c.added[bucket(d)].Add(1) }

// histogram counts durations by powers of two of milliseconds.
type histogram [32]atomic.Int64

func bucket(d time.Duration) int {
	ms := uint64(max((d+time.Millisecond-1)/time.Millisecond, 0))
	if ms == 0 {
		return 0
	}
	return min(1+bits.Len64(ms-1), len(histogram{})-1)
}

func (h *histogram) sum() (n int64) {
	for i := range h {
		n += h[i].Load()
	}
	return n
}

// quantile returns the upper bound of the bucket that contains the quantile q.
func (h *histogram) quantile(q float64) time.Duration {
	all := h.sum()
	var n int64
	for i := range h {
		if n += h[i].Load(); n > 0 && float64(n) >= q*float64(all) {
			if i == 0 {
				return 0
			}
			return time.Millisecond << (i - 1)
		}
	}
	return 0
}
