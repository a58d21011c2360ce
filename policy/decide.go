// Package policy decides what follows from the end of a run. It is pure: what
// the decision depends on is its Input, and the same input gives the same
// decision, today or in a replay.
package policy

import (
	"slices"
	"time"

	"github.com/redrive/redrive/failure"
)

// CeilingDefault is the number of attempts in one life that end any job,
// whatever its schedule says.
const CeilingDefault = 100

// How says how a run ended. The words are those of failure records.
type How string

// The ways to end.
const (
	BySuccess How = ""
	ByError   How = "error"
	ByPanic   How = "panic"
	ByTimeout How = "timeout"
)

// Stop says why a run was told to stop before it ended by itself.
type Stop uint8

// The reasons to stop a run.
const (
	NotStopped  Stop = iota
	TimeLimit        // the time limit of the kind
	Shutdown         // the worker is stopping
	CancelAsked      // a person cancelled the job
)

// Input is everything that a decision depends on.
type Input struct {
	Evidence failure.Evidence
	How      How
	Stop     Stop
	Attempts int           // counted in this life before this run
	Age      time.Duration // of this life, at the end of the run
	Ceiling  int           // attempts of one life that end any job; 0 is CeilingDefault
	AgeMax   time.Duration // age at which a life gets no retry any more; 0 is none
	Memo     []byte        // what the last decision left
}

// Decide decides by the schedule; a nil one is the default. The first of these
// that holds has the word: a success, even if somebody wanted the run to stop;
// the marks failure.Cancel and failure.Permanent; a person's cancel; the mark
// failure.Snooze; the stop of the worker; and the schedule under its ceilings.
// After a panic the marks Cancel and Snooze and the stop of the worker do not
// count.
func (s *Schedule) Decide(in *Input) Decision {
	if in.How == BySuccess {
		return Decision{Action: Complete, Rule: RuleSuccess}
	}
	d := Decision{
		Class:   classOf(in),
		Verdict: verdictOf(in),
		Of:      s.Retries(),
		Hint:    in.Evidence.RetryAfter,
	}
	switch e := &in.Evidence; {
	case e.Cancel && in.How != ByPanic:
		return d.end(Cancel, RuleCancel)
	case e.Permanent:
		return d.die(RulePermanent, ReasonPermanent)
	case in.Stop == CancelAsked:
		return d.end(Cancel, RuleCancelAsked)
	case e.Snooze > 0 && in.How != ByPanic:
		d.Wait = e.Snooze
		return d.end(Snooze, RuleSnooze)
	case in.Stop == Shutdown && in.How != ByPanic:
		return d.end(HandBack, RuleShutdown)
	case s != nil && e.Exit != nil && slices.Contains(s.PermanentExitCodes, *e.Exit):
		d.Verdict = Permanent
		return d.die(RuleExitCode, ReasonPermanent)
	}
	return s.retry(d, in)
}

// retry gives the job its next attempt, unless it has had all.
func (s *Schedule) retry(d Decision, in *Input) Decision {
	ceiling := in.Ceiling
	if ceiling == 0 {
		ceiling = CeilingDefault
	}
	d.N = in.Attempts + 1
	d.Wait = max(s.Wait(d.N), wholeMicros(in.Evidence.RetryAfter))
	switch {
	case d.N > d.Of:
		return d.die(RuleExhausted, ReasonExhausted)
	case in.Attempts+1 >= ceiling:
		return d.die(RuleCeilingReached, ReasonExhausted)
	case in.AgeMax > 0 && in.Age >= in.AgeMax-d.Wait:
		return d.die(RuleTooOld, ReasonExhausted)
	}
	d.Memo = ParseMemo(in.Memo).add(d.Class, d.Wait).Encode()
	return d.end(Retry, RuleSchedule)
}

// wholeMicros rounds up to the unit in which times are stored, so that a hint
// is not cut short.
func wholeMicros(d time.Duration) time.Duration {
	if cut := d.Truncate(time.Microsecond); cut < d && d < 1<<62 {
		return cut + time.Microsecond
	}
	return d
}

func (d Decision) end(a Action, rule string) Decision {
	d.Action, d.Rule = a, rule
	return d
}

func (d Decision) die(rule, reason string) Decision {
	d.N, d.Wait, d.Reason = 0, 0, reason
	return d.end(Die, rule)
}

func classOf(in *Input) failure.Class {
	switch {
	case in.Evidence.Class != "":
		return in.Evidence.Class
	case in.How == ByPanic:
		return failure.Panic
	case in.Evidence.Cancel || in.Stop == CancelAsked:
		return failure.Cancelled
	case in.How == ByTimeout || in.Stop == TimeLimit:
		return failure.AttemptTimeout
	}
	return failure.UnknownError
}

func verdictOf(in *Input) Verdict {
	switch e := &in.Evidence; {
	case e.Permanent:
		return Permanent
	case e.Cancel || in.Stop == CancelAsked:
		return Cancelled
	case e.Dependency != "":
		return DependencyDown
	case e.RetryAfter > 0:
		return Throttled
	case in.How == ByTimeout || in.Stop == TimeLimit:
		return Retriable
	}
	return Unknown
}
