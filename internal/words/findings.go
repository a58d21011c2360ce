package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store"
)

// OverviewFinding says in one sentence how an installation is doing: how many jobs are dead and
// nobody has dealt with, by how many causes, how many redrives are active, and how many kinds of
// jobs there are.
func OverviewFinding(pending, causes, active, kinds int64) string {
	redriven := ""
	if active > 0 {
		redriven = ", " + Count(active, "redrive") + " under way"
	}
	switch {
	case pending == 0 && kinds == 0:
		return "No job has been enqueued yet"
	case pending == 0:
		return "Nothing needs a person" + redriven
	case causes == 0:
		return Count(pending, "dead job") + " without a cause" + redriven
	}
	return Count(pending, "dead job") + " by " + Count(causes, "cause") + redriven
}

// OverviewLead says what happened in the last hour. Failed attempts are those after which the job was, or will be, tried again.
func OverviewLead(completed, failed, dead int64) string {
	if completed+failed+dead == 0 {
		return "No job has ended in the last hour."
	}
	return fmt.Sprintf("In the last hour %s completed, %s failed and got a retry, %s ended dead.",
		Count(completed, "job"), Count(failed, "attempt"), Count(dead, "job"))
}

// CausesFinding says how many dead jobs there are and by how many causes.
func CausesFinding(pending, causes int64) string {
	if pending == 0 {
		return "No dead job needs a person"
	}
	return Count(pending, "dead job") + ", " + Count(causes, "cause")
}

// CausesLead says how much of the dead jobs the largest causes explain. The groups are sorted, the
// largest first.
func CausesLead(groups []store.Group, pending, causes int64) string {
	if pending == 0 || len(groups) == 0 {
		return "When jobs die, they are grouped here by their cause."
	}
	const most = 3
	sum, n := int64(0), 0
	for i := range groups[:min(len(groups), most)] {
		sum += groups[i].Pending
		n++
	}
	if int64(n) == causes {
		first := int64(0)
		for i := range groups {
			if PersonFirst(&groups[i]) {
				first++
			}
		}
		switch {
		case first == 1:
			return "Each row is one cause. One needs a person to change something first; retries cannot help before."
		case first > 1:
			return fmt.Sprintf("Each row is one cause. %d need a person to change something first; retries cannot help before.", first)
		}
		return "Each row is one cause. Its page offers the next step."
	}
	explain := "causes explain"
	if n == 1 {
		explain = "cause explains"
	}
	return fmt.Sprintf("The largest %d %s %d %% of them.", n, explain, min(100, 100*sum/max(pending, 1)))
}

// NextStep says what a person does about a cause: to retry its jobs helps only if the cause is gone.
func NextStep(g *store.Group) string {
	switch {
	case g.Pending == 0:
		return "Nothing is pending"
	case g.Retried > 0 && g.Helped*10 >= g.Retried*8:
		return "Redrive: " + helped(g) + " helped"
	case g.Retried > 0 && g.Helped*10 < g.Retried*2:
		return "Mend the cause: " + helped(g) + " helped"
	case g.Assignee != "":
		return "Wait for " + g.Assignee + ", then redrive"
	}
	return nextStepOf(failure.Class(g.Class))
}

// helped says how many of the retries of a group have helped, without the last word.
func helped(g *store.Group) string {
	return fmt.Sprintf("%s of %s %s", Number(g.Helped), Count(g.Retried, "retry"), have(g.Helped))
}

// nextStepOf says what a person does about the jobs of a class of which nothing was retried yet.
func nextStepOf(c failure.Class) string {
	switch c {
	case failure.NetworkTimeout, failure.TemporaryServiceError, failure.RateLimitExceeded:
		return "Redrive when the service answers again"
	case failure.QuotaExceeded:
		return "Renew the quota first, then redrive"
	case failure.PaymentRequired:
		return "Pay first, then redrive"
	case failure.AuthenticationFailure:
		return "Renew the credentials first, then redrive"
	case failure.PermissionError:
		return "Grant the right first, then redrive"
	case failure.InvalidInput, failure.ContentViolation, failure.InputExceedsLimits, failure.ValidationError, failure.NotFound, failure.BusinessLogicError:
		return "Correct the input, or resolve"
	case failure.ResourceConstraint:
		return "Make room, then redrive"
	case failure.AttemptTimeout:
		return "Raise the time limit, then redrive"
	case failure.ProgramError, failure.Panic, failure.Internal:
		return "Mend the program first, then redrive"
	case failure.UnknownError, failure.Crash, failure.Cancelled:
	}
	return "Find the cause, then redrive"
}

