package words

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Verb is what a step does.
type Verb uint8

// The verbs of steps. What they act on is the field of the step that is set.
const (
	RetryJob       Verb = iota // a new life for Job
	ShowJob                    // where Job stands
	ExplainJob                 // the decisions about Job
	ResolveDead                // the dead letter of Job
	IgnoreDead                 // the dead letter of Job, for two days
	ReopenDead                 // the dead letter of Job
	RedriveGroup               // a redrive of Group
	ShowRedrive                // Redrive
	WatchRedrive               // Redrive
	ProceedRedrive             // Redrive
	PauseRedrive               // Redrive
	ResumeRedrive              // Redrive
	CancelRedrive              // Redrive
	ListRedriven               // the dead letters of Redrive that are pending again
	ResumeQueue                // Queue
)

// Step is what a person can do next. It is a value: the command prints a command
// line for it, a page a link, an API a route.
type Step struct {
	Verb    Verb
	Job     job.ID
	Group   string // a fingerprint
	Redrive int64
	Queue   string
	Does    string // what follows from it, in a few words; "" inside a sentence
}

// Way writes a step into a sentence, such as "`redrive jobs retry 17`".
type Way func(Step) string

// JobSteps are the steps that fit where a dead letter stands. The group is nil when
// the dead letter has none.
func JobSteps(l *job.DeadLetter, g *store.Group) []Step {
	explain := Step{Verb: ExplainJob, Job: l.Job, Does: "the numbers behind each decision"}
	retry := Step{Verb: RetryJob, Job: l.Job, Does: "give this job a new life"}
	switch l.Status {
	case job.Pending:
		steps := []Step{retry}
		if g != nil && g.Pending > 1 {
			steps = append(steps, Step{Verb: RedriveGroup, Group: g.Fingerprint,
				Does: "bring back the " + Number(g.Pending) + " of this group, a few first"})
		}
		return append(steps, Step{Verb: ResolveDead, Job: l.Job, Does: "close it: it is dealt with"},
			Step{Verb: IgnoreDead, Job: l.Job, Does: "put it aside for two days"}, explain)
	case job.Redriven:
		steps := []Step{{Verb: ShowJob, Job: l.Job, Does: "how its new life goes"}}
		if l.Redrive > 0 {
			steps = append(steps, Step{Verb: ShowRedrive, Redrive: l.Redrive, Does: "how the other jobs of its redrive do"})
		}
		return append(steps, explain)
	case job.Resolved, job.Ignored:
		if !l.Revived {
			return []Step{{Verb: ReopenDead, Job: l.Job, Does: "make it pending again"}, retry, explain}
		}
	}
	return []Step{explain}
}

// RedriveSteps are the steps that fit where a redrive stands.
func RedriveSteps(r *store.Redrive) []Step {
	step := func(v Verb, does string) Step { return Step{Verb: v, Redrive: r.ID, Does: does} }
	left := step(ListRedriven, "the jobs that died again")
	pause := step(PauseRedrive, "bring back no more for now")
	switch r.State {
	case store.RedriveCanary:
		return []Step{step(ProceedRedrive, "start the ramp without waiting for the canary"), pause}
	case store.RedriveRamping, store.RedriveSettling:
		return []Step{step(WatchRedrive, "see how it goes"), pause}
	case store.RedrivePaused:
		return []Step{step(ResumeRedrive, "continue"), step(CancelRedrive, "bring back no more, for good")}
	case store.RedriveStopped:
		return []Step{left, step(ResumeRedrive, "continue anyway"), step(CancelRedrive, "leave the rest as it is")}
	case store.RedriveCompleted, store.RedriveCancelled:
	}
	return []Step{left}
}
