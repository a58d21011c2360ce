package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// policyName returns the name of the configured policy for loading and for messages. For a
// file, it is the path from the working directory.
func (s *settings) policyName() string {
	if _, ok := s.Preset(); ok || s.Policy == "" {
		return s.Policy
	}
	if below, err := filepath.Rel(s.Dir, s.Policy); err == nil && filepath.IsLocal(below) && s.file != "" {
		return filepath.Join(filepath.Dir(s.file), below)
	}
	return s.Policy
}

// loadPolicy returns a policy by its name: a path of a file, config.PresetPrefix followed
// by the name of a preset, or "" for the built-in default. Mistakes in a file are returned
// as policyfile.Problems.
func loadPolicy(name string) (*policy.Policy, error) {
	preset, ok := strings.CutPrefix(name, config.PresetPrefix)
	switch {
	case name == "", ok && preset == config.PresetDefault:
		s := policy.DefaultSpec()
		return readable(&s)
	case ok:
		f, err := policyfile.Preset(preset)
		if err != nil {
			return nil, absentError(err.Error())
		}
		return readable(&f.Spec)
	}
	f, err := policyfile.Load(name)
	if err != nil {
		return nil, absentPolicy(name, err)
	}
	return readable(&f.Spec)
}

// absentPolicy adds the list of presets to the error about a missing policy file.
func absentPolicy(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return absentf("policy %s: there is no such file; %sNAME names a policy that comes with redrive", path, config.PresetPrefix)
	}
	return err
}

// readable compiles a Spec to a policy that has a text, so that the store can keep the policy as a
// file.
func readable(s *policy.Spec) (*policy.Policy, error) {
	spec := *s
	spec.Source = policyfile.Render(s)
	p, problems := policy.New(spec)
	if len(problems) > 0 { // mistakes of a policy file were reported earlier with their lines, so this mistake comes from another source
		return nil, fmt.Errorf("policy %q: %s", s.Name, problems[0])
	}
	return p, nil
}

// underConfig returns the policy with the attempt ceiling and the schedules of a
// configuration, in the same way as a worker uses it.
func underConfig(p *policy.Policy, c *config.Config) (*policy.Policy, error) {
	p = p.WithLimits(policy.Limits{MaxAttempts: c.MaxAttempts})
	for _, name := range c.KindNames {
		k := c.Kinds[name]
		under, err := p.WithSchedule(name, schedule(&k))
		if err != nil {
			return nil, fmt.Errorf("kind %q: %w", name, err)
		}
		p = under
	}
	return p, nil
}

// schedule returns the schedule of a kind in the configuration, or nil if the policy alone
// decides.
func schedule(k *config.Kind) *policy.Schedule {
	s := &policy.Schedule{PermanentExitCodes: k.PermanentExitCodes}
	switch {
	case k.Retry == nil && len(k.PermanentExitCodes) == 0:
		return nil
	case k.Retry == nil:
		return s
	}
	s.Waits, s.MaxRetries = k.Retry.Waits, k.Retry.MaxRetries
	if f := k.Retry.Formula; f != nil {
		s.Waits, s.First, s.Factor, s.Cap, s.Spread = nil, f.First, f.Factor, f.Cap, f.Spread
	}
	if s.MaxRetries == 0 {
		s.MaxRetries = policy.NoRetry
	}
	return s
}

// foreign returns one line for each queue and kind that the policy names and the
// configuration does not have.
func foreign(s *policy.Spec, c *config.Config) (lines []string) {
	tell := func(path, what, name string, known []string) {
		if name != "" && !slices.Contains(known, name) {
			lines = append(lines, path+": "+suggest.Unknown(what, name, known))
		}
	}
	escalation := func(path string, s *policy.Settings) {
		if s.Escalate != nil {
			tell(path+".escalate.queue", "queue", s.Escalate.Queue, c.QueueNames)
		}
	}
	escalation("default", &s.Default)
	for _, class := range slices.Sorted(maps.Keys(s.Classes)) {
		own := s.Classes[class]
		escalation("classes."+string(class), &own.Settings)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		own := s.Kinds[kind]
		path := "kinds." + kind
		tell(path, "kind", kind, c.KindNames)
		escalation(path, &own.Settings)
		for _, class := range slices.Sorted(maps.Keys(own.Classes)) {
			within := own.Classes[class]
			escalation(path+".classes."+string(class), &within)
		}
	}
	kinds := func(path string, names []string) {
		for _, name := range names {
			tell(path, "kind", name, c.KindNames)
		}
	}
	kinds("rollout.kinds", s.Rollout.Kinds)
	for _, stage := range slices.Sorted(maps.Keys(s.Rollout.Stages)) {
		kinds("rollout.stages."+stage+".kinds", s.Rollout.Stages[stage].Kinds)
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		path := fmt.Sprintf("rules[%d]", i)
		kinds(path+".kinds", r.Kinds)
		tell(path+".queue", "queue", r.Queue, c.QueueNames)
		escalation(path, &r.Settings)
	}
	return lines
}
