package failure_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
)

// proves: F3, F4
func TestF3_F4_BuiltInClassesAndTheirVerdicts(t *testing.T) {
	t.Parallel()
	want := map[failure.Class]failure.Verdict{
		"NetworkTimeout": "retry", "RateLimitExceeded": "throttle", "TemporaryServiceError": "retry", "ResourceConstraint": "retry",
		"InvalidInput": "permanent", "AuthenticationFailure": "permanent", "PaymentRequired": "permanent",
		"ContentViolation": "permanent", "InputExceedsLimits": "permanent", "QuotaExceeded": "quota",
		"ValidationError": "permanent", "PermissionError": "permanent", "NotFound": "permanent", "BusinessLogicError": "permanent",
		"UnknownError": "unknown", "ProgramError": "unknown", "AttemptTimeout": "retry", "Crash": "crash", "Panic": "unknown",
		"Cancelled": "cancelled", "Internal": "permanent",
	}
	retriable := map[failure.Verdict]bool{
		"retry": true, "throttle": true, "dependency_down": true, "crash": true, "unknown": true,
		"quota": false, "permanent": false, "cancelled": false, "": false, "no such verdict": false,
	}
	for _, info := range failure.Classes() {
		if info.Verdict != want[info.Class] {
			t.Errorf("%s: verdict %q, want %q", info.Class, info.Verdict, want[info.Class])
		}
		delete(want, info.Class)
		if got, ok := failure.InfoOf(info.Class); !ok || got != info {
			t.Errorf("InfoOf(%q) = %+v, %v", info.Class, got, ok)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	for v, ok := range retriable {
		if v.Retriable() != ok {
			t.Errorf("verdict %q: retriable %v, want %v", v, !ok, ok)
		}
	}
	if info, ok := failure.InfoOf("NoSuchClass"); ok {
		t.Errorf("there is a class that nobody made: %+v", info)
	}
	failure.Classes()[0].Dead = "changed"
	if failure.Classes()[0].Dead == "changed" {
		t.Error("a caller can change the built-in classes")
	}
}

// proves: F10
func TestF10_TextsForUsersStayTrue(t *testing.T) {
	t.Parallel()
	const scheduled = "Another attempt is scheduled."
	never := []string{ // whatever the policy does
		"notified", "our team", "be processed", "soon", "shortly", "minute", "hour", "gb", "priority", "queue", "several times",
		"we will", "we'll", "guarantee", "!", "sorry", "error", "exception", "http", "401", "403", "404", "429", "503",
	}
	neverDead := []string{"retry", "retrying", "attempt", "scheduled", "will", "again automatically", "at the moment", "wait"}
	for _, info := range failure.Classes() {
		class := string(info.Class)
		checkText(t, class+", retrying", info.Retrying, never)
		checkText(t, class+", dead", info.Dead, append(neverDead, never...))
		checkText(t, class+", operator", info.Operator, nil)
		if !strings.HasSuffix(info.Retrying, " "+scheduled) || len(info.Retrying) == len(scheduled)+1 {
			t.Errorf("%s: %q, want what happened and then %q", class, info.Retrying, scheduled)
		}
		if info.Summary == "" || strings.HasSuffix(info.Summary, ".") || strings.Contains(info.Summary, "\n") {
			t.Errorf("%s: summary %q, want one line", class, info.Summary)
		}
		if permanent := !info.Verdict.Retriable(); permanent && strings.Contains(info.Dead, "later") {
			t.Errorf("%s: %q promises what time does not mend", class, info.Dead)
		}
	}
}

// checkText checks that a text is whole sentences and that none of the words,
// or words that begin so, is in it.
func checkText(t *testing.T, name, text string, never []string) {
	t.Helper()
	if text == "" || !strings.HasSuffix(text, ".") || text != strings.TrimSpace(text) || !utf8.ValidString(text) {
		t.Errorf("%s: %q is not made of sentences", name, text)
	}
	lower := " " + strings.ToLower(text)
	for _, word := range never {
		if strings.Contains(lower, " "+word) || word == "!" && strings.Contains(lower, word) {
			t.Errorf("%s: %q has the word %q", name, text, word)
		}
	}
}
