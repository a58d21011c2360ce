package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive/failure"
)

// AttrsMax is the size of attributes in bytes up to which rules look at them.
const AttrsMax = 64 << 10

// RuleInput is what rules can look at.
type RuleInput struct {
	Kind, Queue, Owner string
	Priority           int
	Attrs              []byte // a JSON object or nil
}

// Admission is what the rules of a policy say about one job, by its attributes.
type Admission struct {
	Queue     string            // where it belongs; "" keeps
	Priority  int               // 0 keeps
	Overrides map[string]string // for the handler; nil is none
	Hold      *Hold             // a person is to decide first; nil is no
	Rules     []string          // that match, in the order of the policy
	// Failed are rules whose condition could not be evaluated, with the reason.
	// They do not match.
	Failed []Problem
	// Would is what the rules would do where the policy only observes the kind: then
	// nothing of it stands above. Nil where they act.
	Would *Admission

	matched []*rule
}

// changes reports whether the admission has settings for Decide.
func (a *Admission) changes() bool {
	return a != nil && slices.ContainsFunc(a.matched, func(r *rule) bool { return r.settles })
}

// rule is a compiled RuleSpec.
type rule struct {
	spec    *RuleSpec
	index   int
	settles bool // it has settings
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

// HasRules reports whether Admit has anything to look at for jobs of the kind.
func (p *Policy) HasRules(kind string) bool { return p.table(kind).rules }

// Admit asks the rules about a job: when it is enqueued, before each of its runs,
// and with each of its failures. All that match apply; of what several say, the
// first counts, and of overrides each key by itself. It never fails: a condition
// that cannot be evaluated, because of an attribute of another type for example,
// does not match. Attributes that are no JSON object, or are longer than AttrsMax,
// count as none. But a rule that would hold the job holds it in both cases: a person
// can release what should have run, and nobody can take back what should not have.
// Where the policy only observes the kind, nothing of this acts. It gives nil when no
// rule matches and none failed.
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
			ok, err = false, unread
		}
		switch {
		case err != nil:
			if r.spec.Hold != nil {
				a.take(r)
			}
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

// readAttrs reads the attributes of a job; nothing gives none.
func readAttrs(b []byte, into *map[string]any) error {
	switch {
	case len(b) == 0:
		return nil
	case len(b) > AttrsMax:
		return fmt.Errorf("attributes of %d bytes: rules look at %d at most", len(b), AttrsMax)
	}
	if err := json.Unmarshal(b, into); err != nil {
		*into = nil
		return fmt.Errorf("the attributes are no JSON object: %w", err)
	}
	return nil
}

// match evaluates the condition; a panic is an error like others.
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

// take adds what a rule says to what those before it have left open.
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
