package policy

import (
	"cmp"
	"time"

	"github.com/redrive/redrive/failure"
)

// Resolved are the settings of a class within a kind, as decisions use them, with the place of each. A
// rule, a message of a worker and the job itself can still change them.
type Resolved struct {
	Class   failure.Class
	Verdict failure.Verdict // the verdict of the policy, otherwise that of the class
	// Retries is the largest number of retries, 0 if a failure of the class ends the job.
	Retries int
	Count   Count // what counts against Retries
	Backoff string
	// Longest is the largest wait that the back-off or the policy allows.
	Longest time.Duration
	// RetriesFrom and BackoffFrom say where the values are set, such as "the class (classes.NetworkTimeout)".
	RetriesFrom, BackoffFrom string
	MaxCost                  int64 // in millionths of a US dollar; -1 means no limit
	HandOvers                int   // the largest number of calls that are handed over to the queue
	Observed                 bool  // the policy only records its decision
}

// Resolve returns the settings of a class within a kind. An unknown class, and an unknown kind, have
// the settings of the default.
func (p *Policy) Resolve(kind string, class failure.Class) Resolved {
	plan := p.table(kind).plan(class)
	var d Decision
	p.retries(&d, plan)
	r := Resolved{
		Class: class, Verdict: cmp.Or(plan.verdict, plan.classVerdict), Retries: d.Of, Count: d.Count,
		RetriesFrom: placed(d.RetriesFrom, plan.retriesFrom), MaxCost: plan.maxCost, HandOvers: plan.handOvers, Observed: plan.observe,
	}
	if r.Verdict != "" && !r.Verdict.Retriable() {
		r.Retries, r.RetriesFrom = 0, "the verdict of the class"
		if plan.verdict != "" {
			r.RetriesFrom = "the verdict in the policy"
		}
	}
	if r.Retries > 0 && plan.backoff != nil {
		r.Backoff, r.Longest, r.BackoffFrom = plan.backoff.String(), plan.backoff.Cap, placed(plan.backoffFrom.level, plan.backoffFrom)
	}
	return r
}

// placed writes a level in words, with the path of the setting in the policy file.
func placed(level Level, from origin) string {
	text := levelWords(level)
	if from.level == level && from.path != "" && level != LevelBuiltin {
		text += " (" + from.path + ")"
	}
	return text
}
