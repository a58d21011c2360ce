package policy_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// proves: R9
//
// The settings of a class within a kind are those that the most specific level sets, and each says
// where it is set. They are the settings by which Decide decides.
func TestR9_ResolvedSettingsSayWhereTheyAreSet(t *testing.T) {
	t.Parallel()
	five, nine := 5, 9
	spec := policy.DefaultSpec()
	spec.Name = "p"
	spec.Kinds = map[string]policy.KindSpec{
		"render": {Settings: policy.Settings{MaxRetries: &five}, Classes: map[failure.Class]policy.Settings{failure.NetworkTimeout: {MaxRetries: &nine}}},
	}
	p, problems := policy.New(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		kind    string
		class   failure.Class
		retries int
		from    string
	}{
		{"render", failure.NetworkTimeout, 9, "the class within the kind (kinds.render.classes.NetworkTimeout)"},
		{"render", failure.TemporaryServiceError, 5, "the kind (kinds.render)"},
		{"render", failure.InvalidInput, 0, "the verdict of the class"},
	} {
		got := p.Resolve(c.kind, c.class)
		if got.Retries != c.retries || got.RetriesFrom != c.from || (got.Backoff != "") != (c.retries > 0) {
			t.Errorf("%s of %s: got %+v, want %d retries from %s", c.class, c.kind, got, c.retries, c.from)
		}
	}
	for _, class := range p.Classes() {
		if class == failure.Cancelled { // a cancelled run is ended before a policy is asked
			continue
		}
		r := p.Resolve("other", class)
		d := p.Decide(&policy.Input{Kind: "other", How: job.ByError, Class: classify.Classification{Class: class}, Evidence: &failure.Evidence{Message: "x"}, U: 0.5})
		if (d.Action == policy.Retry) != (r.Retries > 0) || d.Action == policy.Retry && d.Of != r.Retries {
			t.Errorf("%s: resolved %d retries, decided %v of %d", class, r.Retries, d.Action, d.Of)
		}
		if r.Retries > 0 && (r.RetriesFrom == "" || r.BackoffFrom == "" || strings.Contains(r.Backoff, "%!")) {
			t.Errorf("%s: got %+v, want the places of its settings", class, r)
		}
	}
}
