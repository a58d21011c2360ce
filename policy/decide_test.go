package policy_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"pgregory.net/rapid"
)

var exitCodes = &policy.Schedule{
	Waits:              []time.Duration{time.Second, 5 * time.Second},
	MaxRetries:         3,
	PermanentExitCodes: []int{64, 65},
}

// These decisions show the order of the checks, with the default schedule.
func TestDecide(t *testing.T) {
	t.Parallel()
	broken := failure.Evidence{Message: "broken"}
	permanent := failure.Evidence{Permanent: true, Class: "Gone"}
	snoozed := failure.Evidence{Snooze: time.Hour}
	cancelled := failure.Evidence{Cancel: true}
	tests := []struct {
		name     string
		schedule *policy.Schedule
		in       policy.Input
		evidence failure.Evidence
		want     brief
	}{
		{"success", nil, policy.Input{}, broken, brief{Rule: policy.RuleSuccess}},
		{"success although a cancel was asked", nil, policy.Input{Stop: policy.CancelAsked}, broken, brief{Rule: policy.RuleSuccess}},

		{"first failure", nil, policy.Input{How: job.ByError}, broken,
			retry("UnknownError", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"third failure", nil, policy.Input{How: job.ByError, Attempts: 2}, broken,
			retry("UnknownError", failure.VerdictUnknown, 3, 3, 30*time.Second)},
		{"last failure", nil, policy.Input{How: job.ByError, Attempts: 3}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleExhausted, job.MaxRetries, 3)},
		{"no retries", &policy.Schedule{MaxRetries: policy.NoRetry}, policy.Input{How: job.ByError}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleExhausted, job.MaxRetries, 0)},
		{"the last wait repeats", exitCodes, policy.Input{How: job.ByError, Attempts: 2}, broken,
			retry("UnknownError", failure.VerdictUnknown, 3, 3, 5*time.Second)},

		{"permanent by mark", nil, policy.Input{How: job.ByError}, permanent,
			dead("Gone", failure.VerdictPermanent, policy.RulePermanent, job.NonRetriable, 3)},
		{"permanent by exit code", exitCodes, policy.Input{How: job.ByError}, failure.Evidence{Exit: new(65)},
			dead("UnknownError", failure.VerdictPermanent, policy.RuleExitCode, job.NonRetriable, 3)},
		{"another exit code", exitCodes, policy.Input{How: job.ByError}, failure.Evidence{Exit: new(66)},
			retry("UnknownError", failure.VerdictUnknown, 1, 3, time.Second)},
		{"permanent by class", nil, policy.Input{How: job.ByError}, failure.Evidence{Class: failure.NotFound},
			dead("NotFound", failure.VerdictPermanent, policy.RuleVerdict, job.NonRetriable, 3)},
		{"a quota that is used up", nil, policy.Input{How: job.ByError}, failure.Evidence{Class: failure.QuotaExceeded},
			dead("QuotaExceeded", failure.VerdictQuota, policy.RuleVerdict, job.NonRetriable, 3)},

		{"snooze", nil, policy.Input{How: job.ByError, Attempts: 3}, snoozed,
			brief{Action: policy.Snooze, Rule: policy.RuleSnooze, Class: "UnknownError", Verdict: failure.VerdictUnknown, Of: 3, Wait: time.Hour}},
		{"cancel by the handler", nil, policy.Input{How: job.ByError}, cancelled,
			brief{Action: policy.Cancel, Rule: policy.RuleCancel, Class: "Cancelled", Verdict: failure.VerdictCancelled, Of: 3}},

		{"panic", nil, policy.Input{How: job.ByPanic}, broken,
			retry("Panic", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"a panic cannot snooze or cancel", nil, policy.Input{How: job.ByPanic}, failure.Evidence{Snooze: time.Hour, Cancel: true},
			retry("Panic", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"a panic during a shutdown is a failure", nil, policy.Input{How: job.ByPanic, Stop: policy.Shutdown}, broken,
			retry("Panic", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"time limit", nil, policy.Input{How: job.ByTimeout, Stop: policy.TimeLimit}, broken,
			retry("AttemptTimeout", failure.VerdictRetry, 1, 3, 30*time.Second)},
		{"a class by mark at the time limit", nil, policy.Input{How: job.ByTimeout}, failure.Evidence{Class: "Slow"},
			retry("Slow", failure.VerdictUnknown, 1, 3, 30*time.Second)},

		{"a 503 during a shutdown is not a failure", nil, policy.Input{How: job.ByError, Stop: policy.Shutdown, Attempts: 99},
			failure.Evidence{HTTPStatus: 503},
			brief{Action: policy.HandBack, Rule: policy.RuleShutdown, Class: "UnknownError", Verdict: failure.VerdictUnknown, Of: 3}},
		{"a permanent error during a shutdown is permanent", nil, policy.Input{How: job.ByError, Stop: policy.Shutdown}, permanent,
			dead("Gone", failure.VerdictPermanent, policy.RulePermanent, job.NonRetriable, 3)},
		{"a permanent class during a shutdown is not a failure", nil, policy.Input{How: job.ByError, Stop: policy.Shutdown},
			failure.Evidence{Class: failure.InvalidInput},
			brief{Action: policy.HandBack, Rule: policy.RuleShutdown, Class: "InvalidInput", Verdict: failure.VerdictPermanent, Of: 3}},
		{"cancelled by a person", nil, policy.Input{How: job.ByError, Stop: policy.CancelAsked}, broken,
			brief{Action: policy.Cancel, Rule: policy.RuleCancelAsked, Class: "Cancelled", Verdict: failure.VerdictCancelled, Of: 3}},
		{"a snooze does not outlive a person's cancel", nil, policy.Input{How: job.ByError, Stop: policy.CancelAsked}, snoozed,
			brief{Action: policy.Cancel, Rule: policy.RuleCancelAsked, Class: "Cancelled", Verdict: failure.VerdictCancelled, Of: 3}},

		{"dependency down", nil, policy.Input{How: job.ByError}, failure.Evidence{Dependency: "s3", Class: failure.NotFound},
			retry("NotFound", failure.VerdictDependencyDown, 1, 3, 30*time.Second)},
		{"cancelled without a request to cancel", nil, policy.Input{How: job.ByError}, failure.Evidence{Class: failure.Cancelled},
			retry("Cancelled", failure.VerdictUnknown, 1, 3, 30*time.Second)},

		{"below the ceiling", &policy.Schedule{MaxRetries: 1000}, policy.Input{How: job.ByError, Attempts: 98}, broken,
			retry("UnknownError", failure.VerdictUnknown, 99, 99, 30*time.Second)},
		{"at the ceiling", &policy.Schedule{MaxRetries: 1000}, policy.Input{How: job.ByError, Attempts: 99}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleExhausted, job.MaxRetries, 99)},
		{"young enough", nil, policy.Input{How: job.ByError, Age: policy.MaxAgeDefault - 31*time.Second}, broken,
			retry("UnknownError", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"above the age limit after the wait", nil, policy.Input{How: job.ByError, Age: policy.MaxAgeDefault - 30*time.Second}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleTooOld, job.MaxRetries, 3)},
		{"the largest possible age", nil, policy.Input{How: job.ByError, Age: math.MaxInt64}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleTooOld, job.MaxRetries, 3)},
		{"a job that asks for as many retries as there are attempts", nil,
			policy.Input{How: job.ByError, Job: &policy.Override{MaxRetries: new(policy.MaxAttemptsDefault)}}, broken,
			retry("UnknownError", failure.VerdictUnknown, 1, policy.MaxAttemptsDefault-1, 30*time.Second)},
		{"before the deadline", nil, policy.Input{How: job.ByError, Deadline: 30*time.Second + 1}, broken,
			retry("UnknownError", failure.VerdictUnknown, 1, 3, 30*time.Second)},
		{"at the deadline", nil, policy.Input{How: job.ByError, Deadline: 30 * time.Second}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleDeadline, job.DeadlineOver, 3)},
		{"after the deadline", nil, policy.Input{How: job.ByError, Deadline: -1}, broken,
			dead("UnknownError", failure.VerdictUnknown, policy.RuleDeadline, job.DeadlineOver, 3)},
	}
	for _, tt := range tests {
		tt.in.Kind, tt.in.Evidence = "render", &tt.evidence
		d := scheduled(t, tt.schedule).Decide(&tt.in)
		if diff := cmp.Diff(tt.want, briefly(&d)); diff != "" {
			t.Errorf("%s: wrong decision (-want +got):\n%s", tt.name, diff)
		}
	}
}

