package policy

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
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
	Kind     string
	Evidence *failure.Evidence // nil is none
	// Class is what Classify made of the evidence. The zero value takes the class
	// that the evidence is marked with, else UnknownError.
	Class    failure.Classification
	How      job.How
	Stop     Stop
	Attempts int           // counted in this life before this run
	Age      time.Duration // of this life, at the end of the run
	Deadline time.Duration // what the job has left to begin; 0 is none, negative is over
	Now      time.Time     // by the clock that Evidence.NotBefore is meant for
	Memo     Memo          // what the last decision of this life left
	U        float64       // a uniform draw from [0, 1)
	Cost     int64         // of this run, in millionths of a US dollar
	// Job, Message and Admission go before what the policy says, in this order. Nil
	// says nothing.
	Job, Message *Override
	Admission    *Admission
}

// none is the evidence of a run that has none.
var noEvidence failure.Evidence

// Decide decides what follows from the end of a run. The first of these that
// holds has the word: a success, even if somebody wanted the run to stop; the
// marks failure.Cancel and failure.Permanent; a person's cancel; the mark
// failure.Snooze; the stop of the worker; and the policy. After a panic the marks
// Cancel and Snooze and the stop of the worker do not count.
//
// The policy asks in this order: is the class, or the kind, retried at all; does a
// call hand the job over, has it done so less often than it may, and is a retry left
// of those of all classes; is one left of those of the class, and of all; does the cost allow it; how long
// is the wait, and may it be so long; would the next attempt begin below the
// ceilings on age and attempts and before the job's deadline.
//
// Decide never fails, whatever the input, and never waits less than a hint asks
// for, unless the policy says so.
func (p *Policy) Decide(in *Input) (d Decision) {
	if in.How == "" {
		d.end(Complete, RuleSuccess)
		return d
	}
	e := in.Evidence
	if e == nil {
		e = &noEvidence
	}
	p = p.lowered(in.Job)
	t := p.table(in.Kind)
	d.Policy, d.Hash = p.spec.Name, p.hash
	d.By = classify(in, e)
	d.Class = d.By.Class
	base := t.plan(d.Class)
	d.Verdict = base.verdictOf(&d.By, e, in)
	d.Hint = hintOf(in, e)
	d.Memo = in.Memo
	d.Memo.Cost = addCost(in.Memo.Cost, in.Cost)
	p.count(&d, in, base)
	if d.marked(in, e, t.schedule) {
		return d
	}
	chosen := base
	if in.Job != nil || in.Message != nil || in.Admission.changes() {
		own := p.with(*base, in)
		d.Verdict = own.verdictOf(&d.By, e, in)
		chosen = &own
	}
	if in.Admission != nil {
		d.Rules = in.Admission.Rules
	}
	if !base.observe {
		p.decideBy(&d, in, chosen, !d.Verdict.Retriable())
		return d
	}
	observed := d
	p.decideBy(&observed, in, chosen, !d.Verdict.Retriable())
	d.Observed, d.Would = true, observed.summary()
	before := *t.baseline // under what the job says, which is no matter of policy either
	p.own(&before, in)
	p.decideBy(&d, in, &before, before.verdict != "" && !before.verdict.Retriable())
	return d
}

// classify returns how the class was found. The end of the run says it by
// itself where the handler did not: what a stopped run reports is about its end,
// not its cause.
func classify(in *Input, e *failure.Evidence) failure.Classification {
	c := in.Class
	if c.Class == "" {
		c = failure.Classification{Class: e.Class, Rule: ClassByMark, Rank: failure.RankMark}
		if e.Class == "" {
			c = failure.Classification{Class: failure.UnknownError, Rule: ClassByNothing}
		}
	}
	switch {
	case in.How == job.ByPanic && e.Cancel && e.Class == "": // the mark does not count
		return outranked(c, failure.Panic, ClassByPanic)
	case namedByHandler(&c, e):
		return c
	case in.How == job.ByPanic:
		return outranked(c, failure.Panic, ClassByPanic)
	case in.Stop == CancelAsked:
		return outranked(c, failure.Cancelled, ClassByPerson)
	case e.Cancel:
		return outranked(c, failure.Cancelled, ClassByHandler)
	case in.How == job.ByTimeout || in.Stop == TimeLimit:
		return outranked(c, failure.AttemptTimeout, ClassByTimeLimit)
	}
	return c
}

// saidSo reports whether the class is what the handler says itself: by a mark, or
// by its own code that the policy has a class for.
func namedByHandler(c *failure.Classification, e *failure.Evidence) bool {
	if c.Rank >= failure.RankMark {
		return true
	}
	code, ok := strings.CutPrefix(c.Rule, "policy.codes.")
	return ok && strings.EqualFold(code, e.Code)
}

