package policy

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Stop says why a run was stopped before it ended by itself.
type Stop uint8

// The values of Stop.
const (
	NotStopped  Stop = iota
	TimeLimit        // the run has reached the time limit of its kind
	Shutdown         // the worker is shutting down
	CancelAsked      // a person cancelled the job
)

// Input contains all values that a decision depends on.
type Input struct {
	Kind     string
	Evidence *failure.Evidence // evidence of the failure, or nil if there is no evidence
	// Class is the result of Classify for the evidence. If Class is the zero value, Decide
	// uses the class that a mark in the evidence names, or UnknownError if no mark names a
	// class.
	Class    classify.Classification
	How      job.How
	Stop     Stop
	Attempts int           // number of attempts of the job's current life before this run; a manual retry begins a new life
	Age      time.Duration // age of the job's current life when the run ended
	Deadline time.Duration // time until the job's deadline; 0 means no deadline, negative means that the deadline has passed
	Now      time.Time     // the current time, by the same clock as Evidence.NotBefore
	Memo     Memo          // the memo of the previous decision of this life
	U        float64       // a random number, uniform in [0, 1)
	Cost     int64         // cost of this run in millionths of a US dollar
	// The settings of the job, its message and its admission. They take precedence over the
	// settings of the policy, in this order. Nil sets nothing.
	Job, Message *Override
	Admission    *Admission
}

// noEvidence is the evidence of runs that have none.
var noEvidence failure.Evidence

// Decide decides what follows from the end of a run. It uses the first of the following
// that applies: a success, even if the run was being stopped; the marks failure.Cancel and
// failure.Permanent; the cancel by a person; the mark failure.Snooze; the shutdown of the
// worker; and finally the policy. After a panic, the marks Cancel and Snooze and the
// shutdown of the worker are ignored.
//
// The policy checks, in this order:
//
//  1. whether the class and the kind are retried at all
//  2. whether a call hands the job over to the queue, within the limits for hand-overs
//  3. whether a retry is left, for the class and for all classes
//  4. whether the cost is within its limit
//  5. whether the wait is within its limit
//  6. whether the next attempt would begin within the limits on age and attempts, and
//     before the job's deadline
//
// Decide returns a decision for any input. The wait is never shorter than the hint of the
// other side, unless the policy allows it.
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
	classOf(&d.By, in, e)
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
	before := *t.baseline // a copy, because the job's own settings are added to it
	p.own(&before, in)
	p.decideBy(&d, in, &before, before.verdict != "" && !before.verdict.Retriable())
	return d
}

// classOf sets the class and the rule that found it. If the handler named no class, and
// the run was stopped or panicked, the class comes from the stop or the panic: the error of
// a stopped run is only a consequence of the stop.
func classOf(c *classify.Classification, in *Input, e *failure.Evidence) {
	*c = in.Class // the only copy: a classification has hundreds of bytes
	if c.Class == "" {
		*c = classify.Classification{Class: e.Class, Rule: ClassByMark, Rank: classify.RankMark}
		if e.Class == "" {
			*c = classify.Classification{Class: failure.UnknownError, Rule: ClassByNothing}
		}
	}
	switch {
	case in.How == job.ByPanic && e.Cancel && e.Class == "": // the mark Cancel is ignored after a panic
		*c = outranked(*c, failure.Panic, ClassByPanic)
	case namedByHandler(c, e):
		return
	case in.How == job.ByPanic:
		*c = outranked(*c, failure.Panic, ClassByPanic)
	case in.Stop == CancelAsked:
		*c = outranked(*c, failure.Cancelled, ClassByPerson)
	case e.Cancel:
		*c = outranked(*c, failure.Cancelled, ClassByHandler)
	case in.How == job.ByTimeout || in.Stop == TimeLimit:
		*c = outranked(*c, failure.AttemptTimeout, ClassByTimeLimit)
	}
}

// namedByHandler reports whether the handler named the class: with a mark, or with a code
// for which the policy has a class.
func namedByHandler(c *classify.Classification, e *failure.Evidence) bool {
	if c.Rank >= classify.RankMark {
		return true
	}
	code, ok := strings.CutPrefix(c.Rule, "policy.codes.")
	return ok && strings.EqualFold(code, e.Code)
}

