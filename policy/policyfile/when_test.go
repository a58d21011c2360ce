package policyfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/mistakes"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// ruleFile returns a policy file with one rule. The condition is a YAML block of text, in
// which no character is special.
func ruleFile(when string) []byte {
	return []byte("rules:\n  - name: r\n    when: |-\n      " + strings.ReplaceAll(when, "\n", "\n      ") + "\n    queue: q\n")
}

func condition(t *testing.T, when string) policy.Condition {
	t.Helper()
	f, err := policyfile.Parse("policy.yaml", ruleFile(when))
	if err != nil {
		t.Fatal(err)
	}
	return f.Spec.Rules[0].When
}

var video = &policy.ConditionInput{
	Kind: "transcribe", Queue: "default", Owner: "ann@example.org", Priority: 2,
	Values: map[string]any{
		"duration_seconds": 21600.0, "title": "Cats", "tags": []any{"a", "b"}, "free": true, "n": 7,
		"source": map[string]any{"host": "example.org", "size": 12.5}, "nothing": nil, "list": []any{1.0, 2.0},
	},
}

// part of: R5
func TestR5_Conditions(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]bool{
		"true": true, "false": false,
		"attrs.duration_seconds >= 6*3600":                                     true,
		"attrs.duration_seconds > 21600":                                       false,
		"attrs.duration_seconds >= 6*3600 and attrs.duration_seconds < 8*3600": true,
		"attrs.duration_seconds == 21600":                                      true,
		"attrs.duration_seconds in [21600, 1]":                                 true,
		"attrs.duration_seconds / 3600 == 6":                                   true,
		"attrs.n == 7.0 && attrs.n % 2 == 1":                                   true,
		`kind == "transcribe" and queue != "x" and priority < 3`:               true,
		`kind in ["render", "transcribe"]`:                                     true,
		`owner endsWith "@example.org"`:                                        true,
		`owner matches "^[a-z]+@"`:                                             true,
		`attrs.title contains "ats" or attrs.title startsWith "D"`:             true,
		`lower(attrs.title) == "cats" and len(attrs.tags) == 2`:                true,
		`"b" in attrs.tags`:                                                    true,
		`"title" in attrs`:                                                     true,
		`attrs["title"] == "Cats"`:                                             true,
		`attrs.source.host == "example.org" && attrs.source["size"] > 12`:      true,
		"attrs.free":                       true,
		"not attrs.free":                   false,
		"attrs.free ? attrs.n > 5 : false": true,
		"attrs.list[0] == 1":               true,

		// A condition that reads a missing attribute does not match, even if the rest of
		// the condition is true.
		"attrs.missing":                   false,
		"attrs.missing > 5":               false,
		"5 > attrs.missing":               false,
		"attrs.missing < 5":               false,
		"not (attrs.missing > 5)":         false,
		"attrs.missing * 2 + 1 < 5":       false,
		"attrs.missing == 5":              false,
		"attrs.missing.deeper.still == 1": false,
		"attrs.n.deeper == 1":             false, "attrs.nothing.deeper > 1": false,
		`attrs.missing contains "x"`:                 false,
		`attrs.missing matches "x"`:                  false,
		`"x" in attrs.missing`:                       false,
		"len(attrs.missing) == 0":                    false,
		"lower(attrs.missing) == 'x'":                false,
		"attrs.missing or true":                      false,
		"attrs.free or attrs.missing > 5":            true, // the part after "or" is not evaluated
		"attrs.missing == nil":                       true,
		"attrs.nothing == nil":                       true,
		"attrs.missing != nil and attrs.missing > 5": false,
		"(attrs.missing ?? 9) > 5":                   true,
		"attrs?.missing?.deeper == nil":              true,
	} {
		got, err := condition(t, when).Match(video)
		if got != want || err != nil {
			t.Errorf("%s: got the match %v and the error %v, want %v and no error", when, got, err, want)
		}
	}
	if got, err := condition(t, "attrs.x > 5").Match(&policy.ConditionInput{}); got || err != nil {
		t.Errorf("a condition on a missing attribute: got the match %v and the error %v, want false and no error", got, err)
	}
}

// part of: R5
func TestR5_WrongTypesAreErrorsAndDoNotMatch(t *testing.T) {
	t.Parallel()
	for _, when := range []string{
		"attrs.title > 5", "attrs.title", "attrs.tags > 1", "attrs.n contains 'x'", "attrs.title - 1 == 0",
		"attrs.list[9] == 1", "attrs.n % 0 == 1", "attrs.free and attrs.n", "attrs.tags matches 'x'",
	} {
		got, err := condition(t, when).Match(video)
		if got || err == nil {
			t.Errorf("%s: got the match %v and the error %v, want an error", when, got, err)
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), when) {
			t.Errorf("%s: got the error %q, want one line that contains the condition", when, err)
		}
	}
}

// part of: R5
func TestR5_BoundsToTheSecond(t *testing.T) {
	t.Parallel()
	c := condition(t, "attrs.duration_seconds >= 6*3600 and attrs.duration_seconds < 8*3600")
	for seconds, want := range map[float64]bool{21599: false, 21599.999: false, 21600: true, 28799: true, 28799.999: true, 28800: false} {
		for _, v := range []any{seconds, int(seconds), int64(seconds)} {
			if f, ok := v.(float64); !ok && f != seconds {
				if float64(int(seconds)) != seconds {
					continue
				}
			}
			got, err := c.Match(&policy.ConditionInput{Values: map[string]any{"duration_seconds": v}})
			if got != want || err != nil {
				t.Errorf("duration %v: got the match %v and the error %v, want %v and no error", v, got, err, want)
			}
		}
	}
}

