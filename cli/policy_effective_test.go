package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

// specs returns policies that set different parts and leave the others to the built-in
// default.
func specs(t *testing.T) map[string]policy.Spec {
	t.Helper()
	all := map[string]policy.Spec{"default": policy.DefaultSpec()}
	for _, name := range preset.Names() {
		f, err := policyfile.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = f.Spec
	}
	for name, text := range map[string]string{
		"default over classes": "default: {max_retries: 7, backoff: {waits: [9s]}}",
		"one field":            "classes: {NetworkTimeout: {max_retries: 9}, RateLimitExceeded: {backoff: {waits: [1s, 2s]}}}",
		"alias":                "classes: {Own: {is: ResourceConstraint, max_retries: 1}, Mine: {verdict: permanent}}",
		"kinds":                "kinds: {plain: {max_retries: 8}, paced: {max_retries: 6, classes: {NetworkTimeout: {max_retries: 2}}}, off: {retry: false}}",
		"ceiling":              "limits: {max_attempts: 50, max_age: 60d}\ndefault: {max_retries: 49}\nkinds: {plain: {classes: {Panic: {max_retries: 30}}}}",
		"totals":               "default: {count: total, max_total_retries: 3, max_cost: 1, hint: {max: 1h}, verdict: throttle}",
	} {
		f, err := policyfile.Parse("policy.yaml", []byte("version: 1\nname: test\n"+text+"\n"))
		if err != nil {
			t.Fatalf("policy %s cannot be parsed:\n%v", name, err)
		}
		all[name] = f.Spec
	}
	return all
}

// The output of `policy show --effective` is a valid policy file, and makes the same
// decisions as the policy under the configuration.
// part of: F9
func TestEffective_DecidesAsThePolicyDoes(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		MaxAttempts: 20, KindNames: []string{"paced", "plain"},
		Kinds: map[string]config.Kind{
			"plain": {}, "paced": {Retry: &config.Retry{MaxRetries: 5, Waits: []time.Duration{time.Second, time.Minute}}},
		},
	}
	for name, spec := range specs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, problems := policy.New(spec)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			under, err := underConfig(p, c)
			if err != nil {
				t.Fatal(err)
			}
			written := effective(&spec, c)
			f, err := policyfile.Parse("effective.yaml", policyfile.Render(&written))
			if err != nil {
				t.Fatalf("the printed policy is not a valid file, want a valid one:\n%v", err)
			}
			for _, kind := range []string{"plain", "paced", "off", "other"} {
				for _, class := range under.Classes() {
					if diff := cmp.Diff(course(under, kind, class), course(f.Policy, kind, class)); diff != "" {
						t.Errorf("the printed policy decides differently for kind %s and class %s, want equal decisions (-policy +printed):\n%s", kind, class, diff)
					}
				}
			}
		})
	}
}

// course returns the decisions about a series of failures of one class.
func course(p *policy.Policy, kind string, class failure.Class) (lines []string) {
	in := policy.Input{Kind: kind, How: job.ByError, U: 0.25, Cost: 300_000,
		Evidence: &failure.Evidence{Message: "x", RetryAfter: 2 * time.Minute}}
	in.Class = classify.Classification{Class: class, Verdict: p.Info(class).Verdict, Rank: classify.RankMark, Rule: "mark.class"}
	for range 60 {
		d := p.Decide(&in)
		lines = append(lines, fmt.Sprint(d.Action, d.Rule, d.Verdict, d.N, d.Of, d.Wait, d.TotalMax, d.MaxAttempts))
		if d.Action != policy.Retry {
			return lines
		}
		in.Attempts, in.Memo, in.Age = in.Attempts+1, d.Memo, in.Age+d.Wait
	}
	return lines
}
