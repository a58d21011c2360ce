// Package policy decides what follows from the end of a run: from a policy, which is
// data, from the class of the failure, and from the history of the job. It is pure: a
// decision depends only on its Input, so the same input always gives the same decision,
// also when it is replayed later.
package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/failure"
)

// Policy is a checked and compiled Spec. It never changes and is safe for concurrent
// use.
type Policy struct {
	spec    Spec
	builtin Spec // decides what spec leaves open
	hash    string
	limits  Limits // with their defaults filled in
	// ceilingFrom is the level that lowered limits.MaxAttempts; it is empty when the
	// policy itself set it.
	ceilingFrom Level
	chains      map[failure.Class][]failure.Class
	rules       []rule
	schedules   map[string]*Schedule
	kinds       map[string]*kindTable
	other       *kindTable // for kinds that the policy does not name
	curves      curves

	classifier *failure.Classifier
}

// Problem is one mistake of a Spec.
type Problem struct {
	// Path is the place in the policy file, with steps separated by dots and list items
	// numbered from 0: "classes.NetworkTimeout.max_retries", "rules[2].when".
	Path string
	// Message says what the value is, what is allowed, and how to correct it.
	Message string
}

// String returns the path and the message.
func (p Problem) String() string { return p.Path + ": " + p.Message }

// New checks a policy and compiles it. It returns either a policy or all mistakes of
// the Spec. An empty Spec means DefaultSpec. The Spec and everything that it points to
// must not be changed afterwards.
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

// Default returns the built-in default policy: New of DefaultSpec.
func Default() *Policy {
	p, problems := New(DefaultSpec())
	if len(problems) > 0 {
		panic("policy: the built-in default policy is broken: " + problems[0].String())
	}
	return p
}

// Name returns the name of the policy.
func (p *Policy) Name() string { return p.spec.Name }

// Hash identifies the contents of the policy: the Spec's Hash, or else 64 hexadecimal
// digits computed from the contents. Policies with different contents have different
// hashes.
func (p *Policy) Hash() string { return p.hash }

// Spec returns the Spec that the policy was made from. It must not be changed.
func (p *Policy) Spec() *Spec { return &p.spec }

// Limits returns the limits, with defaults where the Spec sets none.
func (p *Policy) Limits() Limits { return p.limits }

// Info returns the texts of a class: those of the policy, else those of the class that
// it is an alias of, else those of the built-in class. A class without any has the
// texts of UnknownError.
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
		info.Operator = either(spec.Operator, info.Operator)
		info.Verdict = either(spec.Verdict, info.Verdict)
	}
	info.Class = class
	return info
}

// Classes returns the classes that the policy knows, built-in and its own, sorted by
// name.
func (p *Policy) Classes() []failure.Class {
	return slices.Sorted(maps.Keys(p.chains))
}

// Knows reports whether a class is one of Classes.
func (p *Policy) Knows(class failure.Class) bool { return p.chains[class] != nil }

// kindNames returns the kinds that the policy has settings for, sorted by name.
func (p *Policy) kindNames() []string { return slices.Sorted(maps.Keys(p.spec.Kinds)) }

func either[T ~string](a, b T) T {
	if a != "" {
		return a
	}
	return b
}

// isEmpty reports whether the Spec sets nothing.
func (s *Spec) isEmpty() bool {
	return s.Name == "" && s.Hash == "" && s.Limits == (Limits{}) && s.Default == (Settings{}) &&
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

// WithLimits returns the policy with lower limits on attempts and age, for a program
// that has limits of its own. Zero, and values above the policy's limits, change
// nothing. Retries above the limit are cut, and decisions say so.
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

// The limits of a policy that sets none, and the highest limits that a policy may set.
const (
	MaxAttemptsDefault = 100                 // attempts of one life
	MaxAgeDefault      = 90 * 24 * time.Hour // age of one life
	MaxWaitDefault     = 24 * time.Hour      // wait of a schedule

	MaxAttemptsLimit = 1_000_000
	MaxAgeLimit      = 10 * 365 * 24 * time.Hour
)

// Limits on the size of a policy.
const (
	ClassesMax = 256 // classes that the policy itself declares
	KindsMax   = 1000
	RulesMax   = 100
	TextMax    = 2 << 10 // bytes of a user message
)
