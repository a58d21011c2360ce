package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive/failure"
)

// AttrsMax is the largest size, in bytes, of attributes that rules read.
const AttrsMax = 64 << 10

// RuleInput contains what the conditions of rules can read.
type RuleInput struct {
	Kind, Queue, Owner string
	Priority           int
	Attrs              []byte // the attributes as a JSON object, or nil
}

// Admission is the result of applying the rules of a policy to one job.
type Admission struct {
	Queue     string            // the queue for the job; "" means that the job stays in its queue
	Priority  int               // the new priority; 0 means that the priority does not change
	Overrides map[string]string // settings for the handler, or nil if the rules set nothing
	Hold      *Hold             // the hold; not nil if a person has to decide before the job runs
	Rules     []string          // names of the matching rules, in the order of the policy
	// Failed contains the rules whose condition could not be evaluated, with the reason.
	// These rules do not match.
	Failed []Problem
	// Would is set if the policy only observes the kind. It contains what the rules would
	// do; Queue, Priority, Overrides and Hold of this Admission are then empty. Would is nil
	// if the policy carries the rules out.
	Would *Admission

	matched []*rule
}

// changes reports whether the rules set anything that Decide uses.
func (a *Admission) changes() bool {
	return a != nil && slices.ContainsFunc(a.matched, func(r *rule) bool { return r.settles })
}

// rule is a compiled RuleSpec.
type rule struct {
	spec    *RuleSpec
	index   int
	settles bool // whether the rule has retry settings
}

func (r *rule) serves(kind string) bool {
	return len(r.spec.Kinds) == 0 || slices.Contains(r.spec.Kinds, kind)
}

func (p *Policy) compileRules() {
	p.rules = make([]rule, len(p.spec.Rules))
	for i := range p.spec.Rules {
		s := &p.spec.Rules[i]
		p.rules[i] = rule{spec: s, index: i, settles: s.Settings != (Settings{})}
		if b := s.Backoff; b != nil {
			p.curves[b] = newCurve(b, p.limits.MaxWait)
		}
	}
}

// HasRules reports whether the policy has rules for jobs of the kind.
func (p *Policy) HasRules(kind string) bool { return p.table(kind).rules }

// Admit applies the rules to a job. It is called when the job is enqueued, before each run,
// and after each failure. All matching rules apply. If several rules set the same field, the
// value of the first of these rules is used; each key of the overrides counts as a separate
// field.
//
// Admit never fails. A condition that cannot be evaluated, for example because an attribute
// has a wrong type, does not match, and Failed names its rule. Attributes that are not a
// JSON object or are longer than AttrsMax count as missing. In that case a rule that has a
// condition and a hold holds the job: people can release a job that was held wrongly, but
// they cannot undo a run.
//
// Where the policy only observes the kind, the rules have no effect. Admit returns nil if
// no rule matches and no condition failed.
func (p *Policy) Admit(j *RuleInput) *Admission {
	if !p.HasRules(j.Kind) {
		return nil
	}
	attrs := ConditionInput{Kind: j.Kind, Queue: j.Queue, Owner: j.Owner, Priority: j.Priority}
	unread := readAttrs(j.Attrs, &attrs.Values)
	if attrs.Values == nil {
		attrs.Values = map[string]any{}
	}
	var a Admission
	for i := range p.rules {
		r := &p.rules[i]
		if !r.serves(j.Kind) {
			continue
		}
		ok, err := r.match(&attrs)
		if unread != nil && r.spec.Hold != nil && r.spec.When != nil {
			a.take(r)
			ok, err = false, unread
		}
		switch {
		case err != nil:
			a.Failed = append(a.Failed, Problem{fmt.Sprintf("rules[%d].when", r.index), fmt.Sprintf("rule %q: %s", r.spec.Name, failure.Text(err))})
		case ok:
			a.take(r)
		}
	}
	if a.Rules == nil && a.Failed == nil {
		return nil
	}
	if p.table(j.Kind).observed {
		would := a
		a.Would = &would
		a.Queue, a.Priority, a.Overrides, a.Hold = "", 0, nil, nil
	}
	return &a
}

// readAttrs decodes the attributes of a job into a map. For empty attributes the map is
// empty.
func readAttrs(b []byte, into *map[string]any) error {
	switch {
	case len(b) == 0:
		return nil
	case len(b) > AttrsMax:
		return fmt.Errorf("the attributes have %d bytes, and rules read at most %d", len(b), AttrsMax)
	}
	if err := json.Unmarshal(b, into); err != nil {
		*into = nil
		return fmt.Errorf("the attributes are not a JSON object: %w", err)
	}
	return nil
}

// match evaluates the condition of the rule. It converts a panic to an error.
func (r *rule) match(attrs *ConditionInput) (ok bool, err error) {
	if r.spec.When == nil {
		return true, nil
	}
	defer func() {
		if p := recover(); p != nil {
			ok, err = false, fmt.Errorf("the condition panicked: %v", p)
		}
	}()
	return r.spec.When.Match(attrs)
}

// take copies the fields of a matching rule into the admission, except those that an earlier
// rule has set.
func (a *Admission) take(r *rule) {
	s := r.spec
	a.Rules = append(a.Rules, s.Name)
	a.matched = append(a.matched, r)
	a.Queue = either(a.Queue, s.Queue)
	if a.Priority == 0 {
		a.Priority = s.Priority
	}
	if a.Hold == nil {
		a.Hold = s.Hold
	}
	for key, value := range s.Overrides {
		if a.Overrides == nil {
			a.Overrides = map[string]string{}
		}
		if _, taken := a.Overrides[key]; !taken {
			a.Overrides[key] = value
		}
	}
}