// outranked replaces the class in c with another class, and keeps the replaced class as
// outranked evidence.
func outranked(c classify.Classification, by failure.Class, rule string) classify.Classification {
	if c.Class == by {
		return c
	}
	beat := [3]classify.Outranked{{Rule: c.Rule, Class: c.Class, Rank: c.Rank, Saw: c.Saw}, c.Outranked[0], c.Outranked[1]}
	if c.Rule == ClassByNothing {
		beat = [3]classify.Outranked{}
	}
	return classify.Classification{Class: by, Rank: classify.RankCause, Rule: rule, Code: c.Code, Hint: c.Hint, Outranked: beat}
}

// verdictOf returns the verdict of the evidence. It uses the first source that has a verdict:
// the marks of the handler, the policy, the classification, and then the class. With
// Schedule.RetryUnmarked the last two end no job, unless the handler named the class.
func (p *plan) verdictOf(c *classify.Classification, e *failure.Evidence, in *Input) failure.Verdict {
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
	case v == failure.VerdictCancelled: // no person cancelled the job, so this counts as an ordinary failure
		return failure.VerdictUnknown
	case v == failure.VerdictUnknown && e.RetryAfter > 0:
		return failure.VerdictThrottle
	case p.unmarked && !v.Retriable() && !namedByHandler(c, e):
		return failure.VerdictRetry
	}
	return v
}

// marked decides by the marks of the handler and by the shutdown of the worker. It reports
// whether one of them applied.
func (d *Decision) marked(in *Input, e *failure.Evidence, s *Schedule) bool {
	switch {
	case e.Cancel && in.How != job.ByPanic:
		d.end(Cancel, RuleCancel)
	case e.Permanent:
		d.die(RulePermanent, refusal(e))
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

// refusal returns the reason of the death of a job with a permanent failure.
func refusal(e *failure.Evidence) job.Reason {
	switch r := job.Reason(e.Refused); r {
	case job.Malformed, job.UnknownType, job.KeyConflict:
		return r
	default:
		return job.NonRetriable
	}
}

// count copies the counters of the job into the decision.
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

// retries records in the decision how many retries a plan allows.
func (p *Policy) retries(d *Decision, plan *plan) {
	d.Of, d.RetriesFrom, d.Count = plan.retries, plan.retriesFrom.level, plan.count
	if d.Of >= p.limits.MaxAttempts {
		d.Of, d.RetriesFrom = p.limits.MaxAttempts-1, cmp.Or(p.ceilingFrom, LevelLimits)
	}
	if !plan.retry {
		d.Of = 0
	}
}

// with changes a plan by three kinds of settings: those of the job, of its message and of its admission.
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

// own adds the settings of the job and its message to a plan.
func (p *Policy) own(plan *plan, in *Input) {
	if in.Message != nil {
		p.over(plan).put(in.Message.settings(), LevelMessage, "")
	}
	if in.Job != nil {
		p.over(plan).put(in.Job.settings(), LevelJob, "")
	}
}

// over returns an overlay for a plan that is used for one decision only.
func (p *Policy) over(plan *plan) overlay {
	return overlay{plan: plan, curves: p.curves, longest: p.limits.MaxWait}
}

// decideBy makes the decision with the settings of a plan.
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
	case !plan.retry && final:
		d.die(RuleNoRetry, job.NonRetriable)
		return
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

// spent reports whether the job has reached one of the limits that count its failures of all
// classes.
func (d *Decision) spent(plan *plan, n int) bool {
	return plan.count == Total && n > d.Of || d.TotalBound && d.Failures > d.TotalMax
}

// handOver makes the job wait in the queue for the time that the call asks for. It reports
// whether this wait is allowed.
func (p *Policy) handOver(d *Decision, in *Input, plan *plan) bool {
	wait := wholeMicros(in.Evidence.HandOver)
	switch {
	case d.CostBound && d.Cost > d.CostMax:
		return false // a later check decides and sets the rule
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

// again records in the decision that the job runs again: the number of the retry, its wait,
// queue and priority.
func (d *Decision) again(plan *plan, n int, wait, age time.Duration) {
	d.N, d.Wait = n, wait
	d.Memo.add(d.Class, d.Drawn, age)
	if e := plan.escalate; e != nil && d.ClassFailures >= max(e.After, 1) {
		d.Queue, d.Priority = e.Queue, e.Priority
	}
	d.end(Retry, RuleSchedule)
}

// summary returns those fields of a decision that are kept in Would.
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
