package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive"
	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
)

// longer matches jobs whose attribute "seconds" is at least From and below To. If To is 0,
// there is no upper limit.
type longer struct{ From, To float64 }

func (l longer) Match(a *policy.ConditionInput) (bool, error) {
	seconds, ok := a.Values["seconds"].(float64)
	if !ok && a.Values["seconds"] != nil {
		return false, errors.New("attrs.seconds is not a number")
	}
	return ok && seconds >= l.From && (l.To == 0 || seconds < l.To), nil
}

func (l longer) String() string { return "attrs.seconds >= …" }

// steady is a setting that retries after whole minutes, without jitter.
func steady(retries int) policy.Settings {
	return policy.Settings{MaxRetries: &retries, Backoff: &backoff.Backoff{Waits: []time.Duration{time.Minute}}}
}

func policyOf(t *testing.T, s policy.Spec) *policy.Policy {
	t.Helper()
	p, problems := policy.New(s)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// engineWith returns an engine that uses a policy and works on two queues.
func engineWith(t *testing.T, p *policy.Policy, h func(context.Context, *redrive.Job[renderArgs]) error) *redrivetest.Engine {
	t.Helper()
	e := redrivetest.New(t, &redrive.Config{
		Policy: p, Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1}, "high-memory": {Workers: 1}},
	})
	redrive.Handle(e.Client, render, h, nil)
	return e
}

// videos returns a policy for videos of different lengths.
func videos(t *testing.T) *policy.Policy {
	t.Helper()
	one := 1
	return policyOf(t, policy.Spec{
		Name:    "videos",
		Default: steady(3),
		Classes: map[failure.Class]policy.ClassSpec{"Flaky": {Settings: steady(3)}},
		Rules: []policy.RuleSpec{
			{
				Name: "long", When: longer{6 * 3600, 8 * 3600}, Settings: policy.Settings{MaxTotalRetries: &one},
				Queue: "high-memory", Overrides: map[string]string{"model": "flash"},
			},
			{Name: "too-long", When: longer{From: 8 * 3600}, Hold: &policy.Hold{Message: "Please contact support", Notify: "administrator"}},
		},
	})
}

// proves: R5
func TestR5_ALongVideoGetsItsQueueOneRetryAndOverrides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds   float64
		queue     string
		overrides map[string]string
		attempts  int
	}{
		{6*3600 - 1, redrive.DefaultQueue, nil, 4},
		{6 * 3600, "high-memory", map[string]string{"model": "flash"}, 2},
		{8*3600 - 1, "high-memory", map[string]string{"model": "flash"}, 2},
	} {
		attempts := 0
		e := engineWith(t, videos(t), func(_ context.Context, j *redrive.Job[renderArgs]) error {
			attempts++
			if diff := cmp.Diff(tt.overrides, j.Overrides); diff != "" || j.Queue != tt.queue {
				t.Errorf("video of %v s: got queue %q; wrong overrides (-want +got):\n%s", tt.seconds, j.Queue, diff)
			}
			return failure.WithClass("Flaky", errors.New("oops"))
		})
		id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": tt.seconds}}))
		for range 6 {
			e.Work()
			e.Advance(time.Minute)
		}
		if j := get(t, e, id); j.State != job.Dead || j.Reason != job.MaxRetries || attempts != tt.attempts {
			t.Errorf("video of %v s: got state %v, reason %q after %d attempts; want state dead, reason max_retries after %d attempts", tt.seconds, j.State, j.Reason, attempts, tt.attempts)
		}
	}
}

// proves: R5
func TestR5_AHeldJobNeverRunsUntilAPersonReleasesIt(t *testing.T) {
	t.Parallel()
	runs := 0
	e := engineWith(t, videos(t), func(context.Context, *redrive.Job[renderArgs]) error { runs++; return nil })
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": 8 * 3600}}))
	out := e.Work()
	if len(out) != 1 || out[0].Cause != job.Held || runs != 0 {
		t.Fatalf("got the outcomes %+v after %d runs, want the job held before its first run", out, runs)
	}
	j := get(t, e, id)
	if j.State != job.Dead || j.Reason != job.ManualReview || j.Counters.Attempts != 0 {
		t.Errorf("got state %v, reason %q after %d attempts; want state dead, reason manual_review, no attempt", j.State, j.Reason, j.Counters.Attempts)
	}
	if f := failures(t, e, id)[0]; f.UserMessage != "Please contact support" || f.How != job.ByHold {
		t.Errorf("got user message %q, how %q; want the user message of the rule and how hold", f.UserMessage, f.How)
	}
	if err := e.Retry(t.Context(), redrive.By{Actor: "ann"}, id, nil); err != nil {
		t.Fatal(err)
	}
	if out := e.Work(); len(out) != 1 || out[0].State != job.Completed || runs != 1 {
		t.Errorf("after the release: got the outcomes %+v after %d runs; want the job completed after one run", out, runs)
	}
}

