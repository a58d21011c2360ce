package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
)

// These tests check for bugs that other back-off implementations are known to have.

// If a shift or a product overflows, the wait is negative, zero or arbitrary. A job that should
// wait longest would then not wait.
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
				t.Errorf("retry %d with the cap %v: got the wait %v, want %v", n, capped, d.Wait, want)
			}
		}
	}
	for _, factor := range []float64{1.0000001, 1.5, 3, 1000, math.MaxFloat64, math.Inf(1)} {
		b := exponential(time.Microsecond, factor)
		if d, _ := b.Wait(math.MaxInt, 0, 0); d.Wait != backoff.Max {
			if factor == 1.0000001 && math.MaxInt == math.MaxInt32 {
				continue // this factor grows so slowly that the wait stays below the cap for 2^31 retries
			}
			t.Errorf("factor %v, largest retry number: got the wait %v, want the constant Max", factor, d.Wait)
		}
	}
}

// Adding jitter to the longest wait can overflow.
func TestBug_JitterAroundTheLargestWait(t *testing.T) {
	t.Parallel()
	for _, j := range []backoff.Jitter{backoff.Percent, backoff.Full, backoff.Equal, backoff.Additive, backoff.Decorrelated} {
		b := backoff.Backoff{Formula: backoff.Exponential, First: math.MaxInt64, Factor: 1000, Jitter: j,
			Percent: 1, Spread: math.MaxInt64}
		if d, ok := b.Wait(math.MaxInt, math.MaxInt64, almostOne); !ok || d.Wait < backoff.Max-time.Second || d.Wait > backoff.Max {
			t.Errorf("jitter %d with the nominal wait Max: got the wait %v, want Max or at most 1s less", j, d)
		}
	}
}

// A comparison with NaN is always false, so NaN passes checks such as "x < 0".
func TestBug_NotANumber(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(-1), -2, 0.5} {
		b := exponential(time.Second, bad)
		if d, _ := b.Wait(100, 0, bad); d.Wait != time.Second {
			t.Errorf("the invalid factor %v gives the wait %v, want 1s", bad, d.Wait)
		}
		if b.Validate() == nil {
			t.Errorf("Validate accepted the invalid factor %v, want an error", bad)
		}
	}
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Jitter: backoff.Percent, Percent: math.NaN(), Cap: time.Minute}
	if d, _ := b.Wait(3, 0, math.NaN()); d.Wait < 0 || d.Wait > time.Minute || b.Validate() == nil {
		t.Errorf("percent NaN and random number NaN: got the draw %v, want a wait between 0 and 1m and an error from Validate", d)
	}
}

// 0 × 2^n is NaN when 2^n overflows to infinity. One library then waited for the cap,
// although the first wait was 0.
func TestBug_ZeroTimesInfinity(t *testing.T) {
	t.Parallel()
	b := exponential(0, 1000)
	b.Cap = time.Hour
	if d, _ := b.Wait(math.MaxInt, 0, almostOne); d.Wait != 0 {
		t.Errorf("a back-off with the first wait 0: got the later wait %v, want 0", d.Wait)
	}
}

// Other libraries double the first wait, or return 0 for it.
func TestBug_FirstWaitOffByOne(t *testing.T) {
	t.Parallel()
	b := exponential(7*time.Second, 3)
	for _, n := range []int{-1, 0, 1} {
		if got := b.Nominal(n); got != 7*time.Second {
			t.Errorf("the nominal wait of retry %d is %v, want 7s", n, got)
		}
	}
	if got := b.Nominal(2); got != 21*time.Second {
		t.Errorf("the nominal wait of retry 2 is %v, want 21s", got)
	}
}

// Other libraries cut waits to the cap after the jitter. Half or all of the late waits are
// then equal to the cap, and jobs are not spread.
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
			t.Errorf("jitter %d: got only %d different waits in 1,000 draws, want at least 999", j, len(seen))
		}
	}
}

// One library returned the duration −1 for "stop", and a timer with this duration fires at once.
func TestBug_StopIsNoDuration(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Waits: seconds(1), Past: backoff.Stop}
	for n := 2; n < 100; n++ {
		if d, ok := b.Wait(n, 0, 0); ok || d.Wait < 0 {
			t.Fatalf("retry %d with a list of one wait and no retry after the list: Wait returned %v and %v, want no wait and false", n, d, ok)
		}
	}
	if d, ok := (&backoff.Backoff{Waits: []time.Duration{-1}}).Wait(1, -1, 0); !ok || d.Wait != 0 {
		t.Errorf("the invalid wait −1: Wait returned %v and %v, want a wait of 0 and true", d, ok)
	}
}

// One library computed powers with big integers, and its time grew with n: this test would
// never finish with it.
func TestBug_CostGrowsWithN(t *testing.T) {
	t.Parallel()
	b := exponential(time.Microsecond, 1+1e-12)
	var last backoff.Draw
	for i := range 1000 {
		last, _ = b.Wait(math.MaxInt-i, 0, 0)
	}
	if math.MaxInt > math.MaxInt32 && last.Wait != backoff.Max {
		t.Errorf("largest retry number: got the wait %v, want the constant Max", last.Wait)
	}
}
