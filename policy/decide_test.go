package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

var exitCodes = &policy.Schedule{
	Waits:              []time.Duration{time.Second, 5 * time.Second},
	MaxRetries:         3,
	PermanentExitCodes: []int{64, 65},
}

func TestDecide(t *testing.T) {
	t.Parallel()
	broken := failure.Evidence{Message: "broken"}
	permanent := failure.Evidence{Permanent: true, Class: "NotFound"}
	snoozed := failure.Evidence{Snooze: time.Hour}
	cancelled := failure.Evidence{Cancel: true}
	tests := []struct {
		name     string
		schedule *policy.Schedule
		in       policy.Input
		want     policy.Decision
	}{
		{"success", nil, policy.Input{},
			policy.Decision{Action: policy.Complete, Rule: policy.RuleSuccess}},
		{"success although a cancel was asked", nil, policy.Input{Stop: policy.CancelAsked},
			policy.Decision{Action: policy.Complete, Rule: policy.RuleSuccess}},

		{"first failure", nil, policy.Input{How: policy.ByError, Evidence: broken},
			retry("UnknownError", policy.Unknown, 1, 3, 30*time.Second)},
		{"third failure", nil, policy.Input{How: policy.ByError, Evidence: broken, Attempts: 2},
			retry("UnknownError", policy.Unknown, 3, 3, 30*time.Second)},
		{"last failure", nil, policy.Input{How: policy.ByError, Evidence: broken, Attempts: 3},
			dead("UnknownError", policy.Unknown, policy.RuleExhausted, policy.ReasonExhausted, 3)},
		{"no retries", &policy.Schedule{MaxRetries: policy.NoRetry}, policy.Input{How: policy.ByError},
			dead("UnknownError", policy.Unknown, policy.RuleExhausted, policy.ReasonExhausted, 0)},
		{"the last wait repeats", exitCodes, policy.Input{How: policy.ByError, Attempts: 2},
			retry("UnknownError", policy.Unknown, 3, 3, 5*time.Second)},

		{"permanent by mark", nil, policy.Input{How: policy.ByError, Evidence: permanent},
			dead("NotFound", policy.Permanent, policy.RulePermanent, policy.ReasonPermanent, 3)},
		{"permanent by exit code", exitCodes, policy.Input{How: policy.ByError, Evidence: failure.Evidence{Exit: new(65)}},
			dead("UnknownError", policy.Permanent, policy.RuleExitCode, policy.ReasonPermanent, 3)},
		{"another exit code", exitCodes, policy.Input{How: policy.ByError, Evidence: failure.Evidence{Exit: new(66)}},
			retry("UnknownError", policy.Unknown, 1, 3, time.Second)},

		{"snooze", nil, policy.Input{How: policy.ByError, Evidence: snoozed, Attempts: 3},
			policy.Decision{Action: policy.Snooze, Rule: policy.RuleSnooze, Class: "UnknownError",
				Verdict: policy.Unknown, Of: 3, Wait: time.Hour}},
		{"cancel by the handler", nil, policy.Input{How: policy.ByError, Evidence: cancelled},
			policy.Decision{Action: policy.Cancel, Rule: policy.RuleCancel, Class: "Cancelled",
				Verdict: policy.Cancelled, Of: 3}},

		{"panic", nil, policy.Input{How: policy.ByPanic, Evidence: broken},
			retry("Panic", policy.Unknown, 1, 3, 30*time.Second)},
		{"a panic cannot snooze or cancel", nil,
			policy.Input{How: policy.ByPanic, Evidence: failure.Evidence{Snooze: time.Hour, Cancel: true}},
			retry("Panic", policy.Cancelled, 1, 3, 30*time.Second)},
		{"a panic under a shutdown is a failure", nil, policy.Input{How: policy.ByPanic, Stop: policy.Shutdown},
			retry("Panic", policy.Unknown, 1, 3, 30*time.Second)},
		{"time limit", nil, policy.Input{How: policy.ByTimeout, Stop: policy.TimeLimit, Evidence: broken},
			retry("AttemptTimeout", policy.Retriable, 1, 3, 30*time.Second)},
		{"a class by mark", nil, policy.Input{How: policy.ByTimeout, Evidence: failure.Evidence{Class: "Slow"}},
			retry("Slow", policy.Retriable, 1, 3, 30*time.Second)},

		{"a 503 under a shutdown is no failure", nil,
			policy.Input{How: policy.ByError, Stop: policy.Shutdown, Evidence: failure.Evidence{HTTPStatus: 503}, Attempts: 99},
			policy.Decision{Action: policy.HandBack, Rule: policy.RuleShutdown, Class: "UnknownError",
				Verdict: policy.Unknown, Of: 3}},
		{"permanent under a shutdown is permanent", nil,
			policy.Input{How: policy.ByError, Stop: policy.Shutdown, Evidence: permanent},
			dead("NotFound", policy.Permanent, policy.RulePermanent, policy.ReasonPermanent, 3)},
		{"cancelled by a person", nil, policy.Input{How: policy.ByError, Stop: policy.CancelAsked, Evidence: broken},
			policy.Decision{Action: policy.Cancel, Rule: policy.RuleCancelAsked, Class: "Cancelled",
				Verdict: policy.Cancelled, Of: 3}},
		{"a snooze does not outlive a person's cancel", nil,
			policy.Input{How: policy.ByError, Stop: policy.CancelAsked, Evidence: snoozed},
			policy.Decision{Action: policy.Cancel, Rule: policy.RuleCancelAsked, Class: "Cancelled",
				Verdict: policy.Cancelled, Of: 3}},

		{"a hint above the wait", nil,
			policy.Input{How: policy.ByError, Evidence: failure.Evidence{RetryAfter: 2 * time.Minute}},
			hinted(retry("UnknownError", policy.Throttled, 1, 3, 2*time.Minute), 2*time.Minute)},
		{"a hint below the wait", nil,
			policy.Input{How: policy.ByError, Evidence: failure.Evidence{RetryAfter: time.Second}},
			hinted(retry("UnknownError", policy.Throttled, 1, 3, 30*time.Second), time.Second)},
		{"a hint between two microseconds is rounded up", nil,
			policy.Input{How: policy.ByError, Evidence: failure.Evidence{RetryAfter: time.Minute + 1}},
			hinted(retry("UnknownError", policy.Throttled, 1, 3, time.Minute+time.Microsecond), time.Minute+1)},
		{"dependency down", nil,
			policy.Input{How: policy.ByError, Evidence: failure.Evidence{Dependency: "s3"}},
			retry("UnknownError", policy.DependencyDown, 1, 3, 30*time.Second)},

		{"below the ceiling", &policy.Schedule{MaxRetries: 1000}, policy.Input{How: policy.ByError, Attempts: 98},
			retry("UnknownError", policy.Unknown, 99, 1000, 30*time.Second)},
		{"at the ceiling", &policy.Schedule{MaxRetries: 1000}, policy.Input{How: policy.ByError, Attempts: 99},
			dead("UnknownError", policy.Unknown, policy.RuleCeilingReached, policy.ReasonExhausted, 1000)},
		{"at a lower ceiling", nil, policy.Input{How: policy.ByError, Attempts: 1, Ceiling: 2},
			dead("UnknownError", policy.Unknown, policy.RuleCeilingReached, policy.ReasonExhausted, 3)},
		{"young enough", nil, policy.Input{How: policy.ByError, Age: 29 * time.Second, AgeMax: time.Minute},
			retry("UnknownError", policy.Unknown, 1, 3, 30*time.Second)},
		{"too old after the wait", nil, policy.Input{How: policy.ByError, Age: 30 * time.Second, AgeMax: time.Minute},
			dead("UnknownError", policy.Unknown, policy.RuleTooOld, policy.ReasonExhausted, 3)},
	}
	for _, tt := range tests {
		got := tt.schedule.Decide(&tt.in)
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(policy.Decision{}, "Memo")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func retry(class failure.Class, v policy.Verdict, n, of int, wait time.Duration) policy.Decision {
	return policy.Decision{Action: policy.Retry, Rule: policy.RuleSchedule, Class: class, Verdict: v, N: n, Of: of, Wait: wait}
}

func dead(class failure.Class, v policy.Verdict, rule, reason string, of int) policy.Decision {
	return policy.Decision{Action: policy.Die, Rule: rule, Class: class, Verdict: v, Reason: reason, Of: of}
}

func hinted(d policy.Decision, hint time.Duration) policy.Decision {
	d.Hint = hint
	return d
}

// Whatever the configuration and the failures, a job ends, never waits less
// than the other side asked for, and the same input decides the same.
func TestDecide_EveryScheduleEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wait := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "wait"))
		})
		s := &policy.Schedule{
			Waits:      rapid.SliceOfN(wait, 0, 5).Draw(t, "waits"),
			MaxRetries: rapid.IntRange(-1, 1<<40).Draw(t, "retries"),
		}
		in := policy.Input{
			How:      rapid.SampledFrom([]policy.How{policy.ByError, policy.ByPanic, policy.ByTimeout}).Draw(t, "how"),
			Evidence: failure.Evidence{RetryAfter: wait.Draw(t, "hint")},
			AgeMax:   rapid.SampledFrom([]time.Duration{0, time.Hour, 1 << 62}).Draw(t, "age limit"),
		}
		for ; ; in.Attempts++ {
			d := s.Decide(&in)
			if diff := cmp.Diff(d, s.Decide(&in)); diff != "" {
				t.Fatalf("not the same twice:\n%s", diff)
			}
			if d.Action == policy.Die {
				break
			}
			if d.Wait < in.Evidence.RetryAfter || d.Wait < s.Wait(d.N) {
				t.Fatalf("waits %v, below its hint or schedule", d.Wait)
			}
			in.Memo = d.Memo
		}
		if in.Attempts >= policy.CeilingDefault {
			t.Fatalf("%d attempts, the ceiling is %d", in.Attempts+1, policy.CeilingDefault)
		}
	})
}

