package policy

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// Spec is the source form of a policy: plain data, the same as a policy file holds. New
// checks and compiles it. Where a field is nil or zero, the next less specific level
// decides; what no level sets comes from the built-in default.
type Spec struct {
	Name string
	// Hash identifies the contents, as the reader of a policy file sets it, at most 64
	// bytes; "" computes it from the fields.
	Hash string
	// Source is the text of the policy for people, which is kept beside decisions; nil
	// means the Spec as JSON. It is not part of the contents that are hashed.
	Source []byte `json:"-"`
	// Limits are the hard limits: no setting can exceed them.
	Limits Limits
	// Rollout says which decisions are carried out and which only recorded.
	Rollout Rollout
	// Default applies to classes and kinds without settings of their own.
	Default Settings
	Classes map[failure.Class]ClassSpec
	Kinds   map[string]KindSpec
	// Rules apply to jobs by their attributes. All matching rules apply, in order; if
	// several set the same field, the first one wins.
	Rules []RuleSpec
	// Classify holds matchers that come before the built-in ones of the same rank.
	// Without any matcher, the built-in ones are used.
	Classify failure.Rules
	// Words are the names that an external system uses for states and errors.
	Words Words
}

// Limits are the limits over all settings and all callers.
type Limits struct {
	MaxAttempts int           // attempts of one life; default MaxAttemptsDefault
	MaxAge      time.Duration // age of one life, from its start; default MaxAgeDefault
	MaxWait     time.Duration // the longest wait a schedule may ask for; default MaxWaitDefault
}

// Settings say how failures are retried. They can stand at several levels, from the
// most to the least specific: the job, the message that brought it, a matching rule, a
// class within a kind, the kind, the class, and Default. For each field the most
// specific level that sets it wins.
type Settings struct {
	// Retry false makes the first failure final, whatever its class.
	Retry *bool
	// MaxRetries is the number of retries after the first execution, counted as
	// Count says.
	MaxRetries *int
	// MaxTotalRetries limits the retries of one life over all classes.
	MaxTotalRetries *int
	Backoff         *backoff.Backoff
	// HandOvers is how often in one life a call may hand its job over to the queue
	// without using up an attempt, see failure.HandOver; default HandOversDefault. Each
	// further hand-over is a failure like any other.
	HandOvers *int `json:",omitempty"`
	// Count selects the number that is compared with MaxRetries and is n in the
	// formula: the failures of the class in this life, or all failures and hand-overs.
	Count *Count
	// Hint says how a wait that the other side asks for is used.
	Hint *Hint
	// MaxCost ends the life when its runs have cost more than this, in millionths of a
	// US dollar.
	MaxCost *int64
	// Verdict replaces the verdict of the class: with Permanent, the first failure of
	// the class ends the job.
	Verdict failure.Verdict
	// Escalate moves the next attempts to another queue or priority.
	Escalate *Escalation
}

// HandOversDefault is how many hand-overs a life has where the policy sets no number.
const HandOversDefault = 3

// Count selects what is counted against MaxRetries.
type Count uint8

// What can be counted.
const (
	PerClass Count = iota
	Total
)

// Hint says how a Retry-After or a similar hint is used.
type Hint struct {
	// Mode is how a hint and the back-off combine; default HintFloor.
	Mode HintMode
	// Jitter is added to a hint: U(0, max(JitterMin, Jitter × hint)).
	Jitter    float64       // default 0.1; NoJitter means none
	JitterMin time.Duration // default 1 s
	// Max is the longest hint that is accepted; default 24 h. OverMax says what happens
	// to a longer one; a hint is never cut to Max.
	Max     time.Duration
	OverMax OverMaxMode
}

// NoJitter as Hint.Jitter adds no jitter to a hint.
const NoJitter = -1

// withDefaults fills in the fields that are zero.
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

// The default values of a Hint.
const (
	HintJitterDefault    = 0.1
	HintJitterMinDefault = time.Second
	HintMaxDefault       = 24 * time.Hour
)

// HintMode is how a hint and the back-off are combined.
type HintMode uint8

// The modes of a hint.
const (
	HintFloor HintMode = iota // the longer of back-off and hint, plus a little jitter
	HintCap                   // the hint cut to the cap of the back-off; may retry too early
	HintOff                   // the hint is recorded and not used
)

// OverMaxMode says what happens to a hint above Hint.Max.
type OverMaxMode uint8

// What happens to a hint above Hint.Max.
const (
	OverMaxDead OverMaxMode = iota // the job is dead; its record has the reason
	OverMaxWait                    // the job waits as long as the hint says
)

// Escalation moves the next attempts to another queue or priority.
type Escalation struct {
	Queue    string // "" keeps the queue
	Priority int    // 0 keeps the priority
	After    int    // number of failures of the class after which it begins; default 1
}

// ClassSpec is what a policy sets for one class, built-in or its own.
type ClassSpec struct {
	Settings
	// Is makes the class an alias of a built-in class, whose verdict and messages it
	// uses.
	Is failure.Class
	// Retrying and Dead are the messages that users see; "" means the built-in message.
	Retrying, Dead string
	// Operator says who has to act and how.
	Operator string
}

// KindSpec is what a policy sets for one kind.
type KindSpec struct {
	Settings
	Classes map[failure.Class]Settings
}

// RuleSpec changes the settings of jobs whose attributes match.
type RuleSpec struct {
	Name  string
	Kinds []string // empty means all kinds
	When  Condition
	Settings
	Queue     string            // the queue of the job from its enqueue on; "" keeps the queue
	Priority  int               // the priority from the enqueue on; 0 keeps it
	Overrides map[string]string // settings that the handler gets
	Hold      *Hold             // set to hold the job before it runs
}

// Hold keeps a job from running until a person has decided.
type Hold struct {
	Message string // shown to the user of the job
	Notify  string // who should be notified, such as "administrator"
}

// Condition is a compiled expression over a job. Its cost is bounded. It fails when an
// attribute has the wrong type, and then the rule does not match.
type Condition interface {
	Match(*ConditionInput) (bool, error)
	String() string // the source text
}

// ConditionInput is what a condition can read.
type ConditionInput struct {
	Kind, Queue, Owner string
	Priority           int
	Values             map[string]any // the job's attributes, as encoding/json decodes them
}

// Rollout says which decisions are in force. Without one all are.
type Rollout struct {
	// Stage names the present one of Stages; "" uses Mode, Enforce and Kinds as they
	// are.
	Stage   string
	Stages  map[string]Stage
	Mode    Mode
	Enforce []failure.Class // classes that are enforced although Mode is Observe
	Kinds   []string        // kinds that are enforced, with all their classes, although Mode is Observe
	// Baseline is in force where the policy only observes.
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
	Observe      // decide and record; the baseline is in force
)

// Words maps stored names to the names of an external system.
type Words struct {
	// States maps the states ("waiting", "retrying", "running", "completed", "dead",
	// "cancelled"), or "dead:<reason>" for one reason of death.
	States map[string]string
	// Classes maps the names of classes.
	Classes map[failure.Class]string
	// Error maps the fields of the error object: "class", "code", "message",
	// "user_message", "permanent", "at", "details", "stack", "attempt", "retries",
	// "max_retries", "next_retry_at" and "context".
	Error map[string]string
}
