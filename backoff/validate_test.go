package backoff_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/backoff"
)

func TestValidate_ReportsAllMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		b    backoff.Backoff
		want []string
	}{
		"the zero value": {backoff.Backoff{},
			[]string{"waits: the list is empty: name at least one wait; 0s retries at once"}},
		"a list": {backoff.Backoff{Waits: []time.Duration{-1, time.Hour, 1, 1 << 62}, Cap: time.Minute, Past: 7, First: 1, Factor: 2},
			[]string{
				"waits[0]: -1ns: must not be negative",
				"waits[1]: 1h is above the cap 1m: shorten the wait, or raise the cap",
				"waits[2]: 1ns: must be a whole number of microseconds",
				"waits[3]: 1281023h53m38.427387904s: must be at most 365d",
				"waits[3]: 1281023h53m38.427387904s is above the cap 1m: shorten the wait, or raise the cap",
				"past: 7: must be repeat or stop",
				"first: 1ns: belongs to the formula \"exponential\"; a fixed schedule lists its waits",
				"factor: 2: belongs to the formula \"exponential\"; a fixed schedule lists its waits",
			}},
		"an exponential one": {backoff.Backoff{Formula: backoff.Exponential, Factor: 0.5, Cap: -1, Floor: -1, Waits: seconds(1), Past: backoff.Stop},
			[]string{
				"first: 0s: would never wait; name a first wait, or write \"waits: [0s]\" to retry at once",
				"factor: 0.5: must be 1 to 1000",
				"waits: belong to a fixed schedule: remove them, or \"first\" and \"factor\"",
				"past: belongs to a fixed schedule: bound the retries by max_retries",
				"cap: -1ns: must not be negative",
				"floor: -1ns: must not be negative",
			}},
		"borders": {backoff.Backoff{Formula: backoff.Exponential, First: time.Hour, Cap: time.Minute, Floor: 2 * time.Minute},
			[]string{
				"first: 1h is above the cap 1m: shorten the first wait, or raise the cap",
				"floor: 2m is above the cap 1m: lower the floor, or raise the cap",
			}},
		"unknown numbers": {backoff.Backoff{Formula: 9, Jitter: 9, Percent: math.Inf(1), Spread: -1},
			[]string{
				"formula: 9: must be fixed or exponential",
				"jitter: 9: must be one of none, percent, full, equal, additive or decorrelated",
				"percent: +Inf: belongs to the jitter \"percent\"",
				"spread: -1ns: belongs to the jitter \"additive\"",
				"spread: -1ns: must not be negative",
			}},
		"jitters": {backoff.Backoff{Formula: backoff.Exponential, First: 1000, Jitter: backoff.Percent, Spread: 1000},
			[]string{
				"percent: 0: must be above 0 and at most 1; 0.2 is ±20 %",
				"spread: 1µs: belongs to the jitter \"additive\"",
			}},
		"additive": {backoff.Backoff{Formula: backoff.Exponential, First: 1000, Jitter: backoff.Additive},
			[]string{"spread: 0s: the jitter \"additive\" needs the longest time that it may add"}},
		"decorrelated": {backoff.Backoff{Waits: seconds(1), Jitter: backoff.Decorrelated, Factor: 2},
			[]string{
				"factor: 2: belongs to the formula \"exponential\"; a fixed schedule lists its waits",
				"jitter: \"decorrelated\" needs a first wait: use the formula \"exponential\" with \"first\"",
				"factor: 2: decorrelated jitter grows by 3; remove the factor",
			}},
		"too many": {backoff.Backoff{Waits: make([]time.Duration, 1001)},
			[]string{"waits: 1001 waits: must be at most 1000; the last one repeats"}},
	}
	for name, tt := range tests {
		err := tt.b.Validate()
		if err == nil {
			t.Errorf("%s: Validate accepted the back-off, want an error", name)
			continue
		}
		if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("%s: wrong mistakes (-want +got):\n%s", name, diff)
		}
	}
	if err := (&backoff.Backoff{Waits: []time.Duration{0}}).Validate(); err != nil {
		t.Errorf("a list with a wait of 0: Validate returned the error %v, want none", err)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	exp := func(first time.Duration, change func(*backoff.Backoff)) backoff.Backoff {
		b := exponential(first, 0)
		change(&b)
		return b
	}
	tests := []struct {
		b    backoff.Backoff
		want string
	}{
		{exp(30*time.Second, func(b *backoff.Backoff) { b.Jitter, b.Percent, b.Cap = backoff.Percent, 0.2, time.Hour }),
			"30s × 2^(n−1), ±20 %, cap 1h"},
		{exp(30*time.Second, func(b *backoff.Backoff) { b.Factor = 1.5 }), "30s × 1.5^(n−1)"},
		{exp(2*time.Second, func(b *backoff.Backoff) { b.Jitter, b.Spread = backoff.Additive, time.Second }),
			"2s × 2^(n−1), + up to 1s"},
		{exp(2*time.Second, func(b *backoff.Backoff) { b.Jitter, b.Floor = backoff.Full, time.Millisecond }),
			"2s × 2^(n−1), full jitter, floor 1ms"},
		{exp(2*time.Second, func(b *backoff.Backoff) { b.Jitter = backoff.Equal }), "2s × 2^(n−1), equal jitter"},
		{exp(2*time.Second, func(b *backoff.Backoff) { b.Jitter = backoff.Decorrelated }),
			"2s, then up to 3 × the wait before, decorrelated jitter"},
		{backoff.Backoff{Waits: seconds(60, 300, 900)}, "1m, 5m, 15m, …"},
		{backoff.Backoff{Waits: seconds(60, 300, 900), Past: backoff.Stop}, "1m, 5m, 15m, then none"},
		{backoff.Backoff{Waits: make([]time.Duration, 20)}, "0s, 0s, 0s, 0s, 0s, 0s, 0s, 0s, … (20 waits), …"},
		{backoff.Backoff{}, "no wait"},
	}
	for _, tt := range tests {
		if got := tt.b.String(); got != tt.want {
			t.Errorf("the text of the back-off is %q, want %q", got, tt.want)
		}
	}
	for d, want := range map[time.Duration]string{
		55438291 * time.Microsecond: "55.4s", time.Minute: "1m", 2 * time.Hour: "2h", 0: "0s", 1234567: "1.2ms",
		3*time.Hour + 1234*time.Millisecond: "3h0m1s", 24 * time.Hour: "24h", 48 * time.Hour: "2d", 49 * time.Hour: "49h", -1500 * time.Millisecond: "-1.5s", 1500: "1.5µs",
	} {
		if got := backoff.Rounded(d); got != want {
			t.Errorf("Rounded of %d ns: got %q, want %q", d, got, want)
		}
	}
}
