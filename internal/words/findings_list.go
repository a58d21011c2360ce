package words

import (
	"strings"

	"github.com/redrive/redrive/job"
)

// ListFinding says how many jobs a list shows, and of which states. more says that the list goes on.
func ListFinding(n int64, states []string, more bool) string {
	what := "job"
	if len(states) > 0 {
		what = strings.Join(states, " or ") + " job"
	}
	if n == 0 {
		return "No " + what + " is in this list"
	}
	if more {
		return "The first " + Count(n, what)
	}
	return Count(n, what)
}

// TotalFinding says how many jobs of some states a list has in all. more says that there are more than n.
func TotalFinding(n int64, states []string, more bool) string {
	if text := ListFinding(n, states, false); !more {
		return text
	}
	return "More than " + ListFinding(n, states, false)
}

// DeadFinding says how many dead letters nobody has dealt with, and since when the oldest waits.
func DeadFinding(pending int64, oldest, now job.Micros) string {
	switch {
	case pending == 0:
		return "No dead letter is pending"
	case oldest == 0:
		return Count(pending, "dead letter") + " pending"
	}
	return Count(pending, "dead letter") + " pending, the oldest died " + Away(oldest, now)
}

// DeadListFinding says how many dead letters a filtered list has: those of some statuses, or of all, and how many of these
// are pending. more says that there are more than n.
func DeadListFinding(n, pending int64, statuses []job.Status, more bool) string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = s.String()
	}
	what := strings.TrimSpace(strings.Join(names, " or ") + " dead letter")
	if n == 0 {
		return "No " + what + " is in this list"
	}
	text := Count(n, what)
	if more {
		text = "More than " + text
	}
	switch {
	case len(statuses) > 0 || more:
		return text
	case pending == 0:
		return text + ", none pending"
	case pending == n:
		return text + ", all pending"
	}
	return text + ", " + Number(pending) + " pending"
}

// CausesListFinding says how many causes a filtered list has. state is that of its tab: "" for those with pending dead jobs,
// all, open, resolved or regressed.
func CausesListFinding(n int64, state string) string {
	what, which := "cause", ""
	switch state {
	case "":
		which = " with pending dead jobs"
	case "all":
	default:
		what = state + " cause"
	}
	if n == 0 {
		return "No " + what + which + " is in this list"
	}
	return Count(n, what) + which
}

// CausesListLead explains the tab of a list of causes.
func CausesListLead(state string) string {
	switch state {
	case "resolved":
		return "A person has said that they are gone. If a job dies of one again, it is shown as regressed."
	case "regressed":
		return "A person had resolved them, and jobs have died of them again."
	}
	return "Each row is one cause. Its page offers the next step."
}

// EventsFinding says how many events a page of the log shows, and whether the log goes on. older says that the page is not
// the first one.
func EventsFinding(n int64, filtered, more, older bool) string {
	switch {
	case n == 0 && filtered:
		return "No event matches"
	case n == 0:
		return "Nothing has happened yet"
	case older:
		return Count(n, "older event")
	case more:
		return "The last " + Count(n, "event")
	}
	return Count(n, "event")
}

// EventsTotal says how many events happened since a time. more says that there are more than n.
func EventsTotal(n int64, since, now job.Micros, more bool) string {
	text := Count(n, "event") + " in the last " + Span(now.Sub(since))
	switch {
	case n == 0:
		return "No event matches"
	case more:
		return "More than " + text
	}
	return text
}
