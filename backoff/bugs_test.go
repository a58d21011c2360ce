package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
)

// These tests are about known bugs of other implementations.

// A shift or a product that overflows gives a negative, zero or random number, so a job
// does not wait when it should wait longest.
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
				t.Errorf("retry %d with the cap %v waits %v, want %v", n, capped, d.Wait, want)
			}
		}
	}
	for _, factor := range []float64{1.0000001, 1.5, 3, 1000, math.MaxFloat64, math.Inf(1)} {
		b := exponential(time.Microsecond, factor)
		if d, _ := b.Wait(math.MaxInt, 0, 0); d.Wait != backoff.Max {
			if factor == 1.0000001 && math.MaxInt == math.MaxInt32 {
				continue // the wait grows too slowly to reach the cap in 2^31 retries
			}
			t.Errorf("factor %v: the wait at the largest n is %v, want Max", factor, d.Wait)
		}
	}
}

// Jitter around the longest wait overflows.
func TestBug_JitterAroundTheLargestWait(t *testing.T) {
	t.Parallel()
	for _, j := range []backoff.Jitter{backoff.Percent, backoff.Full, backoff.Equal, backoff.Additive, backoff.Decorrelated} {
		b := backoff.Backoff{Formula: backoff.Exponential, First: math.MaxInt64, Factor: 1000, Jitter: j,
			Percent: 1, Spread: math.MaxInt64}
		if d, ok := b.Wait(math.MaxInt, math.MaxInt64, almostOne); !ok || d.Wait < backoff.Max-time.Second || d.Wait > backoff.Max {
			t.Errorf("jitter %d around the longest wait gives %v", j, d)
		}
	}
}

// Comparisons with NaN are always false, so NaN passes checks of limits.
func TestBug_NotANumber(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(-1), -2, 0.5} {
		b := exponential(time.Second, bad)
		if d, _ := b.Wait(100, 0, bad); d.Wait != time.Second {
			t.Errorf("the factor %v gives the wait %v", bad, d.Wait)
		}
		if b.Validate() == nil {
			t.Errorf("factor %v was accepted", bad)
		}
	}
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Jitter: backoff.Percent, Percent: math.NaN(), Cap: time.Minute}
	if d, _ := b.Wait(3, 0, math.NaN()); d.Wait < 0 || d.Wait > time.Minute || b.Validate() == nil {
		t.Errorf("the draw NaN gives %v", d)
	}
}

// 0 × 2^n with an infinite power is NaN, and another library then waited for the cap.
func TestBug_ZeroTimesInfinity(t *testing.T) {
	t.Parallel()
	b := exponential(0, 1000)
	b.Cap = time.Hour
	if d, _ := b.Wait(math.MaxInt, 0, almostOne); d.Wait != 0 {
		t.Errorf("a first wait of 0 grew to %v, want 0", d.Wait)
	}
}

// The first wait was doubled, or was zero.
func TestBug_FirstWaitOffByOne(t *testing.T) {
	t.Parallel()
	b := exponential(7*time.Second, 3)
	for _, n := range []int{-1, 0, 1} {
		if got := b.Nominal(n); got != 7*time.Second {
			t.Errorf("wrong wait of retry %d: %v", n, got)
		}
	}
	if got := b.Nominal(2); got != 21*time.Second {
		t.Errorf("wrong wait of retry 2: %v", got)
	}
}

// Half or all of the late waits were equal to the cap, so jobs were not spread when it
// mattered most.
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
			t.Errorf("jitter %d: only %d of 1,000 waits are different", j, len(seen))
		}
	}
}

// "Stop" was the duration −1, and a timer of −1 fires at once.
func TestBug_StopIsNoDuration(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Waits: seconds(1), Past: backoff.Stop}
	for n := 2; n < 100; n++ {
		if d, ok := b.Wait(n, 0, 0); ok || d.Wait < 0 {
			t.Fatalf("retry %d: got %v, %v", n, d, ok)
		}
	}
	if d, ok := (&backoff.Backoff{Waits: []time.Duration{-1}}).Wait(1, -1, 0); !ok || d.Wait != 0 {
		t.Errorf("the invalid wait −1 gives %v, %v", d, ok)
	}
}

// With a power of big integers the time grew with n: this test would not end.
func TestBug_CostGrowsWithN(t *testing.T) {
	t.Parallel()
	b := exponential(time.Microsecond, 1+1e-12)
	var last backoff.Draw
	for i := range 1000 {
		last, _ = b.Wait(math.MaxInt-i, 0, 0)
	}
	if math.MaxInt > math.MaxInt32 && last.Wait != backoff.Max {
		t.Errorf("wrong wait at the largest n: %v", last.Wait)
	}
}
