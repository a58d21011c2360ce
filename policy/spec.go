package policy

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Spec is a policy as plain data, with the same contents as a policy file. New checks and
// compiles it. If a field is nil or zero, the next less specific level decides. The built-in
// default provides the values that no level sets.
type Spec struct {
	Name string
	// Hash identifies the contents, in at most 64 bytes. The reader of a policy file sets
	// it. "" means that it is computed from the fields.
	Hash string
	// Source is the text of the policy for people. It is stored with decisions. Nil means
	// the Spec as JSON. Source is not part of the hash.
	Source []byte `json:"-"`
	// Limits are the hard limits. No setting can exceed them.
	Limits Limits
	// Rollout says which decisions are carried out and which are only recorded.
	Rollout Rollout
	// Default contains the settings for classes and kinds that have no settings.
	Default Settings
	// Runs contains the settings for the runs of all kinds.
	Runs    RunSpec `json:",omitzero"`
	Classes map[failure.Class]ClassSpec
	Kinds   map[string]KindSpec
	// Rules change jobs according to their attributes. All matching rules apply, in this order.
	// If several rules set the same field, the first rule wins.
	Rules []RuleSpec
	// Classify contains matchers that give failures a class. They take precedence over
	// the built-in ones of the same rank. If there are no matchers here, only the built-in ones are
	// used.
	Classify classify.Rules
	// Words are the names that an external system uses for states and errors.
	Words Words
}

// Limits are limits on all settings and all jobs.
type Limits struct {
	MaxAttempts int           // attempts in one life of a job; default MaxAttemptsDefault
	MaxAge      time.Duration // age of one life of a job, from its start; default MaxAgeDefault
	MaxWait     time.Duration // longest wait of a schedule; default MaxWaitDefault
}

// Settings say how failures are retried. They can be set at several levels, from the most
// to the least specific: the job, the message that created it, a matching rule, a class
// within a kind, the kind, the class, and Default. For each field, the most specific level
// that sets it wins.
type Settings struct {
	// If Retry is false, the first failure is final for all classes.
	Retry *bool
	// MaxRetries is the number of retries after the first attempt. The field Count says
	// which failures count.
	MaxRetries *int
	// MaxTotalRetries is the largest number of retries over all classes in one life of the
	// job.
	MaxTotalRetries *int
	Backoff         *backoff.Backoff
	// HandOvers is how often, in one life of a job, calls may hand the job over to the queue
	// without using up an attempt; see failure.HandOver. Further hand-overs count as
	// failures. The default is HandOversDefault.
	HandOvers *int `json:",omitempty"`
	// Count says which number is compared with MaxRetries and is used as n in the formula of
	// the back-off: the number of failures of the class in this life, or the number of all
	// failures and hand-overs.
	Count *Count
	// Hint says how to use a wait that the other side asks for.
	Hint *Hint
	// MaxCost is the largest cost of the runs of one life, in millionths of a US dollar. If
	// the cost is above it, the job is dead.
	MaxCost *int64
	// Verdict replaces the verdict of the class. For example, Permanent makes the first
	// failure of the class final.
	Verdict failure.Verdict
	// Escalate changes the queue or priority of the next attempts.
	Escalate *Escalation
}

// HandOversDefault is the number of hand-overs in one life if the policy sets no number.
const HandOversDefault = 3

// Count says what is compared with MaxRetries.
type Count uint8

// The values of Count.
const (
	PerClass Count = iota
	Total
)

// Hint says how to use a Retry-After header or a similar hint of the other side.
type Hint struct {
	// Mode says how the hint and the back-off are combined; default HintFloor.
	Mode HintMode
	// A random time is added to a hint: U(0, max(JitterMin, Jitter × hint)).
	Jitter    float64       // share of the hint; default 0.1; NoJitter means none
	JitterMin time.Duration // the lowest value of the longest random time; default 1 s
	// Max is the longest hint that is accepted; default 24 h. OverMax says what happens to
	// longer hints. A hint is never cut to Max.
	Max     time.Duration
	OverMax OverMaxMode
}

// NoJitter is a value for Hint.Jitter. It means that no random time is added to a hint.
const NoJitter = -1

