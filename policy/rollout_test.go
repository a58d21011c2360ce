package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

func observing(change func(*policy.Rollout)) policy.Spec {
	s := policy.Spec{Name: "test",
		Default: policy.Settings{MaxRetries: new(9), Backoff: fixed(9)},
		Classes: map[failure.Class]policy.ClassSpec{
			failure.ResourceConstraint: {Settings: policy.Settings{Escalate: &policy.Escalation{Queue: "high"}}}},
		Rollout: policy.Rollout{Mode: policy.Observe, Baseline: policy.Settings{MaxRetries: new(2), Backoff: fixed(5), Count: new(policy.Total)}},
	}
	change(&s.Rollout)
	return s
}

// Where the policy only observes, the baseline decides, and the record contains what the
// policy would have done.
// proves: R8
func TestR8_ObserveRecordsAndLeavesTheBaselineToAct(t *testing.T) {
	t.Parallel()
	p := compile(t, observing(func(*policy.Rollout) {}))
	all := life(p, *failed(""), failure.NetworkTimeout, failure.ResourceConstraint, failure.RateLimitExceeded)
	type row struct {
		Action   policy.Action
		Observed bool
		Wait     time.Duration
		Queue    string
		Would    policy.Would
	}
	var got []row
	for _, d := range all {
		got = append(got, row{d.Action, d.Observed, d.Wait, d.Queue, d.Would})
	}
	would := policy.Would{Action: policy.Retry, Rule: policy.RuleSchedule, N: 1, Of: 9, Wait: 9 * time.Second}
	moved := would
	moved.Queue = "high"
	want := []row{
		{policy.Retry, true, 5 * time.Second, "", would},
		{policy.Retry, true, 5 * time.Second, "", moved},
		{policy.Die, true, 0, "", would},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong decisions (-want +got):\n%s", diff)
	}
	// The policy does not retry this class, but the baseline still retries it.
	d := p.Decide(failed(failure.NotFound))
	if d.Action != policy.Retry || d.Wait != 5*time.Second || d.Verdict != failure.VerdictPermanent ||
		d.Would != (policy.Would{Action: policy.Die, Rule: policy.RuleVerdict, Reason: job.NonRetriable, Of: 9}) {
		t.Errorf("got the decision %s, want a retry after 5s by the baseline, and in Would a dead job by its verdict", d.Record())
	}
	// Where the policy only observes, the marks of the handler still decide.
	in := failed(failure.NotFound)
	in.Evidence.Permanent = true
	if d := p.Decide(in); d.Observed || d.Rule != policy.RulePermanent {
		t.Errorf("got the decision %s, want a decision by the mark Permanent", d.Record())
	}
}

// The hard limits also apply to the baseline.
//
// part of: R8
func TestR8_TheBaselineEnds(t *testing.T) {
	t.Parallel()
	s := observing(func(r *policy.Rollout) { r.Baseline.MaxRetries = new(19) })
	s.Limits.MaxAttempts = 20
	all := life(compile(t, s), *failed(""), repeat(failure.InvalidInput, 100)...)
	if len(all) != 20 {
		t.Errorf("baseline with many retries: got %d attempts, want 20, the limit of the policy", len(all))
	}
}

// The settings of a job, or of the message that created it, apply even where the policy
// only observes. They also apply to what the policy would have done. The rules of the
// policy do not apply.
// proves: R8, R2
func TestR8_R2_AJobsOwnSettingsActWhereThePolicyObserves(t *testing.T) {
	t.Parallel()
	s := observing(func(*policy.Rollout) {})
	s.Rules = []policy.RuleSpec{{Name: "rule", When: always{}, Settings: policy.Settings{MaxRetries: new(0), Backoff: fixed(3)}}}
	p := compile(t, s)
	for name, tt := range map[string]struct {
		change func(*policy.Input)
		of     int
		from   policy.Level
		wait   time.Duration
		would  int
	}{
		"nobody":    {func(*policy.Input) {}, 2, policy.LevelBaseline, 5 * time.Second, 9},
		"a rule":    {func(in *policy.Input) { in.Admission = p.Admit(&policy.RuleInput{Kind: in.Kind}) }, 2, policy.LevelBaseline, 5 * time.Second, 0},
		"a message": {func(in *policy.Input) { in.Message = &policy.Override{MaxRetries: new(6)} }, 6, policy.LevelMessage, 5 * time.Second, 6},
		"a job": {func(in *policy.Input) {
			in.Message = &policy.Override{MaxRetries: new(6)}
			in.Job = &policy.Override{MaxRetries: new(7), Waits: policy.Waits(seconds(8))}
		}, 7, policy.LevelJob, 8 * time.Second, 7},
	} {
		in := failed(failure.NetworkTimeout)
		tt.change(in)
		d := p.Decide(in)
		if !d.Observed || d.Of != tt.of || d.RetriesFrom != tt.from || d.Wait != tt.wait || d.Would.Of != tt.would {
			t.Errorf("%s: got the decision %s, want an observed decision with %d retries set by %s and the wait %v", name, d.Record(), tt.of, tt.from, tt.wait)
		}
	}
	in := failed(failure.NetworkTimeout)
	in.Job = &policy.Override{Retry: new(false)}
	if d := p.Decide(in); !d.Observed || d.Action != policy.Die || d.Rule != policy.RuleNoRetry {
		t.Errorf("a job with retry: false: got the decision %s, want the job dead by this setting", d.Record())
	}
}

