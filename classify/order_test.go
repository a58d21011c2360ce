package classify_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Of a policy's own phrases, and of its own patterns, the one that is written
// first decides, wherever in the text it stands and whatever its class.
//
// part of: F7
func TestF7_OwnPhrasesDecideInTheirOrder(t *testing.T) {
	t.Parallel()
	full, broken := classify.PhraseRule{Match: "disk full", Class: failure.ResourceConstraint}, classify.PhraseRule{Match: "broken input", Class: "Broken"}
	fullP, brokenP := classify.PatternRule(full), classify.PatternRule(broken)
	for _, text := range []string{"disk full, broken input", "broken input, disk full"} {
		for name, tt := range map[string]struct {
			rules classify.Rules
			want  failure.Class
		}{
			"phrases, retriable first": {classify.Rules{NoBuiltin: true, Phrases: []classify.PhraseRule{full, broken}}, full.Class},
			"phrases, final first":     {classify.Rules{NoBuiltin: true, Phrases: []classify.PhraseRule{broken, full}}, broken.Class},
			"patterns":                 {classify.Rules{NoBuiltin: true, Patterns: []classify.PatternRule{fullP, brokenP}}, full.Class},
			"patterns, final first":    {classify.Rules{NoBuiltin: true, Patterns: []classify.PatternRule{brokenP, fullP}}, broken.Class},
			"beside the built-in ones": {classify.Rules{Phrases: []classify.PhraseRule{full, broken}}, full.Class},
		} {
			c, problems := classify.NewClassifier(tt.rules)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := c.Classify(&failure.Evidence{Message: text}, "")
			if got.Class != tt.want {
				t.Errorf("%s: %q is %s by %s, want %s", name, text, got.Class, got.Rule, tt.want)
			}
		}
	}
}

// What an error says of the connection by its type, or as a fact, is more than
// words that read like a bug, unless they are the policy's own.
//
// proves: F2
func TestF2_TypedConnectionBeatsWordsForABug(t *testing.T) {
	t.Parallel()
	own := classify.Rules{Phrases: []classify.PhraseRule{{Match: "answer of documents", Class: failure.UnknownError}}}
	for name, tt := range map[string]struct {
		rules classify.Rules
		err   error
		want  failure.Class
		rule  string
	}{
		"broke off":      {err: fmt.Errorf("read the answer of documents: %w", io.ErrUnexpectedEOF), want: failure.NetworkTimeout, rule: "type.io.ErrUnexpectedEOF"},
		"timed out":      {err: fmt.Errorf("no response body: %w", os.ErrDeadlineExceeded), want: failure.NetworkTimeout, rule: "typed.timeout"},
		"without a type": {err: errors.New("read the answer of documents: unexpected EOF"), want: failure.UnknownError, rule: "bug.answer"},
		"only the end":   {err: fmt.Errorf("the answer was empty: %w", io.EOF), want: failure.UnknownError, rule: "bug.answer"},
		"words of a policy": {own, fmt.Errorf("read the answer of documents: %w", io.ErrUnexpectedEOF),
			failure.UnknownError, "policy.phrases.0"},
	} {
		c, problems := classify.NewClassifier(tt.rules)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		e := failure.Of(tt.err)
		if got := c.Classify(&e, ""); got.Class != tt.want || got.Rule != tt.rule {
			t.Errorf("%s: %q is %s by %s, want %s by %s", name, tt.err, got.Class, got.Rule, tt.want, tt.rule)
		}
	}
}

// ProcessError reports that a worker process failed.
type ProcessError struct{}

func (ProcessError) Error() string { return "worker 3 stopped" }

// part of: F2
func TestClassify_AProcessErrorIsNoPayment(t *testing.T) {
	t.Parallel()
	if c := classOf(failure.Of(ProcessError{})); c.Rule == "payment.processing" || c.Class != failure.UnknownError {
		t.Errorf("the type ProcessError has class %s by %s, want UnknownError", c.Class, c.Rule)
	}
	if c := classOf(failure.Evidence{Code: "processing_error", Message: "x"}); c.Rule != "payment.processing" {
		t.Errorf("the code processing_error has class %s by %s, want it by payment.processing", c.Class, c.Rule)
	}
}
