// Package human writes and reads durations the way people do.
package human

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration writes a duration without the zero units at its end: 5m, not 5m0s.
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

var daysPattern = regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,5})d)?(.*)$`)

// ParseDuration reads a duration that is not negative, with weeks and days before
// what time.ParseDuration reads: 1w, 2d12h, 90s. A duration of more than 292 years,
// the most that a time.Duration holds, is refused.
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
			return 0, fmt.Errorf("duration %q: must be at most 15250w", text)
		}
		total += time.Duration(n) * unit
	}
	if m[3] == "" && text != "" {
		return total, nil
	}
	d, err := time.ParseDuration(m[3])
	switch {
	case err != nil:
		return 0, err
	case d < 0:
		return 0, fmt.Errorf("duration %q: must not be negative", text)
	case d > math.MaxInt64-total:
		return 0, fmt.Errorf("duration %q: must be at most 15250w", text)
	}
	return total + d, nil
}
