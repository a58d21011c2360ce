package words

import (
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// Time returns the text of a time: local time with seconds and the offset from UTC.
func Time(m job.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.Time().Local().Format("2006-01-02 15:04:05 -07:00")
}

// Away returns the text of the distance between a time and now, such as "in 24s", "3m ago"
// or "now".
func Away(m, now job.Micros) string {
	d := m.Sub(now)
	switch {
	case d >= time.Second:
		return "in " + Span(d)
	case d <= -time.Second:
		return Span(-d) + " ago"
	}
	return "now"
}

// Span returns the text of a duration. The text of a long duration is less exact than that of a
// short one.
func Span(d time.Duration) string {
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
		days := d / day
		if d%day >= day/2 {
			days++
		}
		return Number(int64(days)) + " days"
	}
	return human.Duration(d)
}