// proves: R5
func TestR5_ARuleThatFailsMatchesNothing(t *testing.T) {
	t.Parallel()
	p := policyOf(t, policy.Spec{Name: "lenient", Rules: []policy.RuleSpec{{Name: "long", When: longer{From: 1}, Queue: "high-memory"}}})
	e := engineWith(t, p, func(context.Context, *redrive.Job[renderArgs]) error { return nil })
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": "long"}}))
	e.Work()
	if j := get(t, e, id); j.State != job.Completed || j.Queue != redrive.DefaultQueue {
		t.Errorf("got state %v in queue %q, want state completed in the default queue", j.State, j.Queue)
	}
}

// proves: R6
func TestR6_AClassCanMoveTheNextAttempt(t *testing.T) {
	t.Parallel()
	s := steady(2)
	s.Escalate = &policy.Escalation{Queue: "high-memory", Priority: 1}
	p := policyOf(t, policy.Spec{Name: "escalating", Classes: map[failure.Class]policy.ClassSpec{failure.ResourceConstraint: {Settings: s}}})
	var queues []string
	e := engineWith(t, p, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		queues = append(queues, j.Queue)
		return failure.WithClass(failure.ResourceConstraint, errors.New("oops"))
	})
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	for range 2 {
		e.Work()
		e.Advance(time.Minute)
	}
	if diff := cmp.Diff([]string{redrive.DefaultQueue, "high-memory"}, queues); diff != "" {
		t.Errorf("wrong queues of the attempts (-want +got):\n%s", diff)
	}
	if j := get(t, e, id); j.Priority != 1 {
		t.Errorf("job moved by its class: got priority %d, want priority 1", j.Priority)
	}
}

// proves: R2, D5
func TestR2_AJobsOwnRetriesWinInEveryLife(t *testing.T) {
	t.Parallel()
	one := 1
	attempts := 0
	e := engineWith(t, videos(t), func(context.Context, *redrive.Job[renderArgs]) error {
		attempts++
		return errors.New("oops")
	})
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Override: &policy.Override{MaxRetries: &one}}))
	run := func() {
		for range 6 {
			e.Work()
			e.Advance(time.Hour)
		}
	}
	run()
	if attempts != 2 {
		t.Errorf("got %d attempts in the first life, want 2", attempts)
	}
	if err := e.Retry(t.Context(), redrive.By{Actor: "ann"}, id, nil); err != nil {
		t.Fatal(err)
	}
	run()
	if attempts != 4 {
		t.Errorf("got %d attempts in two lives, want 4 attempts", attempts)
	}
	negative := -1
	_, err := e.Enqueue(t.Context(), render.New(renderArgs{}, &redrive.Options{Override: &policy.Override{MaxRetries: &negative}}))
	if err == nil {
		t.Error("an enqueue with a negative number of retries was accepted, want an error")
	}
}

// proves: R11
func TestR11_AJobThatCostsTooMuchDies(t *testing.T) {
	t.Parallel()
	s := steady(9)
	most := int64(250_000)
	s.MaxCost = &most
	p := policyOf(t, policy.Spec{Name: "thrifty", Default: s, Classes: map[failure.Class]policy.ClassSpec{"Flaky": {Settings: s}}})
	e := engineWith(t, p, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		j.AddCost(0.10)
		if j.Run == 1 {
			return failure.Snooze(time.Second) // the cost of a snoozed run counts, too
		}
		return failure.WithClass("Flaky", errors.New("oops"))
	})
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	for range 6 {
		e.Work()
		e.Advance(time.Minute)
	}
	if j := get(t, e, id); j.State != job.Dead || j.Reason != job.MaxCost || j.Counters.Attempts != 2 || j.Cost != 300_000 {
		t.Errorf("got state %v, reason %q after %d attempts and a cost of %d; want state dead, reason max_cost after 2 attempts and a cost of 300000", j.State, j.Reason, j.Counters.Attempts, j.Cost)
	}
}

// proves: R5
func TestR5_AnAttributeOfAWrongTypeHoldsNothing(t *testing.T) {
	t.Parallel()
	p := policyOf(t, policy.Spec{Name: "strict", Rules: []policy.RuleSpec{
		{Name: "too-long", When: longer{From: 8 * 3600}, Hold: &policy.Hold{Message: "Please contact support"}},
	}})
	runs := 0
	e := engineWith(t, p, func(context.Context, *redrive.Job[renderArgs]) error { runs++; return nil })
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": "30000"}}))
	e.Work()
	if j := get(t, e, id); j.State != job.Completed || runs != 1 {
		t.Errorf("got state %v, reason %q after %d runs; want the job completed by one run", j.State, j.Reason, runs)
	}
}

