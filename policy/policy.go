// Package policy decides what happens to a job after a run has ended. It decides from a
// policy, the class of the failure and the history of the job. Policies are plain data. A
// decision depends only on its Input, so the same input always gives the same decision,
// even when it is replayed later.
package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Policy is a Spec that was checked and compiled. It is immutable and safe for concurrent
// use.
type Policy struct {
	spec    Spec
	builtin Spec // the Spec that provides the values that the field spec leaves unset
	hash    string
	limits  Limits // limits with default values filled in
	// ceilingFrom is the level that has lowered limits.MaxAttempts. It is empty if the
	// policy itself set this limit.
	ceilingFrom Level
	chains      map[failure.Class][]failure.Class
	rules       []rule
	schedules   map[string]*Schedule
	kinds       map[string]*kindTable
	other       *kindTable // the plans for kinds that the policy does not mention
	curves      curves

	classifier *classify.Classifier
}

// Problem is one mistake in a Spec.
type Problem struct {
	// Path is the path of the wrong value in the policy file. Its keys are separated by dots,
	// and list items are numbered from 0: "classes.NetworkTimeout.max_retries",
	// "rules[2].when".
	Path string
	// Message says what the value is, what is allowed, and how to correct it.
	Message string
}

// String returns the path and the message.
func (p Problem) String() string { return p.Path + ": " + p.Message }

// New checks and compiles a Spec. It returns either a policy or all mistakes of the Spec.
// An empty Spec means DefaultSpec. Do not change the Spec, or anything that it points to,
// afterwards.
func New(s Spec) (*Policy, []Problem) {
	if s.isEmpty() {
		s = DefaultSpec()
	}
	p := &Policy{spec: s, builtin: DefaultSpec(), limits: s.Limits.withDefaults(), curves: curves{}}
	p.chains = chains(&s)
	c := checker{policy: p}
	c.found = p.compileClassifier()
	c.check()
	if len(c.found) > 0 {
		return nil, c.found
	}
	p.compile()
	c.checkPlans()
	if len(c.found) > 0 {
		return nil, c.found
	}
	p.hash = s.Hash
	if p.hash == "" {
		p.hash = contentHash(&s)
	}
	return p, nil
}

// Default returns the built-in default policy, compiled from DefaultSpec.
func Default() *Policy {
	p, problems := New(DefaultSpec())
	if len(problems) > 0 {
		panic("policy: the built-in default policy is broken: " + problems[0].String())
	}
	return p
}

// Name returns the name of the policy.
func (p *Policy) Name() string { return p.spec.Name }

// Hash returns a text that identifies the contents of the policy. It is Spec.Hash or, if
// that is empty, 64 hexadecimal digits computed from the contents. Policies with different
// contents have different hashes.
func (p *Policy) Hash() string { return p.hash }

// Spec returns the Spec from which the policy was made. Do not change it.
func (p *Policy) Spec() *Spec { return &p.spec }

// Limits returns the limits, with default values for limits that the Spec does not set.
func (p *Policy) Limits() Limits { return p.limits }

// Info returns the texts of a class. The first of these sources that has texts is used: the
// policy, the class that this class is an alias of, and the built-in class. A class without
// texts has the texts of UnknownError.
func (p *Policy) Info(class failure.Class) failure.ClassInfo {
	info, known := failure.InfoOf(class)
	if !known {
		info, _ = failure.InfoOf(failure.UnknownError)
		info.Summary = ""
	}
	chain := p.chains[class] // the class itself comes last
	for i, c := range chain {
		if base, ok := failure.InfoOf(c); ok && i == 0 {
			info = base
		}
		spec := p.spec.Classes[c]
		info.Retrying = either(spec.Retrying, info.Retrying)
		info.Dead = either(spec.Dead, info.Dead)
		info.Notified = either(spec.Notified, info.Notified)
		info.Operator = either(spec.Operator, info.Operator)
		info.Verdict = either(spec.Verdict, info.Verdict)
	}
	info.Class = class
	return info
}

// Classes returns the classes that the policy knows, sorted by name: the built-in classes
// and those that the policy defines.
func (p *Policy) Classes() []failure.Class {
	return slices.Sorted(maps.Keys(p.chains))
}

// Knows reports whether a class is one of Classes.
func (p *Policy) Knows(class failure.Class) bool { return p.chains[class] != nil }

// kindNames returns the kinds for which the policy has settings, sorted by name.
func (p *Policy) kindNames() []string { return slices.Sorted(maps.Keys(p.spec.Kinds)) }

func either[T ~string](a, b T) T {
	if a != "" {
		return a
	}
	return b
}

// isEmpty reports whether the Spec sets nothing.
func (s *Spec) isEmpty() bool {
	return s.Name == "" && s.Hash == "" && s.Limits == (Limits{}) && s.Default == (Settings{}) && s.Runs == (RunSpec{}) &&
		noMatchers(&s.Classify) && !s.Classify.NoBuiltin && len(s.Classes) == 0 && len(s.Kinds) == 0 && len(s.Rules) == 0 &&
		s.Rollout.isEmpty() && len(s.Words.States) == 0 && len(s.Words.Classes) == 0 && len(s.Words.Error) == 0
}

func (r *Rollout) isEmpty() bool {
	return r.Stage == "" && len(r.Stages) == 0 && r.Mode == Enforce && len(r.Enforce) == 0 && len(r.Kinds) == 0 && r.Baseline == (Settings{})
}

func (l Limits) withDefaults() Limits {
	if l.MaxAttempts == 0 {
		l.MaxAttempts = MaxAttemptsDefault
	}
	if l.MaxAge == 0 {
		l.MaxAge = MaxAgeDefault
	}
	if l.MaxWait == 0 {
		l.MaxWait = MaxWaitDefault
	}
	return l
}

// WithLimits returns the policy with lower limits on attempts and age, for a program that
// has its own limits. A limit that is 0 or above the policy's limit changes nothing. If a
// limit reduces the number of retries, the decisions say so.
func (p *Policy) WithLimits(l Limits) *Policy {
	q := *p
	if l.MaxAttempts > 0 {
		q.limits.MaxAttempts = min(q.limits.MaxAttempts, l.MaxAttempts)
	}
	if l.MaxAge > 0 {
		q.limits.MaxAge = min(q.limits.MaxAge, l.MaxAge)
	}
	return &q
}

// The default limits of a policy. They are also the highest limits that a policy may set.
const (
	MaxAttemptsDefault = 100                 // default limit on the attempts in one life
	MaxAgeDefault      = 90 * 24 * time.Hour // default limit on the age of one life
	MaxWaitDefault     = 24 * time.Hour      // default limit on a wait before a retry

	MaxAttemptsLimit = 1_000_000
	MaxAgeLimit      = 10 * 365 * 24 * time.Hour
)

// Limits on the size of a policy.
const (
	ClassesMax = 256 // maximum number of classes that a policy defines
	KindsMax   = 1000
	RulesMax   = 100
	TextMax    = 2 << 10 // maximum size of a user message in bytes
)
