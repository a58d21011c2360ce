package human_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/human"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	local := func(month time.Month, day, hour, minute, second int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, 0, time.Local)
	}
	for _, tt := range []struct {
		in   string
		ago  bool
		want time.Time
	}{
		{"2026-12-01", false, local(12, 1, 0, 0, 0)},
		{"2026-12-01T18:30", false, local(12, 1, 18, 30, 0)},
		{"2026-12-01 18:30", true, local(12, 1, 18, 30, 0)},
		{"2026-12-01T18:30:05", false, local(12, 1, 18, 30, 5)},
		{"2026-12-01 18:30:05", false, local(12, 1, 18, 30, 5)},
		{"2026-12-01T18:30:05Z", false, time.Date(2026, 12, 1, 18, 30, 5, 0, time.UTC)},
		{"2026-12-01T18:30:05.25+02:00", true, time.Date(2026, 12, 1, 16, 30, 5, 250_000_000, time.UTC)},
		{"3d", false, now.Add(72 * time.Hour)},
		{"3d", true, now.Add(-72 * time.Hour)},
		{"1w2d3h4m5s", false, now.Add(9*24*time.Hour + 3*time.Hour + 4*time.Minute + 5*time.Second)},
		{"0s", true, now},
		{"1970-01-01T00:00:01Z", true, time.Unix(1, 0)},
		{"9999-12-31T23:59:59Z", false, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	} {
		if got, err := human.ParseTime(tt.in, now, tt.ago); err != nil || !got.Equal(tt.want) {
			t.Errorf("ParseTime(%q, ago %t) = %s with error %v, want %s and no error", tt.in, tt.ago, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", human.TimeForms}, {"tomorrow", human.TimeForms}, {"-2h", "must not be negative"}, {"90", human.TimeForms}, {" 3d", human.TimeForms},
		{"2026-13-01", human.TimeForms}, {"2026-02-30", human.TimeForms}, {"18:00", human.TimeForms}, {"99999w", "at most 15250w"},
		{"1970-01-01T00:00:00Z", "after 1970-01-01"}, {"1969-12-31", "after 1970-01-01"}, {"0001-01-01", "after 1970-01-01"}, {"60y", human.TimeForms},
		{"3000w", "after 1970-01-01"},
		{"10000-01-01", "the year 9999"}, {"+123456-01-01T00:00:00Z", "the year 9999"}, {"9999-12-31T23:59:59-01:00", "the year 9999"},
	} {
		if got, err := human.ParseTime(tt.in, now, true); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseTime(%q) = %s with error %v, want an error with %q", tt.in, got, err, tt.want)
		}
	}
}

// FuzzParseTime checks that each accepted time is in the allowed range, and that a duration
// gives a time before or after now, as the last argument says.
func FuzzParseTime(f *testing.F) {
	for _, in := range []string{"", "2h", "1w2d", "2026-12-01", "2026-12-01T18:00", "9999-12-31T23:59:59-01:00", "1969-01-01", "15250w"} {
		f.Add(in, true)
		f.Add(in, false)
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, in string, ago bool) {
		got, err := human.ParseTime(in, now, ago)
		if err != nil {
			return
		}
		if got.Unix() <= 0 || got.UTC().Year() > 9999 {
			t.Fatalf("ParseTime(%q) = %s, want a time after the beginning of 1970 and not after the year 9999", in, got)
		}
		if d, err := human.ParseDuration(in); err == nil {
			if want := now.Add(map[bool]time.Duration{true: -d, false: d}[ago]); !got.Equal(want) {
				t.Errorf("ParseTime(%q, ago %t) = %s, want %s, which is the duration away from %s", in, ago, got, want, now)
			}
			return
		}
		again, err := human.ParseTime(got.UTC().Format(time.RFC3339Nano), now, !ago)
		if err != nil || !again.Equal(got) {
			t.Errorf("the time %s of %q is read again as %s with error %v, want the same time", got, in, again, err)
		}
	})
}
