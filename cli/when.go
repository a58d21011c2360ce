package cli

import (
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// clockTime writes a time for people: local, to the second, with its zone.
func clockTime(m job.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.Time().Local().Format("2006-01-02 15:04:05 -07:00")
}

// away writes how far a time is from now: "in 24s", "3m ago" or "now".
func away(m, now job.Micros) string {
	d := m.Sub(now)
	switch {
	case d >= time.Second:
		return "in " + span(d)
	case d <= -time.Second:
		return span(-d) + " ago"
	}
	return "now"
}

// span writes a duration to a precision that people can use.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Millisecond:
		d = d.Round(time.Microsecond)
	case d < time.Second:
		d = d.Round(time.Millisecond)
	case d < 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case d < time.Hour:
		d = d.Round(time.Second)
	case d < 2*day:
		d = d.Round(time.Minute)
	default:
		return number(int64((d+day/2)/day)) + " days"
	}
	return human.Duration(d)
}
