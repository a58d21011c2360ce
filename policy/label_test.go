package policy_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

func TestLabel_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, l := range []policy.Label{
		{Class: failure.InvalidInput, Kind: "render", Code: "X-1", Text: "clip 4 is empty\ntext: second line"},
		{Class: failure.NotFound, Kind: "", Code: "", Text: "x"},
	} {
		if got, ok := policy.ParseLabel(l.String()); !ok || got != l {
			t.Errorf("%+v became %+v, %t", l, got, ok)
		}
	}
	for _, text := range []string{"", "class: X", "kind: a\nclass: b\ncode: c\ntext: d", "class: \nkind: k\ncode: c\ntext: d"} {
		if l, ok := policy.ParseLabel(text); ok {
			t.Errorf("%q was read as %+v", text, l)
		}
	}
}

// A label recognises its own text with other numbers and paths, jobs of its kind only, and no other text.
func TestLabel_RecognisesItsText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, like, unlike string }{
		{"plot 17 of /srv/a/b.plt: the ribbon sleeps", "plot 99 of /other/c.plt: the ribbon sleeps", "plot 17 of /srv/a/b.plt: the pen is dry"},
		{"SchlafendesFarbband (code 12)", "SchlafendesFarbband (code 99)", "Farbband fehlt"},
		{"色带休眠 17", "色带休眠 99", "色带断开"},
	} {
		with, unknown, problems := policy.Default().WithLabels([]policy.Label{
			{Class: failure.PaymentRequired, Kind: "plot", Text: c.text},
			{Class: failure.NotFound, Kind: "plot", Text: c.text},
			{Class: "NoSuchClass", Kind: "plot", Text: c.text},
		})
		if len(problems) > 0 || len(unknown) != 1 {
			t.Fatalf("%q: %v, %v", c.text, problems, unknown)
		}
		class := func(text, kind string) failure.Class {
			return with.Classify(&failure.Evidence{Message: text, Errno: "ECONNREFUSED"}, kind).Class
		}
		if got := class(c.like, "plot"); got != failure.PaymentRequired {
			t.Errorf("%q is %s, want the class of the first label", c.like, got)
		}
		if got := class(c.unlike, "plot"); got == failure.PaymentRequired {
			t.Errorf("%q has the class of the label", c.unlike)
		}
		if got := class(c.like, "other"); got == failure.PaymentRequired {
			t.Errorf("%q of another kind has the class of the label", c.like)
		}
	}
	if l := (policy.Label{Text: "17: /srv/x 404"}); l.Phrase() != "" {
		t.Errorf("numbers alone make the phrase %q", l.Phrase())
	}
}

// The smallest rule that tells the labels from the rest: "ribbon sleeps", since "plotter" and "ribbon" stand in others, too.
func TestSuggest_TheSmallestRuleThatSeparates(t *testing.T) {
	t.Parallel()
	labels := []policy.Label{
		{Class: failure.TemporaryServiceError, Kind: "plot", Text: "plotter 1: the ribbon sleeps"},
		{Class: failure.TemporaryServiceError, Kind: "plot", Text: "plotter 2 says that a ribbon sleeps now"},
		{Class: failure.InvalidInput, Kind: "plot", Text: "plotter 1: the ribbon is torn"},
		{Class: failure.NotFound, Kind: "scan", Code: "E77", Text: "17"},
	}
	past := []policy.Past{
		{Group: "2:a", Kind: "plot", Class: failure.NetworkTimeout, Text: "plotter 9: the ribbon waits", N: 3},
		{Group: "2:b", Kind: "other", Class: failure.NetworkTimeout, Text: "the ribbon sleeps", N: 5},
		{Group: "2:c", Kind: "scan", Class: failure.ValidationError, Code: "E77", Text: "99", N: 7},
	}
	got := policy.Suggest(labels, past)
	if len(got) != 3 {
		t.Fatalf("%d rules: %+v", len(got), got)
	}
	for _, s := range got {
		switch s.Class {
		case failure.TemporaryServiceError:
			if s.Phrase != "ribbon sleeps" || s.Labels != 2 || len(s.Also) != 0 {
				t.Errorf("%+v", s)
			}
		case failure.InvalidInput:
			if !strings.Contains(s.Phrase, "torn") || len(s.Also) != 0 {
				t.Errorf("%+v", s)
			}
		default:
			if s.Code != "E77" || len(s.Also) != 1 || s.Also[0].N != 7 {
				t.Errorf("%+v", s)
			}
		}
	}
}
