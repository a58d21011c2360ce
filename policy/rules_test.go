package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// between returns a condition that is true if the attribute is at least the first number
// and below the second.
func between(attr string, low, high float64) policy.Condition {
	return condition(func(a *policy.ConditionInput) (bool, error) {
		v, ok := a.Values[attr].(float64)
		if !ok {
			return false, fmt.Errorf("%s is not a number", attr)
		}
		return v >= low && v < high, nil
	})
}

// videos returns the policy of the example system transcribe.
func videos() policy.Spec {
	const hour = 3600
	return policy.Spec{Name: "videos", Rules: []policy.RuleSpec{
		{Name: "long-video", When: between("duration_seconds", 6*hour, 8*hour), Kinds: []string{"transcribe"},
			Queue:     "compute-engine-high-memory",
			Overrides: map[string]string{"chunk_strategy": "adaptive", "model": "gemini-flash"},
			Settings:  policy.Settings{MaxTotalRetries: new(1)}},
		{Name: "too-long-video", When: between("duration_seconds", 8*hour, 1e9), Kinds: []string{"transcribe"},
			Hold: &policy.Hold{Message: "Please contact support for videos over 8 hours", Notify: "administrator"}},
	}}
}

// proves: R5
func TestR5_BoundsToTheSecond(t *testing.T) {
	t.Parallel()
	p := compile(t, videos())
	long := &policy.Admission{Rules: []string{"long-video"}, Queue: "compute-engine-high-memory",
		Overrides: map[string]string{"chunk_strategy": "adaptive", "model": "gemini-flash"}}
	held := &policy.Admission{Rules: []string{"too-long-video"},
		Hold: &policy.Hold{Message: "Please contact support for videos over 8 hours", Notify: "administrator"}}
	for seconds, want := range map[int]*policy.Admission{
		0: nil, 6*3600 - 1: nil, 6 * 3600: long, 6*3600 + 1: long, 8*3600 - 1: long, 8 * 3600: held, 100 * 3600: held,
	} {
		attrs := fmt.Appendf(nil, `{"duration_seconds": %d, "title": "x"}`, seconds)
		got := p.Admit(&policy.RuleInput{Kind: "transcribe", Attrs: attrs})
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(policy.Admission{})); diff != "" {
			t.Errorf("a video of %d s: wrong admission (-want +got):\n%s", seconds, diff)
		}
	}
	if a := p.Admit(&policy.RuleInput{Kind: "other", Attrs: []byte(`{"duration_seconds": 99999999}`)}); a != nil || p.HasRules("other") {
		t.Errorf("a kind without rules: got the admission %+v, want nil", a)
	}
}

// A long video has one retry over all classes. Other videos have the retries of each class.
// proves: R5
func TestR5_OneRetryOverAllClasses(t *testing.T) {
	t.Parallel()
	p := compile(t, videos())
	classes := []failure.Class{failure.NetworkTimeout, failure.RateLimitExceeded, failure.TemporaryServiceError, failure.InvalidInput}
	for attrs, want := range map[string]int{`{"duration_seconds": 21600}`: 2, `{"duration_seconds": 21599}`: 4} {
		in := *failed("")
		in.Kind = "transcribe"
		in.Admission = p.Admit(&policy.RuleInput{Kind: "transcribe", Attrs: []byte(attrs)})
		all := life(p, in, classes...)
		if len(all) != want {
			t.Errorf("attributes %s: got %d attempts, want %d", attrs, len(all), want)
		}
		if last := all[len(all)-1]; want == 2 && (last.Rule != policy.RuleTotal || last.Rules[0] != "long-video" || last.TotalMax != 1) {
			t.Errorf("attributes %s: the last decision is %s, want the limit of the rule long-video", attrs, last.Record())
		}
	}
	// A failure caused by a limit of the other service has a class that is not retried.
	if d := p.Decide(failed(failure.InputExceedsLimits)); d.Rule != policy.RuleVerdict {
		t.Errorf("got the class %s by the rule %s, want the job dead by its verdict", d.Class, d.Rule)
	}
}

