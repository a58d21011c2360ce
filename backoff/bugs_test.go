package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
)

// This file has a test for each of several bugs that are known from other implementations.

// A shift or a product that overflows becomes zero, negative or random. The job then waits
// 0 when its wait should be the longest.
func TestBug_OverflowBecomesAHotLoop(t *testing.T) {
	t.Parallel()
	b := exponential(time.Second, 2)
	for _, capped := range []time.Duration{0, time.Hour} {
		b.Cap = capped
		want := backoff.Max
		if capped > 0 {
			want = capped
		}
		for _, n := range []int{26, 34, 37, 41, 42, 45, 47, 50, 51, 53, 63, 64, 65, 127, 128, 1000, 1 << 30, math.MaxInt32, math.MaxInt - 1, math.MaxInt} {
			if d, ok := b.Wait(n, 0, almostOne); !ok || d.Wait != want {
				t.Errorf("retry %d under the cap %v got the wait %v, want %v", n, capped, d.Wait, want)
			}
		}
	}
	for _, factor := range []float64{1.0000001, 1.5, 3, 1000, math.MaxFloat64, math.Inf(1)} {
		b := exponential(time.Microsecond, factor)
		if d, _ := b.Wait(math.MaxInt, 0, 0); d.Wait != backoff.Max {
			if factor == 1.0000001 && math.MaxInt == math.MaxInt32 {
				// A factor this small does not reach the cap within 2^31 retries.
				continue
			}
			t.Errorf("factor %v at the largest retry number: got the wait %v, want the largest wait", factor, d.Wait)
		}
	}
}

// Adding jitter to the largest possible wait must not overflow.
func TestBug_JitterAroundTheLargestWait(t *testing.T) {
	t.Parallel()
	for _, j := range []backoff.Jitter{backoff.Percent, backoff.Full, backoff.Equal, backoff.Additive, backoff.Decorrelated} {
		b := backoff.Backoff{Formula: backoff.Exponential, First: math.MaxInt64, Factor: 1000, Jitter: j,
			Percent: 1, Spread: math.MaxInt64}
		if d, ok := b.Wait(math.MaxInt, math.MaxInt64, almostOne); !ok || d.Wait < backoff.Max-time.Second || d.Wait > backoff.Max {
			t.Errorf("jitter %d at the largest retry number: got %v with ok %v, want a wait just below the largest", j, d, ok)
		}
	}
}

// Comparisons with NaN are always false, so a check such as x < 0 does not find it.
func TestBug_NotANumber(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(-1), -2, 0.5} {
		b := exponential(time.Second, bad)
		if d, _ := b.Wait(100, 0, bad); d.Wait != time.Second {
			t.Errorf("factor %v: got the wait %v, want 1s", bad, d.Wait)
		}
		if b.Validate() == nil {
			t.Errorf("factor %v passed the validation, want an error", bad)
		}
	}
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Jitter: backoff.Percent, Percent: math.NaN(), Cap: time.Minute}
	if d, _ := b.Wait(3, 0, math.NaN()); d.Wait < 0 || d.Wait > time.Minute || b.Validate() == nil {
		t.Errorf("a NaN draw: got %v, want a wait from 0 to 1m and an error of the validation", d)
	}
}

// In 0 × 2^n the power becomes infinite for a large n, and the product is NaN. Other
// implementations then used the cap.
func TestBug_ZeroTimesInfinity(t *testing.T) {
	t.Parallel()
	b := exponential(0, 1000)
	b.Cap = time.Hour
	if d, _ := b.Wait(math.MaxInt, 0, almostOne); d.Wait != 0 {
		t.Errorf("a first wait of 0 at the largest retry number: got the wait %v, want 0", d.Wait)
	}
}

// Other implementations doubled the first wait or made it zero.
func TestBug_FirstWaitOffByOne(t *testing.T) {
	t.Parallel()
	b := exponential(7*time.Second, 3)
	for _, n := range []int{-1, 0, 1} {
		if got := b.Nominal(n); got != 7*time.Second {
			t.Errorf("retry %d: got the wait %v, want 7s", n, got)
		}
	}
	if got := b.Nominal(2); got != 21*time.Second {
		t.Errorf("retry 2: got the wait %v, want 21s", got)
	}
}

// In other implementations, half or all of the late waits were exactly the cap. Late
// retries were then no longer spread over time.
func TestBug_WaitsPileUpAtTheCap(t *testing.T) {
	t.Parallel()
	for _, j := range []backoff.Jitter{backoff.Percent, backoff.Full, backoff.Equal, backoff.Decorrelated} {
		b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Minute, Jitter: j}
		if j == backoff.Percent {
			b.Percent = 0.2
		}
		seen := map[time.Duration]int{}
		for i := range 1000 {
			d, _ := b.Wait(40, time.Minute, (float64(i)+0.5)/1000)
			seen[d.Wait]++
		}
		if len(seen) < 999 {
			t.Errorf("jitter %d: got %d different waits in 1000 draws, want at least 999", j, len(seen))
		}
	}
}

// Other implementations returned a duration of −1 for "stop". A timer of −1 fires at once.
func TestBug_StopIsNoDuration(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Waits: seconds(1), Past: backoff.Stop}
	for n := 2; n < 100; n++ {
		if d, ok := b.Wait(n, 0, 0); ok || d.Wait < 0 {
			t.Fatalf("retry %d after the last wait: got %v with ok %v, want no wait", n, d, ok)
		}
	}
	if d, ok := (&backoff.Backoff{Waits: []time.Duration{-1}}).Wait(1, -1, 0); !ok || d.Wait != 0 {
		t.Errorf("a wait of −1: got %v with ok %v, want a wait of 0", d, ok)
	}
}

// Powers of big integers take more time the larger n is. With them this test would not end.
func TestBug_CostGrowsWithN(t *testing.T) {
	t.Parallel()
	b := exponential(time.Microsecond, 1+1e-12)
	var last backoff.Draw
	for i := range 1000 {
		last, _ = b.Wait(math.MaxInt-i, 0, 0)
	}
	if math.MaxInt > math.MaxInt32 && last.Wait != backoff.Max {
		t.Errorf("the largest retry number: got the wait %v, want the largest wait", last.Wait)
	}
}
