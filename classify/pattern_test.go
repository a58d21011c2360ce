package classify_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// proves: F9
func TestF9_APatternHasABoundedCost(t *testing.T) {
	t.Parallel()
	for _, good := range []string{`moov atom not found`, `(?i)frame [0-9]{1,6} of [0-9]{1,6}`, `^E[0-9]{4}: (disk|tape) full$`} {
		if _, err := classify.CompilePattern(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{`(a?b?c?d?e?f?g?h?i?j?k?){90}zzz`, `(.{0,500}a){2}z`, `(`} {
		_, problems := classify.NewClassifier(classify.Rules{Patterns: []classify.PatternRule{{Match: bad, Class: failure.InvalidInput}}})
		if len(problems) != 1 || problems[0].Path != "patterns[0].match" {
			t.Errorf("%q: %v", bad, problems)
		}
		if bad != "(" && !strings.Contains(problems[0].Message, "at most 400") {
			t.Errorf("%q: %s", bad, problems[0].Message)
		}
	}
}
