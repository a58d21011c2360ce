package policy_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// compile makes a policy from a Spec, which must be valid.
func compile(t testing.TB, s policy.Spec) *policy.Policy {
	t.Helper()
	p, problems := policy.New(s)
	for _, problem := range problems {
		t.Errorf("compiling the policy found a problem, want none: %s", problem)
	}
	if p == nil {
		t.FailNow()
	}
	return p
}

// scheduled returns the default policy with a schedule for the kind "render".
func scheduled(t testing.TB, s *policy.Schedule) *policy.Policy {
	t.Helper()
	if s == nil {
		s = &policy.Schedule{}
	}
	p, err := policy.Default().WithSchedule("render", s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// failed returns the input for a run that failed with the given class.
func failed(class failure.Class) *policy.Input {
	return &policy.Input{Kind: "render", How: job.ByError, Evidence: &failure.Evidence{Message: "broken", Class: class}, U: 0.5}
}

// life makes the decisions about failures of the given classes in turn, as the engine would. It
// returns all decisions up to the decision that ends the job.
func life(p *policy.Policy, in policy.Input, classes ...failure.Class) (all []policy.Decision) {
	for _, class := range classes {
		e := failure.Evidence{}
		if in.Evidence != nil {
			e = *in.Evidence
		}
		if class != "" {
			e.Class = class
		}
		in.Evidence = &e
		d := p.Decide(&in)
		all = append(all, d)
		if d.Action != policy.Retry {
			return all
		}
		in.Attempts++
		in.Age += d.Wait
		in.Memo = policy.ParseMemo(d.Memo.Append(nil))
	}
	return all
}

// repeat returns n times the same class.
func repeat(class failure.Class, n int) []failure.Class {
	all := make([]failure.Class, n)
	for i := range all {
		all[i] = class
	}
	return all
}

// waits returns the waits of the decisions that retry the job.
func waits(all []policy.Decision) (w []time.Duration) {
	for _, d := range all {
		if d.Action == policy.Retry {
			w = append(w, d.Wait)
		}
	}
	return w
}

func seconds(s ...float64) (all []time.Duration) {
	for _, v := range s {
		all = append(all, time.Duration(v*1e6)*time.Microsecond)
	}
	return all
}

// brief contains those fields of a decision that tests compare.
type brief struct {
	Action  policy.Action
	Rule    string
	Class   failure.Class
	Verdict failure.Verdict
	Reason  job.Reason
	N, Of   int
	Wait    time.Duration
	Hint    time.Duration
}

func briefly(d *policy.Decision) brief {
	return brief{d.Action, d.Rule, d.Class, d.Verdict, d.Reason, d.N, d.Of, d.Wait, d.Hint}
}

func fixed(waits ...float64) *backoff.Backoff { return &backoff.Backoff{Waits: seconds(waits...)} }
