package policy

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// Spec is a policy as it is written: plain data, the same as a policy file
// holds. New checks and compiles it. Where a field is nil or zero, the next less
// specific level has the word; what no level says comes from the built-in default.
type Spec struct {
	Name string
	// Hash names the contents, as who read them from a file gives it, at most 64
	// bytes; "" takes one made of the fields.
	Hash string
	// Source is the text of the policy for people, as it is kept beside decisions; nil
	// is the Spec as JSON. It is no part of the content.
	Source []byte `json:"-"`
	// Limits are the hard ceilings: nothing below can exceed them.
	Limits Limits
	// Rollout says which decisions are carried out and which only recorded.
	Rollout Rollout
	// Default serves classes and kinds that say nothing.
	Default Settings
	Classes map[failure.Class]ClassSpec
	Kinds   map[string]KindSpec
	// Rules look at a job's attributes. All that match apply, in order; of a
	// field that several set, the first counts.
	Rules []RuleSpec
	// Classify holds matchers that come before the built-in ones of the same rank.
	// One without any matcher is the built-in ones.
	Classify failure.Rules
	// Words are the names that the outside knows for states and errors.
	Words Words
}

// Limits are the ceilings over every setting and every caller.
type Limits struct {
	MaxAttempts int           // executions of one life; default MaxAttemptsDefault
	MaxAge      time.Duration // of one life, from its start; default MaxAgeDefault
	MaxWait     time.Duration // the longest wait a schedule may ask for; default MaxWaitDefault
}

// Settings say how failures are retried. They stand, from the most to the least
// specific, at the job, the message that brought it, a matching rule, a class
// within a kind, the kind, the class, and Default: each field by itself.
type Settings struct {
	// Retry false makes the first failure final, whatever its class (R7).
	Retry *bool
	// MaxRetries is the number of retries after the first execution, counted as
	// Count says.
	MaxRetries *int
	// MaxTotalRetries bounds the retries of one life over all classes.
	MaxTotalRetries *int
	Backoff         *backoff.Backoff
	// HandOvers is how often in one life a call may hand its job over to the queue, see
	// failure.HandOver, without using up an attempt; default HandOversDefault. A further
	// one is a failure like any other.
	HandOvers *int `json:",omitempty"`
	// Count says what is compared with MaxRetries and is n in the formula: the
	// failures of the class in this life, or all of them, hand-overs included.
	Count *Count
	// Hint says what a wait that the other side asks for means.
	Hint *Hint
	// MaxCost ends the life when its runs have cost more, in millionths of a US
	// dollar.
	MaxCost *int64
	// Verdict replaces the verdict of the class: Permanent ends the job at its
	// first failure of it.
	Verdict failure.Verdict
	// Escalate moves the next attempts (R6).
	Escalate *Escalation
}

// HandOversDefault is how often a job is handed over where no policy says it.
const HandOversDefault = 3

// Count is what is counted against MaxRetries.
type Count uint8

// What counts.
const (
	PerClass Count = iota
	Total
)

// Hint is the treatment of Retry-After and its like.
type Hint struct {
	// Mode is Floor unless said otherwise: the wait is the longer of back-off and
	// hint. CapAtBackoff cuts the hint to the cap of the back-off.
	Mode HintMode
	// Jitter is added to a hint: U(0, max(JitterMin, Jitter × hint)).
	Jitter    float64       // default 0.1; NoJitter is none
	JitterMin time.Duration // default 1 s
	// Max is the border of the job's own zone; default 24 h. Beyond says what
	// happens to a hint above it; it is never cut.
	Max     time.Duration
	OverMax OverMaxMode
}

// NoJitter as Hint.Jitter adds nothing to a hint.
const NoJitter = -1

