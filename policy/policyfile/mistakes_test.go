package policyfile_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/mistakes"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy/policyfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// problemsOf parses a text and returns its problems.
func problemsOf(t *testing.T, text string) yamlfile.Problems {
	t.Helper()
	f, err := policyfile.Parse("policy.yaml", []byte(text))
	if err != nil && f != nil {
		t.Errorf("Parse returned both a policy and problems, want only problems")
	}
	return mistakes.Of[policyfile.Problems](t, err)
}

// proves: F9
func TestF9_EveryMistakeOfAFileIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := policyfile.Load("testdata/mistakes.yaml")
	mistakes.Golden(t, err, "testdata/mistakes.golden", *update)
}

// What three people wrote first, and what the message says.
//
// part of: F9
func TestF9_MistakesThatPeopleMake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"rules: [{name: a, when: kind == 'b', hold: {message: Sums over 10,000 need two}}]": "1:67: unknown key \"000 need two\"; if it belongs to the text before the comma, put that text in quotes",
		"default: {max_retries: 5, backoff: {waits: [1m], past: stop}}":                     "default.max_retries is 5, but past: stop ends the retries after the last of the waits, and their number is 1",
		"kinds: {a: {max_attempts: 5, backoff: {waits: [1m, 2m], past: stop}}}":             "kinds.a.max_retries is 4, but past: stop ends the retries",
		"classify: {phrases: [{match: The, class: NotFound}]}":                              `nearly every text has the word "The": add the words beside it`,
		"classify: {patterns: [{match: 'a(?!b)', class: NotFound}]}":                        "is not in RE2, the language of patterns: it has no look-ahead",
	} {
		if got := problemsOf(t, text); len(got) != 1 || !strings.Contains(got.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
	for _, good := range []string{
		"default: {max_retries: 1, backoff: {waits: [1m], past: stop}}", "default: {max_retries: 5, backoff: {waits: [1m]}}",
		"classify: {phrases: [{match: not the one, class: NotFound}]}",
	} {
		if got := problemsOf(t, good); got != nil {
			t.Errorf("%s: %v", good, got)
		}
	}
}

// The schema cannot express these limits with its pattern for numbers.
func TestSharesAreBounded(t *testing.T) {
	t.Parallel()
	for share, good := range map[string]bool{"0%": false, "0.0001%": true, "100%": true, "100.01%": false, ".5%": true, "%": false, "1.2.3%": false} {
		if got := problemsOf(t, "default: {backoff: {first: 1s, jitter: "+share+"}}") == nil; got != good {
			t.Errorf("percentage %s: got accepted %v, want %v", share, got, good)
		}
	}
}

// In each text, the mark « shows where the reader must report a problem.
// proves: F9
func TestF9_MistakesAreReportedWithTheirExactPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		messages   []string // parts of the expected messages, in the order of the marks
	}{
		{"an unknown key", "default:\n  backoff: {first: 1s}\n  «max_atempts: 3\n", []string{`unknown key "max_atempts", did you mean "max_attempts"?`}},
		{"max_attempts that contradicts max_retries", "default: {max_attempts: «3, max_retries: 3}", []string{"default.max_attempts is 3, but \"max_retries: 3\" means 4 executions"}},
		{"a limit exceeded by max_attempts", "limits: {max_attempts: 3}\ndefault: {max_attempts: «4}",
			[]string{"default.max_retries: 3 retries make 4 attempts, limits.max_attempts allows 3"}},
		{"a wait of a list", "limits: {max_wait: 1m}\nkinds:\n  a.b:\n    backoff: {waits: [1s, «2m]}\n",
			[]string{"kinds.a.b.backoff.waits[1]: 2m is above limits.max_wait 1m"}},
		{"a field with another name in the Spec", "classes: {NetworkTimeout: {backoff: {first: 1s, «jitter: {add: 1ns}}}}", []string{"must be a whole number of microseconds"}},
		{"waits that are too long in total", "limits: {max_age: 2h, max_wait: 1h}\ndefault: {max_retries: 5, «backoff: {waits: [30m]}}",
			[]string{"5 retries wait 2h30m together, above limits.max_age 2h"}},
		{"growth over the limit", "default: {max_retries: 9, «backoff: {first: 10m, factor: 3}}", []string{"would wait", "limits.max_wait 24h"}[:1]},
		{"a class of a kind", "kinds: {a: {classes: {«RateLimitExeeded: {max_retries: 1}}}}", []string{`did you mean "RateLimitExceeded"?`}},
		{"a mistake in an alias is reported once", "default: &d {max_retries: «x}\nkinds: {a: *d, b: *d}", []string{"default.max_retries must be a whole number"}},
		{"a mistake in a merged mapping", "default: &d {max_retries: 2}\nkinds: {a: {<<: *d, «retry: false}}", nil},
		{"the expression in quotes", `rules: [{name: r, queue: q, when: "owner == \"x\" and «prority > 1"}]`, []string{`did you mean "priority"?`}},
		{"the expression over lines", "rules:\n  - name: r\n    queue: q\n    when: >-\n      owner == 'x' and\n      «prority > 1\n", []string{`did you mean "priority"?`}},
		{"a preset", "extends: «chta", []string{`did you mean "chat"?`}},
		{"an invalid kind name", "kinds: {«Render: {max_retries: 1}}", []string{`kind name "Render" must be`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, marks := mistakes.Cut(tt.text)
			problems := problemsOf(t, text)
			if tt.messages == nil {
				if len(problems) == 0 || !strings.Contains(problems[0].Message, "contradicts \"retry: false\"") {
					t.Errorf("got the problems %v, want a first problem that says that a value contradicts \"retry: false\"", problems)
				}
				return
			}
			mistakes.AtMarks(t, problems, marks, tt.messages)
		})
	}
}

// part of: F9
func TestF9_AHintOfNothingIsNotTheDefault(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"max", "jitter_min"} {
		_, err := policyfile.Parse("x.yaml", []byte("version: 1\ndefault: {hint: {"+field+": 0s}}\n"))
		if err == nil || !strings.Contains(err.Error(), "default.hint."+field+" must be a duration from 1ns") {
			t.Errorf("hint.%s with 0s: got the error %v, want an error that names the smallest duration", field, err)
		}
	}
}

// A policy that is too long for a store is refused when the file is read. Because of YAML
// aliases, a small file can contain a long policy.
// part of: F9
func TestF9_WhatIsTooLongWrittenOutIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bytes int // length in bytes of each message
		good  bool
	}{{1900, true}, {2048, false}} {
		var text strings.Builder
		fmt.Fprintf(&text, "classes:\n  C0: {verdict: retry, messages: &m {retrying: &t %s, dead: *t}}\n", strings.Repeat("x", tt.bytes))
		for n := range 255 {
			fmt.Fprintf(&text, "  C%d: {verdict: retry, messages: *m}\n", n+1)
		}
		f, err := policyfile.Parse("long.yaml", []byte(text.String()))
		switch {
		case tt.good && (err != nil || len(f.Spec.Source) > policyfile.RenderedMax):
			t.Errorf("messages of %d bytes: got the error %v, want no error and a text that a store can keep", tt.bytes, err)
		case !tt.good && (err == nil || !strings.Contains(err.Error(), "long.yaml:1:1: the policy is 10") || !strings.Contains(err.Error(), "at most 1048576 are allowed")):
			t.Errorf("messages of %d bytes: got the error %v, want an error that the policy is too long", tt.bytes, err)
		}
	}
}
