package plan_test

import (
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/torture/plan"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		plan plan.Plan
		job  job.Job
		ok   bool
	}{
		{plan.Quick, job.Job{State: job.Completed, Counters: job.Counters{Attempts: 1, Crashes: 3}}, true},
		{plan.Quick, job.Job{State: job.Completed, Counters: job.Counters{Attempts: 2}}, false},
		{plan.Quick, job.Job{State: job.Running}, false},
		{plan.Quick, job.Job{State: job.Cancelled}, true},
		{plan.Quick, job.Job{State: job.Dead, Reason: job.Stalled, Counters: job.Counters{Crashes: job.MaxCrashes}}, true},
		{plan.Quick, job.Job{State: job.Dead, Reason: job.Stalled, Counters: job.Counters{Crashes: 2}}, false},
		{plan.Flaky, job.Job{State: job.Completed, Counters: job.Counters{Attempts: 2}}, true},
		{plan.Flaky, job.Job{State: job.Completed, Counters: job.Counters{Attempts: 1}}, false},
		{plan.Fails, job.Job{State: job.Dead, Reason: job.MaxRetries, Counters: job.Counters{Attempts: 3}}, true},
		{plan.Fails, job.Job{State: job.Dead, Reason: job.MaxRetries, Counters: job.Counters{Attempts: 4}}, false},
		{plan.Bad, job.Job{State: job.Dead, Reason: job.NonRetriable, Counters: job.Counters{Attempts: 1}}, true},
		{plan.Bad, job.Job{State: job.Dead, Reason: job.MaxRetries, Counters: job.Counters{Attempts: 1}}, false},
		{plan.Poison, job.Job{Kind: plan.Toxic, State: job.Dead, Reason: job.Stalled, Counters: job.Counters{Crashes: 2}}, true},
		{plan.Hasty, job.Job{State: job.Dead, Reason: job.DeadlineOver}, true},
		{plan.Hasty, job.Job{State: job.Dead, Reason: job.DeadlineOver, Counters: job.Counters{Attempts: 1}}, false},
		{plan.Quick, job.Job{State: job.Dead, Reason: job.DeadlineOver}, false},
		{plan.Poison, job.Job{Kind: plan.Toxic, State: job.Completed, Counters: job.Counters{Attempts: 1}}, false},
	}
	for _, tt := range tests {
		if err := tt.plan.Verdict(&tt.job); (err == nil) != tt.ok {
			t.Errorf("plan %s, job in state %s, reason %q, counters %+v: got the error %v, want accepted: %v", tt.plan, tt.job.State, tt.job.Reason, tt.job.Counters, err, tt.ok)
		}
	}
}

func TestPickGivesEveryPlanItsShare(t *testing.T) {
	t.Parallel()
	seen := make(map[plan.Plan]int)
	for percent := range 100 {
		seen[plan.Pick(percent)]++
	}
	if len(seen) != 10 || seen[plan.Poison] != 0 || seen[plan.Quick] < 40 {
		t.Errorf("got the shares %v of the plans; want all plans except Poison, and Quick in at least 40 of 100", seen)
	}
}

// The words of a job's name must not decide how the job ends: the name of one with a key once looked
// like a failed authentication, which is not retried.
func TestBrokenIsRetriedWhateverTheNameSays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"0026-client-84", "key of 0026-client-84", "invalid credentials", "permission denied: no such file"} {
		e := failure.Of(plan.Broken(4, name))
		got := classify.Builtin().Classify(&e, plan.Work)
		if got.Class != failure.UnknownError || got.Rank != classify.RankMark {
			t.Errorf("name %q: got class %s by rule %s, want %s by the mark", name, got.Class, got.Rule, failure.UnknownError)
		}
	}
}
