package decide_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

func parsed(t *testing.T, text string) *policy.Policy {
	t.Helper()
	f, err := policyfile.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.Policy
}

// proves: F10
// part of: Q3
func TestF10_TermsOfAPolicy(t *testing.T) {
	t.Parallel()
	const own = `
version: 1
name: own
classes:
  Crash:
    backoff: {first: 30s, factor: 2, cap: 10m}
    messages: {retrying: It goes on by itself., dead: It was interrupted too often.}
  TooLate: {is: NotFound}
  WorkerLost: {is: Crash, messages: {retrying: Another machine takes over., dead: No machine could finish it.}}
kinds:
  render: {classes: {Crash: {backoff: {waits: [1m, 5m]}}}}
classify:
  codes:
    - {code: EXPIRED, class: TooLate}
    - {code: lease_lost, class: WorkerLost, kinds: [upload]}
`
	crash := job.Terms{Retrying: "It goes on by itself.", Dead: "It was interrupted too often.",
		Spread: 30 * time.Second, SpreadMax: 10 * time.Minute, ExpiredClass: "TooLate"}
	render, upload := crash, job.Terms{Class: "WorkerLost", Retrying: "Another machine takes over.", Dead: "No machine could finish it.", ExpiredClass: "TooLate"}
	render.Spread, render.SpreadMax = time.Minute, 5*time.Minute
	for _, tt := range []struct {
		name, policy, kind string
		want               job.Terms
	}{
		{"the policy says nothing", "version: 1\nname: plain\nclasses: {NetworkTimeout: {max_retries: 7}}\n", "mail", job.Terms{}},
		{"the class Crash", own, "mail", crash},
		{"the class Crash of a kind", own, "render", render},
		{"another class for a kind", own, "upload", upload},
		{"only observed", own + "rollout: {mode: observe}\n", "mail", job.Terms{}},
	} {
		if diff := cmp.Diff(tt.want, decide.Terms(parsed(t, tt.policy), tt.kind)); diff != "" {
			t.Errorf("%s: the terms differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The terms of every policy can be stored. The default policy has the zero Terms, so
// that its jobs take no additional space.
func TestTermsOfThePresetsCanBeStored(t *testing.T) {
	t.Parallel()
	if terms := decide.Terms(policy.Default(), "mail"); terms != (job.Terms{}) {
		t.Errorf("the default policy has the terms %+v, want the zero Terms", terms)
	}
	for _, name := range preset.Names() {
		text, _ := preset.Text(name)
		terms := decide.Terms(parsed(t, string(text)), name)
		if back, err := job.ParseTerms(terms.Encode()); err != nil || back != terms {
			t.Errorf("preset %s: the stored terms %+v are read back as %+v, error %v; want equal terms", name, terms, back, err)
		}
		if (terms != job.Terms{}) != (name == "transcribe") {
			t.Errorf("preset %s has the terms %+v, want the zero Terms for every preset except transcribe", name, terms)
		}
	}
}
