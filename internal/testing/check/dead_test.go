package check_test

import (
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// deadMutants are histories with a fault in a dead letter or a redrive.
func deadMutants() []mutant {
	return []mutant{
		{"an ignored dead letter is pending", breaks(check.DeadConservation, check.SoundStore), func(h *check.History) {
			letter(h, aside).Status = job.Pending
		}},
		{"a dead letter says that something else was done", breaks(check.DeadConservation), func(h *check.History) {
			letter(h, aside).Action = job.ActionMuted
		}},
		{"a dead letter was removed and is there", breaks(check.DeadConservation), func(h *check.History) {
			e := h.Dump.Events[len(h.Dump.Events)-1]
			e.Cursor.Seq++
			e.Type, e.Job = event.DeadLetterPurged, aside
			h.Dump.Events = append(h.Dump.Events, e)
			h.Dump.Audit = append(h.Dump.Audit, store.Audit{Action: "dead_letter.purge", Target: aside.String()})
		}},
		{"a dead letter was removed without an audit row", breaks(check.DeadConservation, check.ActKept), func(h *check.History) {
			drop(&h.Dump.Audit, func(a store.Audit) bool { return a.Action == "dead_letter.purge" })
		}},
		{"two deaths have one number", breaks(check.SoundStore), func(h *check.History) {
			letter(h, aside).Death = letter(h, buried).Death
		}},
		{"a counter of dead letters is one too high", breaks(check.SoundStore), func(h *check.History) {
			h.Dump.DeadCounts[0].N++
		}},
		{"a kind of dead letters is not counted", breaks(check.SoundStore), func(h *check.History) {
			h.Dump.DeadCounts = h.Dump.DeadCounts[1:]
		}},
		{"a group counts an entry too many", breaks(check.SoundStore), func(h *check.History) { h.Dump.Groups[0].Entries++ }},
		{"a redrive has brought back more than it had", breaks(check.RedriveNumbers), func(h *check.History) {
			h.Dump.Redrives[0].Total = 0
		}},
		{"a redrive is completed too early", breaks(check.RedriveNumbers), func(h *check.History) {
			h.Dump.Redrives[0].State, h.Dump.Redrives[0].Completed = store.RedriveCompleted, 0
		}},
		{"a release of a redrive is in no audit row", breaks(check.RedriveNumbers, check.AuditComplete), func(h *check.History) {
			drop(&h.Dump.Audit, func(a store.Audit) bool { return a.Action == "redrive.release" })
		}},
		{"the audit has more released than there was", breaks(check.RedriveNumbers, check.AuditComplete), func(h *check.History) {
			h.Dump.Redrives[0].State = store.RedriveRamping // a ramping redrive may have released more jobs than its audit rows say, but not fewer
			find(h.Dump.Audit, func(a *store.Audit) bool { return a.Action == "redrive.release" }).After = `{"done":99}`
		}},
		{"a bulk retry is in no audit row", breaks(check.AuditComplete, check.ActKept), func(h *check.History) {
			drop(&h.Dump.Audit, func(a store.Audit) bool { return strings.HasPrefix(a.Action, "dead_letter.retry") })
		}},
	}
}
