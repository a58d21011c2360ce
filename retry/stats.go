package retry

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats are the counts of one operation since its strategy was made.
type Stats struct {
	Operation    string
	Calls        int64 // number of calls that have ended
	Sends        int64 // number of sends in these calls, as counted by transports; without such a transport, one for each attempt
	Retried      int64 // number of calls that needed more than one attempt
	Recovered    int64 // number of retried calls that succeeded
	Exhausted    int64 // number of calls that ended without success and without a hand-over, although waiting might have helped
	HandedOver   int64 // number of calls that ran out of retries and handed their job over
	FailedFast   int64 // number of calls that ended because waiting cannot help
	Cancelled    int64 // number of calls whose caller ended them
	Suppressed   int64 // number of calls that were made only once because an outer call retries
	Unclassified int64 // number of failures with an unknown error
	// AddedP95 is the 95th percentile of the time from the first failure of a retried
	// call to its end, rounded up to a power of two of milliseconds.
	AddedP95 time.Duration
}

// Stats returns the counts of the strategy's operation. They are read one after the other, not
// atomically.
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
	first atomic.Int64 // number of calls that succeeded at the first attempt with one send

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
