package yamlfile

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/human"
)

// Day is the length of the unit d.
const Day = 24 * time.Hour

// ParseSpan reads a duration like time.ParseDuration, but days may come first, as a
// whole number: "7d", "1d12h".
func ParseSpan(s string) (time.Duration, error) {
	number, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	days, err := strconv.ParseUint(number, 10, 32)
	if err != nil || days > uint64(math.MaxInt64/Day) {
		return 0, errors.New("the number of days before the d must be a whole number of at most 106751")
	}
	span := time.Duration(days) * Day
	if rest == "" {
		return span, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, err
	}
	if strings.ContainsAny(rest[:1], "+-") || d > math.MaxInt64-span {
		return 0, errors.New("the duration must be at most 292 years, and must have no sign after the days")
	}
	return span + d, nil
}

// Span formats a duration so that ParseSpan can read it: 7d, 36h, 1h30m.
func Span(d time.Duration) string {
	if d > Day && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	return human.Duration(d)
}