// proves: R5
func TestR5_OnlyAHeldJobIsReleasedByItsRetry(t *testing.T) {
	t.Parallel()
	calm := policyOf(t, policy.Spec{Name: "calm", Default: steady(0)})
	runs := 0
	e := engineWith(t, calm, func(context.Context, *redrive.Job[renderArgs]) error {
		runs++
		return failure.Permanent(errors.New("oops"))
	})
	retry := func(id job.ID) {
		t.Helper()
		if err := e.Retry(t.Context(), redrive.By{Actor: "ann"}, id, nil); err != nil {
			t.Fatal(err)
		}
		e.Work()
	}
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": 9 * 3600}}))
	e.Work()
	if err := e.SetPolicy(t.Context(), redrive.By{Actor: "ann"}, videos(t)); err != nil {
		t.Fatal(err)
	}
	retry(id) // this manual retry does not release the job, because the rule did not exist when the job died
	if j := get(t, e, id); j.Reason != job.ManualReview || runs != 1 {
		t.Errorf("got state %v, reason %q after %d runs; want the job held after one run", j.State, j.Reason, runs)
	}
	retry(id) // this manual retry releases the job permanently
	retry(id)
	if j := get(t, e, id); j.Reason != job.NonRetriable || runs != 3 {
		t.Errorf("got state %v, reason %q after %d runs; want the job dead after three runs", j.State, j.Reason, runs)
	}
}

// A class whose name was made from the failure itself is stored without secrets and with a limited
// length. A class that the policy names is stored unchanged.
//
// part of: F11
func TestF11_AMadeUpClassIsBoundedAndHasNoSecrets(t *testing.T) {
	t.Parallel()
	const secret, token = "hunter2hunter2", "AKIAIOSFODNN7EXAMPLE"
	long := strings.Repeat("very long ", 100) + "password=" + secret
	p := policyOf(t, policy.Spec{
		Name: "marks", Default: steady(3), Classes: map[failure.Class]policy.ClassSpec{token: {Settings: policy.Settings{Verdict: failure.VerdictRetry}}},
		Classify: classify.Rules{Matchers: []classify.Matcher{{Name: "own", Version: "1", Match: func(e *failure.Evidence) (failure.Class, bool) {
			return failure.Class(long), e.Message == "matched"
		}}}},
	})
	for _, raw := range []bool{false, true} {
		for name, tt := range map[string]struct {
			err  error
			want string // the expected class without Config.KeepRaw
		}{
			"a mark":       {failure.WithClass("password="+secret, errors.New("x")), "password=[REDACTED]"},
			"a matcher":    {errors.New("matched"), ""},
			"a known name": {failure.WithClass(token, errors.New("x")), token},
		} {
			e := redrivetest.New(t, &redrive.Config{Policy: p, KeepRaw: raw})
			redrive.Handle(e.Client, render, func(context.Context, *redrive.Job[renderArgs]) error { return tt.err }, nil)
			id := enqueue(t, e, render.New(renderArgs{}, nil))
			e.Work()
			if j := get(t, e, id); j.State != job.Retrying {
				t.Errorf("%s, KeepRaw %v: got state %v, want retrying", name, raw, j.State)
			}
			f := failures(t, e, id)[0]
			if f.How != job.ByError || f.Class == "" || len(f.Class) > job.TextMax || !raw && tt.want != "" && f.Class != tt.want {
				t.Errorf("%s, KeepRaw %v: got class %q of %d bytes, how %s; want class %q", name, raw, f.Class, len(f.Class), f.How, tt.want)
			}
			if all := f.Class + f.Fingerprint + string(f.Decision); !raw && strings.Contains(all, secret) {
				t.Errorf("%s: the secret is stored, want it removed; the stored texts are: %s", name, all)
			}
		}
	}
}

// odd is a condition that fails with a different error for each job.
type odd struct{}

func (odd) Match(a *policy.ConditionInput) (bool, error) {
	return false, fmt.Errorf("attribute n is %v", a.Values["n"])
}
func (odd) String() string { return "odd" }

// A policy in observe mode holds no job and moves no job to another queue.
//
// proves: R8
func TestR8_AnObservedPolicyLetsJobsRun(t *testing.T) {
	t.Parallel()
	rules := []policy.RuleSpec{
		{Name: "long", When: longer{From: 1}, Queue: "high-memory", Overrides: map[string]string{"model": "flash"}},
		{Name: "too-long", When: longer{From: 2}, Hold: &policy.Hold{Message: "Please contact support"}},
	}
	for mode, want := range map[policy.Mode]job.State{policy.Observe: job.Completed, policy.Enforce: job.Dead} {
		p := policyOf(t, policy.Spec{Name: "watching", Rules: rules, Rollout: policy.Rollout{Mode: mode}})
		e := engineWith(t, p, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			if j.Overrides != nil || j.Queue != redrive.DefaultQueue {
				t.Errorf("the job ran in queue %q with the overrides %v, want the queue and the overrides of the enqueue", j.Queue, j.Overrides)
			}
			return nil
		})
		id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Attrs: map[string]any{"seconds": 3}}))
		e.Work()
		if j := get(t, e, id); j.State != want || (j.Queue == redrive.DefaultQueue) != (mode == policy.Observe) {
			t.Errorf("mode %v: got state %v in queue %q; want the job held and moved only if the policy is not in observe mode", mode, j.State, j.Queue)
		}
	}
}
