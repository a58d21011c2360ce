package selfbench

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram has 32 buckets for each doubling of a duration. So a value read from it is at
// most 1/32 above the value that was added. Durations are counted in microseconds, up to
// 2^36 µs (19 hours).
const (
	histogramFine    = 5
	histogramOctaves = 36 - histogramFine
	histogramBuckets = (histogramOctaves + 1) << histogramFine
)

// histogram counts durations. Adding a duration takes nanoseconds and is safe for
// concurrent use.
type histogram struct {
	counts [histogramBuckets]atomic.Int64
}

func (h *histogram) add(d time.Duration) { h.counts[bucketOf(d)].Add(1) }

// bucketOf returns the number of the bucket of a duration.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	octave := max(bits.Len64(us)-histogramFine-1, 0)
	return min(octave<<histogramFine+int(us>>octave), histogramBuckets-1)
}

// bucketEnd returns the upper bound of bucket i: the smallest duration of the next bucket.
func bucketEnd(i int) time.Duration {
	octave := max(i>>histogramFine-1, 0)
	return time.Duration(i-octave<<histogramFine+1) << octave * time.Microsecond
}

// tally is a copy of the counts of a histogram, or the difference of two copies.
type tally [histogramBuckets]int64

func (h *histogram) read() *tally {
	var t tally
	for i := range t {
		t[i] = h.counts[i].Load()
	}
	return &t
}

// since returns the counts that were added after an earlier tally.
func (t *tally) since(earlier *tally) *tally {
	var out tally
	for i := range t {
		out[i] = t[i] - earlier[i]
	}
	return &out
}

func (t *tally) n() (n int64) {
	for _, c := range t {
		n += c
	}
	return n
}

// at returns the duration below which the given share of all durations lies. It returns 0 if there
// are no durations.
func (t *tally) at(share float64) time.Duration {
	rank := int64(share * float64(t.n()))
	for i, c := range t {
		if rank < c {
			return bucketEnd(i)
		}
		rank -= c
	}
	return 0
}