func retry(class failure.Class, v failure.Verdict, n, of int, wait time.Duration) brief {
	return brief{Action: policy.Retry, Rule: policy.RuleSchedule, Class: class, Verdict: v, N: n, Of: of, Wait: wait}
}

func dead(class failure.Class, v failure.Verdict, rule string, reason job.Reason, of int) brief {
	return brief{Action: policy.Die, Rule: rule, Class: class, Verdict: v, Reason: reason, Of: of}
}

// For any configuration and any failures, a job ends after a limited number of attempts, no
// wait is shorter than the hint, and the same input gives the same decision.
func TestDecide_EveryScheduleEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wait := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(policy.MaxWaitDefault/time.Microsecond)).Draw(t, "wait")) * time.Microsecond
		})
		s := &policy.Schedule{
			Waits:      rapid.SliceOfN(wait, 0, 5).Draw(t, "waits"),
			MaxRetries: rapid.IntRange(-1, math.MaxInt).Draw(t, "retries"),
		}
		p, err := policy.Default().WithSchedule("", s)
		if err != nil {
			t.Fatal(err)
		}
		in := policy.Input{
			How:      rapid.SampledFrom([]job.How{job.ByError, job.ByPanic, job.ByTimeout}).Draw(t, "how"),
			Evidence: &failure.Evidence{RetryAfter: time.Duration(rapid.Int64().Draw(t, "hint"))},
			Age:      time.Duration(rapid.Int64Range(0, int64(2*policy.MaxAgeDefault)).Draw(t, "age")),
			U:        rapid.Float64Range(0, 0.999999).Draw(t, "u"),
		}
		for ; ; in.Attempts++ {
			d := p.Decide(&in)
			if again := p.Decide(&in); string(d.Record()) != string(again.Record()) || d.Memo != again.Memo {
				t.Fatalf("two decisions on the same input differ, want equal decisions:\n%s\n%s", d.Record(), again.Record())
			}
			if d.Action == policy.Die {
				break
			}
			if d.Wait < in.Evidence.RetryAfter || d.Wait < s.Wait(d.N) {
				t.Fatalf("got the wait %v, want a wait that is not shorter than the hint or the wait of the schedule", d.Wait)
			}
			in.Memo = d.Memo
		}
		if in.Attempts >= policy.MaxAttemptsDefault {
			t.Fatalf("the job had %d attempts, want at most %d", in.Attempts+1, policy.MaxAttemptsDefault)
		}
	})
}

