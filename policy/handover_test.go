package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// handedOver returns the input for a run in which a call handed the job over to the queue.
func handedOver(memo policy.Memo, after time.Duration) *policy.Input {
	return &policy.Input{
		Kind: "document", How: job.ByError, U: 0.5, Memo: memo, Age: time.Minute, Now: time.Unix(1e9, 0),
		Evidence: &failure.Evidence{Message: "ocr retries exhausted: 503", HTTPStatus: 503, HandOver: after},
	}
}

func withHandOvers(t *testing.T, n int, change func(*policy.Spec)) *policy.Policy {
	t.Helper()
	s := policy.Spec{Name: "t", Default: policy.Settings{HandOvers: &n}}
	if change != nil {
		change(&s)
	}
	p, err := policy.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A call may hand its job over to the queue as often as the policy allows, and such a
// hand-over uses up no attempt. A hand-over beyond this number counts as a failure.
// part of: L3
func TestL3_HandOversWithinTheJobsLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p    *policy.Policy
		most int
	}{"default": {policy.Default(), 3}, "two": {withHandOvers(t, 2, nil), 2}, "none": {withHandOvers(t, 0, nil), 0}} {
		var memo policy.Memo
		for n := 1; n <= c.most; n++ {
			d := c.p.Decide(handedOver(memo, 300*time.Second))
			if d.Action != policy.Defer || d.Rule != policy.RuleHandOver || d.Wait != 300*time.Second || d.HandOvers != n {
				t.Fatalf("%s, hand-over %d: got the decision %+v, want a wait of 5m in the queue", name, n, d)
			}
			if text := d.Explain(); !strings.Contains(text, "no attempt burned") || !strings.Contains(text, "5m") {
				t.Errorf("%s: the explanation does not say that no attempt was used up, or has no wait of 5m:\n%s", name, text)
			}
			memo = policy.ParseMemo(d.Memo.Append(nil))
			if memo.HandOvers != uint32(n) || memo.Failures() != 0 {
				t.Fatalf("%s: the memo counts %d hand-overs and %d failures, want only the hand-overs", name, memo.HandOvers, memo.Failures())
			}
		}
		d := c.p.Decide(handedOver(memo, 300*time.Second))
		if d.Action != policy.Retry || d.N != 1 || d.ClassFailures != 1 {
			t.Errorf("%s: one hand-over above the limit: got the action %v and retry %d, want the action retry and retry 1", name, d.Action, d.N)
		}
	}
}

// If the run also ends in another way, or if the job has reached a limit, that end or limit
// decides, and the job is not handed over to the queue.
func TestHandOver_WhatGoesBeforeIt(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	for name, c := range map[string]struct {
		change func(*policy.Input)
		action policy.Action
		rule   string
	}{
		"permanent":   {func(in *policy.Input) { in.Evidence.Permanent = true }, policy.Die, policy.RulePermanent},
		"cancel":      {func(in *policy.Input) { in.Evidence.Cancel = true }, policy.Cancel, policy.RuleCancel},
		"a person":    {func(in *policy.Input) { in.Stop = policy.CancelAsked }, policy.Cancel, policy.RuleCancelAsked},
		"snooze":      {func(in *policy.Input) { in.Evidence.Snooze = time.Hour }, policy.Snooze, policy.RuleSnooze},
		"shutdown":    {func(in *policy.Input) { in.Stop = policy.Shutdown }, policy.HandBack, policy.RuleShutdown},
		"a panic":     {func(in *policy.Input) { in.How = job.ByPanic }, policy.Retry, policy.RuleSchedule},
		"time limit":  {func(in *policy.Input) { in.How, in.Stop = job.ByTimeout, policy.TimeLimit }, policy.Retry, policy.RuleSchedule},
		"deadline":    {func(in *policy.Input) { in.Deadline = 300 * time.Second }, policy.Die, policy.RuleDeadline},
		"age":         {func(in *policy.Input) { in.Age = policy.MaxAgeDefault }, policy.Die, policy.RuleTooOld},
		"long hint":   {func(in *policy.Input) { in.Evidence.RetryAfter = 25 * time.Hour }, policy.Die, policy.RuleHint},
		"hint":        {func(in *policy.Input) { in.Evidence.RetryAfter = time.Hour }, policy.Defer, policy.RuleHandOver},
		"no verdict":  {func(in *policy.Input) { in.Evidence.HTTPStatus = 0 }, policy.Defer, policy.RuleHandOver},
		"final":       {func(in *policy.Input) { in.Evidence.HTTPStatus = 404 }, policy.Die, policy.RuleVerdict},
		"final, mark": {func(in *policy.Input) { in.Evidence.Class = failure.NotFound }, policy.Die, policy.RuleVerdict},
	} {
		in := handedOver(policy.Memo{}, 300*time.Second)
		c.change(in)
		in.Class = p.Classify(in.Evidence, in.Kind)
		d := p.Decide(in)
		if d.Action != c.action || d.Rule != c.rule {
			t.Errorf("%s: got the action %v by the rule %s, want the action %v by the rule %s", name, d.Action, d.Rule, c.action, c.rule)
		}
		if d.Action == policy.Defer && d.Wait < max(300*time.Second, in.Evidence.RetryAfter) {
			t.Errorf("%s: got the wait %v, want at least 5m and the hint", name, d.Wait)
		}
	}
}

