package cli

import (
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// timeLayouts are the accepted formats of times. A time without a zone is local time.
var timeLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
}

// past returns the time that a text means: a time, or a duration before now. It returns 0
// for "".
func past(flag, text string, now time.Time) (job.Micros, error) {
	return whenOf(flag, text, now, -1)
}

// future returns the time that a text means: a time, or a duration after now. It returns 0
// for "".
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
	d, err := human.ParseDuration(text)
	if err != nil {
		return 0, usagef("%s %.40q: must be a duration such as 90s, 2h or 3d, or a time such as 2026-01-31T18:00", flag, text)
	}
	at := now.Add(sign * d)
	if at.Unix() <= 0 {
		return 0, usagef("%s %.40q: that is before 1970", flag, text)
	}
	return job.At(at), nil
}
