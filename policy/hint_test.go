package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"pgregory.net/rapid"
)

const hinted = failure.RateLimitExceeded

// proves: R3
func TestR3_AHintIsAFloor(t *testing.T) {
	t.Parallel()
	type hint = policy.Hint
	tests := []struct {
		name string
		hint *hint
		ask  time.Duration
		u    float64
		want brief
	}{
		{"longer than the back-off, and up to 10 % more", nil, 120 * time.Second, 0.5, hintedRetry(126*time.Second, 120*time.Second)},
		{"the lowest draw does not shorten it", nil, 120 * time.Second, 0, hintedRetry(120*time.Second, 120*time.Second)},
		{"at least up to a second more", nil, 6 * time.Second, 0.5, hintedRetry(6500*time.Millisecond, 6*time.Second)},
		{"as long as the back-off", nil, 5 * time.Second, 0, hintedRetry(5*time.Second, 5*time.Second)},
		{"as long as the back-off, and a little more", nil, 5 * time.Second, 0.5, hintedRetry(5500*time.Millisecond, 5*time.Second)},
		{"shorter than the back-off", nil, time.Second, 0.5, hintedRetry(5*time.Second, time.Second)},
		{"none", nil, 0, 0.5, hintedRetry(5*time.Second, 0)},
		{"negative", nil, -time.Second, 0.5, hintedRetry(5*time.Second, 0)},
		{"between two microseconds it is rounded up", nil, 6*time.Second + 1, 0, hintedRetry(6*time.Second+1000, 6*time.Second+1000)},
		{"its own jitter", &hint{Jitter: 0.5, JitterMin: time.Millisecond}, 10 * time.Second, 0.5, hintedRetry(12500*time.Millisecond, 10*time.Second)},
		{"no jitter", &hint{Jitter: policy.NoJitter}, 10 * time.Second, 0.5, hintedRetry(10*time.Second, 10*time.Second)},
		{"at the border", nil, 24 * time.Hour, 0, hintedRetry(24*time.Hour, 24*time.Hour)},
		{"beyond the border", nil, 24*time.Hour + time.Microsecond, 0, hintedDead(policy.RuleHint, job.HintTooLong, 24*time.Hour+time.Microsecond)},
		{"beyond, waited for", &hint{Max: time.Hour, OverMax: policy.OverMaxWait}, 100 * time.Hour, 0, hintedRetry(100*time.Hour, 100*time.Hour)},
		{"above Max, accepted, and above the age limit", &hint{Max: time.Hour, OverMax: policy.OverMaxWait}, 1 << 62, 0.5,
			hintedDead(policy.RuleTooOld, job.MaxRetries, 1<<62)},
		{"the longest possible hint", &hint{OverMax: policy.OverMaxWait}, 1<<63 - 1, 0.999, hintedDead(policy.RuleTooOld, job.MaxRetries, 1<<63-1)},
		{"above a Max of one minute", &hint{Max: time.Minute}, time.Minute + time.Second, 0, hintedDead(policy.RuleHint, job.HintTooLong, time.Minute+time.Second)},
		{"in mode cap it is cut to the cap", &hint{Mode: policy.HintCap}, 120 * time.Second, 0.5, hintedRetry(15*time.Second, 120*time.Second)},
		{"in mode cap a shorter hint stays", &hint{Mode: policy.HintCap}, 3 * time.Second, 0.5, hintedRetry(3*time.Second, 3*time.Second)},
		{"in mode cap a hint above Max is cut", &hint{Mode: policy.HintCap, Max: time.Minute}, time.Hour, 0.5, hintedRetry(15*time.Second, time.Hour)},
		{"not heeded", &hint{Mode: policy.HintOff}, 120 * time.Second, 0.5, hintedRetry(5*time.Second, 120*time.Second)},
	}
	for _, tt := range tests {
		b := fixed(5)
		b.Cap = 15 * time.Second
		p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{MaxRetries: new(3), Backoff: b, Hint: tt.hint}})
		in := failed(hinted)
		in.Evidence.RetryAfter, in.U = tt.ask, tt.u
		d := p.Decide(in)
		if diff := cmp.Diff(tt.want, briefly(&d)); diff != "" {
			t.Errorf("%s: wrong decision (-want +got):\n%s", tt.name, diff)
		}
	}
}

func hintedRetry(wait, hint time.Duration) brief {
	return brief{Action: policy.Retry, Rule: policy.RuleSchedule, Class: hinted, Verdict: failure.VerdictThrottle, N: 1, Of: 3, Wait: wait, Hint: hint}
}

func hintedDead(rule string, reason job.Reason, hint time.Duration) brief {
	return brief{Action: policy.Die, Rule: rule, Class: hinted, Verdict: failure.VerdictThrottle, Reason: reason, Of: 3, Hint: hint}
}

// A hint that is a time becomes the wait from now until that time. A wait in the error text
// is also a hint. Of several hints the longest is used.
// proves: R3
func TestR3_WhereAHintComesFrom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := compile(t, policy.Spec{Name: "test", Default: policy.Settings{Backoff: fixed(5)}})
	for _, tt := range []struct {
		name  string
		e     failure.Evidence
		text  time.Duration
		clock time.Time
		want  time.Duration
	}{
		{"a date", failure.Evidence{NotBefore: now.Add(time.Minute)}, 0, now, time.Minute},
		{"a date that has passed", failure.Evidence{NotBefore: now.Add(-time.Minute)}, 0, now, 0},
		{"a date without a clock", failure.Evidence{NotBefore: now.Add(time.Minute)}, 0, time.Time{}, 0},
		{"the text", failure.Evidence{}, 53 * time.Second, now, 53 * time.Second},
		{"the longest", failure.Evidence{RetryAfter: time.Second, NotBefore: now.Add(3 * time.Second)}, 2 * time.Second, now, 3 * time.Second},
		{"a date without end", failure.Evidence{NotBefore: now.Add(1<<63 - 1)}, 0, now.Add(-1 << 63), 1<<63 - 1},
	} {
		in := failed(hinted)
		tt.e.Class = hinted
		in.Evidence, in.Class, in.Now = &tt.e, classify.Classification{Class: hinted, Hint: tt.text}, tt.clock
		if d := p.Decide(in); d.Hint != tt.want {
			t.Errorf("%s: got the hint %v, want %v", tt.name, d.Hint, tt.want)
		}
	}
}

// With the mode floor, every policy waits at least as long as the hint.
// proves: R3
func TestR3_NeverBeforeTheHint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		p, problems := policy.New(s)
		if p == nil {
			t.Fatalf("the random policy has problems, want none: %v", problems)
		}
		in := anyInput(t)
		d := p.Decide(in)
		if d.Action == policy.Retry && d.HintMode == policy.HintFloor && d.Wait < d.Hint {
			t.Fatalf("the wait is %v, want at least the hint of %v", d.Wait, d.Hint)
		}
		if d.Hint < in.Evidence.RetryAfter {
			t.Fatalf("the hint of %v became %v in the decision, want it unchanged or longer", in.Evidence.RetryAfter, d.Hint)
		}
	})
}
