package words

import (
	"fmt"

	"github.com/redrive/redrive/store"
)

// SchedulesFinding says how many schedules there are and how many are paused.
func SchedulesFinding(all, paused int64) string {
	switch {
	case all == 0:
		return "No schedule is configured"
	case paused == 0:
		return Count(all, "schedule")
	case paused == all && all == 1:
		return "1 schedule, paused"
	case paused == all:
		return Count(all, "schedule") + ", all paused"
	}
	return Count(all, "schedule") + ", " + Number(paused) + " paused"
}

// WebhooksFinding says how many receivers of webhooks there are, and how many of them get nothing.
func WebhooksFinding(all, off, failing int64) string {
	if all == 0 {
		return "No receiver of webhooks is configured"
	}
	text := Count(all, "receiver") + " of webhooks"
	if off > 0 {
		text += ", " + Number(off) + " off"
	}
	if failing > 0 {
		text += ", " + Number(failing) + " failing"
	}
	return text
}

// FoundFinding says how many places have something that was searched for.
func FoundFinding(text string, places int64) string {
	if places == 0 {
		return fmt.Sprintf("Nothing is called “%s”", Shorten(Clean(text), 60))
	}
	return fmt.Sprintf("“%s” was found in %s", Shorten(Clean(text), 60), Count(places, "place"))
}

// ThroughputFinding says what happened in a window: how many jobs completed, how many attempts failed
// and how many jobs died.
func ThroughputFinding(f *store.Figures, window string) string {
	if f.Enqueued+f.Completed+f.Failed+f.Crashed+f.Dead+f.Cancelled == 0 {
		return "Nothing ran in " + window
	}
	return fmt.Sprintf("%s completed in %s", Count(f.Completed, "job"), window)
}

// ThroughputLead says how many attempts failed and how many jobs died.
func ThroughputLead(f *store.Figures) string {
	if f.Failed+f.Crashed+f.Dead == 0 {
		return "No attempt failed."
	}
	text := fmt.Sprintf("%s failed, which is %s of all", Count(f.Failed, "attempt"), share(float64(f.Failed)/float64(max(f.Completed+f.Failed, 1))))
	if f.Crashed > 0 {
		text += fmt.Sprintf("; %s crashed", Count(f.Crashed, "run"))
	}
	return text + fmt.Sprintf("; %s ended dead.", Count(f.Dead, "job"))
}

// PolicyFinding says how many classes a policy retries for a kind; "" is a kind without settings of its own.
func PolicyFinding(policy string, retried, all int64) string {
	verb := "are"
	if retried == 1 {
		verb = "is"
	}
	return fmt.Sprintf("Policy %s: %s of %s classes %s retried", Clean(policy), Number(retried), Number(all), verb)
}

// PlannedSentence says how many jobs an active redrive will still retry in the next hour.
func PlannedSentence(jobs, redrives int64) string {
	if jobs == 0 {
		return ""
	}
	return fmt.Sprintf("%s may be retried by %s.", Count(jobs, "job"), Count(redrives, "redrive"))
}