// Where the policy only observes a kind, its rules do not move or hold jobs and give the
// handler no settings. Before a run, the class is not known yet, so only the kind can be
// enforced.
// proves: R8
func TestR8_RulesDoNotActWhereThePolicyObserves(t *testing.T) {
	t.Parallel()
	s := observing(func(r *policy.Rollout) { r.Kinds, r.Enforce = []string{"upload"}, []failure.Class{failure.Panic} })
	s.Rules = []policy.RuleSpec{{Name: "rule", When: always{}, Queue: "q", Priority: 4, Overrides: map[string]string{"a": "b"}, Hold: &policy.Hold{Message: "m"}}}
	p := compile(t, s)
	acts := func(a *policy.Admission) bool {
		return a.Queue == "q" && a.Priority == 4 && a.Overrides["a"] == "b" && a.Hold != nil
	}
	if a := p.Admit(&policy.RuleInput{Kind: "upload"}); !acts(a) || a.Would != nil {
		t.Errorf("enforce mode: got the admission %+v, want all fields set", a)
	}
	a := p.Admit(&policy.RuleInput{Kind: "render"})
	if a.Queue != "" || a.Priority != 0 || a.Overrides != nil || a.Hold != nil || a.Would == nil || !acts(a.Would) || len(a.Rules) != 1 {
		t.Errorf("observe mode: got the admission %+v with the field Would %+v, want one rule, and its effects only in Would", a, a.Would)
	}
}

// If there is no baseline, the schedule that the program has set for the kind decides where
// the policy only observes.
// proves: R8
func TestR8_TheBaselineIsTheScheduleThatWasThere(t *testing.T) {
	t.Parallel()
	p := compile(t, observing(func(r *policy.Rollout) { r.Baseline = policy.Settings{} }))
	if d := p.Decide(failed(failure.NetworkTimeout)); d.Wait != 30*time.Second || d.Of != 3 || d.RetriesFrom != policy.LevelSchedule {
		t.Errorf("got the decision %s, want a wait of 30s and 3 retries by the schedule", d.Record())
	}
	q, err := p.WithSchedule("render", &policy.Schedule{Waits: seconds(7), MaxRetries: 4, PermanentExitCodes: []int{65}})
	if err != nil {
		t.Fatal(err)
	}
	if d := q.Decide(failed(failure.NetworkTimeout)); d.Wait != 7*time.Second || d.Of != 4 {
		t.Errorf("got the decision %s, want a wait of 7s and 4 retries", d.Record())
	}
	in := failed("")
	in.Evidence.Exit = new(65)
	if d := q.Decide(in); d.Rule != policy.RuleExitCode {
		t.Errorf("got the decision %s, want a decision by the exit code", d.Record())
	}
}

// proves: R8
func TestR8_EnforcedClassByClassAndByStage(t *testing.T) {
	t.Parallel()
	const net, rate = failure.NetworkTimeout, failure.RateLimitExceeded
	stages := map[string]policy.Stage{
		"alpha":      {Mode: policy.Observe, Enforce: []failure.Class{net}},
		"beta":       {Mode: policy.Enforce},
		"everything": {Mode: policy.Observe},
	}
	for name, tt := range map[string]struct {
		change   func(*policy.Rollout)
		observed map[failure.Class]bool
	}{
		"a class enforced": {func(r *policy.Rollout) { r.Enforce = []failure.Class{net} }, map[failure.Class]bool{net: false, rate: true}},
		"stage alpha": {func(r *policy.Rollout) { r.Mode, r.Stage, r.Stages = policy.Enforce, "alpha", stages },
			map[failure.Class]bool{net: false, rate: true, "Undeclared": true}},
		"stage beta": {func(r *policy.Rollout) { r.Mode, r.Stage, r.Stages = policy.Enforce, "beta", stages },
			map[failure.Class]bool{net: false, rate: false, "Undeclared": false}},
		"stage everything": {func(r *policy.Rollout) { r.Mode, r.Stage, r.Stages = policy.Enforce, "everything", stages },
			map[failure.Class]bool{net: true, rate: true}},
	} {
		p := compile(t, observing(tt.change))
		for class, want := range tt.observed {
			d := p.Decide(failed(class))
			if d.Observed != want || (d.Wait == 9*time.Second) == want {
				t.Errorf("%s, class %s: got observed %v and the wait %v, want observed %v", name, class, d.Observed, d.Wait, want)
			}
		}
	}
}

// A roll-out can enforce the policy kind by kind.
// proves: R8
func TestR8_EnforcedKindByKind(t *testing.T) {
	t.Parallel()
	p := compile(t, observing(func(r *policy.Rollout) {
		r.Mode, r.Stage = policy.Enforce, "storage"
		r.Stages = map[string]policy.Stage{"storage": {Mode: policy.Observe, Kinds: []string{"upload"}, Enforce: []failure.Class{failure.Panic}}}
	}))
	for _, tt := range []struct {
		kind     string
		class    failure.Class
		observed bool
	}{
		{"upload", failure.NetworkTimeout, false},
		{"render", failure.NetworkTimeout, true},
		{"render", failure.Panic, false},
		{"upload", "Undeclared", false},
	} {
		in := failed(tt.class)
		in.Kind = tt.kind
		if d := p.Decide(in); d.Observed != tt.observed {
			t.Errorf("class %s of kind %s: got observed %v, want %v", tt.class, tt.kind, d.Observed, tt.observed)
		}
	}
}
