package policyfile_test

import (
	"testing"

	"github.com/redrive/redrive/policy/policyfile"
)

// part of: F9
func TestF9_MergeTakesWhatIsSaid(t *testing.T) {
	t.Parallel()
	over := `name: over
limits: {max_attempts: 9}
rollout: {stage: beta, stages: {beta: {mode: enforce}}}
default: {max_retries: 1}
classes:
  NetworkTimeout: {max_retries: 2, messages: {dead: over}}
kinds:
  a: {retry: false, classes: {Crash: {max_retries: 3}}}
rules:
  - {name: both, kinds: a, queue: over}
classify:
  codes: [{code: A, class: NotFound}]
words:
  states: {dead: OVER}
`
	under := `name: under
limits: {max_attempts: 5, max_age: 7d}
rollout: {stage: alpha, stages: {alpha: {mode: observe}, beta: {mode: observe}}, baseline: {retry: false}}
default: {max_retries: 4, count: total}
classes:
  NetworkTimeout: {max_retries: 4, backoff: {first: 5s}, messages: {retrying: under, dead: under}, operator: under}
  Mine: {verdict: retry}
kinds:
  a: {max_retries: 0, classes: {Crash: {max_retries: 4, count: total}}}
  b: {max_retries: 4}
rules:
  - {name: both, kinds: b, queue: under}
  - {name: second, kinds: b, queue: under}
classify:
  builtin: false
  codes: [{code: B, class: NotFound}]
words:
  states: {dead: UNDER, retrying: UNDER}
`
	want := `name: over
limits: {max_attempts: 9, max_age: 7d}
rollout: {stage: beta, stages: {alpha: {mode: observe}, beta: {mode: enforce}}, baseline: {retry: false}}
default: {max_retries: 1, count: total}
classes:
  NetworkTimeout: {max_retries: 2, backoff: {first: 5s}, messages: {retrying: under, dead: over}, operator: under}
  Mine: {verdict: retry}
kinds:
  a: {retry: false, max_retries: 0, classes: {Crash: {max_retries: 3, count: total}}}
  b: {max_retries: 4}
rules:
  - {name: both, kinds: a, queue: over}
  - {name: second, kinds: b, queue: under}
classify:
  builtin: false
  codes: [{code: [A, B], class: NotFound}]
words:
  states: {dead: OVER, retrying: UNDER}
`
	merged, err := policyfile.ParseOver("over", []byte(over), []byte(under))
	if err != nil {
		t.Fatal(err)
	}
	f, err := policyfile.ParseOnly("want", []byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if d := sameSpec(f.Spec, merged.Spec); d != "" {
		t.Errorf("wrong merged policy (-want +got):\n%s", d)
	}
}

// If a file sets the active stage of the roll-out, this stage takes precedence over the stage
// of the extended file, even if it is the default. Other stages and the baseline do not set the
// active stage.
// part of: F9, R8
func TestF9_R8_AFileEndsTheObservingOfWhatItExtends(t *testing.T) {
	t.Parallel()
	const staged = "rollout: {stage: alpha, stages: {alpha: {mode: observe, enforce: [Crash]}}}\n"
	const observing = "rollout: {mode: observe, enforce: [Crash], kinds: [a]}\n"
	for _, tt := range []struct{ under, over, want string }{
		{observing, "rollout: {mode: enforce}", ""},
		{observing, "rollout: {mode: observe}", "rollout: {mode: observe}"},
		{observing, "rollout: {kinds: [b]}", "rollout: {kinds: [b]}"},
		{observing, "rollout: {}", observing},
		{observing, "rollout: {baseline: {retry: false}}", "rollout: {mode: observe, enforce: [Crash], kinds: [a], baseline: {retry: false}}"},
		{observing, "rollout: {stages: {beta: {mode: enforce}}}", "rollout: {mode: observe, enforce: [Crash], kinds: [a], stages: {beta: {mode: enforce}}}"},
		{observing, "rollout: {stage: beta, stages: {beta: {mode: enforce}}}", "rollout: {stage: beta, stages: {beta: {mode: enforce}}}"},
		{staged, "rollout: {mode: enforce}", "rollout: {stages: {alpha: {mode: observe, enforce: [Crash]}}}"},
		{staged, "default: {}", staged},
	} {
		merged, err := policyfile.ParseOver("over", []byte("name: x\n"+tt.over), []byte(tt.under))
		if err != nil {
			t.Fatal(err)
		}
		want, err := policyfile.ParseOnly("want", []byte("name: x\n"+tt.want))
		if err != nil {
			t.Fatal(err)
		}
		if d := sameSpec(want.Spec, merged.Spec); d != "" {
			t.Errorf("wrong merge of %s over %s (-want +got):\n%s", tt.over, tt.under, d)
		}
	}
}

// part of: F9
func TestF9_ExtendingAPresetAddsNothingByItself(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"transcribe", "render", "ocr", "watermark", "chat"} {
		of, err := policyfile.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := policyfile.Parse("f", []byte("extends: "+name))
		if err != nil {
			t.Fatal(err)
		}
		if f.Extends != name || f.Policy.Hash() != of.Policy.Hash() {
			t.Errorf("a file that only extends the preset %s has another policy, want the policy of the preset", name)
		}
	}
	if _, err := policyfile.Preset("nope"); err == nil {
		t.Error("Preset of an unknown name returned no error, want an error")
	}
}
