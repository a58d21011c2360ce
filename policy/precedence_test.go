package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// always is a condition that is always true.
type always struct{}

func (always) Match(*policy.ConditionInput) (bool, error) { return true, nil }
func (always) String() string                             { return "true" }

// put sets the settings at one level, either in the Spec or in the input of one job.
type put func(s *policy.Spec, in *policy.Input, settings policy.Settings)

// levels are all levels at which settings can be made, the least specific first.
var levels = []struct {
	name policy.Level
	put  put
}{
	{policy.LevelDefault, func(s *policy.Spec, _ *policy.Input, x policy.Settings) { s.Default = x }},
	{policy.LevelClass, func(s *policy.Spec, _ *policy.Input, x policy.Settings) {
		s.Classes = map[failure.Class]policy.ClassSpec{failure.NetworkTimeout: {Settings: x}}
	}},
	{policy.LevelKind, func(s *policy.Spec, _ *policy.Input, x policy.Settings) {
		k := s.Kinds["render"]
		k.Settings = x
		s.Kinds = map[string]policy.KindSpec{"render": k}
	}},
	{policy.LevelKindOf, func(s *policy.Spec, _ *policy.Input, x policy.Settings) {
		k := s.Kinds["render"]
		k.Classes = map[failure.Class]policy.Settings{failure.NetworkTimeout: x}
		s.Kinds = map[string]policy.KindSpec{"render": k}
	}},
	{policy.LevelRule, func(s *policy.Spec, _ *policy.Input, x policy.Settings) {
		s.Rules = []policy.RuleSpec{{Name: "one", When: always{}, Settings: x},
			{Name: "two", When: always{}, Settings: policy.Settings{MaxRetries: new(90), Backoff: fixed(90)}}}
	}},
	{policy.LevelMessage, func(_ *policy.Spec, in *policy.Input, x policy.Settings) { in.Message = overrideOf(x) }},
	{policy.LevelJob, func(_ *policy.Spec, in *policy.Input, x policy.Settings) { in.Job = overrideOf(x) }},
}

func overrideOf(x policy.Settings) *policy.Override {
	o := &policy.Override{Retry: x.Retry, MaxRetries: x.MaxRetries, MaxTotalRetries: x.MaxTotalRetries, MaxCost: x.MaxCost}
	if x.Backoff != nil {
		o.Waits = x.Backoff.Waits
	}
	return o
}

// decideWith compiles a policy, applies its rules to the job and decides, as the engine
// does.
func decideWith(t *testing.T, s policy.Spec, in *policy.Input) policy.Decision {
	t.Helper()
	p := compile(t, s)
	in.Admission = p.Admit(&policy.RuleInput{Kind: in.Kind})
	return p.Decide(in)
}

// For each pair of levels, a field that both levels set has the value of the more specific
// level; a field that only one level sets has the value of that level.
// proves: R2
func TestR2_TheMoreSpecificLevelHasTheWord(t *testing.T) {
	t.Parallel()
	for low := range levels {
		for high := low + 1; high < len(levels); high++ {
			name := string(levels[low].name) + " under " + string(levels[high].name)

			in, s := failed(failure.NetworkTimeout), policy.Spec{Name: "test"}
			levels[low].put(&s, in, policy.Settings{MaxRetries: new(7), Backoff: fixed(7), MaxCost: new(int64(7))})
			levels[high].put(&s, in, policy.Settings{MaxRetries: new(9), Backoff: fixed(9)})
			d := decideWith(t, s, in)
			if d.Of != 9 || d.Wait != 9*time.Second || d.RetriesFrom != levels[high].name || d.BackoffFrom != levels[high].name {
				t.Errorf("%s: got %d retries set by %s and the wait %v set by %s, want 9 retries and 9s, both set by the more specific level", name, d.Of, d.RetriesFrom, d.Wait, d.BackoffFrom)
			}
			if !d.CostBound || d.CostMax != 7 {
				t.Errorf("%s: got the cost limit %d (set: %v), want the limit 7 of the less specific level", name, d.CostMax, d.CostBound)
			}

			in, s = failed(failure.NetworkTimeout), policy.Spec{Name: "test"}
			levels[low].put(&s, in, policy.Settings{Backoff: fixed(7)})
			levels[high].put(&s, in, policy.Settings{MaxRetries: new(9)})
			d = decideWith(t, s, in)
			wantWait, wantFrom := 7*time.Second, levels[low].name
			if levels[high].name == policy.LevelRule {
				wantWait, wantFrom = 90*time.Second, policy.LevelRule // the second rule also sets this field
			}
			if levels[low].name == policy.LevelRule {
				wantFrom = policy.LevelRule
			}
			if d.Of != 9 || d.Wait != wantWait || d.RetriesFrom != levels[high].name || d.BackoffFrom != wantFrom {
				t.Errorf("%s, with one field at each level: got %d retries set by %s and the wait %v set by %s, want 9 retries of the more specific level and the wait of the level that sets it", name, d.Of, d.RetriesFrom, d.Wait, d.BackoffFrom)
			}
		}
	}
}

