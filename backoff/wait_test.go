package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/backoff"
)

// almostOne is the largest possible random number below 1.
var almostOne = math.Nextafter(1, 0)

func seconds(s ...float64) []time.Duration {
	var all []time.Duration
	for _, v := range s {
		all = append(all, time.Duration(v*1e6)*time.Microsecond)
	}
	return all
}

func exponential(first time.Duration, factor float64) backoff.Backoff {
	return backoff.Backoff{Formula: backoff.Exponential, First: first, Factor: factor}
}

// Each preset must have exactly the nominal waits that the table lists.
// proves: R1
func TestR1_NominalWaitsOfThePresets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		b    backoff.Backoff
		want []time.Duration
	}{
		"transcribe NetworkTimeout":     {exponential(30*time.Second, 2), seconds(30, 60, 120)},
		"transcribe RateLimitExceeded":  {exponential(time.Minute, 3), seconds(60, 180, 540, 1620, 4860)},
		"transcribe ResourceConstraint": {exponential(30*time.Second, 1.5), seconds(30, 45, 67.5, 101.25, 151.875)},
		"transcribe otherwise":          {backoff.Backoff{Waits: seconds(60, 300, 900)}, seconds(60, 300, 900, 900, 900)},
		"render":                        {exponential(time.Second, 2), seconds(1, 2, 4)},
		"ocr language model": {backoff.Backoff{Formula: backoff.Exponential, First: 2 * time.Second, Cap: 30 * time.Second,
			Jitter: backoff.Full}, seconds(2, 4, 8, 16, 30, 30)},
		"ocr recognition": {backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: 15 * time.Second,
			Jitter: backoff.Full}, seconds(1, 2, 4, 8, 15)},
		"ocr storage": {backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: 10 * time.Second,
			Jitter: backoff.Full}, seconds(1, 2, 4, 8, 10)},
		"watermark": {backoff.Backoff{Waits: seconds(60, 300, 900)}, seconds(60, 300, 900)},
		"chat": {backoff.Backoff{Formula: backoff.Exponential, First: 2 * time.Second, Cap: 300 * time.Second,
			Jitter: backoff.Additive, Spread: time.Second}, seconds(2, 4, 8, 16, 32, 64, 128, 256, 300)},
		"chat by the setting": {backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: 300 * time.Second,
			Jitter: backoff.Additive, Spread: time.Second}, seconds(1, 2, 4, 8, 16)},
		"a factor that no float holds": {exponential(time.Second, 1.1), seconds(1, 1.1, 1.21, 1.331, 1.4641, 1.61051)},
		"another factor":               {exponential(time.Second, 1.4), seconds(1, 1.4, 1.96, 2.744, 3.8416, 5.37824)},
		"a factor of one":              {exponential(time.Second, 1), seconds(1, 1, 1)},
	}
	for name, tt := range tests {
		if err := tt.b.Validate(); err != nil {
			t.Errorf("%s: Validate returned the error %v, want none", name, err)
		}
		var got []time.Duration
		for i := range tt.want {
			got = append(got, tt.b.Nominal(i+1))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: wrong nominal waits (-want +got):\n%s", name, diff)
		}
	}
}

