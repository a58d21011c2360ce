package classify_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// said reads a file of testdata. A line has the accepted classes, "@" and the rule that decides if it is said, " | " and the text.
func said(t *testing.T, name string) (texts []string, accepted [][]failure.Class, rules []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		classes, text, ok := strings.Cut(strings.TrimRight(line, "\n"), " | ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		var ok1 []failure.Class
		rule := ""
		for c := range strings.FieldsSeq(classes) {
			if id, named := strings.CutPrefix(c, "@"); named {
				rule = id
				continue
			}
			ok1 = append(ok1, failure.Class(c))
		}
		texts = append(texts, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text))
		accepted, rules = append(accepted, ok1), append(rules, rule)
	}
	return texts, accepted, rules
}

// proves: F2, F3, F4, F5, F6, F7
// part of: F8
func TestF2_WhatProgramsSay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"says.txt", "general.txt", "bugs.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whatProgramsSay(t, name)
		})
	}
}

func whatProgramsSay(t *testing.T, name string) {
	t.Helper()
	texts, accepted, rules := said(t, name)
	wrong := 0
	for i, text := range texts {
		got := classify.Builtin().Classify(&failure.Evidence{Message: text}, "")
		if !slices.Contains(accepted[i], got.Class) {
			wrong++
			t.Errorf("%.160q: %s by %s (saw %q, beat %v), want %v", text, got.Class, got.Rule, got.Saw, got.Outranked, accepted[i])
		} else if rules[i] != "" && rules[i] != got.Rule {
			wrong++
			t.Errorf("%.160q: %s by the rule %s (saw %q), want by %s", text, got.Class, got.Rule, got.Saw, rules[i])
		}
	}
	t.Logf("%d of %d texts", len(texts)-wrong, len(texts))
}