// Fields that no level sets come from the built-in default of the class.
//
// proves: R2
func TestR2_TheBuiltInDefaultIsBelowEverything(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "only a limit", Limits: policy.Limits{MaxAttempts: 4}})
	d := p.Decide(failed(failure.RateLimitExceeded))
	if d.Wait != time.Minute || d.BackoffFrom != policy.LevelBuiltin || d.Of != 3 || d.RetriesFrom != policy.LevelLimits {
		t.Errorf("got the wait %v set by %s and %d retries set by %s, want 1m set by the built-in default and 3 retries set by the limits", d.Wait, d.BackoffFrom, d.Of, d.RetriesFrom)
	}
}

// proves: R2
func TestR2_RulesInOrderTheFirstOfAFieldCounts(t *testing.T) {
	t.Parallel()
	s := policy.Spec{Name: "test", Rules: []policy.RuleSpec{
		{Name: "other kind", Kinds: []string{"mail"}, Settings: policy.Settings{MaxRetries: new(1)}},
		{Name: "first", When: always{}, Settings: policy.Settings{MaxRetries: new(2)}},
		{Name: "second", When: always{}, Settings: policy.Settings{MaxRetries: new(3), Backoff: fixed(4)}},
	}}
	in := failed(failure.NetworkTimeout)
	d := decideWith(t, s, in)
	if d.Of != 2 || d.Wait != 4*time.Second {
		t.Errorf("got %d retries and the wait %v, want 2 retries and 4s", d.Of, d.Wait)
	}
	if diff := cmp.Diff([]string{"first", "second"}, d.Rules); diff != "" {
		t.Errorf("wrong matching rules (-want +got):\n%s", diff)
	}
}

// A job or a message may ask for more retries than the policy has, but not for more than
// the hard limit.
// proves: R2
func TestR2_NothingExceedsTheCeiling(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(*policy.Input, *policy.Override){
		"job":     func(in *policy.Input, o *policy.Override) { in.Job = o },
		"message": func(in *policy.Input, o *policy.Override) { in.Message = o },
	} {
		p := compile(t, policy.Spec{Name: "test", Limits: policy.Limits{MaxAttempts: 10, MaxAge: time.Hour}, Default: policy.Settings{MaxRetries: new(1), Backoff: fixed(1)}})
		in := *failed(failure.NetworkTimeout)
		put(&in, &policy.Override{MaxRetries: new(1000)})
		all := life(p, in, repeat(failure.NetworkTimeout, 1000)...)
		last := all[len(all)-1]
		if len(all) != 10 || last.Of != 9 || last.RetriesFrom != policy.LevelLimits || last.Reason != job.MaxRetries {
			t.Errorf("%s: got %d attempts and %d retries set by %s, want 10 attempts and 9 retries set by the limits", name, len(all), last.Of, last.RetriesFrom)
		}
		put(&in, &policy.Override{MaxRetries: new(1000), Waits: policy.Waits{25 * time.Minute}})
		all = life(p, in, repeat(failure.NetworkTimeout, 1000)...)
		if last := all[len(all)-1]; len(all) != 3 || last.Rule != policy.RuleTooOld {
			t.Errorf("%s: with a maximum age of 1 h and waits of 25 m: got %d attempts, ended by the rule %s; want 3 attempts, ended by the age", name, len(all), last.Rule)
		}
	}
}

// proves: R2
func TestR2_CountersArePerClassAndOneTotal(t *testing.T) {
	t.Parallel()
	const a, b, c = failure.NetworkTimeout, failure.RateLimitExceeded, failure.TemporaryServiceError
	two := policy.Settings{MaxRetries: new(2), Backoff: fixed(1, 2, 3, 4, 5, 6)}
	tests := []struct {
		name    string
		change  func(*policy.Spec)
		classes []failure.Class
		want    []time.Duration // the waits before the retries; the failure after the last retry is final
		rule    string
	}{
		{"each class has two retries of its own", func(*policy.Spec) {},
			[]failure.Class{a, b, a, b, c, a}, seconds(1, 1, 2, 2, 1), policy.RuleExhausted},
		{"a total counts all", func(s *policy.Spec) { s.Default.Count = new(policy.Total) },
			[]failure.Class{a, b, c}, seconds(1, 2), policy.RuleExhausted},
		{"the total is compared with the class of the latest failure", func(s *policy.Spec) {
			s.Default.Count = new(policy.Total)
			s.Classes = map[failure.Class]policy.ClassSpec{b: {Settings: policy.Settings{MaxRetries: new(4)}}}
		}, []failure.Class{a, b, b, b, a}, seconds(1, 2, 3, 4), policy.RuleExhausted},
		{"one class counts the total, the others their own", func(s *policy.Spec) {
			s.Classes = map[failure.Class]policy.ClassSpec{b: {Settings: policy.Settings{Count: new(policy.Total)}}}
		}, []failure.Class{a, c, b}, seconds(1, 1), policy.RuleExhausted},
		{"a bound over all classes below that of the class", func(s *policy.Spec) { s.Default.MaxTotalRetries = new(3) },
			[]failure.Class{a, b, c, a}, seconds(1, 1, 1), policy.RuleTotal},
		{"no retry over all classes", func(s *policy.Spec) { s.Default.MaxTotalRetries = new(0) },
			[]failure.Class{a}, nil, policy.RuleTotal},
	}
	for _, tt := range tests {
		s := policy.Spec{Name: "test", Default: two}
		tt.change(&s)
		all := life(compile(t, s), *failed(""), tt.classes...)
		if diff := cmp.Diff(tt.want, waits(all)); diff != "" || len(all) != len(tt.classes) || all[len(all)-1].Rule != tt.rule {
			t.Errorf("%s: got %d decisions, the last by the rule %s; wrong number, rule or waits (-want +got):\n%s", tt.name, len(all), all[len(all)-1].Rule, diff)
		}
	}
}

