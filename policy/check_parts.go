package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

func (c *checker) class(class failure.Class, s ClassSpec) {
	path := "classes." + string(class)
	if class == "" {
		c.add(path, "a class needs a name")
	}
	c.name(path, string(class))
	c.settings(path, &s.Settings)
	c.text(path+".messages.retrying", s.Retrying)
	c.text(path+".messages.dead", s.Dead)
	c.text(path+".messages.notified", s.Notified)
	c.text(path+".operator", s.Operator)
	if s.Is == "" {
		return
	}
	c.known(path+".is", s.Is)
	if _, builtin := failure.InfoOf(class); builtin {
		c.add(path+".is", "%s is built in and cannot be another name of %s", class, s.Is)
	}
	seen := []failure.Class{class}
	for next := s.Is; next != ""; next = c.policy.spec.Classes[next].Is {
		if next == class {
			c.add(path+".is", "is a circular reference: %s", circle(append(seen, class)))
		}
		if slices.Contains(seen, next) {
			return
		}
		seen = append(seen, next)
	}
}

func circle(classes []failure.Class) string {
	words := make([]string, len(classes))
	for i, class := range classes {
		words[i] = string(class)
	}
	return strings.Join(words, " → ")
}

func (c *checker) kind(kind string, s KindSpec) {
	path := "kinds." + kind
	if kind == "" {
		c.add(path, "a kind needs a name; settings for all kinds belong under \"default\"")
	}
	c.name(path, kind)
	c.settings(path, &s.Settings)
	c.run(path, &s.Runs)
	for _, class := range slices.Sorted(maps.Keys(s.Classes)) {
		at := path + ".classes." + string(class)
		c.known(at, class)
		own := s.Classes[class]
		c.settings(at, &own)
	}
}

func (c *checker) rules(rules []RuleSpec) {
	taken := map[string]int{}
	for i := range rules {
		r, path := &rules[i], fmt.Sprintf("rules[%d]", i)
		if first, again := taken[r.Name]; again && r.Name != "" {
			c.add(path+".name", "%q is the name of rules[%d]: rename one of them", r.Name, first)
		}
		taken[r.Name] = i
		if r.Name == "" {
			c.add(path+".name", "a rule needs a name; decisions show this name")
		}
		c.name(path+".name", r.Name)
		for k, kind := range r.Kinds {
			c.name(fmt.Sprintf("%s.kinds[%d]", path, k), kind)
		}
		if r.When == nil && len(r.Kinds) == 0 {
			c.add(path+".when", "a rule needs a condition or kinds; settings for all jobs belong under \"default\"")
		}
		c.name(path+".queue", r.Queue)
		c.priority(path+".priority", r.Priority)
		c.overrides(path+".overrides", r.Overrides)
		if r.Hold != nil {
			if r.Hold.Message == "" {
				c.add(path+".hold.message", "say what the user sees while the job is held")
			}
			c.text(path+".hold.message", r.Hold.Message)
			c.text(path+".hold.notify", r.Hold.Notify)
		}
		if r.Settings == (Settings{}) && r.Queue == "" && r.Priority == 0 && len(r.Overrides) == 0 && r.Hold == nil {
			c.add(path, "has no effect: give it settings, a queue, a priority, \"overrides\" or \"hold\"")
		}
		c.settings(path, &r.Settings)
	}
}

func (c *checker) overrides(path string, o map[string]string) {
	size := 0
	for key, value := range o {
		size += len(key) + len(value)
	}
	if size > TextMax {
		c.add(path, "%d bytes: must be at most %d", size, TextMax)
	}
}

func (c *checker) rollout(r *Rollout) {
	if r.Stage != "" {
		if _, ok := r.Stages[r.Stage]; !ok {
			c.add("rollout.stage", "unknown stage %q: %s", r.Stage, stageNames(r))
		}
		if r.Mode != Enforce || len(r.Enforce) > 0 || len(r.Kinds) > 0 {
			c.add("rollout.mode", "has no effect beside stage %q: move it into a stage, or remove the stage", r.Stage)
		}
	} else {
		c.stage("rollout", Stage{Mode: r.Mode, Enforce: r.Enforce, Kinds: r.Kinds})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Stages)) {
		c.stage("rollout.stages."+name, r.Stages[name])
	}
	c.settings("rollout.baseline", &r.Baseline)
	if r.Baseline.Escalate != nil {
		c.add("rollout.baseline.escalate", "the baseline cannot move jobs: remove \"escalate\"")
	}
}

