package policyfile_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"
	"unicode"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
	"pgregory.net/rapid"
)

// gen generates random parts of a Spec.
type gen struct {
	*rapid.T
	conditions []policy.Condition
}

func genSpec(t *testing.T, rt *rapid.T) policy.Spec {
	g := gen{T: rt}
	for _, when := range []string{"true", `kind == "a: b" or owner != '#'`, "attrs.n >= 6*3600", "not (attrs.x in ['a', \"b\\n\"])\n  and priority > 1"} {
		g.conditions = append(g.conditions, condition(t, when))
	}
	s := policy.Spec{
		Name: g.maybe(g.name()),
		Limits: policy.Limits{
			MaxAttempts: g.number(0, 1000), MaxAge: g.span(time.Second, 365*24*time.Hour), MaxWait: g.span(time.Second, backoff.Max),
		},
		Rollout: policy.Rollout{
			Mode: g.mode(), Enforce: g.classes(), Kinds: g.kinds(), Baseline: g.settings(),
		},
		Default:  g.settings(),
		Classify: withBuiltin(g.classify(), g.yes()),
		Words: policy.Words{
			States: g.texts(rapid.SampledFrom([]string{"dead", "retrying", "dead:stalled"})),
			Error:  g.texts(rapid.SampledFrom([]string{"class", "message", "at"})),
		},
	}
	for range g.number(0, 2) {
		stage := g.name()
		s.Rollout.Stage = g.maybe(stage)
		put(&s.Rollout.Stages, stage, policy.Stage{Mode: g.mode(), Enforce: g.classes(), Kinds: g.kinds()})
		put(&s.Words.Classes, g.class(), g.text())
	}
	for range g.number(0, 3) {
		put(&s.Classes, g.class(), policy.ClassSpec{
			Settings: g.settings(), Is: failure.Class(g.maybe(string(g.class()))),
			Retrying: g.maybe(g.text()), Dead: g.maybe(g.text()), Notified: g.maybe(g.text()), Operator: g.maybe(g.text()),
		})
	}
	for range g.number(0, 3) {
		k := policy.KindSpec{Settings: g.settings(), Runs: g.runs()}
		for range g.number(0, 2) {
			put(&k.Classes, g.class(), g.settings())
		}
		put(&s.Kinds, g.name(), k)
	}
	for n := range g.number(0, 3) {
		rule := policy.RuleSpec{
			Name: fmt.Sprintf("r%d", n), When: rapid.SampledFrom(g.conditions).Draw(rt, "when"), Settings: g.settings(),
			Queue: g.maybe(g.name()), Priority: g.number(0, 4), Overrides: g.texts(rapid.Custom(func(*rapid.T) string { return g.text() })),
		}
		if kinds := rapid.SliceOfN(rapid.Custom(func(*rapid.T) string { return g.name() }), 0, 3).Draw(rt, "kinds"); len(kinds) > 0 {
			rule.Kinds = kinds
		}
		if g.yes() {
			rule.Hold = &policy.Hold{Message: g.maybe(g.text()), Notify: g.maybe(g.text())}
		}
		s.Rules = append(s.Rules, rule)
	}
	return s
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (g gen) yes() bool { return rapid.Bool().Draw(g.T, "yes") }

func (g gen) maybe(s string) string {
	if g.yes() {
		return s
	}
	return ""
}

func (g gen) number(lowest, highest int) int {
	return rapid.IntRange(lowest, highest).Draw(g.T, "number")
}

// span generates a duration, or 0, which means that no duration is set. Some durations have
// unusual values.
func (g gen) span(lowest, highest time.Duration) time.Duration {
	switch g.number(0, 3) {
	case 0:
		return 0
	case 1:
		return min(highest, lowest+time.Duration(g.number(0, 365))*24*time.Hour)
	case 2:
		return min(highest, lowest+time.Duration(g.number(0, 99))*time.Minute)
	}
	return time.Duration(rapid.Int64Range(int64(lowest), int64(highest)).Draw(g.T, "span"))
}

func (g gen) name() string {
	return rapid.OneOf(rapid.StringMatching(`[a-z0-9][a-z0-9_.-]{0,9}`), rapid.SampledFrom([]string{"no", "null", "1e5", "0x1", "1.5", "on", "y", "true", "12"})).Draw(g.T, "name")
}

func (g gen) class() failure.Class {
	return failure.Class(rapid.OneOf(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_.-]{0,9}`),
		rapid.SampledFrom([]string{"NetworkTimeout", "No", "NULL", "e1", "Inf", "NaN"})).Draw(g.T, "class"))
}

func (g gen) classes() []failure.Class {
	list := rapid.SliceOfNDistinct(rapid.Custom(func(*rapid.T) failure.Class { return g.class() }), 0, 3, rapid.ID).Draw(g.T, "classes")
	if len(list) == 0 {
		return nil
	}
	return list
}

func (g gen) mode() policy.Mode {
	return rapid.SampledFrom([]policy.Mode{policy.Enforce, policy.Observe}).Draw(g.T, "mode")
}

func (g gen) text() string {
	return rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("\n\t\x01\u2028\"'\\:#,[]{}&*!|>%@`~-? "), unicode.PrintRanges...), 1, 20, -1),
		rapid.SampledFrom([]string{"a: b", "a #b", "true", "~", "-", "- a", "a:", " a", "a ", "1", "0o7", "12:30", "2001-01-01", "no", "=", "<<", "{a}", "!x", "Please wait."}),
	).Draw(g.T, "text")
}

func (g gen) texts(keys *rapid.Generator[string]) map[string]string {
	var m map[string]string
	for range g.number(0, 2) {
		put(&m, keys.Draw(g.T, "key"), g.text())
	}
	return m
}

func pointer[T any](g gen, draw func() T) *T {
	if !g.yes() {
		return nil
	}
	v := draw()
	return &v
}

func (g gen) runs() policy.RunSpec {
	if !g.yes() {
		return policy.RunSpec{}
	}
	code := func() string { return g.maybe(string(g.class())) }
	return policy.RunSpec{
		Timeout: g.span(time.Second, policy.TimeoutMax), MaxCrashes: g.number(0, 5),
		Codes: policy.Codes{TimeLimit: code(), MissingInput: code(), Command: code()},
	}
}

func (g gen) settings() policy.Settings {
	if !g.yes() {
		return policy.Settings{}
	}
	retries := func() int { return g.number(0, 999) }
	s := policy.Settings{
		Retry: pointer(g, g.yes), MaxRetries: pointer(g, retries), MaxTotalRetries: pointer(g, retries),
		Backoff: pointer(g, g.backoff), Hint: pointer(g, g.hint),
		Count: pointer(g, func() policy.Count { return policy.Count(g.number(0, 1)) }),
		MaxCost: pointer(g, func() int64 {
			return rapid.Int64Range(0, 1_000_000_000_000).Draw(g.T, "cost")
		}),
		Escalate: pointer(g, func() policy.Escalation {
			return policy.Escalation{Queue: g.maybe(g.name()), Priority: g.number(1, 4), After: g.number(0, 1000)}
		}),
	}
	if g.yes() {
		s.Verdict = rapid.SampledFrom([]failure.Verdict{failure.VerdictPermanent, "quota", "retry", "unknown"}).Draw(g.T, "verdict")
	}
	return s
}

func (g gen) share() float64 {
	if g.yes() {
		return float64(g.number(1, 1000)) / 1000
	}
	return rapid.Float64Range(1e-9, 1).Draw(g.T, "share")
}

func (g gen) hint() policy.Hint {
	h := policy.Hint{Mode: policy.HintMode(g.number(0, 2)), JitterMin: g.span(0, time.Hour), Max: g.span(0, backoff.Max), OverMax: policy.OverMaxMode(g.number(0, 1))}
	switch g.number(0, 2) {
	case 0:
		h.Jitter = g.share()
	case 1:
		h.Jitter = policy.NoJitter
	}
	return h
}

// some generates a list of 0 to 3 elements.
func some[T any](g gen, draw func() T) (list []T) {
	for range g.number(0, 3) {
		list = append(list, draw())
	}
	return list
}

func (g gen) kinds() []string {
	if g.yes() {
		return nil
	}
	return append(some(g, g.name), "k")
}

// withBuiltin sets whether the built-in matchers are used. They are always used if there are
// no other matchers.
func withBuiltin(r classify.Rules, on bool) classify.Rules {
	if len(r.Codes)+len(r.Types)+len(r.Statuses)+len(r.Exits)+len(r.Phrases)+len(r.Patterns) > 0 {
		r.NoBuiltin = !on
	}
	return r
}

func (g gen) classify() classify.Rules {
	codes := 0 // each code is another one, because the second of two equal codes may never apply
	return classify.Rules{
		Codes: some(g, func() classify.CodeRule {
			codes++
			return classify.CodeRule{Code: g.text() + strconv.Itoa(codes), Class: g.class(), Kinds: g.kinds()}
		}),
		Types: some(g, func() classify.TypeRule { return classify.TypeRule{Type: g.text(), Class: g.class(), Kinds: g.kinds()} }),
		Statuses: some(g, func() classify.StatusRule {
			from := g.number(100, 599)
			to := rapid.SampledFrom([]int{from, from/100*100 + 99, 599}).Draw(g.T, "to")
			return classify.StatusRule{From: from, To: to, Class: g.class(), Kinds: g.kinds()}
		}),
		Exits: some(g, func() classify.ExitRule {
			if g.yes() {
				return classify.ExitRule{Signal: "SIGKILL", Class: g.class(), Kinds: g.kinds()}
			}
			return classify.ExitRule{Code: g.number(0, 255), Class: g.class(), Kinds: g.kinds()}
		}),
		Phrases: some(g, func() classify.PhraseRule {
			return classify.PhraseRule{Match: g.text(), Class: "Same", Kinds: g.kinds()}
		}),
		Patterns: some(g, func() classify.PatternRule {
			return classify.PatternRule{Match: g.text(), Class: g.class(), Kinds: g.kinds()}
		}),
	}
}

func (g gen) backoff() backoff.Backoff {
	b := backoff.Backoff{Cap: g.span(0, backoff.Max), Floor: g.span(0, time.Hour), Jitter: backoff.Jitter(g.number(0, 5))}
	if b.Jitter == backoff.Percent {
		b.Percent = g.share()
	}
	if b.Jitter == backoff.Additive {
		b.Spread = max(1, g.span(0, time.Hour))
	}
	if b.Jitter == backoff.Decorrelated || g.yes() {
		b.Formula, b.First = backoff.Exponential, g.span(0, time.Hour)
		if g.yes() {
			b.Factor = rapid.Float64Range(1, 1000).Draw(g.T, "factor")
		}
		return b
	}
	b.Past = backoff.Past(g.number(0, 1))
	for range g.number(1, 5) {
		b.Waits = append(b.Waits, g.span(0, backoff.Max))
	}
	return b
}
