package policy_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"pgregory.net/rapid"
)

var someClasses = []failure.Class{failure.NetworkTimeout, failure.RateLimitExceeded, failure.UnknownError, failure.InvalidInput,
	failure.AttemptTimeout, failure.Panic, failure.Cancelled, "Own", "Undeclared", ""}

// maybe generates a pointer to a value, or nil.
func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	if !rapid.Bool().Draw(t, label+"?") {
		return nil
	}
	v := g.Draw(t, label)
	return &v
}

// anySettings generates valid settings. The sum of their waits is below the ages that
// anySpec generates.
func anySettings(t *rapid.T) policy.Settings {
	s := policy.Settings{
		Retry:           maybe(t, rapid.Just(true), "retry"),
		MaxRetries:      maybe(t, rapid.IntRange(0, 9), "max_retries"),
		MaxTotalRetries: maybe(t, rapid.IntRange(0, 9), "max_total_retries"),
		Count:           maybe(t, rapid.SampledFrom([]policy.Count{policy.PerClass, policy.Total}), "count"),
		MaxCost:         maybe(t, rapid.Int64Range(0, 1000), "max_cost"),
		Verdict:         rapid.SampledFrom([]failure.Verdict{"", "", "", failure.VerdictRetry, failure.VerdictPermanent, failure.VerdictQuota}).Draw(t, "verdict"),
	}
	if rapid.Bool().Draw(t, "hint?") {
		s.Hint = &policy.Hint{
			Mode:    policy.HintMode(rapid.IntRange(0, 2).Draw(t, "hint mode")),
			Jitter:  rapid.SampledFrom([]float64{0, policy.NoJitter, 0.5, 1}).Draw(t, "hint jitter"),
			Max:     time.Duration(rapid.IntRange(0, 1e6).Draw(t, "hint max")) * time.Millisecond,
			OverMax: policy.OverMaxMode(rapid.IntRange(0, 1).Draw(t, "beyond")),
		}
	}
	if rapid.Bool().Draw(t, "backoff?") {
		b := anyBackoff(t)
		s.Backoff = &b
	}
	if rapid.Bool().Draw(t, "escalate?") {
		s.Escalate = &policy.Escalation{Queue: "high", After: rapid.IntRange(0, 3).Draw(t, "after")}
	}
	return s
}

func anyBackoff(t *rapid.T) backoff.Backoff {
	wait := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(1, 60_000).Draw(t, "wait")) * time.Millisecond
	})
	if rapid.Bool().Draw(t, "fixed") {
		return backoff.Backoff{Waits: rapid.SliceOfN(wait, 1, 4).Draw(t, "waits"), Past: backoff.Past(rapid.IntRange(0, 1).Draw(t, "past"))}
	}
	b := backoff.Backoff{Formula: backoff.Exponential, First: wait.Draw(t, "first"), Cap: time.Minute,
		Jitter: backoff.Jitter(rapid.IntRange(0, 5).Draw(t, "jitter"))}
	switch b.Jitter {
	case backoff.Percent:
		b.Percent = 0.2
	case backoff.Additive:
		b.Spread = time.Second
	case backoff.None, backoff.Full, backoff.Equal, backoff.Decorrelated:
	}
	return b
}

// anySpec generates a valid policy.
func anySpec(t *rapid.T) policy.Spec {
	s := policy.Spec{
		Name:    "any",
		Limits:  policy.Limits{MaxAttempts: rapid.IntRange(10, 40).Draw(t, "max_attempts"), MaxAge: time.Hour, MaxWait: time.Minute},
		Default: anySettings(t),
		Classes: map[failure.Class]policy.ClassSpec{"Own": {Settings: anySettings(t)}},
		Kinds:   map[string]policy.KindSpec{},
	}
	if rapid.Bool().Draw(t, "a class") {
		s.Classes[failure.NetworkTimeout] = policy.ClassSpec{Settings: anySettings(t)}
	}
	if rapid.Bool().Draw(t, "a kind") {
		s.Kinds["render"] = policy.KindSpec{Settings: anySettings(t), Classes: map[failure.Class]policy.Settings{failure.UnknownError: anySettings(t)}}
	}
	if rapid.Bool().Draw(t, "a rule") {
		s.Rules = []policy.RuleSpec{{Name: "rule", When: condition(func(a *policy.ConditionInput) (bool, error) {
			seconds, ok := a.Values["seconds"].(float64)
			if !ok {
				return false, errors.New("no seconds")
			}
			return seconds > 10, nil
		}), Queue: "high", Settings: anySettings(t)}}
	}
	if rapid.Bool().Draw(t, "observe") {
		s.Rollout = policy.Rollout{Mode: policy.Observe, Enforce: []failure.Class{failure.NetworkTimeout}, Baseline: anySettings(t)}
		s.Rollout.Baseline.Escalate = nil
	}
	return s
}

// condition is a Condition that is written in Go.
type condition func(*policy.ConditionInput) (bool, error)

func (c condition) Match(a *policy.ConditionInput) (bool, error) { return c(a) }
func (condition) String() string                                 { return "in Go" }