// proves: R5
func TestR5_OfSeveralRulesTheFirstCountsFieldByField(t *testing.T) {
	t.Parallel()
	first, second := policy.Hold{Message: "first"}, policy.Hold{Message: "second"}
	p := compile(t, policy.Spec{Name: "test", Rules: []policy.RuleSpec{
		{Name: "a", When: always{}, Overrides: map[string]string{"model": "small", "a": "1"}},
		{Name: "b", When: always{}, Priority: 1, Hold: &first, Overrides: map[string]string{"model": "large", "b": "2"}},
		{Name: "c", When: always{}, Priority: 3, Queue: "c", Hold: &second},
	}})
	want := &policy.Admission{Rules: []string{"a", "b", "c"}, Queue: "c", Priority: 1, Hold: &first,
		Overrides: map[string]string{"model": "small", "a": "1", "b": "2"}}
	got := p.Admit(&policy.RuleInput{Kind: "render"})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(policy.Admission{})); diff != "" {
		t.Errorf("wrong admission (-want +got):\n%s", diff)
	}
}

// part of: R5
func TestR5_BadAttributesBreakNothing(t *testing.T) {
	t.Parallel()
	s := videos()
	s.Rules = append(s.Rules,
		policy.RuleSpec{Name: "panics", When: condition(func(*policy.ConditionInput) (bool, error) { panic("boom") }), Queue: "a"},
		policy.RuleSpec{Name: "fails", When: condition(func(*policy.ConditionInput) (bool, error) { return true, errors.New("no") }), Queue: "b"},
		policy.RuleSpec{Name: "by owner", When: condition(func(a *policy.ConditionInput) (bool, error) { return a.Owner == "vip" && a.Values != nil, nil }), Queue: "c", Priority: 1},
		policy.RuleSpec{Name: "by kind", Kinds: []string{"transcribe"}, Queue: "d", Priority: 2})
	p := compile(t, s)
	for _, attrs := range []string{``, `null`, `[]`, `"x"`, `{`, `{"duration_seconds": "long"}`, `{"duration_seconds": {}}`, "\xff", `{"duration_seconds": 22000, "title": "` + strings.Repeat("x", policy.AttrsMax) + `"}`} {
		a := p.Admit(&policy.RuleInput{Kind: "transcribe", Owner: "vip", Attrs: []byte(attrs)})
		// A rule that can read the attributes does not hold the job for a wrong type.
		unread := attrs != "" && attrs != "null" && (attrs[0] != '{' || len(attrs) == 1 || len(attrs) > policy.AttrsMax)
		if a == nil || a.Queue != "c" || a.Priority != 1 || len(a.Failed) != 4 || (a.Hold != nil) != unread {
			t.Fatalf("attributes %.40q: got the admission %+v, want four failed rules, the queue \"c\" with priority 1, and a hold only if the attributes cannot be read: %t", attrs, a, unread)
		}
		rules := []string{"by owner", "by kind"}
		if unread {
			rules = append([]string{"too-long-video"}, rules...)
		}
		if diff := cmp.Diff(rules, a.Rules); diff != "" {
			t.Errorf("attributes %.40q: wrong matching rules (-want +got):\n%s", attrs, diff)
		}
		a.Failed[1].Message = `rule "too-long-video": duration_seconds is not a number` // the text of the decoder is not compared
		want := []policy.Problem{
			{Path: "rules[0].when", Message: `rule "long-video": duration_seconds is not a number`},
			{Path: "rules[1].when", Message: `rule "too-long-video": duration_seconds is not a number`},
			{Path: "rules[2].when", Message: `rule "panics": the condition panicked: boom`},
			{Path: "rules[3].when", Message: `rule "fails": no`},
		}
		if diff := cmp.Diff(want, a.Failed); diff != "" {
			t.Fatalf("attributes %.40q: the list of failed rules is wrong (-want +got):\n%s", attrs, diff)
		}
	}
}

