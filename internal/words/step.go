package words

import (
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Verb names the action of a step.
type Verb uint8

// The verbs of all steps. The step also contains the object of the verb: the job, the
// group, the redrive, the queue or the batch.
const (
	RetryJob        Verb = iota // starts a new life of the job
	ShowJob                     // shows the state of the job
	ExplainJob                  // shows the decisions about the job
	ResolveDead                 // resolves the dead letter of the job
	IgnoreDead                  // ignores the dead letter of the job for two days
	ReopenDead                  // reopens the dead letter of the job
	RedriveGroup                // starts a redrive of the group
	ShowRedrive                 // shows the redrive
	WatchRedrive                // shows the progress of the redrive until it ends
	ProceedRedrive              // ends the canary stage of the redrive
	PauseRedrive                // pauses the redrive
	ResumeRedrive               // resumes the redrive
	CancelRedrive               // cancels the redrive
	ListRedriven                // lists the dead letters of the redrive that have become pending again
	ResumeQueue                 // resumes the queue
	ShowBatch                   // shows the batch
	AddMembers                  // adds members to the batch
	PublishBatch                // publishes the batch
	WaitBatch                   // waits for the next end of the batch
	RetryBatch                  // retries the dead members of the batch
	ListDeadMembers             // lists the dead members of the batch
)

// Step is an action that a person can do next. The command shows it as a command line, the
// web page as a link, and the API as a route.
type Step struct {
	Verb    Verb
	Job     job.ID
	Group   string // the fingerprint of the group that the step is about
	Redrive int64
	Queue   string
	Batch   int64
	// Does describes the effect of the step in a few words. It is "" if the step is part of
	// a sentence.
	Does string
}

// Way is a function that returns the text of a step, such as "`redrive jobs retry 17`".
type Way func(Step) string

// RetriesOff reports whether the policy had switched retries off when it decided about a failure, as it does for a kind
// with "retry: false". A person can retry such a job, but no retry is offered. It returns false without a failure.
func RetriesOff(f *job.Failure) bool {
	if f == nil {
		return false
	}
	r, err := policy.ParseRecord(f.Decision)
	return err == nil && r.Rule == policy.RuleNoRetry
}

// Steps returns the steps that are possible with the dead letter in its current status.
func (d *DeadDetails) Steps() []Step {
	steps := d.allSteps()
	if !RetriesOff(d.Fatal()) {
		return steps
	}
	return slices.DeleteFunc(steps, func(s Step) bool { return s.Verb == RetryJob || s.Verb == RedriveGroup })
}

func (d *DeadDetails) allSteps() []Step {
	l, g := d.Letter, d.Group
	explain := Step{Verb: ExplainJob, Job: l.Job, Does: "the numbers behind each decision"}
	retry := Step{Verb: RetryJob, Job: l.Job, Does: "give this job a new life"}
	switch l.Status {
	case job.Pending:
		steps := []Step{retry}
		if g != nil && g.Pending > 1 {
			steps = append(steps, Step{Verb: RedriveGroup, Group: g.Fingerprint,
				Does: "retry the " + Number(g.Pending) + " jobs of this group, a few first"})
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

// RedriveSteps returns the steps that are possible with a redrive in its current state.
func RedriveSteps(r *store.Redrive) []Step {
	step := func(v Verb, does string) Step { return Step{Verb: v, Redrive: r.ID, Does: does} }
	left := step(ListRedriven, "the jobs that died again")
	pause := step(PauseRedrive, "retry no more jobs for now")
	if r.Live != nil {
		switch {
		case r.State.Active():
			return []Step{step(WatchRedrive, "watch the progress"), step(PauseRedrive, "change no more jobs for now")}
		case r.State == store.RedrivePaused, r.State == store.RedriveStopped:
			return []Step{step(ResumeRedrive, "continue"), step(CancelRedrive, "leave the rest as it is")}
		}
		return nil
	}
	switch r.State {
	case store.RedriveCanary:
		return []Step{step(ProceedRedrive, "start the ramp without waiting for the canary"), pause}
	case store.RedriveRamping, store.RedriveSettling:
		return []Step{step(WatchRedrive, "watch the progress"), pause}
	case store.RedrivePaused:
		return []Step{step(ResumeRedrive, "continue"), step(CancelRedrive, "retry no more jobs")}
	case store.RedriveStopped:
		return []Step{left, step(ResumeRedrive, "continue anyway"), step(CancelRedrive, "leave the rest as it is")}
	case store.RedriveCompleted, store.RedriveEnded, store.RedriveCancelled:
	}
	return []Step{left}
}
