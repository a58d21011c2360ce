package failure_test

import (
	"errors"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/canary"
)

// part of: F11
func TestF11_PlantedSecrets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		for _, c := range append(canary.Secrets(seed), canary.Further(seed)...) {
			got := failure.Sanitize(c.Text, nil)
			if part := c.Leaked(got); part != "" {
				t.Errorf("%s: %q of %q leaks: %q", c.Row, part, c.Text, got)
			}
			if again := failure.Sanitize(got, nil); again != got {
				t.Errorf("%q gives %q, which gives %q", c.Text, got, again)
			}
		}
	}
}

// part of: F11
func TestF11_PlantedPathsAndAddresses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		for _, c := range canary.Private(seed) {
			if got := failure.Sanitize(c.Text, nil); c.Leaked(got) != "" {
				t.Errorf("%s: %q of %q leaks: %q", c.Row, c.Leaked(got), c.Text, got)
			}
		}
		for _, c := range canary.Emails(seed) {
			if got := failure.Sanitize(c.Text, &failure.SanitizeOptions{Emails: true}); c.Leaked(got) != "" {
				t.Errorf("%s: %q of %q leaks: %q", c.Row, c.Leaked(got), c.Text, got)
			}
		}
	}
}

// part of: F11
func TestF11_HarmlessTextsStay(t *testing.T) {
	t.Parallel()
	texts := canary.Harmless()
	if len(texts) < 300 {
		t.Fatalf("%d harmless texts, want at least 300", len(texts))
	}
	damaged := 0
	for _, text := range texts {
		if got := failure.Sanitize(text, &failure.SanitizeOptions{Emails: true}); got != text {
			damaged++
			t.Logf("%q becomes %q", text, got)
		}
	}
	if damaged > 1 {
		t.Errorf("%d of %d harmless texts are damaged, want at most 1", damaged, len(texts))
	}
}

// part of: F11, T2
func TestMessage_HasNoColours(t *testing.T) {
	t.Parallel()
	err := errors.New("\x1b[31;1mERROR\x1b[0m \x1b]0;title\acannot open \x1b[4mx.mp4\x1b[0m")
	if got := failure.Text(err); got != "ERROR cannot open x.mp4" {
		t.Errorf("the text is %q, want it without escape sequences", got)
	}
}