func anyInput(t *rapid.T) *policy.Input {
	class := rapid.SampledFrom(someClasses)
	in := &policy.Input{
		Kind: rapid.SampledFrom([]string{"render", "mail", ""}).Draw(t, "kind"),
		Evidence: &failure.Evidence{
			Class: class.Draw(t, "mark"), Permanent: rapid.IntRange(0, 9).Draw(t, "permanent") == 0,
			RetryAfter: time.Duration(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, int64(time.Minute))).Draw(t, "hint")),
		},
		Class:    classify.Classification{Class: class.Draw(t, "class"), Rule: "any", Rank: classify.Rank(rapid.IntRange(0, 6).Draw(t, "rank"))},
		How:      rapid.SampledFrom([]job.How{job.ByError, job.ByPanic, job.ByTimeout}).Draw(t, "how"),
		Attempts: rapid.IntRange(0, 50).Draw(t, "attempts"),
		Age:      time.Duration(rapid.Int64().Draw(t, "age")),
		U:        rapid.Float64().Draw(t, "u"),
		Cost:     rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 100)).Draw(t, "cost"),
		Memo:     policy.ParseMemo(rapid.SliceOf(rapid.Byte()).Draw(t, "memo")),
	}
	in.Deadline = time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "deadline"))
	if rapid.Bool().Draw(t, "override?") {
		in.Job = &policy.Override{MaxRetries: new(rapid.Int().Draw(t, "override")), Waits: policy.Waits{time.Duration(rapid.Int64().Draw(t, "wait"))}}
	}
	return in
}

// For any configuration and any failures, a job ends after a limited number of runs, every
// wait is within its limits, the same input gives the same decision, and each decision can
// be stored, read and explained.
// proves: R2
func TestR2_NoConfigurationLoopsForEver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, problems := policy.New(anySpec(t))
		if p == nil {
			t.Fatalf("the random policy has problems, want none: %v", problems)
		}
		limits := p.Limits()
		in := anyInput(t)
		in.Attempts, in.Age, in.Memo = 0, 0, policy.Memo{}
		in.Admission = p.Admit(&policy.RuleInput{Kind: in.Kind, Attrs: []byte(`{"seconds": 11}`)})
		for runs := 1; ; runs++ {
			if runs > limits.MaxAttempts {
				t.Fatalf("the job had %d runs, want at most %d", runs, limits.MaxAttempts)
			}
			in.Evidence.Class = rapid.SampledFrom(someClasses).Draw(t, "class of the run")
			d := p.Decide(in)
			again := p.Decide(in)
			if string(d.Record()) != string(again.Record()) || d.Memo != again.Memo {
				t.Fatalf("two decisions on the same input differ, want equal decisions:\n%s\n%s", d.Record(), again.Record())
			}
			checkDecision(t, &d, limits)
			if d.Action != policy.Retry {
				break
			}
			in.Attempts++
			in.Age += d.Wait
			if rapid.IntRange(0, 9).Draw(t, "damaged") == 0 {
				in.Memo = policy.ParseMemo([]byte("\x02damaged"))
			} else {
				in.Memo = policy.ParseMemo(d.Memo.Append(nil))
			}
		}
		if in.Age > limits.MaxAge {
			t.Fatalf("the job reached the age %v, want at most %v", in.Age, limits.MaxAge)
		}
	})
}

// checkDecision checks the properties that every decision must have.
func checkDecision(t *rapid.T, d *policy.Decision, limits policy.Limits) {
	switch d.Action {
	case policy.Retry:
		if d.Wait < 0 || d.Wait%time.Microsecond != 0 || d.N < 1 || d.N > d.Of || d.Of >= limits.MaxAttempts || d.Reason != "" {
			t.Fatalf("the decision to retry has invalid values: %s", d.Record())
		}
		if d.Hint == 0 && d.Wait > limits.MaxWait {
			t.Fatalf("got the wait %v, want at most %v: %s", d.Wait, limits.MaxWait, d.Record())
		}
		if most := min(limits.MaxWait, d.Ceiling); d.Drawn > most {
			t.Fatalf("the back-off returned %v, want at most %v: %s", d.Drawn, most, d.Record())
		}
	case policy.Die:
		if d.Wait != 0 || d.N != 0 || d.Reason == "" || d.Queue != "" {
			t.Fatalf("the decision to end the job as dead has invalid values: %s", d.Record())
		}
	case policy.Complete, policy.Snooze, policy.HandBack, policy.Cancel, policy.Defer:
		t.Fatalf("the decision has another action than Retry and Die, want one of these two: %s", d.Record())
	}
	r, err := policy.ParseRecord(d.Record())
	if err != nil {
		t.Fatalf("ParseRecord returned the error %v for the record %s, want none", err, d.Record())
	}
	if r.Reason() == "" || len(r.Facts()) < 2 || r.Wait != d.Wait.Microseconds() || r.Of != d.Of || r.Rule != d.Rule {
		t.Fatalf("ParseRecord returned %+v, want the values of the decision %s", r, d.Record())
	}
}

// Decide returns a decision for any input, valid or not.
func TestDecide_AnyInput(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	rapid.Check(t, func(t *rapid.T) {
		d := p.Decide(anyInput(t))
		checkDecision(t, &d, p.Limits())
	})
	for _, in := range []policy.Input{
		{How: job.ByError}, {How: "nonsense", Stop: 99, Attempts: -5, Age: -1, U: math.NaN(), Cost: math.MinInt64},
		{How: job.ByError, Attempts: math.MaxInt, Age: math.MaxInt64, Cost: math.MaxInt64, Deadline: math.MinInt64},
	} {
		if d := p.Decide(&in); d.Explain() == "" {
			t.Errorf("Explain returned no text for the decision %+v, want a text", d)
		}
	}
}
