package check

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// actKept compares the actions that people recorded with the audit and the events.
func actKept(x *index, broken func(job.ID, string, ...any)) {
	rows := make(map[string][]*store.Audit) // by reason, action and target
	for i := range x.Dump.Audit {
		a := &x.Dump.Audit[i]
		name := actName(a.Reason, a.Action, a.Target)
		rows[name] = append(rows[name], a)
		if all := actName(a.Reason, a.Action, ""); all != name {
			rows[all] = append(rows[all], a)
		}
	}
	for i := range x.Acts {
		a := &x.Acts[i]
		found := rows[actName(a.Reason, a.Action, a.Target)]
		id := a.job()
		switch {
		case len(found) > 1:
			broken(id, "the action %s (%s) has %d audit rows", a.Action, a.Reason, len(found))
		case len(found) == 1 && a.Answer == Refused:
			broken(id, "the action %s (%s) was refused and is in the audit", a.Action, a.Reason)
		case len(found) == 1:
			if what := x.unlike(a, found[0]); what != "" {
				broken(id, "the action %s (%s) is in the audit, but %s", a.Action, a.Reason, what)
			}
		case a.Answer == Written && !x.needless(a):
			broken(id, "the action %s (%s) was acknowledged and is not in the audit", a.Action, a.Reason)
		}
	}
}

func actName(reason, action, target string) string { return reason + "\x00" + action + "\x00" + target }

// job returns the job of an action on one job, or 0.
func (a *Act) job() job.ID {
	if a.Target == "" || strings.HasPrefix(a.Action, "redrive.") {
		return 0
	}
	id, err := job.ParseID(a.Target)
	if err != nil {
		return 0
	}
	return id
}

// needless reports whether an acknowledged action had nothing to change: a filter selected nothing, or
// an earlier action had cancelled the job.
func (x *index) needless(a *Act) bool {
	if a.Target == "" {
		return a.Done == 0
	}
	if a.Action != "job.cancel" {
		return false
	}
	for i := range x.Dump.Audit {
		if row := &x.Dump.Audit[i]; row.Action == "job.cancel" && row.Target == a.Target {
			return true
		}
	}
	return x.stepsDone("jobs.cancel")+x.released(store.LiveCancel) > 0
}

// unlike compares an action with its audit row and the events of the same time. It returns "" if they
// agree.
func (x *index) unlike(a *Act, row *store.Audit) string {
	if a.Target == "" {
		if n := doneOf(row); a.Answer == Written && n != a.Done {
			return fmt.Sprintf("there it has changed %d objects; the answer said %d", n, a.Done)
		}
		return ""
	}
	types := actEvents[a.Action]
	if len(types) == 0 {
		return ""
	}
	if p := x.byID[a.job()]; p != nil {
		for _, e := range p.events {
			for _, typ := range types {
				if e.Type == typ && e.At == row.At {
					return ""
				}
			}
		}
	}
	return "the job has no event of it"
}

// actEvents has the types of the events that an action on one job can cause.
var actEvents = map[string][]event.Type{
	"job.retry":           {event.JobRetried},
	"job.cancel":          {event.JobCancelAsked, event.JobCancelled},
	"job.alter":           {event.JobAltered},
	"dead_letter.resolve": {event.DeadLetterChanged},
	"dead_letter.ignore":  {event.DeadLetterChanged},
	"dead_letter.reopen":  {event.DeadLetterChanged},
	"dead_letter.purge":   {event.DeadLetterPurged},
}
