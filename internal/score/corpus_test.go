package score_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
)

// TestCorpus prints the scores for a file of labelled texts. Run it with
// REDRIVE_CORPUS=FILE go test ./internal/score -run Corpus -v. If REDRIVE_HELD is set, only
// the items whose id ends with one of its characters are used.
func TestCorpus(t *testing.T) {
	t.Parallel()
	path := os.Getenv("REDRIVE_CORPUS")
	if path == "" {
		t.Skip("set REDRIVE_CORPUS to a file of labelled texts to run this test")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	items, err := score.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if held := os.Getenv("REDRIVE_HELD"); held != "" {
		kept := items[:0]
		for _, it := range items {
			if strings.ContainsAny(it.ID[len(it.ID)-1:], held) {
				kept = append(kept, it)
			}
		}
		items = kept
	}
	c := classify.Builtin()
	classOf := func(e *failure.Evidence) classify.Classification { return c.Classify(e, "") }
	rep := score.Items(items, classOf)
	rep.Phrases, rep.Patterns = c.Phrases()
	var b strings.Builder
	for _, m := range rep.Misses {
		fmt.Fprintf(&b, "%s, item %s: want class %s, got class %s by rule %s (matched %q): %s\n", m.Kind, m.ID, m.Want, m.Got, m.Rule, m.Saw, m.Text)
	}
	fmt.Fprintf(&b, "items %d, ambiguous %d, share with the right class %.4f, non-retriable as retriable %.4f, retriable as permanent %.4f, share of items whose rule matches only one item %.3f, unmatched %d, phrases %d\n",
		rep.Items, rep.Ambiguous, rep.ClassRight, rep.NonretriableAsRetriable, rep.RetriableAsPermanent, rep.OneLine, rep.Unknown, rep.Phrases)
	meta := score.Metamorph(items, classOf)
	if os.Getenv("REDRIVE_CHANGED") != "" {
		for _, m := range meta.Changed {
			fmt.Fprintf(&b, "transform %s, item %s: class %s by rule %s before, class %s by rule %s after: %s\n", m.Transform, m.ID, m.From, m.Rules[0], m.To, m.Rules[1], m.Text)
		}
	}
	fmt.Fprintf(&b, "share of changed texts that kept their class: %.4f, by transform: %v\n", meta.Kept, meta.By)
	t.Log("\n" + b.String())
}
