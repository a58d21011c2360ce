package classify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// composedRight is the share of the composed cases that must be decided rightly, in percent.
const composedRight = 95

// Errors inside of pages, logs, traces and quotations are decided as they are alone.
//
// part of: F8
func TestF8_ComposedTexts(t *testing.T) {
	t.Parallel()
	texts, accepted, _ := said(t, "composed.txt")
	long := strings.Repeat("2026-03-01T10:00:00Z INFO worked on item 7 of the list, nothing to report\n", 900)
	for _, i := range []int{2, 4, 5, 20, 22} { // very long ones
		texts, accepted = append(texts, long+texts[i]), append(accepted, accepted[i])
	}
	class, verdict := 0, 0
	for i, text := range texts {
		got := classOf(failure.Evidence{Message: text})
		if got.Verdict.Retriable() == accepted[i][0].Verdict().Retriable() {
			verdict++
		}
		if slices.Contains(accepted[i], got.Class) {
			class++
			continue
		}
		t.Logf("%.200q: %s by %s (saw %q), want %v", text[max(0, len(text)-400):], got.Class, got.Rule, got.Saw, accepted[i])
	}
	t.Logf("%d texts, %d classes and %d verdicts are right", len(texts), class, verdict)
	if n := len(texts); class*100 < n*composedRight || verdict*100 < n*composedRight {
		t.Errorf("of %d texts %d classes and %d verdicts are right, want %d %%", n, class, verdict, composedRight)
	}
}