func TestLimits_AreThoseOfJobs(t *testing.T) {
	t.Parallel()
	if policy.OverrideMax != job.PolicyMax || policy.AttrsMax < job.AttrsMax {
		t.Error("the limits differ from those of package job, want OverrideMax equal to job.PolicyMax and AttrsMax at least job.AttrsMax")
	}
}

func TestSchedule_Validate(t *testing.T) {
	t.Parallel()
	bad := &policy.Schedule{Waits: []time.Duration{0, -1, 1 << 62}, MaxRetries: -2, PermanentExitCodes: []int{0, 256}}
	want := "wait 2 of the schedule is -1ns: must not be negative\n" +
		"wait 3 of the schedule is 1281023h53m38.427387904s: must be at most 365d\n" +
		"-2 retries: must be a number of retries, 0 for one per wait, or policy.NoRetry\n" +
		"permanent exit code 0: must be 1 to 255\n" +
		"permanent exit code 256: must be 1 to 255"
	if err := bad.Validate(); err == nil || err.Error() != want {
		t.Errorf("Validate returned %v\nwant %s", err, want)
	}
	for _, good := range []*policy.Schedule{nil, {}, exitCodes, {MaxRetries: policy.NoRetry}} {
		if err := good.Validate(); err != nil {
			t.Errorf("Validate of the valid schedule %+v returned %v, want nil", good, err)
		}
	}
	_, err := policy.Default().WithSchedule("render", &policy.Schedule{Waits: []time.Duration{25 * time.Hour}})
	const above = `wait 1 of the schedule is 25h: policy "default" allows at most 24h: shorten it, or raise limits.max_wait`
	if err == nil || err.Error() != above {
		t.Errorf("WithSchedule returned %v\nwant %s", err, above)
	}
}

