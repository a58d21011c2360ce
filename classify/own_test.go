package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// The name of a type is one name: not words of a sentence, and not a part of a longer name.
//
// part of: F9, P5
func TestF9_P5_TypesInTextsAreWholeNames(t *testing.T) {
	t.Parallel()
	c, problems := classify.NewClassifier(classify.Rules{NoBuiltin: true, Types: []classify.TypeRule{{Type: "QuotaError", Class: "Quota"}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for text, want := range map[string]failure.Class{
		"QuotaError: 5 of 5": "Quota", "acme.billing.QuotaError": "Quota", `{"type":"QuotaError"}`: "Quota", "raised <QuotaError>": "Quota", "quota_error: 5": "Quota",
		"no quota errors were seen": failure.UnknownError, "a quota error again": failure.UnknownError, "in MyQuotaErrorHandler.run": failure.UnknownError,
		"QuotaErrorPage is missing": failure.UnknownError,
	} {
		if got := c.Classify(&failure.Evidence{Message: text}, ""); got.Class != want {
			t.Errorf("%q: %s by %s, want %s", text, got.Class, got.Rule, want)
		}
	}
}

// proves: F9
func TestF9_OwnRules(t *testing.T) {
	t.Parallel()
	c, problems := classify.NewClassifier(classify.Rules{
		Codes:    []classify.CodeRule{{Code: "http.404", Class: "Missing"}, {Code: "slowdown", Class: "Slow"}},
		Types:    []classify.TypeRule{{Type: "render.SceneError", Class: "Scene"}},
		Statuses: []classify.StatusRule{{From: 500, To: 502, Class: "Upstream"}},
		Exits:    []classify.ExitRule{{Code: 3, Class: "Three"}, {Signal: "SIGSEGV", Class: "Segv"}},
		Phrases:  []classify.PhraseRule{{Match: "lens cap (is)? on", Class: "LensCap"}},
		Patterns: []classify.PatternRule{{Match: `E-\d{4}`, Class: "Pattern", Kinds: []string{"scan"}}},
		Matchers: []classify.Matcher{
			{Name: "bad", Match: func(*failure.Evidence) (failure.Class, bool) { panic("no") }},
			{Name: "own", Match: func(e *failure.Evidence) (failure.Class, bool) {
				return "Matched", e.Dependency == "" && e.Message == "m"
			}},
		},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		e    failure.Evidence
		want failure.Class
		rule string
	}{
		{failure.Evidence{HTTPStatus: 404}, "Missing", "policy.codes.http.404"},
		{failure.Evidence{ServiceCode: "SlowDown"}, "Slow", "policy.codes.slowdown"},
		{failure.Evidence{Types: []string{"render.SceneError"}}, "Scene", "policy.types.render.SceneError"},
		{failure.Evidence{Message: "SceneError: timed out"}, "Scene", "policy.types.render.SceneError"},
		{failure.Evidence{HTTPStatus: 501}, "Upstream", "policy.statuses.500"},
		{failure.Evidence{Message: "HTTP 502"}, "Upstream", "policy.statuses.500"},
		{failure.Evidence{HTTPStatus: 503}, failure.TemporaryServiceError, "http.503"},
		{failure.Evidence{Exit: new(3)}, "Three", "policy.exits.3"},
		{failure.Evidence{Message: "exit status 3"}, "Three", "policy.exits.3"},
		{failure.Evidence{Signal: "SIGSEGV"}, "Segv", "policy.exits.SIGSEGV"},
		{failure.Evidence{Message: "camera 4: LENS-CAP ON: not found"}, "LensCap", "policy.phrases.0"},
		{failure.Evidence{Message: "lens caps: one"}, failure.UnknownError, ""},
		{failure.Evidence{Message: "failed: E-1234"}, "Pattern", "policy.patterns.0"},
		{failure.Evidence{Message: "m"}, "Matched", "policy.matchers.own"},
	} {
		if got := c.Classify(&tt.e, "scan"); got.Class != tt.want || got.Rule != tt.rule && tt.rule != "" {
			t.Errorf("%+v: %s by %s, want %s by %s", tt.e, got.Class, got.Rule, tt.want, tt.rule)
		}
	}
	if got := c.Classify(&failure.Evidence{Message: "failed: E-1234"}, "print"); got.Class == "Pattern" {
		t.Error("a rule for another kind matched")
	}
	bare, _ := classify.NewClassifier(classify.Rules{NoBuiltin: true, Phrases: []classify.PhraseRule{{Match: "a b", Class: "AB"}}})
	for text, want := range map[string]failure.Class{"connection refused": failure.UnknownError, "a b": "AB"} {
		if got := bare.Classify(&failure.Evidence{Message: text, HTTPStatus: 503}, ""); got.Class != want {
			t.Errorf("without built-in rules %q is %s", text, got.Class)
		}
	}
	one, _ := classify.NewClassifier(classify.Rules{Phrases: []classify.PhraseRule{{Match: "a b", Class: "AB"}}})
	if got := one.Classify(&failure.Evidence{Message: "connection refused"}, ""); got.Class != failure.TemporaryServiceError {
		t.Errorf("beside a matcher of one's own a refused connection is %s", got.Class)
	}
}

// proves: F9
func TestF9_MistakesInOwnRules(t *testing.T) {
	t.Parallel()
	_, problems := classify.NewClassifier(classify.Rules{
		Codes:    []classify.CodeRule{{Code: "", Class: "A"}, {Code: "B"}},
		Types:    []classify.TypeRule{{Type: "...", Class: "A"}},
		Statuses: []classify.StatusRule{{From: 700, Class: "A"}, {From: 500, To: 400, Class: "A"}},
		Exits:    []classify.ExitRule{{Code: -1, Class: "A"}},
		Phrases: []classify.PhraseRule{
			{Match: "(a", Class: "A"}, {Match: "<foo>", Class: "A"}, {Match: "a ...99 b", Class: "A"}, {Match: "", Class: "A"},
			{Match: "a ... ", Class: "A"}, {Match: "(a)?", Class: "A"}, {Match: "a () b", Class: "A"}, {Match: strings.Repeat("a ", 5000), Class: "A"},
			{Match: strings.Repeat("(", 50) + "a" + strings.Repeat(")", 50), Class: "A"}, {Match: "a !(b c) d", Class: "A"}, {Match: "!<url> a", Class: "A"},
		},
		Patterns: []classify.PatternRule{{Match: "(", Class: "A"}, {Match: strings.Repeat("a", 5000), Class: "A"}},
		Matchers: []classify.Matcher{{Name: "x"}},
	})
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
		if p.Message == "" {
			t.Errorf("%s: no message", p.Path)
		}
	}
	want := []string{"codes[0].code", "codes[1].class", "types[0].type", "statuses[0].from", "statuses[1].from", "exits[0].code", "patterns[0].match", "patterns[1].match", "matchers[0]"}
	for i := range 11 {
		want = append(want, fmt.Sprintf("phrases[%d].match", i))
	}
	for _, w := range want {
		if !slices.Contains(paths, w) {
			t.Errorf("no problem at %s: %v", w, problems)
		}
	}
}