// Each jitter must give the listed waits for the smallest, a middle and the largest random
// number.
// proves: R1
func TestR1_JitterAtItsBounds(t *testing.T) {
	t.Parallel()
	base := backoff.Backoff{Formula: backoff.Exponential, First: 30 * time.Second}
	with := func(change func(*backoff.Backoff)) backoff.Backoff {
		b := base
		change(&b)
		return b
	}
	percent := with(func(b *backoff.Backoff) { b.Jitter, b.Percent = backoff.Percent, 0.2 })
	additive := with(func(b *backoff.Backoff) {
		b.Jitter, b.Spread, b.Cap, b.First = backoff.Additive, time.Second, 300*time.Second, 2*time.Second
	})
	decorrelated := with(func(b *backoff.Backoff) { b.Jitter, b.Cap = backoff.Decorrelated, 10*time.Minute })
	tests := map[string]struct {
		b             backoff.Backoff
		n             int
		previous      time.Duration
		low, mid, top float64 // the expected waits in seconds
	}{
		"none":                    {base, 2, 0, 60, 60, 60},
		"±20 %":                   {percent, 2, 0, 48, 60, 72},
		"±20 % of a list":         {backoff.Backoff{Waits: seconds(60, 300), Jitter: backoff.Percent, Percent: 0.2}, 2, 0, 240, 300, 360},
		"±20 %, cut by the cap":   {with(func(b *backoff.Backoff) { b.Jitter, b.Percent, b.Cap = backoff.Percent, 0.2, time.Minute }), 5, 0, 48, 54, 60},
		"±20 %, cut by the floor": {with(func(b *backoff.Backoff) { b.Jitter, b.Percent, b.Floor = backoff.Percent, 0.2, 30*time.Second }), 1, 0, 30, 33, 36},
		"full":                    {with(func(b *backoff.Backoff) { b.Jitter = backoff.Full }), 2, 0, 0, 30, 60},
		"full under a cap":        {with(func(b *backoff.Backoff) { b.Jitter, b.Cap = backoff.Full, 50*time.Second }), 2, 0, 0, 25, 50},
		"full over a floor":       {with(func(b *backoff.Backoff) { b.Jitter, b.Floor = backoff.Full, 10*time.Second }), 2, 0, 10, 35, 60},
		"equal":                   {with(func(b *backoff.Backoff) { b.Jitter = backoff.Equal }), 2, 0, 30, 45, 60},
		"additive":                {additive, 5, 0, 32, 32.5, 33},
		"additive, cut after": {with(func(b *backoff.Backoff) {
			b.Jitter, b.Spread, b.Cap = backoff.Additive, 20*time.Second, 125*time.Second
		}), 3, 0, 120, 125, 125},
		"additive above the cap":    {additive, 60, 0, 300, 300, 300},
		"decorrelated, first":       {decorrelated, 1, 0, 30, 60, 90},
		"decorrelated":              {decorrelated, 2, 80 * time.Second, 30, 135, 240},
		"decorrelated, cut before":  {decorrelated, 9, 500 * time.Second, 30, 315, 600},
		"a previous wait too short": {decorrelated, 2, time.Second, 30, 60, 90},
	}
	for name, tt := range tests {
		if err := tt.b.Validate(); err != nil {
			t.Errorf("%s: Validate returned the error %v, want none", name, err)
		}
		var got []float64
		for _, u := range []float64{0, 0.5, almostOne} {
			d, ok := tt.b.Wait(tt.n, tt.previous, u)
			if !ok || d.U != u || d.Ceiling != time.Duration(tt.top*1e9) {
				t.Errorf("%s: Wait returned %+v and %v; want the ceiling of the table, the random number %v, and true", name, d, ok, u)
			}
			got = append(got, d.Wait.Seconds())
		}
		// With the largest random number, the wait may be a microsecond below the end of
		// the interval.
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1.5e-6 })
		if diff := cmp.Diff([]float64{tt.low, tt.mid, tt.top}, got, near); diff != "" {
			t.Errorf("%s: wrong waits in seconds (-want +got):\n%s", name, diff)
		}
		if got[0] != tt.low {
			t.Errorf("%s: the random number 0 gives a wait of %v s, want exactly %v s", name, got[0], tt.low)
		}
	}
}

// The same random number gives the same wait, and a Draw has all values that are needed to
// compute it again.
// part of: R1
func TestR1_ADrawIsReproducible(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Formula: backoff.Exponential, First: 30 * time.Second, Jitter: backoff.Percent, Percent: 0.2}
	d, _ := b.Wait(2, 0, 0.31)
	want := backoff.Draw{Wait: 55440 * time.Millisecond, Nominal: time.Minute, Ceiling: 72 * time.Second, U: 0.31}
	if d != want {
		t.Errorf("Wait returned %+v, want %+v", d, want)
	}
	if again, _ := b.Wait(2, 0, d.U); again != d {
		t.Errorf("the second call with the same random number returned %+[2]v, want %+[1]v as from the first call", d, again)
	}
}

func TestWait_AListStopsOrRepeats(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Waits: seconds(1, 5), Past: backoff.Stop}
	if d, ok := b.Wait(2, 0, 0); !ok || d.Wait != 5*time.Second {
		t.Errorf("retry 2 of a list of two waits: Wait returned %v and %v, want 5s and true", d, ok)
	}
	if d, ok := b.Wait(3, 0, 0); ok || d != (backoff.Draw{}) || b.Nominal(3) != 0 {
		t.Errorf("retry 3 with a list of two waits and no retry after the list: Wait returned %v and %v, want no wait and false", d, ok)
	}
	if low, high := b.Bounds(3); low != 0 || high != 0 {
		t.Errorf("retry 3 with a list of two waits and no retry after the list: got the bounds %v and %v, want 0 and 0", low, high)
	}
	b.Past = backoff.Repeat
	if d, ok := b.Wait(1<<30, 0, 0); !ok || d.Wait != 5*time.Second {
		t.Errorf("retry 1<<30 of a list that repeats its last wait: Wait returned %v and %v, want 5s and true", d, ok)
	}
}

