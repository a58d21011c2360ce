package decide_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// The retries that a message allows replace those of the policy, below the settings of the job and under the
// ceiling.
//
// part of: R2, X3
func TestR2_X3_MessageBringsItsRetries(t *testing.T) {
	t.Parallel()
	f, err := policyfile.Preset("chat")
	if err != nil {
		t.Fatal(err)
	}
	chat, problems := policy.New(f.Spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	broken := failure.WithClass("NetworkTimeout", errors.New("broken"))
	for _, tt := range []struct {
		own      policy.Override
		attempts int32 // before this run
		dead     bool
	}{
		{policy.Override{}, 4, false}, {policy.Override{}, 5, true}, // 5 retries of the preset
		{policy.Override{MessageRetries: new(2)}, 1, false}, {policy.Override{MessageRetries: new(2)}, 2, true},
		{policy.Override{MessageRetries: new(0)}, 0, true},
		{policy.Override{MessageRetries: new(9)}, 8, false}, {policy.Override{MessageRetries: new(9)}, 9, true},
		{policy.Override{MessageRetries: new(9), MaxRetries: new(1), MaxTotalRetries: new(1)}, 1, true}, // the job's own win
		{policy.Override{MessageRetries: new(100_000)}, 98, false}, {policy.Override{MessageRetries: new(100_000)}, 99, true},
	} {
		claim := &job.Claim{ID: 1, Token: 1, Kind: "chat", Life: 1, Counters: job.Counters{Attempts: tt.attempts}, Override: tt.own.Encode()}
		o, err := decide.Outcome(&decide.Input{Policy: chat, Claim: claim, Ending: &job.Ending{How: job.ByError, Err: broken}})
		if err != nil || (o.To == job.Dead) != tt.dead {
			t.Errorf("settings %s after %d attempts: the job is %s (%v), want dead %v", tt.own.Encode(), tt.attempts, o.To, err, tt.dead)
		}
	}
}

// A record that cannot be its task dies for the reason that the reader of the stream gives, by the same decision as
// every other death. Words that are no such reason do not become one.
//
// part of: D1
func TestD1_RefusedRecordHasItsReason(t *testing.T) {
	t.Parallel()
	spec := policy.DefaultSpec()
	p, problems := policy.New(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for word, want := range map[string]job.Reason{"malformed": job.Malformed, "unknown_type": job.UnknownType, "key_conflict": job.KeyConflict, "stalled": job.NonRetriable, "": job.NonRetriable} {
		ending := &job.Ending{How: job.ByError, Err: fmt.Errorf("read: %w", failure.Refuse(word, errors.New("byte 1: not JSON")))}
		o, err := decide.Outcome(&decide.Input{Policy: p, Claim: &job.Claim{ID: 1, Token: 1, Kind: "redrive.record", Life: 1}, Ending: ending})
		if err != nil || o.To != job.Dead || o.Reason != want {
			t.Errorf("refused as %q: the job is %s for the reason %q (%v), want dead for %q", word, o.To, o.Reason, err, want)
		}
	}
}