// proves: R6
func TestR6_AClassEscalates(t *testing.T) {
	t.Parallel()
	const class = failure.ResourceConstraint
	tests := []struct {
		name string
		e    policy.Escalation
		want []string // the expected queue and priority of each retry
	}{
		{"another queue at once", policy.Escalation{Queue: "high-memory"}, []string{"high-memory 0", "high-memory 0", "high-memory 0"}},
		{"a higher priority", policy.Escalation{Priority: 1}, []string{" 1", " 1", " 1"}},
		{"queue and priority from the second failure on", policy.Escalation{Queue: "high-memory", Priority: 1, After: 2}, []string{" 0", "high-memory 1", "high-memory 1"}},
	}
	for _, tt := range tests {
		p := compile(t, policy.Spec{Name: "test", Classes: map[failure.Class]policy.ClassSpec{
			class: {Settings: policy.Settings{MaxRetries: new(3), Escalate: &tt.e}}}})
		// A failure of another class does not change the queue and is not counted.
		all := life(p, *failed(""), failure.NetworkTimeout, class, class, class, class)
		var got []string
		for _, d := range all[1 : len(all)-1] {
			got = append(got, fmt.Sprintf("%s %d", d.Queue, d.Priority))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || all[0].Queue != "" || all[len(all)-1].Queue != "" {
			t.Errorf("%s: wrong queues and priorities (-want +got):\n%s", tt.name, diff)
		}
	}
}

// For a kind with retry: false, the first failure is final, for any class and any other
// settings.
// proves: R7
func TestR7_AKindWithoutRetry(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test",
		Default: policy.Settings{MaxRetries: new(5), Backoff: fixed(1)},
		Kinds:   map[string]policy.KindSpec{"detect": {Settings: policy.Settings{Retry: new(false)}}}})
	for _, info := range failure.Classes() {
		in := failed(info.Class)
		in.Kind = "detect"
		reason := job.MaxRetries
		if info.Verdict == failure.VerdictPermanent || info.Verdict == failure.VerdictQuota { // a retry would not have helped
			reason = job.NonRetriable
		}
		if d := p.Decide(in); d.Action != policy.Die || d.Rule != policy.RuleNoRetry || d.Of != 0 || d.Reason != reason {
			t.Errorf("class %s: got the decision %s, want the job dead without a retry, reason %s", info.Class, d.Record(), reason)
		}
	}
	in := failed(failure.NetworkTimeout)
	if d := p.Decide(in); d.Action != policy.Retry {
		t.Errorf("another kind: got the decision %s, want a retry", d.Record())
	}
	in.Kind = "detect"
	in.Evidence.RetryAfter = time.Minute
	if d := p.Decide(in); d.Action != policy.Die {
		t.Errorf("with a hint: got the decision %s, want the job dead", d.Record())
	}
	in.Job = &policy.Override{Retry: new(true), MaxRetries: new(1)}
	if d := p.Decide(in); d.Action != policy.Retry {
		t.Errorf("a job whose settings ask for retries: got the decision %s, want a retry", d.Record())
	}
}

// proves: R11
func TestR11_ACapOnTheCost(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{MaxRetries: new(50), Backoff: fixed(1), MaxCost: new(int64(100_000))}})
	in := *failed(failure.NetworkTimeout)
	in.Cost = 33_333
	all := life(p, in, repeat(failure.NetworkTimeout, 50)...)
	last := all[len(all)-1]
	if len(all) != 4 || last.Reason != job.MaxCost || last.Cost != 133_332 {
		t.Errorf("got %d attempts and a cost of %d, ended with the reason %s; want 4 attempts, the cost 133332 and the reason max_cost", len(all), last.Cost, last.Reason)
	}
	// The cost of runs that use up no attempt counts too.
	in.Evidence = &failure.Evidence{Snooze: time.Hour}
	d := p.Decide(&in)
	in.Memo, in.Evidence, in.Cost = policy.ParseMemo(d.Memo.Append(nil)), &failure.Evidence{Class: failure.NetworkTimeout}, 66_668
	if d := p.Decide(&in); d.Reason != job.MaxCost || d.Cost != 100_001 {
		t.Errorf("got a cost of %d, the action %s and the reason %s; want the cost 100001, a dead job and the reason max_cost", d.Cost, d.Action, d.Reason)
	}
	in.Cost = 66_667
	if d := p.Decide(&in); d.Action != policy.Retry {
		t.Errorf("a cost of exactly the limit: got the decision %s, want a retry", d.Record())
	}
}
