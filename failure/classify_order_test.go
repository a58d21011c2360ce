package failure_test

import (
	"testing"

	"github.com/redrive/redrive/failure"
)

// Of a policy's own phrases, and of its own patterns, the one that is written
// first decides, wherever in the text it stands and whatever its class.
//
// part of: F7
func TestF7_OwnPhrasesDecideInTheirOrder(t *testing.T) {
	t.Parallel()
	full, broken := failure.PhraseRule{Match: "disk full", Class: failure.ResourceConstraint}, failure.PhraseRule{Match: "broken input", Class: "Broken"}
	fullP, brokenP := failure.PatternRule(full), failure.PatternRule(broken)
	for _, text := range []string{"disk full, broken input", "broken input, disk full"} {
		for name, tt := range map[string]struct {
			rules failure.Rules
			want  failure.Class
		}{
			"phrases, retriable first": {failure.Rules{NoBuiltin: true, Phrases: []failure.PhraseRule{full, broken}}, full.Class},
			"phrases, final first":     {failure.Rules{NoBuiltin: true, Phrases: []failure.PhraseRule{broken, full}}, broken.Class},
			"patterns":                 {failure.Rules{NoBuiltin: true, Patterns: []failure.PatternRule{fullP, brokenP}}, full.Class},
			"patterns, final first":    {failure.Rules{NoBuiltin: true, Patterns: []failure.PatternRule{brokenP, fullP}}, broken.Class},
			"beside the built-in ones": {failure.Rules{Phrases: []failure.PhraseRule{full, broken}}, full.Class},
		} {
			c, problems := failure.NewClassifier(tt.rules)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := c.Classify(&failure.Evidence{Message: text}, "")
			if got.Class != tt.want {
				t.Errorf("%s: %q is %s by %s, want %s", name, text, got.Class, got.Rule, tt.want)
			}
		}
	}
}
