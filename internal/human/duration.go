// Package human writes and reads durations in a form for people.
package human

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration returns the text of a duration. It leaves out units of zero at the end, so the text
// is 5m instead of 5m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var daysPattern = regexp.MustCompile(`^(?:(\d{1,9})w)?(?:(\d{1,9})d)?(.*)$`)

// unitsPattern matches the form of time.ParseDuration without a sign.
var unitsPattern = regexp.MustCompile(`^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`)

// BoundError is the error for a time or duration that has an accepted form, but is outside the
// accepted range.
type BoundError string

func (e BoundError) Error() string { return string(e) }

func boundf(format string, args ...any) error { return BoundError(fmt.Sprintf(format, args...)) }

func tooLong(text string) error { return boundf("%.40q must be at most 15250w", text) }

// ParseDuration reads a duration that is not negative, such as 1w, 2d12h or 90s. It accepts
// weeks and days in front of the units of time.ParseDuration. A duration above 292 years,
// the maximum of time.Duration, is a BoundError.
func ParseDuration(text string) (time.Duration, error) {
	m := daysPattern.FindStringSubmatch(text)
	if m == nil {
		m = []string{text, "", "", text}
	}
	var total time.Duration
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		switch {
		case err != nil:
			return 0, err
		case time.Duration(n) > (math.MaxInt64-total)/unit:
			return 0, tooLong(text)
		}
		total += time.Duration(n) * unit
	}
	if m[3] == "" && text != "" {
		return total, nil
	}
	d, err := time.ParseDuration(m[3])
	switch {
	case err != nil && unitsPattern.MatchString(m[3]): // the form is right, so the number is too large
		return 0, tooLong(text)
	case err != nil:
		return 0, err
	case d < 0:
		return 0, boundf("%.40q must not be negative", text)
	case d > math.MaxInt64-total:
		return 0, tooLong(text)
	}
	return total + d, nil
}
