package classify_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// Words with two meanings: the method of a request, an announcement, an advice, a field.
//
// part of: F4, F8
func TestF8_WordsWithTwoMeanings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []failure.Class
	}{
		{"POST https://api.example.com/x: 410 Gone", []failure.Class{failure.NotFound}},
		{"PATCH https://api.example.com/v1/users/7 returned 410 Gone", []failure.Class{failure.NotFound}},
		{"this post was removed", []failure.Class{failure.InvalidInput}},
		{"this was removed", []failure.Class{failure.InvalidInput}},
		{"DeprecationWarning: this will be removed in version 5\nerror: invoice 4711 already paid", []failure.Class{failure.BusinessLogicError}},
		{"fatal: index is corrupt, rebuild it", []failure.Class{failure.InvalidInput}},
		{"the index is rebuilding", []failure.Class{failure.TemporaryServiceError}},
		{"customer Ann has no billing address", []failure.Class{failure.ValidationError, failure.BusinessLogicError, failure.UnknownError, failure.NotFound, failure.InvalidInput}},
		{"billing is not enabled for this project", []failure.Class{failure.PaymentRequired}},
	} {
		if c := classOf(failure.Of(errors.New(tt.text))); !slices.Contains(tt.want, c.Class) {
			t.Errorf("%q is %s by %s, want one of %v", tt.text, c.Class, c.Rule, tt.want)
		}
	}
}

// Users cannot correct a defect of the program or a certificate, so the texts of their classes do not
// ask them to check their input or their password.
// part of: F10
func TestF10_TextsBlameNobody(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{
		"KeyError: 'Name'": failure.ProgramError,
		"panic: runtime error: index out of range [5] with length 3":                           failure.ProgramError,
		"x509: certificate signed by unknown authority":                                        failure.AuthenticationFailure,
		"tls: failed to verify certificate: x509: certificate has expired or is not yet valid": failure.AuthenticationFailure,
	} {
		c := classOf(failure.Of(errors.New(text)))
		info, _ := failure.InfoOf(c.Class)
		if c.Class != want {
			t.Errorf("%q is %s by %s, want %s", text, c.Class, c.Rule, want)
		}
		for _, word := range []string{"sign-in", "input", "value", "check", "password"} {
			if strings.Contains(info.Retrying+info.Dead, word) {
				t.Errorf("the texts of %s for users have the word %q: %s %s", c.Class, word, info.Retrying, info.Dead)
			}
		}
	}
	bug, _ := failure.InfoOf(failure.ProgramError)
	panicked, _ := failure.InfoOf(failure.Panic)
	if bug.Verdict != panicked.Verdict || bug.Dead != panicked.Dead || bug.Retrying != panicked.Retrying {
		t.Errorf("a defect that a command reports is %+v, want the verdict and the texts of a panic: %+v", bug, panicked)
	}
}
