package cli

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/redrive/redrive/job"
)

// timeLayouts are the forms of times; those without a zone are local.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// past reads a time, or a duration back from now; "" is 0.
func past(flag, text string, now time.Time) (job.Micros, error) {
	return whenOf(flag, text, now, -1)
}

// future reads a time, or a duration from now on; "" is 0.
func future(flag, text string, now time.Time) (job.Micros, error) {
	return whenOf(flag, text, now, 1)
}

func whenOf(flag, text string, now time.Time, sign time.Duration) (job.Micros, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil && at.Unix() > 0 {
			return job.At(at), nil
		}
	}
	d, err := parseSpan(text)
	if err != nil {
		return 0, usagef("%s %.40q: must be a duration such as 90s, 2h or 3d, or a time such as 2026-01-31T18:00", flag, text)
	}
	at := now.Add(sign * d)
	if at.Unix() <= 0 {
		return 0, usagef("%s %.40q: that is before 1970", flag, text)
	}
	return job.At(at), nil
}

var daysPattern = regexp.MustCompile(`^(?:(\d{1,5})w)?(?:(\d{1,5})d)?(.*)$`)

// parseSpan reads a duration that is not negative, with weeks and days before
// what time.ParseDuration reads: 1w, 2d12h, 90s. What is more than a duration can
// be, some 292 years, is refused.
func parseSpan(text string) (time.Duration, error) {
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
