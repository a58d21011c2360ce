package check_test

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func act(h *check.History, action string) *check.Act {
	return find(h.Acts, func(a *check.Act) bool { return a.Action == action })
}

func audit(h *check.History, action string) *store.Audit {
	return find(h.Dump.Audit, func(a *store.Audit) bool { return a.Action == action })
}

// peopleMutants are histories with a fault in an action of a person.
func peopleMutants() []mutant {
	return []mutant{
		{"an acknowledged action left nothing", breaks(check.ActKept), func(h *check.History) {
			h.Acts = append(h.Acts, check.Act{Reason: "lost", Action: "job.retry", Target: plain.String(), Answer: check.Written})
		}},
		{"an acknowledged cancellation left nothing", breaks(check.ActKept), func(h *check.History) {
			h.Acts = append(h.Acts, check.Act{Reason: "lost", Action: "job.cancel", Target: plain.String(), Answer: check.Written})
		}},
		{"an acknowledged action on many left nothing", breaks(check.ActKept), func(h *check.History) {
			h.Acts = append(h.Acts, check.Act{Reason: "lost", Action: "dead_letter.retry", Done: 1, Answer: check.Written})
		}},
		{"an acknowledged redrive is not in the audit", breaks(check.ActKept), func(h *check.History) { dropAudit(h, "redrive.start") }},
		{"a refused action happened", breaks(check.ActKept), func(h *check.History) { act(h, "job.retry").Answer = check.Refused }},
		{"an action without an answer happened twice", breaks(check.ActKept), func(h *check.History) {
			act(h, "dead_letter.ignore").Answer = check.Unknown
			h.Dump.Audit = append(h.Dump.Audit, *audit(h, "dead_letter.ignore"))
		}},
		{"the audit has an action of another time than the event", breaks(check.ActKept), func(h *check.History) { audit(h, "dead_letter.ignore").At++ }},
		{"the answer names more objects than the audit", breaks(check.ActKept), func(h *check.History) { act(h, "dead_letter.retry").Done++ }},
	}
}

// workerMutants are histories in which a job pays for what happened to a worker, or waits too long or
// not long enough.
func workerMutants() []mutant {
	return []mutant{
		{"a wait is shorter than the policy says", breaks(check.WaitKept), func(h *check.History) {
			e := find(h.Dump.Events, func(e *event.Event) bool { return e.Job == flaky && e.Type == event.JobFailed })
			e.DueAt -= 1000
		}},
		{"a job was claimed before it was due", breaks(check.WaitKept), func(h *check.History) {
			failed := false
			for i := range h.Dump.Events {
				if e := &h.Dump.Events[i]; e.Job == flaky && e.Type == event.JobFailed {
					failed = true
				} else if failed && e.Job == flaky && e.Type == event.JobClaimed {
					e.At--
				}
			}
		}},
		{"a run that no handler began used up an attempt", breaks(check.NoBurnedAttempt), func(h *check.History) {
			drop(&h.Runs, func(r check.Run) bool { return r.Job == flaky && r.Token == 2 })
		}},
		{"a run whose handler did not fail used up an attempt", breaks(check.NoBurnedAttempt), func(h *check.History) { run(h, flaky, 2).Error = "" }},
		{"a process lives longer than its worker", breaks(check.NoStrayChild), func(h *check.History) { h.Processes[0].Ended = h.Children[0].First }},
		{"a process that nobody owns lives on", breaks(check.NoStrayChild), func(h *check.History) { h.Children[2].Last = h.Children[0].Last }},
		{"a run of a healthy worker crashed", breaks(check.NoFalseCrash), func(h *check.History) { h.Processes[0].Disturbed = 0 }},
		{"a run crashed before its worker was disturbed", breaks(check.NoFalseCrash), func(h *check.History) {
			h.Processes[0].Disturbed = job.Micros(1) << 60
		}},
		{"a run crashed in a process that nobody started", breaks(check.NoFalseCrash), func(h *check.History) { failure(h, orphan).Holder = "v" }},
		{"a job died of the crash of a run that had not begun", breaks(check.OwnCrash), func(h *check.History) {
			drop(&h.Runs, func(r check.Run) bool { return r.Job == toxic && r.Token == row(h, toxic).Token })
		}},
		{"a job died of a crash beside another job", breaks(check.OwnCrash), func(h *check.History) {
			r := run(h, toxic, row(h, toxic).Token)
			other := run(h, plain, row(h, plain).Token)
			other.Start, other.End = r.Start+1, r.Start+2
		}},
		{"a handler began after the deadline", breaks(check.BoundedRetry), func(h *check.History) {
			run(h, flaky, 2).Start = enqueue(h, "s5").Deadline + 200_000
		}},
		{"a job that is ready waits beside free slots", breaks(check.PromptStart), func(h *check.History) { h.WaitMax = readyMax / 4 }},
	}
}