// beaten puts a class before the one that was found.
func outranked(c failure.Classification, by failure.Class, rule string) failure.Classification {
	if c.Class == by {
		return c
	}
	beat := [3]failure.Beaten{{Rule: c.Rule, Class: c.Class, Rank: c.Rank, Saw: c.Saw}, c.Beat[0], c.Beat[1]}
	if c.Rule == ClassByNothing {
		beat = [3]failure.Beaten{}
	}
	return failure.Classification{Class: by, Rank: failure.RankCause, Rule: rule, Code: c.Code, Hint: c.Hint, Beat: beat}
}

// verdictOf returns what the evidence says under this plan: the marks, the
// policy, the classification, the class.
func (p *plan) verdictOf(c *failure.Classification, e *failure.Evidence, in *Input) failure.Verdict {
	switch {
	case e.Permanent:
		return failure.VerdictPermanent
	case in.Stop == CancelAsked || e.Cancel && in.How != job.ByPanic:
		return failure.VerdictCancelled
	case e.Dependency != "":
		return failure.VerdictDependencyDown
	case p.verdict != "":
		return p.verdict
	}
	v := c.Verdict
	if v == "" || v == failure.VerdictUnknown {
		v = p.classVerdict
	}
	switch {
	case v == failure.VerdictCancelled: // by nobody that this run knows of: a failure like others
		return failure.VerdictUnknown
	case v == failure.VerdictUnknown && e.RetryAfter > 0:
		return failure.VerdictThrottle
	}
	return v
}

// marked ends what marks and stops decide, and reports whether they do.
func (d *Decision) marked(in *Input, e *failure.Evidence, s *Schedule) bool {
	switch {
	case e.Cancel && in.How != job.ByPanic:
		d.end(Cancel, RuleCancel)
	case e.Permanent:
		d.die(RulePermanent, job.NonRetriable)
	case in.Stop == CancelAsked:
		d.end(Cancel, RuleCancelAsked)
	case e.Snooze > 0 && in.How != job.ByPanic:
		d.Wait = e.Snooze
		d.end(Snooze, RuleSnooze)
	case in.Stop == Shutdown && in.How != job.ByPanic:
		d.end(HandBack, RuleShutdown)
	case s != nil && e.Exit != nil && slices.Contains(s.PermanentExitCodes, *e.Exit):
		d.Verdict = failure.VerdictPermanent
		d.die(RuleExitCode, job.NonRetriable)
	default:
		return false
	}
	return true
}

// count notes what the job has behind it.
func (p *Policy) count(d *Decision, in *Input, base *plan) {
	p.retries(d, base)
	d.ClassFailures = in.Memo.Count(d.Class) + 1
	d.Failures = min(max(in.Attempts, 0), math.MaxInt32) + 1
	d.MaxAttempts = p.limits.MaxAttempts
	d.Age, d.MaxAge = in.Age, p.limits.MaxAge
	d.Deadline = in.Deadline
	d.Cost = d.Memo.Cost
	d.HandOvers = int(in.Memo.HandOvers)
}

// retries notes how many retries a plan has.
func (p *Policy) retries(d *Decision, plan *plan) {
	d.Of, d.RetriesFrom, d.Count = plan.retries, plan.retriesFrom.level, plan.count
	if d.Of >= p.limits.MaxAttempts {
		d.Of, d.RetriesFrom = p.limits.MaxAttempts-1, cmp.Or(p.ceilingFrom, LevelLimits)
	}
	if !plan.retry {
		d.Of = 0
	}
}

// with lays over a plan what the job, its message and its attributes say.
func (p *Policy) with(base plan, in *Input) plan {
	if in.Admission != nil {
		o := p.over(&base)
		for _, r := range slices.Backward(in.Admission.matched) {
			o.put(&r.spec.Settings, LevelRule, r.spec.Name)
		}
	}
	p.own(&base, in)
	return base
}

// own lays over a plan what the job and its message say.
func (p *Policy) own(plan *plan, in *Input) {
	if in.Message != nil {
		p.over(plan).put(in.Message.settings(), LevelMessage, "")
	}
	if in.Job != nil {
		p.over(plan).put(in.Job.settings(), LevelJob, "")
	}
}

// over returns an overlay over the plan of one decision.
func (p *Policy) over(plan *plan) overlay {
	return overlay{plan: plan, curves: p.curves, longest: p.limits.MaxWait}
}