// anyBackoff generates a random back-off, valid or not.
func anyBackoff(t *rapid.T) *backoff.Backoff {
	wait := rapid.OneOf(rapid.Int64Range(-1, 1<<40), rapid.Int64())
	duration := func(label string) time.Duration { return time.Duration(wait.Draw(t, label)) }
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 10),
		rapid.SampledFrom([]float64{0, 1, 1.5, 2, 3, 10, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 1 + 1e-15}))
	b := &backoff.Backoff{
		Formula: backoff.Formula(rapid.IntRange(0, 2).Draw(t, "formula")),
		Past:    backoff.Past(rapid.IntRange(0, 2).Draw(t, "past")),
		Jitter:  backoff.Jitter(rapid.IntRange(0, 6).Draw(t, "jitter")),
		First:   duration("first"),
		Cap:     duration("cap"),
		Floor:   duration("floor"),
		Spread:  duration("spread"),
		Factor:  number.Draw(t, "factor"),
		Percent: number.Draw(t, "percent"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "waits") {
		b.Waits = append(b.Waits, duration("wait"))
	}
	return b
}

// For all values, valid or not, the wait is a whole number of microseconds, between Floor
// and Cap, at most Ceiling, and within Bounds.
// proves: R1
func TestR1_NoValueLeavesTheBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := anyBackoff(t)
		n := rapid.OneOf(rapid.IntRange(-1, 100), rapid.Int()).Draw(t, "n")
		previous := time.Duration(rapid.Int64().Draw(t, "previous"))
		u := rapid.OneOf(rapid.Float64Range(0, almostOne), rapid.Float64(), rapid.Just(math.NaN())).Draw(t, "u")
		d, ok := b.Wait(n, previous, u)
		if again, ok2 := b.Wait(n, previous, u); again != d || ok2 != ok {
			t.Fatalf("two calls with the same values returned %+v and %+v, want equal results", d, again)
		}
		limit := backoff.Max
		if b.Cap > 0 {
			limit = min(limit, b.Cap.Truncate(time.Microsecond))
		}
		floor := min(max(b.Floor, 0).Truncate(time.Microsecond), limit)
		switch {
		case !ok && (b.Formula != backoff.Fixed || b.Past != backoff.Stop):
			t.Fatal("Wait returned no wait for a back-off that never stops, want a wait")
		case !ok:
			return
		case d.Wait < floor || d.Wait > limit:
			t.Fatalf("got the wait %v, want a wait between the floor %v and the cap %v", d.Wait, floor, limit)
		case d.Wait > d.Ceiling || d.Ceiling > limit || d.Nominal > limit || d.Nominal < 0:
			t.Fatalf("got the draw %+v, want a wait up to its ceiling, and values from 0 to %v", d, limit)
		case d.Wait%time.Microsecond != 0 || d.Ceiling%time.Microsecond != 0 || d.Nominal%time.Microsecond != 0:
			t.Fatalf("got the draw %+v, want only durations in whole microseconds", d)
		case !(d.U >= 0 && d.U < 1):
			t.Fatalf("the recorded random number is %v, want a number in [0, 1)", d.U)
		}
		if low, high := b.Bounds(n); b.Jitter != backoff.Decorrelated && (d.Wait < low || d.Wait > high) {
			t.Fatalf("got the wait %v, want a wait between the bounds %v and %v", d.Wait, low, high)
		}
		if b.Validate() == nil && b.Jitter == backoff.None && d.Wait != b.Nominal(n) {
			t.Fatalf("without jitter, the wait is %v, want the nominal wait %v", d.Wait, b.Nominal(n))
		}
	})
}

// part of: R1
func TestR1_WaitsNeverShrinkWithN(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := exponential(time.Duration(rapid.Int64Range(1, 1e6).Draw(t, "first µs"))*time.Microsecond,
			rapid.Float64Range(1, backoff.FactorMax).Draw(t, "factor"))
		b.Cap = time.Duration(rapid.Int64Range(1e6, 1e12).Draw(t, "cap µs")) * time.Microsecond
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		if b.Nominal(n+1) < b.Nominal(n) {
			t.Fatalf("the nominal wait falls from %v to %v at the next retry, want no decrease", b.Nominal(n), b.Nominal(n+1))
		}
		d, _ := b.Wait(math.MaxInt, 0, 0)
		if b.Factor > 1.0001 && d.Wait != b.Cap {
			t.Fatalf("the largest retry number: got the wait %v, want the cap %v", d.Wait, b.Cap)
		}
	})
}

// part of: R1
func TestR1_DecorrelatedStaysInItsBoundsOverALife(t *testing.T) {
	t.Parallel()
	b := &backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Hour, Jitter: backoff.Decorrelated}
	rapid.Check(t, func(t *rapid.T) {
		var previous time.Duration
		for n := 1; n <= 20; n++ {
			d, _ := b.Wait(n, previous, rapid.Float64Range(0, almostOne).Draw(t, "u"))
			low, high := b.Bounds(n)
			if d.Wait < low || d.Wait > high || d.Ceiling > max(3*previous, 3*time.Second) {
				t.Fatalf("retry %d waits %v after a wait of %v, want a wait between %v and %v and at most three times the previous one", n, d.Wait, previous, low, high)
			}
			previous = d.Wait
		}
	})
}