// withDefaults returns the hint with default values for the fields that are zero.
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

// HintMode says how a hint and the back-off are combined.
type HintMode uint8

// The values of HintMode.
const (
	HintFloor HintMode = iota // use the longer of back-off and hint, plus a random time
	HintCap                   // cut the hint to the cap of the back-off; may retry too early
	HintOff                   // record the hint, but do not use it
)

// OverMaxMode says what happens to a hint that is longer than Hint.Max.
type OverMaxMode uint8

// The values of OverMaxMode.
const (
	OverMaxDead OverMaxMode = iota // the job is dead, and its record has the reason
	OverMaxWait                    // the job waits as long as the hint asks for
)

// Escalation changes the queue or priority of the next attempts.
type Escalation struct {
	Queue    string // the new queue; "" means that the queue does not change
	Priority int    // the new priority; 0 means that the priority does not change
	After    int    // number of failures of the class after which the escalation begins; default 1
}

// ClassSpec contains what a policy sets for one class. The class is built in or defined by
// the policy.
type ClassSpec struct {
	Settings
	// Is makes this class an alias of the class that it names. The alias uses the verdict
	// and the messages of that class.
	Is failure.Class
	// Retrying and Dead are the messages that users see. "" means the built-in message.
	Retrying, Dead string
	// Notified is added to Dead in the failure record of a dead job if the rules of notifications let
	// people who operate the system hear of the death. "" means that nothing is added.
	Notified string `json:",omitempty"`
	// Operator says who has to act, and how.
	Operator string
}

// KindSpec contains what a policy sets for one kind.
type KindSpec struct {
	Settings
	Runs    RunSpec `json:",omitzero"`
	Classes map[failure.Class]Settings
}

// RuleSpec changes jobs whose attributes match its condition.
type RuleSpec struct {
	Name  string
	Kinds []string // kinds for which the rule applies; empty means all kinds
	When  Condition
	Settings
	Queue     string            // the queue for the job when it is enqueued; "" means that the queue does not change
	Priority  int               // the priority when the job is enqueued; 0 means that the priority does not change
	Overrides map[string]string // settings that the handler can read
	Hold      *Hold             // the hold; not nil if the job must be held before it runs
}

// Hold stops a job from running until a person has decided.
type Hold struct {
	Message string // the message for the user of the job
	Notify  string // who should be notified, such as "administrator"
}

// Condition is a compiled expression about a job. Its cost is limited. If an attribute has
// a wrong type, the evaluation fails, and the rule does not match.
type Condition interface {
	Match(*ConditionInput) (bool, error)
	String() string // the text of the expression
}

// ConditionInput contains what a condition can read.
type ConditionInput struct {
	Kind, Queue, Owner string
	Priority           int
	Values             map[string]any // the attributes of the job, as encoding/json decodes them
}

// Rollout says which decisions are carried out. The zero value carries out all decisions.
type Rollout struct {
	// Stage is the name of the active stage in Stages. "" means that Mode, Enforce and
	// Kinds apply.
	Stage   string
	Stages  map[string]Stage
	Mode    Mode
	Enforce []failure.Class // classes whose decisions are carried out even if Mode is Observe
	Kinds   []string        // kinds whose decisions are carried out, for all classes, even if Mode is Observe
	// Baseline contains the settings that apply where the policy only observes.
	Baseline Settings
}

// Stage is a named step of a roll-out.
type Stage struct {
	Mode    Mode
	Enforce []failure.Class
	Kinds   []string
}

// Mode says whether decisions are carried out.
type Mode uint8

// The values of Mode.
const (
	Enforce Mode = iota
	Observe      // decisions are only recorded, and the baseline applies
)

// Words map stored names to the names that an external system uses.
type Words struct {
	// States contains names for states ("waiting", "retrying", "running", "completed",
	// "dead", "cancelled"), or for one reason of death ("dead:<reason>").
	States map[string]string
	// Classes contains names for classes.
	Classes map[failure.Class]string
	// Error contains names for the fields of the error object: "class", "code", "message",
	// "user_message", "permanent", "at", "details", "stack", "attempt", "retries",
	// "max_retries", "next_retry_at" and "context".
	Error map[string]string
}
