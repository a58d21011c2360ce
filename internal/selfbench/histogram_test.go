package selfbench

import (
	"testing"
	"time"
)

func TestHistogramBucketsAreNarrowAndInOrder(t *testing.T) {
	t.Parallel()
	last := 0
	for d := time.Duration(0); d < 60*time.Hour; d += max(d/100, time.Microsecond) {
		i := bucketOf(d)
		if i < last || i > last+1 {
			t.Fatalf("the duration %s is in bucket %d, but a slightly shorter duration is in bucket %d; want the same or the next bucket", d, i, last)
		}
		last = i
		if i == histogramBuckets-1 {
			break
		}
		if end := bucketEnd(i); end <= d || end > d+d/32+time.Microsecond {
			t.Fatalf("the duration %s is in the bucket that ends at %s, but this bucket does not contain the duration or is too wide", d, end)
		}
	}
	if last != histogramBuckets-1 {
		t.Errorf("the longest tested duration is in bucket %d, want the last bucket, %d", last, histogramBuckets-1)
	}
	for _, d := range []time.Duration{-time.Second, 0} {
		if i := bucketOf(d); i != 0 {
			t.Errorf("the duration %s is in bucket %d, want the first bucket", d, i)
		}
	}
	if i := bucketOf(1<<63 - 1); i != histogramBuckets-1 {
		t.Errorf("the longest duration is in bucket %d of %d, want the last", i, histogramBuckets)
	}
}

func TestHistogramReturnsShares(t *testing.T) {
	t.Parallel()
	var h histogram
	if d := h.read().at(0.99); d != 0 {
		t.Errorf("an empty tally returned the duration %s for a share, want 0", d)
	}
	for i := range 1000 { // add the durations from 1 ms to 1 s
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	first := h.read()
	for range 10 {
		h.add(time.Minute)
	}
	for _, tt := range []struct {
		of    *tally
		n     int64
		share float64
		want  time.Duration
	}{
		{first, 1000, 0.5, 501 * time.Millisecond}, {first, 1000, 0.99, 991 * time.Millisecond},
		{h.read(), 1010, 0.999, time.Minute}, {h.read().since(first), 10, 0.5, time.Minute},
	} {
		got := tt.of.at(tt.share)
		if tt.of.n() != tt.n || got < tt.want || got > tt.want+tt.want/32+time.Microsecond {
			t.Errorf("for the share %v of %d durations got %s, want %s of %d durations", tt.share, tt.of.n(), got, tt.want, tt.n)
		}
	}
}
