package policy

import (
	"slices"

	"github.com/redrive/redrive/failure"
)

// Classify puts the failure of a job of the kind into a class: first by the matchers of
// the policy, then by the built-in ones. It never fails.
func (p *Policy) Classify(e *failure.Evidence, kind string) failure.Classification {
	return p.matchers().Classify(e, kind)
}

// Phrases returns the number of phrases and patterns that Classify looks for.
func (p *Policy) Phrases() (phrases, patterns int) { return p.matchers().Phrases() }

// matchers returns the classifier of the policy. The built-in one takes about 50 ms to
// make, so it is made at the first use: a program that only enqueues jobs never needs
// it.
func (p *Policy) matchers() *failure.Classifier {
	if p.classifier == nil {
		return failure.Builtin()
	}
	return p.classifier
}

// compileClassifier makes the classifier with the policy's own matchers. A policy
// without matchers shares the built-in one.
func (p *Policy) compileClassifier() []Problem {
	if noMatchers(&p.spec.Classify) {
		if p.spec.Classify.NoBuiltin {
			return []Problem{{"classify.builtin", "the built-in rules are switched off, and there are no matchers in their place; add some, or leave them on"}}
		}
		return nil
	}
	classifier, mistakes := failure.NewClassifier(p.spec.Classify)
	p.classifier = classifier
	var found []Problem
	for _, m := range mistakes {
		found = append(found, Problem{"classify." + m.Path, m.Message})
	}
	return found
}

// eachClass calls see for each matcher with its class and its place in the rules.
func eachClass(r *failure.Rules, see func(list string, i int, class failure.Class)) {
	for i := range r.Codes {
		see("codes", i, r.Codes[i].Class)
	}
	for i := range r.Types {
		see("types", i, r.Types[i].Class)
	}
	for i := range r.Statuses {
		see("statuses", i, r.Statuses[i].Class)
	}
	for i := range r.Exits {
		see("exits", i, r.Exits[i].Class)
	}
	for i := range r.Phrases {
		see("phrases", i, r.Phrases[i].Class)
	}
	for i := range r.Patterns {
		see("patterns", i, r.Patterns[i].Class)
	}
}

// noMatchers reports whether rules contain no matcher and change nothing.
func noMatchers(r *failure.Rules) bool {
	return len(r.Codes) == 0 && len(r.Types) == 0 && len(r.Statuses) == 0 && len(r.Exits) == 0 &&
		len(r.Phrases) == 0 && len(r.Patterns) == 0 && len(r.Matchers) == 0
}

// matcherNames returns the names and versions of the matchers written in Go, for the
// hash and the text of a policy.
func matcherNames(r *failure.Rules) []string {
	var names []string
	for _, m := range r.Matchers {
		names = append(names, m.Name+"@"+m.Version)
	}
	return slices.Clip(names)
}
