package score_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
)

// TestCorpus prints the scores of a file of labelled texts, whose path is in
// REDRIVE_CORPUS: go test ./internal/score -run Corpus -v. With REDRIVE_HELD only the
// items whose id ends with one of its characters count.
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
	c := failure.Builtin()
	classify := func(e *failure.Evidence) failure.Classification { return c.Classify(e, "") }
	rep := score.Items(items, classify)
	rep.Phrases, rep.Patterns = c.Phrases()
	var b strings.Builder
	for _, m := range rep.Misses {
		fmt.Fprintf(&b, "%s %s: want %s, got %s by %s (%q): %s\n", m.Kind, m.ID, m.Want, m.Got, m.Rule, m.Saw, m.Text)
	}
	fmt.Fprintf(&b, "items %d, ambiguous %d, class right %.4f, non-retriable as retriable %.4f, retriable as permanent %.4f, one line %.3f, unmatched %d, phrases %d\n",
		rep.Items, rep.Ambiguous, rep.ClassRight, rep.NonretriableAsRetriable, rep.RetriableAsPermanent, rep.OneLine, rep.Unknown, rep.Phrases)
	meta := score.Metamorph(items, classify)
	if os.Getenv("REDRIVE_CHANGED") != "" {
		for _, m := range meta.Changed {
			fmt.Fprintf(&b, "%s %s: %s by %s, then %s by %s: %s\n", m.Transform, m.ID, m.From, m.Rules[0], m.To, m.Rules[1], m.Text)
		}
	}
	fmt.Fprintf(&b, "metamorphic: kept %.4f, %v\n", meta.Kept, meta.By)
	t.Log("\n" + b.String())
}