// The mark « shows where the reader must report the mistake.
func TestConditionsWithoutBoundAreRefused(t *testing.T) {
	t.Parallel()
	for when, message := range map[string]string{
		"«all(1..1000000000, true)":                    "all(): its cost is not bounded",
		"attrs.n > 1 and «count(1..9, # > 1) > 0":      "count(): its cost",
		"1 in 1«..1000000000":                          "a range: it makes a list as long as its numbers say; compare with ==",
		"«repeat('x', 1000000000) == 'x'":              "repeat(): its cost",
		"attrs.tags | «map(#) == 1":                    "map(): its cost",
		"let «x = attrs.n; x > 1":                      `must not use "let"`,
		"«reduce(attrs.tags, # + #acc, 0) > 1":         "reduce()",
		"owner matches «owner":                         "",
		"kind «matches attrs.title":                    "must give \"matches\" a pattern in quotes",
		"kind matches «'(a'":                           "has a pattern that is not an RE2 expression: missing closing )",
		"kind matches «'(a{1000}){1000}'":              "not an RE2 expression",
		"now().«Unix() > 5":                            "must not call a value",
		"«duration('6h') > 5":                          "duration(): its cost",
		"«knd == 'x'":                                  `names "knd", which is not known, did you mean "kind"?`,
		"«duration_seconds > 5":                        "an attribute is attrs.duration_seconds",
		"«lenn(kind) > 5":                              `calls "lenn", which is not known, did you mean "len"?`,
		"attrs.«x() > 5":                               "must not call a value",
		"kind == 'a' or\n  priority «> 'x'":            "mismatched types int and string",
		"kind == 'a' an«d":                             "is not complete here",
		"«kind":                                        "expected bool, but got string",
		"kind == 'a«":                                  "literal not terminated",
		"kind «= 'a'":                                  "is wrong here: = does not compare; write ==",
		"«kind + ''":                                   "expected bool, but got string",
		"«{a: 1} == 1":                                 "must not use this",
		"attrs.tags«[0:1] == 1":                        "must not use this",
		"«true; false":                                 "must not use this",
		"«" + strings.Repeat("true or ", 130) + "true": "is longer than 1000 bytes",
		"": "is empty; write a condition",
	} {
		if message == "" {
			continue
		}
		t.Run(when[:min(len(when), 30)], func(t *testing.T) {
			t.Parallel()
			before, after, marked := strings.Cut(when, "«")
			_, err := policyfile.Parse("policy.yaml", ruleFile(before+after))
			var problems policyfile.Problems
			if !errors.As(err, &problems) || len(problems) != 1 || !strings.Contains(problems[0].Message, message) {
				t.Fatalf("got the error %v, want one problem with the message %q", err, message)
			}
			if !marked {
				return
			}
			line := strings.Count(before, "\n")
			want := fmt.Sprintf("policy.yaml:%d:%d: rules[0].when ", 4+line, 7+len(before[strings.LastIndex(before, "\n")+1:]))
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got the error  %v\nwant the beginning %s", err, want)
			}
		})
	}
}

func TestConditionsWithTooManyPartsAreRefused(t *testing.T) {
	t.Parallel()
	_, err := policyfile.Parse("f", ruleFile("1"+strings.Repeat("+1", 120)+" > 1"))
	if err == nil || !strings.Contains(err.Error(), "has more than 200 parts up to here") {
		t.Errorf("a condition with too many parts gave the error %v, want an error that names the limit of 200 parts", err)
	}
}

// Every condition is either refused with a position, or evaluated in limited time without a
// panic.
func FuzzWhen(f *testing.F) {
	for _, when := range []string{
		"attrs.duration_seconds >= 6*3600 and attrs.duration_seconds < 8*3600", `"b" in attrs.tags`, "attrs.x.y?.z ?? 1 > 2",
		"all(1..9, true)", "let x = 1; x > 1", `kind matches "^a+$"`, "not (attrs.n % 2 == 1)", "attrs.free ? true : false",
		"-attrs.n < 1 ** 2", "attrs[attrs.title] == 1", "[1, attrs.n][1] == 7", "attrs.list == attrs.tags", "1 < 2 < 3",
	} {
		f.Add(when)
	}
	f.Fuzz(func(t *testing.T, when string) {
		file, err := policyfile.Parse("f", ruleFile(when))
		if err != nil {
			mistakes.Readable(t, mistakes.Of[policyfile.Problems](t, err), string(ruleFile(when)))
			return
		}
		if len(file.Spec.Rules) != 1 || file.Spec.Rules[0].When == nil {
			return
		}
		c := file.Spec.Rules[0].When
		for _, attrs := range []*policy.ConditionInput{video, {}} {
			if got, err := c.Match(attrs); got && err != nil {
				t.Errorf("the condition %q returned a match and the error %v, want no match after an error", c, err)
			}
		}
	})
}

// A rule that compares an attribute of a wrong type names the attribute and its type, and does not match.
//
// proves: R5
func TestR5_AnAttributeOfAWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	f, err := policyfile.Parse("p.yaml", []byte("name: p\nrules:\n  - name: long\n    when: attrs.video.seconds >= 28800\n    hold: {message: Please call us.}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := f.Policy.Admit(&policy.RuleInput{Kind: "k", Attrs: []byte(`{"video":{"seconds":"60"}}`)})
	if a == nil || a.Hold != nil || len(a.Failed) != 1 || !strings.Contains(a.Failed[0].Message, "attrs.video.seconds is a text") {
		t.Errorf("got the admission %+v, want no hold and a problem that names the attribute and its type", a)
	}
	if a := f.Policy.Admit(&policy.RuleInput{Kind: "k", Attrs: []byte(`{"video":{"seconds":28800}}`)}); a == nil || a.Hold == nil {
		t.Errorf("got the admission %+v of a number, want a hold", a)
	}
}
