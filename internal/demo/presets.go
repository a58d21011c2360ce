package demo

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// shortened returns a preset with shorter waits. Each wait of its back-offs is divided by the
// given number. Apart from these waits and the name, nothing changes: not the classes,
// verdicts, numbers of retries, limits, rules and texts, and not the handling of Retry-After.
func shortened(preset string, by int) (*policy.Policy, error) {
	f, err := policyfile.Preset(preset)
	if err != nil {
		return nil, err
	}
	spec := f.Spec
	eachBackoff(&spec, func(b *backoff.Backoff) {
		eachWait(b, func(d time.Duration) time.Duration { return (d / time.Duration(by)).Truncate(time.Microsecond) })
	})
	spec.Name = fmt.Sprintf("%s-waits-by-%d", preset, by)
	// The policy is rendered and parsed as a policy file, because the store keeps policies
	// in this form.
	f, err = policyfile.Parse("the demo's "+preset, policyfile.Render(&spec))
	if err != nil {
		return nil, err
	}
	return f.Policy, nil
}

// eachWait changes the waits of a back-off, but not its formula.
func eachWait(b *backoff.Backoff, change func(time.Duration) time.Duration) {
	for _, d := range []*time.Duration{&b.First, &b.Cap, &b.Floor, &b.Spread} {
		*d = change(*d)
	}
	for i := range b.Waits {
		b.Waits[i] = change(b.Waits[i])
	}
}

// eachBackoff calls the function f with each back-off of a policy.
func eachBackoff(s *policy.Spec, f func(*backoff.Backoff)) {
	settings := func(s policy.Settings) {
		if s.Backoff != nil {
			f(s.Backoff)
		}
	}
	settings(s.Default)
	settings(s.Rollout.Baseline)
	for _, class := range s.Classes {
		settings(class.Settings)
	}
	for _, kind := range s.Kinds {
		settings(kind.Settings)
		for _, class := range kind.Classes {
			settings(class)
		}
	}
	for _, rule := range s.Rules {
		settings(rule.Settings)
	}
}
