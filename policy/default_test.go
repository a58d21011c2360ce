package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The waits of the built-in default policy with the smallest and the largest random number.
// They differ by the jitter of ±20 %.
// proves: F3, F4, F5, F13
func TestF3_F4_F5_F13_TheDefaultPolicy(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	tests := map[failure.Class][]time.Duration{
		failure.NetworkTimeout:        seconds(30, 60, 120),
		failure.RateLimitExceeded:     seconds(60, 180, 540, 1620, 4860),
		failure.TemporaryServiceError: seconds(30, 60, 120),
		failure.ResourceConstraint:    seconds(30, 45),
		failure.UnknownError:          seconds(30, 60),
		failure.ProgramError:          seconds(30, 60),
		failure.AttemptTimeout:        seconds(30),
		failure.Panic:                 seconds(30, 60),
		"Own":                         seconds(60, 300, 900),

		failure.InvalidInput: nil, failure.AuthenticationFailure: nil, failure.PaymentRequired: nil,
		failure.ContentViolation: nil, failure.InputExceedsLimits: nil, failure.QuotaExceeded: nil,
		failure.ValidationError: nil, failure.PermissionError: nil, failure.NotFound: nil, failure.BusinessLogicError: nil,
	}
	for class, nominal := range tests {
		for _, u := range []float64{0, 0.5, 0.9999999999} {
			in := *failed(class)
			in.U = u
			all := life(p, in, repeat(class, 100)...)
			var want []time.Duration
			for _, w := range nominal {
				want = append(want, time.Duration(float64(w)*(0.8+0.4*u)))
			}
			near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= time.Microsecond })
			if diff := cmp.Diff(want, waits(all), near); diff != "" || len(all) != len(nominal)+1 {
				t.Errorf("%s with the random number %v: got %d attempts and wrong waits (-want +got):\n%s", class, u, len(all), diff)
			}
			if last := all[len(all)-1]; last.Action != policy.Die || (nominal == nil) != (last.Reason == job.NonRetriable) {
				t.Errorf("%s: the last decision has the action %s and the reason %s, want the job dead with the reason of its retries", class, last.Action, last.Reason)
			}
		}
	}
}

// If a run was ended by its time limit, the failure has the class AttemptTimeout, even if the
// handler reports another error. A class that the handler names takes precedence.
// proves: F13
func TestF13_TheTimeLimitIsAClassOfItsOwn(t *testing.T) {
	t.Parallel()
	found := classify.Classification{Class: failure.NetworkTimeout, Verdict: failure.VerdictRetry, Rule: "phrase.timeout", Rank: 1, Saw: "timed out", Code: "FFMPEG_TIMEOUT"}
	p := policy.Default()
	in := failed("")
	in.Class, in.How, in.Stop = found, job.ByTimeout, policy.TimeLimit
	d := p.Decide(in)
	if d.Class != failure.AttemptTimeout || d.By.Rule != policy.ClassByTimeLimit || d.By.Code != "FFMPEG_TIMEOUT" || d.Of != 1 {
		t.Errorf("got the class %s by the rule %s with %d retries, want AttemptTimeout by the time limit with 1 retry", d.Class, d.By.Rule, d.Of)
	}
	if b := d.By.Outranked[0]; b.Rule != "phrase.timeout" || b.Class != failure.NetworkTimeout || b.Saw != "timed out" {
		t.Errorf("got the outranked evidence %+v, want the phrase \"timed out\"", b)
	}
	mark := classify.Classification{Class: "FfmpegTimeout", Rule: "mark.class", Rank: classify.RankMark}
	code := classify.Classification{Class: "FfmpegTimeout", Rule: "policy.codes.Ffmpeg_Timeout", Rank: classify.RankCode}
	in.Evidence.Code = "FFMPEG_TIMEOUT"
	for _, c := range []classify.Classification{mark, code} {
		in.Class = c
		if d := p.Decide(in); d.Class != "FfmpegTimeout" {
			t.Errorf("%s: got the class %s, want the class that the handler named", c.Rule, d.Class)
		}
	}
	in.Evidence.Code = "" // without Evidence.Code, the code in the classification comes from another service and not from the handler
	if d := p.Decide(in); d.Class != failure.AttemptTimeout {
		t.Errorf("the code of another service gave the class %s, want AttemptTimeout", d.Class)
	}
	in.Class, in.How, in.Stop = found, job.ByError, policy.NotStopped
	if d := p.Decide(in); d.Class != failure.NetworkTimeout || d.Of != 3 {
		t.Errorf("without a time limit: got the class %s with %d retries, want NetworkTimeout with 3 retries", d.Class, d.Of)
	}
}

// The classes AttemptTimeout and NetworkTimeout have separate numbers of retries: network
// timeouts do not use up the retries of AttemptTimeout.
// proves: F13
func TestF13_ItsOwnBudget(t *testing.T) {
	t.Parallel()
	const net, limit = failure.NetworkTimeout, failure.AttemptTimeout
	all := life(policy.Default(), *failed(""), net, net, limit, net, limit)
	if last := all[len(all)-1]; len(all) != 5 || last.Class != limit || last.Rule != policy.RuleExhausted {
		t.Errorf("got %d decisions, the last for the class %s by the rule %s; want 5 decisions, the last for AttemptTimeout with its retries used up", len(all), last.Class, last.Rule)
	}
}

func TestDefault_EmptySpecIsTheDefault(t *testing.T) {
	t.Parallel()
	empty, spelt := compile(t, policy.Spec{}), compile(t, policy.DefaultSpec())
	if empty.Hash() != spelt.Hash() || empty.Name() != "default" || empty.Hash() != policy.Default().Hash() {
		t.Errorf("the empty Spec: got name %s and hash %s, want those of the default Spec: %s and %s", empty.Name(), empty.Hash(), spelt.Name(), spelt.Hash())
	}
	changed := policy.DefaultSpec()
	changed.Limits.MaxAttempts = 99
	if compile(t, changed).Hash() == empty.Hash() {
		t.Error("a Spec with a changed limit has the same hash, want another hash")
	}
	named := policy.Spec{Hash: "cafe"}
	if compile(t, named).Hash() != "cafe" {
		t.Error("a policy whose Spec sets Hash has another hash, want Spec.Hash")
	}
	if l := empty.Limits(); l.MaxAttempts != 100 || l.MaxAge != 90*24*time.Hour || l.MaxWait != 24*time.Hour {
		t.Errorf("got the limits %+v, want 100 attempts, 90 days and waits of 24 h", l)
	}
}