// judge decides by a plan.
func (p *Policy) decideBy(d *Decision, in *Input, plan *plan, final bool) {
	n := d.ClassFailures
	if plan.count == Total {
		n = d.Failures + d.HandOvers
	}
	p.retries(d, plan)
	d.HintMode = plan.hint.Mode
	d.TotalMax, d.TotalBound = max(plan.total, 0), plan.total != noTotal
	d.CostMax, d.CostBound = max(plan.maxCost, 0), plan.maxCost != noCost
	if in.Evidence != nil && in.Evidence.HandOver > 0 && in.How == job.ByError {
		d.HandOversMax = plan.handOvers
		if plan.retry && !final && !d.spent(plan, n) && d.HandOvers < plan.handOvers && p.handOver(d, in, plan) {
			return
		}
	}
	switch {
	case !plan.retry:
		d.die(RuleNoRetry, job.MaxRetries)
		return
	case final:
		d.die(RuleVerdict, job.NonRetriable)
		return
	case n > d.Of:
		d.die(RuleExhausted, job.MaxRetries)
		return
	case d.TotalBound && d.Failures > d.TotalMax:
		d.die(RuleTotal, job.MaxRetries)
		return
	case d.CostBound && d.Cost > d.CostMax:
		d.die(RuleCost, job.MaxCost)
		return
	}
	draw, ok := plan.backoff.Wait(n, in.Memo.Previous, in.U)
	if !ok {
		d.die(RuleEnded, job.MaxRetries)
		return
	}
	d.BackoffFrom, d.curve = plan.backoffFrom.level, plan.backoff
	d.Drawn, d.Nominal, d.Ceiling, d.U = draw.Wait, draw.Nominal, draw.Ceiling, draw.U
	wait, ok := plan.hint.wait(draw.Wait, d.Hint, plan.backoff.Cap, draw.U)
	if !ok {
		d.die(RuleHint, job.HintTooLong)
		return
	}
	switch {
	case in.Age >= p.limits.MaxAge-wait:
		d.die(RuleTooOld, job.MaxRetries)
	case d.Failures >= p.limits.MaxAttempts:
		d.die(RuleCeilingReached, job.MaxRetries)
	case in.Deadline != 0 && wait >= in.Deadline:
		d.die(RuleDeadline, job.DeadlineOver)
	default:
		d.again(plan, n, wait, in.Age)
	}
}

// spent reports whether the job has used up what counts over all its failures.
func (d *Decision) spent(plan *plan, n int) bool {
	return plan.count == Total && n > d.Of || d.TotalBound && d.Failures > d.TotalMax
}

// handOver leaves the job to the queue for as long as the call asks for, and reports
// whether it may wait so long.
func (p *Policy) handOver(d *Decision, in *Input, plan *plan) bool {
	wait := wholeMicros(in.Evidence.HandOver)
	switch {
	case d.CostBound && d.Cost > d.CostMax:
		return false // what follows knows the rule
	case plan.hint.Mode == HintFloor && d.Hint > plan.hint.Max && plan.hint.OverMax == OverMaxDead:
		d.die(RuleHint, job.HintTooLong)
		return true
	case plan.hint.Mode == HintFloor:
		wait = max(wait, d.Hint)
	}
	switch {
	case in.Age >= p.limits.MaxAge-wait:
		d.die(RuleTooOld, job.MaxRetries)
	case in.Deadline != 0 && wait >= in.Deadline:
		d.die(RuleDeadline, job.DeadlineOver)
	default:
		d.Wait = wait
		d.Memo.HandOvers++
		d.HandOvers = int(d.Memo.HandOvers)
		d.end(Defer, RuleHandOver)
	}
	return true
}

// again gives the job its next attempt.
func (d *Decision) again(plan *plan, n int, wait, age time.Duration) {
	d.N, d.Wait = n, wait
	d.Memo.add(d.Class, d.Drawn, age)
	if e := plan.escalate; e != nil && d.ClassFailures >= max(e.After, 1) {
		d.Queue, d.Priority = e.Queue, e.Priority
	}
	d.end(Retry, RuleSchedule)
}

// summary is what Would keeps of a decision.
func (d *Decision) summary() Would {
	return Would{Action: d.Action, Rule: d.Rule, Reason: d.Reason, N: d.N, Of: d.Of, Wait: d.Wait, Queue: d.Queue, Priority: d.Priority}
}

func addCost(a, b int64) int64 {
	if b <= 0 {
		return max(a, 0)
	}
	if a > 1<<62 || b > 1<<62 {
		return 1 << 62
	}
	return max(a, 0) + b
}