// PersonFirst reports whether a person has to change something before a retry of the jobs of a cause
// can help: its class says so, or retries have not helped.
func PersonFirst(g *store.Group) bool {
	if g.Pending == 0 {
		return false
	}
	if g.Retried > 0 {
		return g.Helped*10 < g.Retried*2
	}
	switch c := failure.Class(g.Class); c {
	case failure.ProgramError, failure.Panic:
		return true
	default:
		info, known := failure.InfoOf(c)
		return known && !info.Verdict.Retriable()
	}
}

// AfterLastDeath says how many jobs of the kind of a cause have completed since the last death by this cause: whether
// it is gone.
func AfterLastDeath(kind string, completed int64) string {
	if completed == 0 {
		return fmt.Sprintf("Since the last of these deaths no job of kind %s has completed", kind)
	}
	have := "have"
	if completed == 1 {
		have = "has"
	}
	return fmt.Sprintf("Since the last of these deaths %s of kind %s %s completed", Count(completed, "job"), kind, have)
}

// HelpShare returns the share of retries that helped as a whole number of percent, and -1 if nothing
// was retried.
func HelpShare(g *store.Group) int64 {
	if g.Retried == 0 {
		return -1
	}
	return min(100, 100*g.Helped/g.Retried)
}

// RedrivesFinding says how many redrives are active, and how many have stopped by themselves.
func RedrivesFinding(active, stopped int64) string {
	switch {
	case active == 0 && stopped == 0:
		return "No redrive is under way"
	case stopped == 0:
		return Count(active, "redrive") + " under way"
	case active == 0 && stopped == 1:
		return "1 redrive stopped by itself"
	case active == 0:
		return Count(stopped, "redrive") + " stopped by themselves"
	}
	return fmt.Sprintf("%s under way, %s stopped", Count(active, "redrive"), Number(stopped))
}

// QueuesFinding says how many queues there are, and how many take or start no jobs.
func QueuesFinding(queues, paused, draining int64) string {
	text := Count(queues, "queue")
	switch {
	case queues == 0:
		return "No queue has been used yet"
	case paused+draining == 0 && queues == 1:
		return text + ", open"
	case paused+draining == 0:
		return text + ", all open"
	}
	var parts []string
	if paused > 0 {
		parts = append(parts, Number(paused)+" paused")
	}
	if draining > 0 {
		parts = append(parts, Number(draining)+" draining")
	}
	return text + ", " + strings.Join(parts, ", ")
}

// WorkersFinding says how many processes run jobs, and how busy they are.
func WorkersFinding(list []store.Process) string {
	var alive, silent, sick, slots, running int64
	for i := range list {
		p := &list[i]
		if p.Silent {
			silent++
			continue
		}
		if alive++; len(p.Sick) > 0 {
			sick++
		}
		slots += int64(p.Slots)
		running += int64(p.Running)
	}
	if alive == 0 {
		return "No worker is alive"
	}
	text := fmt.Sprintf("%s alive, %s of %s busy", Count(alive, "worker"), Number(running), Count(slots, "slot"))
	if sick > 0 {
		text += ", " + Number(sick) + " sick"
	}
	if silent > 0 {
		text += ", " + Number(silent) + " silent"
	}
	return text
}

// AuditFinding says how many actions a page of the audit log shows.
func AuditFinding(n int64, filtered, more bool) string {
	switch {
	case n == 0 && filtered:
		return "No action matches"
	case n == 0:
		return "Nobody has done anything yet"
	case more:
		return "The last " + Count(n, "action")
	}
	return Count(n, "action")
}