// With the setting "count: total", the number of retries includes hand-overs.
// part of: P3
func TestP3_TotalCountsHandOvers(t *testing.T) {
	t.Parallel()
	three, total := 3, policy.Total
	p := withHandOvers(t, 3, func(s *policy.Spec) { s.Default.MaxRetries, s.Default.Count = &three, &total })
	var memo policy.Memo
	for range 3 {
		d := p.Decide(handedOver(memo, time.Minute))
		if d.Action != policy.Defer {
			t.Fatalf("hand-over within the limit: got the action %v, want Defer", d.Action)
		}
		memo = d.Memo
	}
	if d := p.Decide(handedOver(memo, time.Minute)); d.Action != policy.Die || d.Rule != policy.RuleExhausted {
		t.Errorf("after three hand-overs: got the action %v by the rule %s, want the job dead because its retries are used up", d.Action, d.Rule)
	}
}

func TestHandOver_ALimitOutOfBoundsIsRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, policy.HandOversMax + 1} {
		_, err := policy.New(policy.Spec{Name: "t", Default: policy.Settings{HandOvers: &n}})
		if !strings.Contains(fmt.Sprint(err), "default.handovers") {
			t.Errorf("a policy that allows %d hand-overs: New returned %v, want a mistake at default.handovers", n, err)
		}
	}
}

// When the retries over all classes are used up, a hand-over to the queue does not give the job
// another run.
func TestHandOver_WithinTheTotal(t *testing.T) {
	t.Parallel()
	two, total := 2, policy.Total
	p := withHandOvers(t, 10, func(s *policy.Spec) { s.Default.MaxTotalRetries = &two })
	for attempts, want := range map[int]policy.Action{0: policy.Defer, 1: policy.Defer, 2: policy.Die, 9: policy.Die} {
		in := handedOver(policy.Memo{}, time.Minute)
		in.Attempts = attempts
		if d := p.Decide(in); d.Action != want || want == policy.Die && d.Rule != policy.RuleTotal {
			t.Errorf("after %d attempts: got the action %v by the rule %s, want the action %v", attempts, d.Action, d.Rule, want)
		}
	}
	p = withHandOvers(t, 10, func(s *policy.Spec) { s.Default.MaxRetries, s.Default.Count = &two, &total })
	if d := p.Decide(handedOver(policy.Memo{HandOvers: 2}, time.Minute)); d.Action != policy.Die || d.Rule != policy.RuleExhausted {
		t.Errorf("with count: total: got the action %v by the rule %s, want the job dead because its retries are used up", d.Action, d.Rule)
	}
}
