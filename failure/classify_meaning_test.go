package failure_test

import (
	"errors"
	"slices"
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
