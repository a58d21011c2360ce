package policyfile_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/redrive/redrive/policy/policyfile"
)

// checkProblems checks that err holds problems that are readable, in order and
// inside the text.
func checkProblems(t *testing.T, err error, text string) {
	t.Helper()
	var problems policyfile.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("got %#v", err)
	}
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	var before policyfile.Problem
	for _, p := range problems {
		if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > utf8.RuneCountInString(lines[p.Line-1])+1 {
			t.Errorf("outside the text: %v", p)
		}
		if p.Line < before.Line || p.Line == before.Line && p.Col < before.Col {
			t.Errorf("%v after %v", p, before)
		}
		if p.Message == "" || !utf8.ValidString(p.Message) || strings.ContainsFunc(p.Message, unicode.IsControl) {
			t.Errorf("unreadable: %q", p.Message)
		}
		if strings.Contains(p.Message, "the parser gave up") {
			t.Errorf("the parser panicked: %v", p)
		}
		before = p
	}
}
