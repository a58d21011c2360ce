// Package policy decides what follows from the end of a run: by a policy, which
// is data, the class that the failure was put into, and what the job has behind
// it. It is pure: what a decision depends on is its Input, and the same input
// gives the same decision, today or in a replay.
package policy

import (
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/failure"
)

// Policy is a Spec that was checked and compiled. It never changes and is safe
// for concurrent use.
type Policy struct {
	spec    Spec
	builtin Spec // decides where spec says nothing
	hash    string
	limits  Limits // with their defaults
	// ceilingFrom is what has lowered limits.MaxAttempts, where that is not the policy.
	ceilingFrom Level
	chains      map[failure.Class][]failure.Class
	rules       []rule
	schedules   map[string]*Schedule
	kinds       map[string]*kindTable
	other       *kindTable // of the kinds that nothing names
	curves      curves

	classifier *failure.Classifier
}

// Problem is one mistake of a Spec.
type Problem struct {
	// Path names the place in the words of a policy file, each step after a dot and
	// numbers from 0: "classes.NetworkTimeout.max_retries", "rules[2].when".
	Path string
	// Message tells the value, the bound and the cure.
	Message string
}

// String returns path and message.
func (p Problem) String() string { return p.Path + ": " + p.Message }

// New checks a policy and compiles it. It returns either a policy or all of its
// mistakes. An empty Spec is DefaultSpec. The Spec and what it points to must not
// be changed any more.
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

// Hash names the contents of the policy: what the Spec says, else 64 hexadecimal
// digits made of it. Two policies that differ in anything have different ones.
func (p *Policy) Hash() string { return p.hash }

// Spec returns what the policy was made of. It must not be changed.
func (p *Policy) Spec() *Spec { return &p.spec }

// Limits returns the ceilings, with defaults where the Spec says nothing.
func (p *Policy) Limits() Limits { return p.limits }

// Info returns what is known of a class: the texts of the policy, those of the
// class that it is another name of, those of the built-in class. A class that
// nothing tells of has those of UnknownError.
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

// Classes returns the classes that the policy knows: the built-in ones and its
// own, by name.
func (p *Policy) Classes() []failure.Class {
	return slices.Sorted(maps.Keys(p.chains))
}

// Knows reports whether a class is one of Classes.
func (p *Policy) Knows(class failure.Class) bool { return p.chains[class] != nil }

// kindNames returns the kinds that the policy has settings for, by name.
func (p *Policy) kindNames() []string { return slices.Sorted(maps.Keys(p.spec.Kinds)) }

func either[T ~string](a, b T) T {
	if a != "" {
		return a
	}
	return b
}

// isEmpty reports whether the Spec says nothing at all.
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

// The ceilings of a policy that names none, and what a policy may name at most.
const (
	MaxAttemptsDefault = 100                 // attempts of one life
	MaxAgeDefault      = 90 * 24 * time.Hour // of one life
	MaxWaitDefault     = 24 * time.Hour      // of a schedule

	MaxAttemptsLimit = 1_000_000
	MaxAgeLimit      = 10 * 365 * 24 * time.Hour
)

// Bounds on what a policy holds.
const (
	ClassesMax = 256 // of its own
	KindsMax   = 1000
	RulesMax   = 100
	TextMax    = 2 << 10 // bytes of a message
)