// part of: R2
func TestR2_ExitCodesAloneLeaveTheRestToThePolicy(t *testing.T) {
	t.Parallel()
	p := scheduled(t, &policy.Schedule{PermanentExitCodes: []int{65}})
	in := failed(failure.RateLimitExceeded)
	if d := p.Decide(in); d.Of != 5 || d.Nominal != time.Minute || d.RetriesFrom != policy.LevelClass {
		t.Errorf("got %d retries, a first wait of %s, and retries set by %s; want the retries and waits of the class", d.Of, d.Nominal, d.RetriesFrom)
	}
	code := 65
	in.Evidence.Exit = &code
	if d := p.Decide(in); d.Action != policy.Die || d.Rule != policy.RuleExitCode {
		t.Errorf("exit code 65: got the action %v by the rule %s, want the job dead by its exit code", d.Action, d.Rule)
	}
}

func TestAction_StringOfAnUnknownNumber(t *testing.T) {
	t.Parallel()
	if got := policy.Action(9).String(); got != "action(9)" || policy.Cancel.String() != "cancel" {
		t.Errorf("String of two actions: got %s and %s, want action(9) and cancel", got, policy.Cancel)
	}
}

func TestDecide_CommonPathDoesNotAllocate(t *testing.T) {
	p := compile(t, policy.DefaultSpec())
	in := failed(failure.NetworkTimeout)
	in.Memo = life(p, *in, failure.NetworkTimeout)[0].Memo
	in.Attempts = 1
	in.Evidence.RetryAfter = time.Second
	if n := testing.AllocsPerRun(100, func() { p.Decide(in) }); n != 0 {
		t.Errorf("Decide made %v memory allocations, want 0", n)
	}
	var buf []byte
	d := p.Decide(in)
	if n := testing.AllocsPerRun(100, func() { buf = d.Memo.Append(d.Append(buf[:0])) }); n != 0 {
		t.Errorf("Append made %v memory allocations, want 0", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	p := compile(b, policy.DefaultSpec())
	in := failed(failure.NetworkTimeout)
	in.Memo = life(p, *in, failure.NetworkTimeout)[0].Memo
	in.Attempts = 1
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(in)
	}
}

func BenchmarkRecord(b *testing.B) {
	p := compile(b, policy.DefaultSpec())
	in := failed(failure.NetworkTimeout)
	in.Class = classify.Classification{Class: failure.NetworkTimeout, Rule: "http.504", Rank: classify.RankTyped, Saw: "504 Gateway Timeout", Code: "http.504"}
	in.Class.Outranked[0] = classify.Outranked{Rule: "phrase.timeout", Class: failure.NetworkTimeout, Rank: classify.RankPattern, Saw: "timed out"}
	in.U = 0.31415926535
	d := p.Decide(in)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = d.Append(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}
