package human_test

import (
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/human"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                              "0s",
		10 * time.Second:               "10s",
		1500 * time.Millisecond:        "1.5s",
		5 * time.Minute:                "5m",
		10 * time.Minute:               "10m",
		90 * time.Second:               "1m30s",
		2 * time.Hour:                  "2h",
		20 * time.Hour:                 "20h",
		time.Hour + 30*time.Minute:     "1h30m",
		time.Hour + 10*time.Second:     "1h0m10s",
		-(2*time.Hour + 5*time.Minute): "-2h5m",
	} {
		if got := human.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want time.Duration
	}{
		{"2h", 2 * time.Hour}, {"3d", 72 * time.Hour}, {"1w", 168 * time.Hour}, {"1d12h30m", 36*time.Hour + 30*time.Minute},
		{"1w2d", 216 * time.Hour}, {"0s", 0}, {"1.5h", 90 * time.Minute},
	} {
		if got, err := human.ParseDuration(tt.in); err != nil || got != tt.want {
			t.Errorf("human.ParseDuration(%q) = %s with error %v, want %s and no error", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{
		"", "d", "3", "-2h", "2h3d", "1d-1h", "x", "1dx", // texts that are not valid durations
		"99999w", "20000w", "15251w", "15250w99999d", "15250w2563h", // durations that are longer than time.Duration can hold
	} {
		if got, err := human.ParseDuration(in); err == nil {
			t.Errorf("human.ParseDuration(%q) = %s, want an error", in, got)
		}
	}
}

// FuzzParseDuration checks that each accepted duration has exactly the length that its text
// says.
func FuzzParseDuration(f *testing.F) {
	for _, in := range []string{"", "2h", "1w2d3h", "20000w", "15250w1d23h", "99999d", "1.5h", "-1h", "1d1ns"} {
		f.Add(in)
	}
	parts := regexp.MustCompile(`^(?:([0-9]{1,5})w)?(?:([0-9]{1,5})d)?(.*)$`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := human.ParseDuration(in)
		if err != nil {
			return
		}
		m := parts.FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("the invalid text %q was accepted as %s, want an error", in, got)
		}
		want := 0.0
		for i, hours := range []float64{7 * 24, 24} {
			n, _ := strconv.ParseFloat("0"+m[i+1], 64)
			want += n * hours
		}
		if rest, err := time.ParseDuration(m[3]); err == nil {
			want += rest.Hours()
		} else if m[3] != "" {
			t.Fatalf("the invalid text %q was accepted as %s, want an error", in, got)
		}
		if got < 0 || math.Abs(got.Hours()-want) > 1e-6 {
			t.Errorf("ParseDuration(%q) = %s, which is %g hours, want %g hours", in, got, got.Hours(), want)
		}
	})
}
