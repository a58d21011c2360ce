package judgement

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/internal/score"
	"github.com/redrive/redrive/tests/judgement/texts"
)

// flipsMax is the share of decisions that a harmless change of the text may turn over.
const flipsMax = 0.01

// flipsKnown are the changes that still turn over more: words around the text are weighed with it. Most of these texts are
// labelled by what was broken (a limit on open files) and say something else (a file is not there). Lower a share with each change
// that makes it better.
var flipsKnown = map[string]float64{"attempts before": 0.013}

// Harmless changes around a text that is decided rightly. The same error must be decided the same way.
var harmless = []score.Transform{
	{Name: "prefix of a logger", Apply: func(s string) string { return "2026-03-01T10:00:00.123Z ERROR [worker-3] " + s }},
	{Name: "request id", Apply: func(s string) string { return "[req 7f3a9c21-6a0e-4c1b-9d0e-0b6e2f8a1c44] " + s }},
	{Name: "name of a file", Apply: func(s string) string { return "timeout.pdf: " + s }},
	{Name: "attempts before", Apply: func(s string) string { return "after 3 attempts: " + s }},
	{Name: "giving up", Apply: func(s string) string { return "giving up after 5 retries: " + s }},
	{Name: "quotes", Apply: func(s string) string { return `"` + s + `"` }},
	{Name: "CRLF", Apply: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") + "\r\n" }},
	{Name: "three copies", Apply: func(s string) string { return s + "\n" + s + "\n" + s }},
	{Name: "lines of a log before", Apply: func(s string) string { return strings.Repeat("INFO processed 40 rows\n", 60) + s }},
	{Name: "colours", Apply: func(s string) string { return "\x1b[31m" + s + "\x1b[0m" }},
	{Name: "<pre>", Apply: func(s string) string { return "<pre>" + s + "</pre>" }},
}

// TestMetamorphic counts decisions that flip by harmless changes.
//
// part of: F8
func TestMetamorphic(t *testing.T) {
	all, err := texts.Read("data")
	if err != nil {
		t.Fatal(err)
	}
	c := classify.Builtin()
	var right []score.Item
	for i := range all {
		it := &all[i].Item
		if texts.PartOf(all[i].Family) == texts.Unread || it.Ambiguous || len(it.Text) > 2000 || i%3 != 0 {
			continue
		}
		if got := c.Classify(it.Evidence(), ""); got.Class == it.Class && got.Verdict.Retriable() == it.Retriable {
			right = append(right, *it)
		}
	}
	if len(right) < 1000 {
		t.Fatalf("%d texts are right, want 1,000", len(right))
	}
	sum, flipped := 0, 0
	for _, tr := range append(harmless, score.Transforms()...) {
		tried, flips := 0, 0
		for _, it := range right {
			text := it.Text
			if it.Text = tr.Apply(text); it.Text == text {
				continue
			}
			tried++
			if got := c.Classify(it.Evidence(), ""); got.Verdict.Retriable() != it.Retriable {
				flips++
				if testing.Verbose() && flips <= 3 {
					t.Logf("%s: %s by %s: %.200q", tr.Name, got.Class, got.Rule, text)
				}
			}
		}
		share := float64(flips) / float64(max(tried, 1))
		t.Logf("%-26s %5d texts, %3d decisions flip (%.2f %%)", tr.Name, tried, flips, 100*share)
		if most := max(flipsMax, flipsKnown[tr.Name]); share > most {
			t.Errorf("%s: %.2f %% of the decisions flip, at most %.1f %% may", tr.Name, 100*share, 100*most)
		}
		sum, flipped = sum+tried, flipped+flips
	}
	t.Logf("all: %d cases of %d texts, %.2f %% flip", sum, len(right), 100*float64(flipped)/float64(sum))
}
