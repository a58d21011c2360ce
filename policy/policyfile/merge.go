package policyfile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/policy"
)

// merge returns the first settings, completed with values of the second. Settings are merged
// field by field. The lists of the first come before those of the second. The last argument is
// true if the first settings set the active stage of the roll-out.
func merge(over, under *policy.Spec, step bool) policy.Spec {
	return policy.Spec{
		Name: cmp.Or(over.Name, under.Name),
		Limits: policy.Limits{
			MaxAttempts: cmp.Or(over.Limits.MaxAttempts, under.Limits.MaxAttempts),
			MaxAge:      cmp.Or(over.Limits.MaxAge, under.Limits.MaxAge),
			MaxWait:     cmp.Or(over.Limits.MaxWait, under.Limits.MaxWait),
		},
		Rollout: mergeRollout(&over.Rollout, &under.Rollout, step),
		Default: mergeSettings(over.Default, under.Default),
		Runs:    mergeRun(over.Runs, under.Runs),
		Classes: mergeMaps(over.Classes, under.Classes, mergeClass),
		Kinds:   mergeMaps(over.Kinds, under.Kinds, mergeKind),
		Rules:   mergeRules(over.Rules, under.Rules),
		Classify: classify.Rules{
			NoBuiltin: over.Classify.NoBuiltin,
			Codes:     slices.Concat(over.Classify.Codes, under.Classify.Codes),
			Types:     slices.Concat(over.Classify.Types, under.Classify.Types),
			Statuses:  slices.Concat(over.Classify.Statuses, under.Classify.Statuses),
			Exits:     slices.Concat(over.Classify.Exits, under.Classify.Exits),
			Phrases:   slices.Concat(over.Classify.Phrases, under.Classify.Phrases),
			Patterns:  slices.Concat(over.Classify.Patterns, under.Classify.Patterns),
			Matchers:  slices.Concat(over.Classify.Matchers, under.Classify.Matchers),
			Text:      mergeText(over.Classify.Text, under.Classify.Text),
		},
		Words: policy.Words{
			States:  mergeMaps(over.Words.States, under.Words.States, upper[string]),
			Classes: mergeMaps(over.Words.Classes, under.Words.Classes, upper[string]),
			Error:   mergeMaps(over.Words.Error, under.Words.Error, upper[string]),
		},
	}
}

// mergeText returns the rules of both texts.
func mergeText(over, under string) string {
	if over == "" || under == "" {
		return over + under
	}
	return strings.TrimRight(over, "\n") + "\n" + under
}

func mergeMaps[K comparable, V any](over, under map[K]V, both func(over, under V) V) map[K]V {
	if len(under) == 0 {
		return over
	}
	merged := maps.Clone(under)
	for key, v := range over {
		if below, ok := under[key]; ok {
			v = both(v, below)
		}
		merged[key] = v
	}
	return merged
}

func mergeSettings(over, under policy.Settings) policy.Settings {
	return policy.Settings{
		Retry:           cmp.Or(over.Retry, under.Retry),
		MaxRetries:      cmp.Or(over.MaxRetries, under.MaxRetries),
		MaxTotalRetries: cmp.Or(over.MaxTotalRetries, under.MaxTotalRetries),
		HandOvers:       cmp.Or(over.HandOvers, under.HandOvers),
		Backoff:         cmp.Or(over.Backoff, under.Backoff),
		Count:           cmp.Or(over.Count, under.Count),
		Hint:            cmp.Or(over.Hint, under.Hint),
		MaxCost:         cmp.Or(over.MaxCost, under.MaxCost),
		Verdict:         cmp.Or(over.Verdict, under.Verdict),
		Escalate:        cmp.Or(over.Escalate, under.Escalate),
	}
}

func mergeRun(over, under policy.RunSpec) policy.RunSpec {
	return policy.RunSpec{
		Timeout:    cmp.Or(over.Timeout, under.Timeout),
		MaxCrashes: cmp.Or(over.MaxCrashes, under.MaxCrashes),
		Codes: policy.Codes{
			TimeLimit:    cmp.Or(over.Codes.TimeLimit, under.Codes.TimeLimit),
			MissingInput: cmp.Or(over.Codes.MissingInput, under.Codes.MissingInput),
			Command:      cmp.Or(over.Codes.Command, under.Codes.Command),
		},
	}
}

func mergeClass(over, under policy.ClassSpec) policy.ClassSpec {
	return policy.ClassSpec{
		Settings: mergeSettings(over.Settings, under.Settings),
		Is:       cmp.Or(over.Is, under.Is),
		Retrying: cmp.Or(over.Retrying, under.Retrying),
		Dead:     cmp.Or(over.Dead, under.Dead),
		Notified: cmp.Or(over.Notified, under.Notified),
		Operator: cmp.Or(over.Operator, under.Operator),
	}
}

func mergeKind(over, under policy.KindSpec) policy.KindSpec {
	return policy.KindSpec{
		Settings: mergeSettings(over.Settings, under.Settings),
		Runs:     mergeRun(over.Runs, under.Runs),
		Classes:  mergeMaps(over.Classes, under.Classes, mergeSettings),
	}
}

// mergeRules returns the first list of rules, followed by the second. If a rule of the first
// list has the same name as a rule of the second, only the rule of the first is kept.
func mergeRules(over, under []policy.RuleSpec) []policy.RuleSpec {
	merged := slices.Clip(over)
	named := map[string]bool{}
	for _, rule := range over {
		named[rule.Name] = true
	}
	for _, rule := range under {
		if !named[rule.Name] {
			merged = append(merged, rule)
		}
	}
	return merged
}

// mergeRollout returns the roll-out of a file that extends another file; its own roll-out is
// the first argument. The last argument is true if the file sets the active stage; the values
// alone do not show this, because the first mode is also the default. If it is true, the
// active stage comes from the file, and otherwise from the extended file. The result has the
// named stages of both files.
func mergeRollout(over, under *policy.Rollout, said bool) policy.Rollout {
	merged := *over
	if !said {
		merged.Stage, merged.Mode, merged.Enforce, merged.Kinds = under.Stage, under.Mode, under.Enforce, under.Kinds
	}
	merged.Stages = mergeMaps(over.Stages, under.Stages, upper[policy.Stage])
	merged.Baseline = mergeSettings(over.Baseline, under.Baseline)
	return merged
}

func upper[T any](over, _ T) T { return over }
