package cli

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/policy"
)

// effective returns a complete Spec: it contains the settings of the policy, the built-in
// defaults, and the schedules and attempt ceiling of the configuration. It decides in the
// same way as the policy under this configuration, except for permanent exit codes, which a
// Spec cannot contain.
func effective(s *policy.Spec, c *config.Config) policy.Spec {
	builtin := policy.DefaultSpec()
	out := *s
	out.Hash, out.Source = "", nil
	out.Limits = policy.Limits{
		MaxAttempts: min(cmp.Or(s.Limits.MaxAttempts, policy.MaxAttemptsDefault), c.MaxAttempts),
		MaxAge:      cmp.Or(s.Limits.MaxAge, policy.MaxAgeDefault),
		MaxWait:     cmp.Or(s.Limits.MaxWait, policy.MaxWaitDefault),
	}
	out.Default = over(s.Default, builtin.Default)
	out.Classes = maps.Clone(s.Classes)
	if out.Classes == nil {
		out.Classes = map[failure.Class]policy.ClassSpec{}
	}
	for class, below := range builtin.Classes {
		own := out.Classes[class]
		// The default of the policy has precedence over the built-in settings of a class.
		own.Settings = over(own.Settings, without(below.Settings, s.Default))
		out.Classes[class] = own
	}
	out.Kinds = maps.Clone(s.Kinds)
	for _, name := range c.KindNames {
		k := c.Kinds[name]
		if k.Retry == nil {
			continue
		}
		if out.Kinds == nil {
			out.Kinds = map[string]policy.KindSpec{}
		}
		own := out.Kinds[name]
		own.Settings = over(scheduled(&k), own.Settings)
		out.Kinds[name] = own
	}
	bound(&out)
	return out
}

// bound applies the limits of a Spec to its own settings: it lowers the numbers of retries and the
// longest waits to the limits. It changes the Spec.
func bound(s *policy.Spec) {
	s.Default = bounded(s.Default, &s.Limits)
	for class, own := range s.Classes {
		own.Settings = bounded(own.Settings, &s.Limits)
		s.Classes[class] = own
	}
	for name, kind := range s.Kinds {
		kind.Settings = bounded(kind.Settings, &s.Limits)
		kind.Classes = maps.Clone(kind.Classes)
		for class, own := range kind.Classes {
			kind.Classes[class] = bounded(own, &s.Limits)
		}
		s.Kinds[name] = kind
	}
	s.Rules = slices.Clone(s.Rules)
	for i := range s.Rules {
		s.Rules[i].Settings = bounded(s.Rules[i].Settings, &s.Limits)
	}
	s.Rollout.Baseline = bounded(s.Rollout.Baseline, &s.Limits)
}

func bounded(s policy.Settings, l *policy.Limits) policy.Settings {
	if most := l.MaxAttempts - 1; s.MaxRetries != nil && *s.MaxRetries > most {
		s.MaxRetries = &most
	}
	if b := s.Backoff; b != nil && b.Formula == backoff.Exponential && b.Cap == 0 {
		capped := *b
		capped.Cap = l.MaxWait
		s.Backoff = &capped
	}
	return s
}

// scheduled returns the schedule of a kind as policy settings.
func scheduled(k *config.Kind) policy.Settings {
	retries, count := k.Retry.MaxRetries, policy.Total
	if f := k.Retry.Formula; f != nil {
		b := &backoff.Backoff{Formula: backoff.Exponential, First: f.First, Factor: f.Factor, Cap: f.Cap}
		if f.Spread > 0 {
			b.Jitter, b.Spread = backoff.Additive, f.Spread
		}
		return policy.Settings{MaxRetries: &retries, Count: &count, Backoff: b}
	}
	waits := append([]time.Duration(nil), k.Retry.Waits...)
	return policy.Settings{MaxRetries: &retries, Count: &count, Backoff: &backoff.Backoff{Waits: waits}}
}

// over returns the settings of a. For each setting that a does not have, it returns the setting of
// b.
func over(a, b policy.Settings) policy.Settings {
	return policy.Settings{
		Retry:           cmp.Or(a.Retry, b.Retry),
		MaxRetries:      cmp.Or(a.MaxRetries, b.MaxRetries),
		MaxTotalRetries: cmp.Or(a.MaxTotalRetries, b.MaxTotalRetries),
		HandOvers:       cmp.Or(a.HandOvers, b.HandOvers),
		Backoff:         cmp.Or(a.Backoff, b.Backoff),
		Count:           cmp.Or(a.Count, b.Count),
		Hint:            cmp.Or(a.Hint, b.Hint),
		MaxCost:         cmp.Or(a.MaxCost, b.MaxCost),
		Verdict:         cmp.Or(a.Verdict, b.Verdict),
		Escalate:        cmp.Or(a.Escalate, b.Escalate),
	}
}

// without returns the settings of a that are not set in b.
func without(a, b policy.Settings) policy.Settings {
	if b.Retry != nil {
		a.Retry = nil
	}
	if b.MaxRetries != nil {
		a.MaxRetries = nil
	}
	if b.MaxTotalRetries != nil {
		a.MaxTotalRetries = nil
	}
	if b.HandOvers != nil {
		a.HandOvers = nil
	}
	if b.Backoff != nil {
		a.Backoff = nil
	}
	if b.Count != nil {
		a.Count = nil
	}
	if b.Hint != nil {
		a.Hint = nil
	}
	if b.MaxCost != nil {
		a.MaxCost = nil
	}
	if b.Verdict != "" {
		a.Verdict = ""
	}
	if b.Escalate != nil {
		a.Escalate = nil
	}
	return a
}
