package policy

import (
	"slices"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Classify returns the class of a failure of a job of the given kind. The policy's own
// matchers take precedence over the built-in ones. Classify never fails.
func (p *Policy) Classify(e *failure.Evidence, kind string) classify.Classification {
	return p.matchers().Classify(e, kind)
}

// Phrases returns the number of phrases and patterns that Classify searches for.
func (p *Policy) Phrases() (phrases, patterns int) { return p.matchers().Phrases() }

// matchers returns the classifier of the policy. The built-in classifier is decoded at its first use,
// which takes about 15 ms, because a program that only enqueues jobs does not need it.
func (p *Policy) matchers() *classify.Classifier {
	if p.classifier == nil {
		return classify.Builtin()
	}
	return p.classifier
}

// compileClassifier builds a classifier with the policy's own matchers. Policies without
// matchers share the built-in classifier.
func (p *Policy) compileClassifier() []Problem {
	if noMatchers(&p.spec.Classify) {
		if p.spec.Classify.NoBuiltin {
			return []Problem{{"classify.builtin", "the built-in rules are switched off, and there are no matchers in their place; add some, or leave them on"}}
		}
		return nil
	}
	classifier, mistakes := classify.NewClassifier(p.spec.Classify)
	p.classifier = classifier
	var found []Problem
	for _, m := range mistakes {
		found = append(found, Problem{"classify." + m.Path, m.Message})
	}
	return found
}

// eachClass calls the given function for each matcher. Its arguments are the list that contains the
// matcher, the index in this list, and the class of the matcher.
func eachClass(r *classify.Rules, see func(list string, i int, class failure.Class)) {
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

// noMatchers reports whether the rules contain no matcher.
func noMatchers(r *classify.Rules) bool {
	return len(r.Codes) == 0 && len(r.Types) == 0 && len(r.Statuses) == 0 && len(r.Exits) == 0 &&
		len(r.Phrases) == 0 && len(r.Patterns) == 0 && len(r.Matchers) == 0 && r.Text == ""
}

// matcherNames returns the names and versions of the matchers written in Go. They are part
// of the hash and the text of a policy.
func matcherNames(r *classify.Rules) []string {
	var names []string
	for _, m := range r.Matchers {
		names = append(names, m.Name+"@"+m.Version)
	}
	return slices.Clip(names)
}
