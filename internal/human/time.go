package human

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// TimeForms is a text for messages that describes the times that ParseTime accepts.
const TimeForms = "a time such as 2026-01-31, 2026-01-31T18:00 or 2026-01-31T18:00:00Z, or a duration such as 90s, 2h or 3d"

// DurationForms is a text for messages that describes the durations that ParseDuration accepts.
const DurationForms = "a duration such as 90s, 1h30m, 3d or 2w"

// timeLayouts are the accepted formats of times. A time without a zone is local time.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// longYear matches the beginning of a date whose year has five digits or more.
var longYear = regexp.MustCompile(`^\+?\d{5,}-\d`)

// ParseTime reads a date, a time with or without a zone, or a duration. A time without a zone
// is local time. A duration is subtracted from the given time if the last argument is true, and
// otherwise added to it. The error is a BoundError if the time is not after the beginning of
// 1970 or is after the year 9999, both in UTC.
func ParseTime(text string, now time.Time, ago bool) (time.Time, error) {
	return ParseTimeIn(time.Local, text, now, ago)
}

// ParseTimeIn does the same as ParseTime, but a time without a zone is in the given zone.
func ParseTimeIn(zone *time.Location, text string, now time.Time, ago bool) (time.Time, error) {
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, checkTime(text, at)
		}
	}
	if longYear.MatchString(text) {
		return time.Time{}, boundf("%.40q is after the year 9999, the last year that is allowed", text)
	}
	d, err := ParseDuration(text)
	if _, bound := errors.AsType[BoundError](err); bound {
		return time.Time{}, err
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q must be %s", text, TimeForms)
	}
	if ago {
		d = -d
	}
	at := now.Add(d)
	return at, checkTime(text, at)
}

// checkTime returns an error if a time is outside of the range that ParseTime accepts.
func checkTime(text string, at time.Time) error {
	switch {
	case at.Unix() <= 0:
		return boundf("%.40q must be after 1970-01-01T00:00:00Z", text)
	case at.UTC().Year() > 9999:
		return boundf("%.40q is after the year 9999 in UTC, the last year that is allowed", text)
	}
	return nil
}