// withDefaults fills in what the hint leaves open.
func (h Hint) withDefaults() Hint {
	switch {
	case h.Jitter < 0:
		h.Jitter, h.JitterMin = 0, 0
	case h.Jitter == 0:
		h.Jitter = HintJitterDefault
		fallthrough
	default:
		if h.JitterMin == 0 {
			h.JitterMin = HintJitterMinDefault
		}
	}
	if h.Max == 0 {
		h.Max = HintMaxDefault
	}
	return h
}

// What a Hint has that names nothing else.
const (
	HintJitterDefault    = 0.1
	HintJitterMinDefault = time.Second
	HintMaxDefault       = 24 * time.Hour
)

// HintMode is how a hint and the back-off are combined.
type HintMode uint8

// The modes.
const (
	HintFloor HintMode = iota // max(back-off, hint) and a little jitter
	HintCap                   // min(hint, cap of the back-off): may come too early
	HintOff                   // the hint is recorded and not heeded
)

// OverMaxMode says what happens to a hint above Hint.Max.
type OverMaxMode uint8

// What happens to a hint above Hint.Max.
const (
	OverMaxDead OverMaxMode = iota // the job is dead, and its record gives the reason
	OverMaxWait                    // the job waits as long as the hint says
)

// Escalation moves the next attempts to another queue or priority.
type Escalation struct {
	Queue    string // "" keeps
	Priority int    // 0 keeps
	After    int    // failures of the class before it begins; default 1
}

// ClassSpec is what a policy says of one class, built-in or its own.
type ClassSpec struct {
	Settings
	// Is makes the class another name of a built-in one, whose verdict and
	// messages it takes over.
	Is failure.Class
	// Retrying and Dead are the messages that users see; "" takes the built-in.
	Retrying, Dead string
	// Operator is who has to act and how.
	Operator string
}

// KindSpec is what a policy says of one kind.
type KindSpec struct {
	Settings
	Classes map[failure.Class]Settings
}

// RuleSpec changes the policy of jobs whose attributes match.
type RuleSpec struct {
	Name  string
	Kinds []string // empty: all
	When  Condition
	Settings
	Queue     string            // routed there at the enqueue; "" keeps
	Priority  int               // likewise; 0 keeps
	Overrides map[string]string // handed to the handler
	Hold      *Hold             // never executed
}

// Hold keeps a job from running until a person has decided.
type Hold struct {
	Message string // for the user
	Notify  string // who is told, such as "administrator"
}

// Condition is a compiled expression over a job. Its cost is bounded; it fails
// on attributes of the wrong type, and then does not match.
type Condition interface {
	Match(*ConditionInput) (bool, error)
	String() string // as it is written
}

// ConditionInput is what a condition can look at.
type ConditionInput struct {
	Kind, Queue, Owner string
	Priority           int
	Values             map[string]any // the job's attributes, as encoding/json decodes them
}

// Rollout says which decisions act. Without one all do.
type Rollout struct {
	// Stage names the present one of Stages; "" uses Mode and Enforce as they are.
	Stage   string
	Stages  map[string]Stage
	Mode    Mode
	Enforce []failure.Class // classes that are enforced although Mode is Observe
	Kinds   []string        // likewise kinds, in all their classes
	// Baseline acts where the policy only observes.
	Baseline Settings
}

// Stage is a named step of a roll-out.
type Stage struct {
	Mode    Mode
	Enforce []failure.Class
	Kinds   []string
}

// Mode is whether decisions are carried out.
type Mode uint8

// The modes.
const (
	Enforce Mode = iota
	Observe      // decide and record, let the baseline act
)

// Words maps what is stored to what a system outside calls it (Q14).
type Words struct {
	// States by our word ("waiting", "retrying", "running", "completed", "dead",
	// "cancelled"), or "dead:<reason>" for one reason of death.
	States map[string]string
	// Classes by ours.
	Classes map[failure.Class]string
	// Error names the fields of the error object: our field ("class", "code",
	// "message", "user_message", "permanent", "at", "details", "stack",
	// "attempt", "retries", "max_retries", "next_retry_at", "context") to theirs.
	Error map[string]string
}
