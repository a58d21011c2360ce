package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/cron"
)

// Cron describes the times of a cron expression, such as "at 03:00 on Monday to Friday". A
// field that cannot be described in a few words is listed with its values.
func Cron(schedule string) string {
	if span, ok := strings.CutPrefix(schedule, "@every "); ok {
		return "every " + strings.TrimSpace(span)
	}
	if fields, ok := cron.Meaning(schedule); ok {
		schedule = fields
	}
	f := strings.Fields(schedule)
	if len(f) != 5 {
		return schedule
	}
	days := cronDays(f[2], f[3], f[4])
	text := cronTimes(f[0], f[1])
	if days == "" && strings.HasPrefix(text, "at ") && !strings.Contains(text, " of ") {
		days = "every day"
	}
	return strings.TrimSpace(text + " " + days)
}

func anything(field string) bool { return field == "*" || field == "?" }

// cronTimes describes the times of day of a cron expression.
func cronTimes(minutes, hours string) string {
	step, stepped := strings.CutPrefix(minutes, "*/")
	ms, hs := cronNumbers(minutes), cronNumbers(hours)
	switch {
	case anything(minutes) && anything(hours):
		return "every minute"
	case stepped && anything(hours):
		return "every " + step + " minutes"
	case len(ms) == 1 && anything(hours):
		return fmt.Sprintf("at :%02d of every hour", ms[0])
	case len(ms) > 0 && len(hs) > 0 && len(ms)*len(hs) <= 6:
		var times []string
		for _, h := range hs {
			for _, m := range ms {
				times = append(times, fmt.Sprintf("%02d:%02d", h, m))
			}
		}
		return "at " + strings.Join(times, ", ")
	case len(ms) == 1 && strings.HasPrefix(hours, "*/"):
		return fmt.Sprintf("at :%02d of every hour that %s divides", ms[0], hours[2:])
	case anything(minutes):
		return "every minute of the hours " + hours
	case stepped:
		return fmt.Sprintf("every %s minutes of the hours %s", step, hours)
	}
	if anything(hours) {
		return fmt.Sprintf("at the minutes %s of every hour", minutes)
	}
	return fmt.Sprintf("at the minutes %s of the hours %s", minutes, hours)
}

// cronNumbers returns the numbers in a field that is a plain list of numbers. For any other
// field it returns nil.
func cronNumbers(field string) (list []int) {
	for part := range strings.SplitSeq(field, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// cronDays describes the days of a cron expression. It returns "" if the expression selects
// every day.
func cronDays(days, months, weekdays string) string {
	var parts []string
	if !anything(days) {
		parts = append(parts, "on day "+days+" of the month")
	}
	if !anything(weekdays) {
		parts = append(parts, "on "+cronNames(weekdays, func(n int) string { return time.Weekday(n % 7).String() },
			[]string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, 0, 7))
	}
	text := strings.Join(parts, " or ") // As in cron, a day is selected if its number or its weekday is selected.
	if !anything(months) {
		text += " in " + cronNames(months, func(n int) string { return time.Month(n).String() },
			[]string{"", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}, 1, 12)
	}
	return strings.TrimSpace(text)
}

// cronNames replaces the numbers and the short names in a field by full names, such as
// Monday.
func cronNames(field string, name func(int) string, short []string, least, most int) string {
	one := func(text string) string {
		for i, s := range short {
			if s != "" && strings.EqualFold(s, text) {
				return name(i)
			}
		}
		if n, err := strconv.Atoi(text); err == nil && n >= least && n <= most {
			return name(n)
		}
		return text
	}
	var parts []string
	for part := range strings.SplitSeq(field, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if isRange && !strings.Contains(to, "/") {
			parts = append(parts, one(from)+" to "+one(to))
		} else {
			parts = append(parts, one(part))
		}
	}
	return strings.Join(parts, ", ")
}