func stageNames(r *Rollout) string {
	if len(r.Stages) == 0 {
		return "the policy has no stages"
	}
	return "there are " + strings.Join(slices.Sorted(maps.Keys(r.Stages)), ", ")
}

func (c *checker) stage(path string, s Stage) {
	if s.Mode > Observe {
		c.add(path+".mode", "%d: must be enforce or observe", s.Mode)
	}
	if s.Mode == Enforce && len(s.Enforce) > 0 {
		c.add(path+".enforce", "has no effect: without \"mode: observe\" every class is enforced")
	}
	if s.Mode == Enforce && len(s.Kinds) > 0 {
		c.add(path+".kinds", "has no effect: without \"mode: observe\" every kind is enforced")
	}
	for i, class := range s.Enforce {
		c.known(fmt.Sprintf("%s.enforce[%d]", path, i), class)
	}
	for i, kind := range s.Kinds {
		c.name(fmt.Sprintf("%s.kinds[%d]", path, i), kind)
	}
}

func (c *checker) words(w *Words) {
	for _, state := range slices.Sorted(maps.Keys(w.States)) {
		reason, _ := strings.CutPrefix(state, "dead:")
		if !slices.Contains(States(), state) && (reason == "" || reason == state) {
			c.add("words.states."+state, "unknown state: must be one of %s, or dead:<reason>", list(States()))
		}
		c.word("words.states."+state, w.States[state])
	}
	for _, class := range slices.Sorted(maps.Keys(w.Classes)) {
		c.known("words.classes."+string(class), class)
		c.word("words.classes."+string(class), w.Classes[class])
	}
	for _, field := range slices.Sorted(maps.Keys(w.Error)) {
		if !slices.Contains(errorFields[:], field) {
			c.add("words.error."+field, "unknown field: must be one of %s", list(errorFields[:]))
		}
		c.word("words.error."+field, w.Error[field])
	}
}

func (c *checker) word(path, s string) {
	if s == "" {
		c.add(path, "the external name is empty")
	}
	c.name(path, s)
}

// checkPlans finds mistakes that can be found only in the combined settings of all levels: waits
// that the limits would cut. It reports each such mistake once, at the setting of the waits. The
// limits may cut waits of the built-in default without a report.
func (c *checker) checkPlans() {
	reported := map[string]bool{}
	for _, kind := range append(c.policy.kindNames(), "") {
		t := c.policy.table(kind)
		for _, class := range append(c.policy.Classes(), "") {
			c.plan(t.plan(class), reported)
		}
	}
	for i := range c.policy.rules {
		s := c.policy.rules[i].spec.Settings
		if s.Backoff != nil && s.MaxRetries != nil {
			path := fmt.Sprintf("rules[%d]", i)
			c.plan(&plan{backoff: c.policy.curves[s.Backoff], retry: true, retries: *s.MaxRetries,
				backoffFrom: origin{LevelRule, path}}, reported)
		}
	}
}

// plan checks the waits before all retries that a plan allows.
func (c *checker) plan(p *plan, reported map[string]bool) {
	path := p.backoffFrom.path + ".backoff"
	key := fmt.Sprint(path, p.retries)
	if p.backoffFrom.level == LevelBuiltin || p.backoffFrom.level == LevelSchedule || reported[path] || reported[key] || !p.retry || p.retries == 0 {
		return
	}
	reported[key] = true
	limits := c.policy.limits
	written := p.backoff.Backoff
	written.Cap = p.backoff.written
	if last := written.Nominal(p.retries); last > limits.MaxWait {
		reported[path] = true
		c.add(path, "retry %d would wait %s, above limits.max_wait %s: name a cap, lower max_retries or the factor, or raise the limit",
			p.retries, backoff.Rounded(last), backoff.Short(limits.MaxWait))
		return
	}
	sum := written.Sum(p.retries)
	if sum > limits.MaxAge {
		reported[path] = true
		c.add(path, "%d retries wait %s together, above limits.max_age %s: lower max_retries or the waits, or raise the limit",
			p.retries, backoff.Rounded(sum), backoff.Short(limits.MaxAge))
	}
}