// A schedule that the program sets has the same precedence as the policy's settings for a
// kind.
func TestSchedule_StandsWhereTheKindStands(t *testing.T) {
	t.Parallel()
	s := policy.Spec{Name: "test",
		Classes: map[failure.Class]policy.ClassSpec{failure.NetworkTimeout: {Settings: policy.Settings{MaxRetries: new(9)}}},
		Kinds: map[string]policy.KindSpec{
			"render": {Settings: policy.Settings{MaxRetries: new(8)},
				Classes: map[failure.Class]policy.Settings{failure.RateLimitExceeded: {MaxRetries: new(7)}}},
		}}
	p := compile(t, s)
	all, err := p.WithSchedule("", &policy.Schedule{Waits: seconds(3), MaxRetries: 3})
	if err != nil {
		t.Fatal(err)
	}
	both, err := all.WithSchedule("render", &policy.Schedule{Waits: seconds(4), MaxRetries: 4})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := both.WithSchedule("render", nil); err != nil || same != both {
		t.Errorf("a nil schedule changed the policy or failed with the error %v, want the same policy", err)
	}
	for _, tt := range []struct {
		p     *policy.Policy
		kind  string
		class failure.Class
		of    int
		from  policy.Level
	}{
		{p, "mail", failure.NetworkTimeout, 9, policy.LevelClass},
		{all, "mail", failure.NetworkTimeout, 3, policy.LevelSchedule},
		{all, "render", failure.NetworkTimeout, 8, policy.LevelKind},
		{both, "render", failure.NetworkTimeout, 4, policy.LevelSchedule},
		{both, "render", failure.RateLimitExceeded, 7, policy.LevelKindOf},
		{both, "mail", failure.NetworkTimeout, 3, policy.LevelSchedule},
		{p, "render", failure.NetworkTimeout, 8, policy.LevelKind}, // the first policy has not changed
	} {
		in := failed(tt.class)
		in.Kind = tt.kind
		if d := tt.p.Decide(in); d.Of != tt.of || d.RetriesFrom != tt.from {
			t.Errorf("class %s of kind %s: got %d retries set by %s, want %d set by %s", tt.class, tt.kind, d.Of, d.RetriesFrom, tt.of, tt.from)
		}
	}
}

// An alias uses the settings of the class that it stands for. The alias's own settings take
// precedence.
func TestClass_AnotherName(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test", Classes: map[failure.Class]policy.ClassSpec{
		"VideoTooLong":             {Is: failure.InputExceedsLimits, Dead: "Videos over 6+ hours cannot be worked on."},
		"Upstream":                 {Is: "Backend", Settings: policy.Settings{Backoff: fixed(5)}},
		"Backend":                  {Is: failure.NetworkTimeout, Settings: policy.Settings{MaxRetries: new(7)}, Operator: "Backend team"},
		failure.InputExceedsLimits: {Operator: "Support"},
	}})
	if d := p.Decide(failed("VideoTooLong")); d.Rule != policy.RuleVerdict || d.Verdict != failure.VerdictPermanent {
		t.Errorf("got the verdict %s by the rule %s, want permanent by the verdict", d.Verdict, d.Rule)
	}
	if d := p.Decide(failed("Upstream")); d.Of != 7 || d.Wait != 5*time.Second || d.Verdict != failure.VerdictRetry {
		t.Errorf("got %d retries, the wait %v and the verdict %s; want 7 retries, the wait 5s and the verdict retry", d.Of, d.Wait, d.Verdict)
	}
	base, _ := failure.InfoOf(failure.InputExceedsLimits)
	info := p.Info("VideoTooLong")
	if info.Dead != "Videos over 6+ hours cannot be worked on." || info.Operator != "Support" || info.Retrying != base.Retrying || info.Class != "VideoTooLong" {
		t.Errorf("the alias VideoTooLong has the texts %+v, want the texts of the alias, completed with those of its class", info)
	}
	unknown, _ := failure.InfoOf(failure.UnknownError)
	if info := p.Info("Nobody's"); info.Dead != unknown.Dead || info.Verdict != failure.VerdictUnknown {
		t.Errorf("an unknown class has the texts %+v, want those of UnknownError", info)
	}
	if info := p.Info(failure.NetworkTimeout); info.Operator == "Backend team" {
		t.Error("the class NetworkTimeout has the operator text of its alias Backend, want its own text")
	}
}
