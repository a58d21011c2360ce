package policy_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// decideOn classifies an error and decides on it, as the engine does.
func decideOn(p *policy.Policy, kind string, err error, change func(*policy.Input)) policy.Decision {
	e := failure.Of(err)
	in := policy.Input{Kind: kind, Evidence: &e, Class: p.Classify(&e, kind), How: job.ByError, U: 0.5}
	if change != nil {
		change(&in)
	}
	return p.Decide(&in)
}

// The built-in policy gives these errors these classes and decisions.
// proves: F13
func TestF13_FromAnErrorToADecision(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	timedOut := errors.New("read tcp: i/o timeout")
	for name, tt := range map[string]struct {
		err    error
		change func(*policy.Input)
		class  failure.Class
		action policy.Action
		wait   time.Duration
	}{
		"an error with a known text": {timedOut, nil, failure.NetworkTimeout, policy.Retry, 30 * time.Second},
		"the time limit": {timedOut, func(in *policy.Input) { in.How, in.Stop = job.ByTimeout, policy.TimeLimit },
			failure.AttemptTimeout, policy.Retry, 30 * time.Second},
		"the time limit with a class by mark": {failure.WithClass("Slow", timedOut), func(in *policy.Input) { in.How, in.Stop = job.ByTimeout, policy.TimeLimit },
			"Slow", policy.Retry, time.Minute},
		"a panic":                   {errors.New("panic: nil map"), func(in *policy.Input) { in.How = job.ByPanic }, failure.Panic, policy.Retry, 30 * time.Second},
		"a panic with a cancel":     {failure.Cancel("no"), func(in *policy.Input) { in.How = job.ByPanic }, failure.Panic, policy.Retry, 30 * time.Second},
		"a cancel":                  {failure.Cancel("no"), nil, failure.Cancelled, policy.Cancel, 0},
		"permanent":                 {failure.Permanent(timedOut), nil, failure.NetworkTimeout, policy.Die, 0},
		"a hint by mark":            {failure.RetryAfter(2*time.Minute, errors.New("wat")), nil, failure.RateLimitExceeded, policy.Retry, 126 * time.Second},
		"a hint in the text":        {errors.New("429 Too Many Requests, retry in 200s"), nil, failure.RateLimitExceeded, policy.Retry, 210 * time.Second},
		"a dependency that is down": {failure.DependencyDown("s3", errors.New("no route")), nil, failure.TemporaryServiceError, policy.Retry, 30 * time.Second},
		"a shutdown wraps a 503":    {errors.New("503 Service Unavailable"), func(in *policy.Input) { in.Stop = policy.Shutdown }, failure.TemporaryServiceError, policy.HandBack, 0},
		"an unknown error":          {errors.New("wat"), nil, failure.UnknownError, policy.Retry, 30 * time.Second},
		"an error without a text":   {errors.New(""), nil, failure.UnknownError, policy.Retry, 30 * time.Second},
	} {
		d := decideOn(p, "render", tt.err, tt.change)
		if d.Class != tt.class || d.Action != tt.action || d.Wait != tt.wait {
			t.Errorf("%s: got the class %s, the action %s and the wait %v, want the class %s, the action %s and the wait %v; the explanation is:\n%s", name, d.Class, d.Action, d.Wait, tt.class, tt.action, tt.wait, d.Explain())
		}
	}
}

// The same evidence can have a different class for a job of another kind.
//
// proves: F7, F9
func TestF7_F9_ThePolicyClassifiesByKind(t *testing.T) {
	t.Parallel()
	p := compile(t, policy.Spec{Name: "test",
		Classes: map[failure.Class]policy.ClassSpec{"EncoderFailed": {Settings: policy.Settings{MaxRetries: new(2), Backoff: fixed(1), Verdict: failure.VerdictRetry}}},
		Classify: classify.Rules{
			Codes:   []classify.CodeRule{{Code: "ENCODER", Class: "EncoderFailed", Kinds: []string{"render"}}},
			Phrases: []classify.PhraseRule{{Match: "moov atom not found", Class: failure.InvalidInput, Kinds: []string{"watermark"}}},
		}})
	err := failure.Code("ENCODER", fmt.Errorf("clip 3: %w", errors.New("moov atom not found")))
	render, watermark := decideOn(p, "render", err, nil), decideOn(p, "watermark", err, nil)
	if render.Class != "EncoderFailed" || render.Action != policy.Retry || render.By.Rule != "policy.codes.ENCODER" || render.Of != 2 {
		t.Errorf("kind render: want the class EncoderFailed by its code, and 2 retries; got:\n%s", render.Explain())
	}
	if watermark.Class != failure.InvalidInput || watermark.Action != policy.Die {
		t.Errorf("kind watermark: want the class InvalidInput and a dead job; got:\n%s", watermark.Explain())
	}
}