func TestWords_AreThoseOfFailureRecords(t *testing.T) {
	t.Parallel()
	for mine, theirs := range map[policy.How]job.How{
		policy.ByError: job.ByError, policy.ByPanic: job.ByPanic, policy.ByTimeout: job.ByTimeout,
	} {
		if string(mine) != string(theirs) {
			t.Errorf("%q, the failure record says %q", mine, theirs)
		}
	}
	if policy.ReasonPermanent != string(job.NonRetriable) || policy.ReasonExhausted != string(job.MaxRetries) {
		t.Error("the reasons are not those of dead letters")
	}
}

func TestSchedule_Validate(t *testing.T) {
	t.Parallel()
	bad := &policy.Schedule{Waits: []time.Duration{0, -1}, MaxRetries: -2, PermanentExitCodes: []int{0, 256}}
	want := "wait 2 of the schedule is -1ns: must not be negative\n" +
		"-2 retries: must be a number of retries, 0 for one per wait, or policy.NoRetry\n" +
		"permanent exit code 0: must be 1 to 255\n" +
		"permanent exit code 256: must be 1 to 255"
	if err := bad.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	for _, good := range []*policy.Schedule{nil, {}, exitCodes, {MaxRetries: policy.NoRetry}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

func TestAction_StringOfANumberThatIsNone(t *testing.T) {
	t.Parallel()
	if got := policy.Action(9).String(); got != "action(9)" || policy.Cancel.String() != "cancel" {
		t.Errorf("%s and %s", got, policy.Cancel)
	}
}
