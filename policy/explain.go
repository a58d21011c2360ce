package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/backoff"
)

// Reason returns one line of text that says what was decided and why.
func (r *Record) Reason() string {
	s := r.reason()
	if w := r.Would; w != nil {
		s += "; observed only: the policy would " + w.would()
	}
	return s
}

func (r *Record) reason() string {
	switch r.Rule {
	case RuleSuccess:
		return "the handler succeeded"
	case RuleSnooze:
		return fmt.Sprintf("the handler asked to run again in %s; no attempt burned", rounded(r.Wait))
	case RuleHandOver:
		return fmt.Sprintf("a call has run out of retries and handed the job over: it runs again in %s, %d of %d times; no attempt burned",
			rounded(r.Wait), r.HandOvers, *orZero(r.HandOversMax))
	case RuleWorker:
		return fmt.Sprintf("a worker could not start the program: any worker may run the job in %s; no attempt burned", rounded(r.Wait))
	case RuleCancel:
		return "the handler cancelled the job"
	case RulePermanent:
		return "dead at once: the error is marked as permanent"
	case RuleCancelAsked:
		return "cancelled by a person while it was running"
	case RuleShutdown:
		return "handed back by a stopping worker; no attempt burned"
	case RuleExitCode:
		return "dead at once: the exit code is one of the permanent ones"
	case RuleVerdict:
		return fmt.Sprintf("dead at once: %s is not retried", r.Class)
	case RuleNoRetry:
		return "dead at once: retries are switched off"
	case RuleExhausted, RuleEnded:
		return r.exhausted()
	case RuleTotal:
		return fmt.Sprintf("dead: the retries over all classes are used up, %d of %d", *orZero(r.TotalMax), *orZero(r.TotalMax))
	case RuleCost:
		return fmt.Sprintf("dead: the job has cost %s, %s is the most", dollars(r.Cost), dollars(*orZero(r.CostMax)))
	case RuleHint:
		return fmt.Sprintf("dead: the other side asked for %s, more than the policy waits", rounded(r.Hint))
	case RuleDeadline:
		return "dead: the next attempt would begin after the job's deadline"
	case RuleCeilingReached:
		return "dead: the ceiling on attempts of one life is reached"
	case RuleTooOld:
		return "dead: the next attempt would come after the age at which a life ends"
	}
	return r.again()
}

func (r *Record) exhausted() string {
	switch {
	case r.Of == 0 && r.RetriesFrom == LevelRule:
		return "dead: a rule on the job's attributes allows no retry"
	case r.Of == 0 && (r.RetriesFrom == LevelJob || r.RetriesFrom == LevelMessage):
		return fmt.Sprintf("dead: the %s allows no retry", r.RetriesFrom)
	case r.Of == 0 && (r.Count == "total" || r.RetriesFrom != LevelClass && r.RetriesFrom != LevelKindOf):
		return "dead: the kind is not retried"
	case r.Of == 0:
		return fmt.Sprintf("dead: %s is not retried", r.Class)
	case r.Rule == RuleEnded:
		return "dead: the schedule has no further wait"
	case r.Count == "total":
		return fmt.Sprintf("dead: the retries are used up, %d of %d", r.Of, r.Of)
	}
	return fmt.Sprintf("dead: the retries of %s are used up, %d of %d", r.Class, r.Of, r.Of)
}

func (r *Record) again() string {
	s := fmt.Sprintf("retry %d of %d in %s", r.N, r.Of, rounded(r.Wait))
	if r.Queue != "" {
		s += " on queue " + r.Queue
	}
	if r.Priority != 0 {
		s += " at priority " + strconv.Itoa(r.Priority)
	}
	switch {
	case r.Hint == 0:
	case r.HintMode == "off":
		s += fmt.Sprintf(": the %s that the other side asked for are not heeded", rounded(r.Hint))
	case r.HintMode == "cap" && r.Wait < r.Hint:
		s += fmt.Sprintf(": the other side asked for %s, cut to the cap", rounded(r.Hint))
	case r.Hint == r.Wait:
		s += ": the other side asked for this wait"
	case r.Hint >= r.Drawn:
		s += ": the other side asked for " + rounded(r.Hint)
	default:
		s += fmt.Sprintf(": the schedule waits longer than the %s that the other side asked for", rounded(r.Hint))
	}
	return s
}

func (w *WouldRecord) would() string {
	switch {
	case w.Dead != "":
		return "end the job (" + w.Dead + ")"
	case w.Queue != "":
		return fmt.Sprintf("retry in %s on queue %s", rounded(w.Wait), w.Queue)
	}
	return "retry in " + rounded(w.Wait)
}

// Fact is one line of an explanation: a name and a text.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Facts returns the explanation of the decision line by line: what was decided, the
// evidence, the evidence that was outranked, the computation of the wait, the hint, the
// counters, the limits and the policy. Lines that do not apply are left out.
func (r *Record) Facts() []Fact {
	all := []Fact{
		{"decision", r.Reason()}, {"class", r.class()}, {"weighed", r.weighed()}, {"outranked", r.outranked()}, {"formula", r.formula()},
		{"hint", r.hint()}, {"counters", r.counters()}, {"limits", r.limits()}, {"rules", strings.Join(r.Rules, ", ")},
		{"policy", r.policy()}, {"observed", r.observed()},
	}
	kept := all[:0]
	for _, f := range all {
		if f.Text != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// Explain returns the Facts as text, one per line.
func (r *Record) Explain() string {
	var b strings.Builder
	for _, f := range r.Facts() {
		fmt.Fprintf(&b, "%-9s %s\n", f.Name, f.Text)
	}
	return b.String()
}

// Explain returns a text that says what was decided and why. The stored record of the
// decision gives the same text.
func (d *Decision) Explain() string {
	r, err := ParseRecord(d.Record())
	if err != nil {
		panic("policy: the record of a decision cannot be read back: " + err.Error())
	}
	return r.Explain()
}

func (r *Record) class() string {
	if r.Class == "" {
		return ""
	}
	s := fmt.Sprintf("%s, verdict %s", r.Class, r.Verdict)
	if r.By != "" {
		s += ", by " + r.By + ranked(r.Rank)
	}
	return s + saw(r.Saw) + code(r.Code)
}

// ranked returns a text for the kind of evidence that a rule reads.
func ranked(rank string) string {
	if rank == "" {
		return ""
	}
	return " (" + rank + ")"
}

func saw(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(", which saw %q", s)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return ", code " + s
}

func (r *Record) outranked() string {
	lost := make([]string, len(r.Outranked))
	for i, b := range r.Outranked {
		lost[i] = fmt.Sprintf("%s%s for %s%s", b.Rule, ranked(b.Rank), b.Class, saw(b.Saw))
	}
	return strings.Join(lost, "; ")
}

// formula returns the computation of the wait, such as "30s × 2^(2−1) = 1m, ±20 %, random
// number 0.31 → 55.4s".
func (r *Record) formula() string {
	n := r.number()
	if r.Growth == "" {
		return "" // the decision was made before a wait was computed
	}
	var s string
	if growth, exponential := strings.CutSuffix(r.Growth, "(n−1)"); exponential {
		s = fmt.Sprintf("%s(%d−1)", growth, n)
	} else {
		s = fmt.Sprintf("wait %d of %s", n, r.Growth)
	}
	s += " = " + rounded(r.Nominal)
	if r.Borders != "" {
		s += ", " + r.Borders
	}
	if r.Spreading == "" {
		return s + from(r.BackoffFrom)
	}
	return fmt.Sprintf("%s, %s, random number %.3g → %s%s", s, r.Spreading, r.U, rounded(r.Drawn), from(r.BackoffFrom))
}

// number returns the value of n in the formula.
func (r *Record) number() int {
	if r.Count == "total" {
		return r.Failures + r.HandOvers
	}
	return r.ClassFailures
}

func from(l Level) string {
	if l == "" {
		return ""
	}
	return " (set by " + levelWords(l) + ")"
}

func levelWords(l Level) string {
	switch l {
	case LevelBuiltin:
		return "the built-in default"
	case LevelDefault:
		return "the default of the policy"
	case LevelKindOf:
		return "the class within the kind"
	case LevelSchedule:
		return "the schedule of the program"
	case LevelBaseline, LevelClass, LevelKind, LevelRule, LevelMessage, LevelJob, LevelLimits:
	}
	return "the " + string(l)
}

func (r *Record) hint() string {
	if r.Hint == 0 {
		return ""
	}
	s := "the other side asked for " + rounded(r.Hint)
	switch {
	case r.HintMode == "off":
		return s + ", which the policy does not heed"
	case r.Wait == 0:
		return s
	case r.HintMode == "cap":
		return s + ", of which the policy takes " + rounded(r.Wait)
	case r.Wait > r.Drawn:
		return fmt.Sprintf("%s: waits %s, %s more so that not all come back together", s, rounded(r.Wait), rounded(r.Wait-r.Hint))
	}
	return s + ", and the back-off waits longer"
}

func (r *Record) counters() string {
	if r.Failures == 0 {
		return ""
	}
	if r.Rule == RuleHandOver {
		return fmt.Sprintf("hand-over %d of this life", r.HandOvers)
	}
	s := fmt.Sprintf("failure %d of this life, %d of class %s", r.Failures, r.ClassFailures, r.Class)
	if r.HandOvers > 0 {
		s += fmt.Sprintf(", after %d hand-overs", r.HandOvers)
	}
	return s
}

func (r *Record) limits() string {
	if r.MaxAttempts == 0 {
		return ""
	}
	counted := "of the class"
	if r.Count == "total" {
		counted = "of all classes"
	}
	parts := []string{fmt.Sprintf("%d retries %s%s", r.Of, counted, from(r.RetriesFrom))}
	if r.HandOversMax != nil {
		parts = append(parts, fmt.Sprintf("%d hand-overs", *r.HandOversMax))
	}
	if r.TotalMax != nil {
		parts = append(parts, fmt.Sprintf("%d over all classes", *r.TotalMax))
	}
	parts = append(parts, fmt.Sprintf("attempt %d of at most %d", r.Failures, r.MaxAttempts),
		fmt.Sprintf("age %s of at most %s", rounded(r.Age), rounded(r.MaxAge)))
	if r.Deadline != 0 {
		parts = append(parts, "deadline in "+rounded(r.Deadline))
	}
	switch {
	case r.CostMax != nil:
		parts = append(parts, fmt.Sprintf("cost %s of %s", dollars(r.Cost), dollars(*r.CostMax)))
	case r.Cost != 0:
		parts = append(parts, "cost "+dollars(r.Cost))
	}
	return strings.Join(parts, ", ")
}

func (r *Record) policy() string {
	if r.Hash == "" {
		return r.Policy
	}
	return strings.TrimSpace(r.Policy + " " + ShortHash(r.Hash))
}

func (r *Record) observed() string {
	w := r.Would
	if w == nil {
		return ""
	}
	s := fmt.Sprintf("the policy only observes %s; it would %s, by %s", r.Class, w.would(), w.Rule)
	if w.N > 0 {
		s += fmt.Sprintf(", retry %d of %d", w.N, w.Of)
	}
	return s
}

// ShortHash returns the first characters of a hash. They are enough to compare policies.
func ShortHash(hash string) string { return hash[:min(len(hash), 12)] }

func rounded(us int64) string { return backoff.Rounded(micros(us)) }

// dollars formats millionths of a US dollar.
func dollars(millionths int64) string {
	s := strconv.FormatFloat(float64(millionths)/1e6, 'f', 6, 64)
	whole, part, _ := strings.Cut(s, ".")
	part = strings.TrimRight(part, "0")
	for len(part) < 2 {
		part += "0"
	}
	return "$" + whole + "." + part
}

func orZero[T any](p *T) *T {
	if p == nil {
		p = new(T)
	}
	return p
}
