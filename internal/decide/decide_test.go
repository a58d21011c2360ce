package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

func aClaim() *job.Claim {
	return &job.Claim{
		ID: 7, Token: 3, Kind: "render", Queue: "default", Priority: 2, Life: 2, Counters: job.Counters{Attempts: 1},
		CreatedAt: 1_000_000, LifeAt: 2_000_000, RunAt: 3_000_000, ClaimedAt: 4_000_000, Correlation: "request-7",
	}
}

func outcome(t *testing.T, in *decide.Input) job.Outcome {
	t.Helper()
	if in.Policy == nil {
		in.Policy = policy.Default()
	}
	o, err := decide.Outcome(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	return o
}

// part of: Q3, F1
func TestARunThatWasNotStartedUsesUpNoAttempt(t *testing.T) {
	t.Parallel()
	for deferrals, wait := range map[int32]time.Duration{0: 0, 1: 100 * time.Millisecond, 3: 400 * time.Millisecond, 100: 30 * time.Second} {
		claim := aClaim()
		claim.Counters.Deferrals = deferrals
		end := &job.Ending{Err: errors.New("fork/exec: too many open files"), How: job.ByError, NotStarted: true}
		o := outcome(t, &decide.Input{Claim: claim, Ending: end})
		if o.Cause != job.Deferred || o.To != job.Waiting || o.Delay != wait || o.Failure == nil || o.Failure.Class != job.ClassWorker {
			t.Fatalf("got the outcome %+v after %d deferrals, want a deferral of class %s that waits %s", o, deferrals, job.ClassWorker, wait)
		}
		r, err := policy.ParseRecord(o.Failure.Decision)
		if err != nil || r.Rule != policy.RuleWorker || r.Action != "defer" || !strings.Contains(r.Reason(), "no attempt burned") {
			t.Errorf("got the record %+v with the reason %q and the error %v, want the rule %q", r, r.Reason(), err, policy.RuleWorker)
		}
	}
	// If the handler has marked the error, the mark takes precedence over NotStarted.
	end := &job.Ending{Err: failure.Permanent(errors.New("no such program")), How: job.ByError, NotStarted: true}
	if o := outcome(t, &decide.Input{Claim: aClaim(), Ending: end}); o.To != job.Dead {
		t.Errorf("got the state %s of a job whose handler marked the error as permanent, want dead", o.To)
	}
}

func TestARecordIsComplete(t *testing.T) {
	t.Parallel()
	end := &job.Ending{
		Err: failure.Code("E7", errors.New("read tcp 10.0.0.7:40000: connection reset by peer")), How: job.ByError,
		Holder: "worker-1", Elapsed: 5 * time.Second, Cost: 70, Sends: 2, Stderr: []byte("frame 3"),
		Progressed: true, Result: []byte("not of a failure"),
	}
	o := outcome(t, &decide.Input{Claim: aClaim(), Ending: end})
	want := job.Outcome{
		ID: 7, Token: 3, Cause: job.Failed, To: job.Retrying, Cost: 70, Sends: 2, Progressed: true,
		Failure: &job.Failure{
			Job: 7, Token: 3, Life: 2, Attempt: 2, How: job.ByError, Class: "NetworkTimeout", Code: "E7",
			Message:     "read tcp 10.0.0.7:40000: connection reset by peer",
			UserMessage: policy.Default().Info(failure.NetworkTimeout).Retrying,
			Holder:      "worker-1", Correlation: "request-7", Stderr: []byte("frame 3"), Cost: 70, Sends: 2,
		},
	}
	if diff := cmp.Diff(want, o, cmpopts.IgnoreFields(job.Outcome{}, "Delay", "Memo"), cmpopts.IgnoreFields(job.Failure{}, "Fingerprint", "Decision")); diff != "" {
		t.Errorf("the outcome differs (-want +got):\n%s", diff)
	}
	if o.Delay <= 0 || o.Memo == nil || o.Failure.Fingerprint == "" || len(o.Failure.Decision) == 0 {
		t.Errorf("got the outcome %+v, want an outcome with a delay, a memo, a fingerprint and a decision", o)
	}
}

// An error without a text is an unknown error. The text that redrive writes in place of the
// missing text is not used as evidence.
//
// proves: F5
func TestF5_AnErrorWithoutATextIsNotDeadAtOnce(t *testing.T) {
	t.Parallel()
	for _, end := range []*job.Ending{
		{Err: errors.New(""), How: job.ByError},
		{Err: fmt.Errorf("%w", errors.New("")), How: job.ByError},
		{Evidence: &failure.Evidence{}, How: job.ByError},
	} {
		o := outcome(t, &decide.Input{Claim: aClaim(), Ending: end})
		if o.To != job.Retrying || o.Failure.Class != string(failure.UnknownError) || !strings.Contains(o.Failure.Message, "without a text") {
			t.Errorf("error %T: got the state %s and the failure %+v, want a retry of an unknown error", end.Err, o.To, o.Failure)
		}
	}
}

// A remote worker sends evidence instead of an error. The evidence must give the same outcome
// as the error.
func TestEvidenceStandsForTheError(t *testing.T) {
	t.Parallel()
	err := failure.RetryAfter(time.Hour, errors.New("429 too many requests"))
	evidence := failure.Of(err)
	near := outcome(t, &decide.Input{Claim: aClaim(), Ending: &job.Ending{Err: err, How: job.ByError}})
	far := outcome(t, &decide.Input{Claim: aClaim(), Ending: &job.Ending{Evidence: &evidence, How: job.ByError}})
	if diff := cmp.Diff(near, far); diff != "" {
		t.Errorf("the outcomes from the error and from its evidence differ (-error +evidence):\n%s", diff)
	}
	if near.Delay < time.Hour {
		t.Errorf("got the delay %s, want at least the 1h of the hint", near.Delay)
	}
}

func TestStoppedRuns(t *testing.T) {
	t.Parallel()
	for stop, want := range map[job.Stop]job.Cause{
		job.StopNone: job.Failed, job.StopTimeLimit: job.Failed, job.StopShutdown: job.Interrupted,
		job.StopCancel: job.Cancel, job.StopLeaseLost: job.Interrupted,
	} {
		end := &job.Ending{Err: errors.New("stopped"), How: job.ByError, Stopped: stop, Cost: 3}
		if o := outcome(t, &decide.Input{Claim: aClaim(), Ending: end}); o.Cause != want || o.Cost != 3 {
			t.Errorf("run stopped by reason %d: got cause %s with cost %d, want cause %s with cost 3", stop, o.Cause, o.Cost, want)
		}
		end = &job.Ending{Stopped: stop, Result: []byte("r")}
		if o := outcome(t, &decide.Input{Claim: aClaim(), Ending: end}); o.Cause != job.Succeeded || string(o.Result) != "r" {
			t.Errorf("run that succeeded although it was stopped by reason %d: got cause %s, want success with its result", stop, o.Cause)
		}
	}
}

func TestSettingsOfTheRecord(t *testing.T) {
	t.Parallel()
	err := errors.New("login of ann@example.com with password=hunter22hunter22 failed")
	for _, tt := range []struct {
		settings      decide.Settings
		secret, email bool
	}{
		{decide.Settings{}, false, true},
		{decide.Settings{HideEmails: true}, false, false},
		{decide.Settings{KeepRaw: true}, true, true},
	} {
		f := outcome(t, &decide.Input{Claim: aClaim(), Ending: &job.Ending{Err: err, How: job.ByError}, Settings: tt.settings}).Failure
		if strings.Contains(f.Message, "hunter22") != tt.secret || strings.Contains(f.Message, "ann@") != tt.email {
			t.Errorf("with the settings %+v the stored message is %q, want secrets and e-mail addresses kept or removed as set", tt.settings, f.Message)
		}
	}
}

// If the settings of the job cannot be read, there is still an outcome. The error says that the
// settings are ignored.
func TestSettingsOfAJobThatCannotBeRead(t *testing.T) {
	t.Parallel()
	claim := aClaim()
	claim.Override = []byte("{")
	o, err := decide.Outcome(&decide.Input{Policy: policy.Default(), Claim: claim, Ending: &job.Ending{Err: errors.New("x"), How: job.ByError}})
	if err == nil || o.Cause != job.Failed || o.Validate() != nil {
		t.Errorf("settings that cannot be read: got cause %s and error %v, want a failed run and an error", o.Cause, err)
	}
}

func TestAHeldRun(t *testing.T) {
	t.Parallel()
	a := &policy.Admission{Hold: &policy.Hold{Message: "Please call us.", Notify: "administrator"}, Rules: []string{"long"}}
	o, held := decide.Held(a, aClaim(), "worker-1")
	if !held || o.Validate() != nil || o.Reason != job.ManualReview || o.Failure.UserMessage != "Please call us." ||
		o.Failure.Holder != "worker-1" || o.Failure.Fingerprint == "" || !strings.Contains(o.Failure.Message, "[long]") ||
		!strings.Contains(o.Failure.Message, "administrator") || job.HoldNotify(o.Failure) != "administrator" {
		t.Errorf("the job is held: %t, with the outcome %+v and the failure %+v; want a job that is held for a manual review", held, o, o.Failure)
	}
	for name, a := range map[string]*policy.Admission{
		"no rule that matches":             nil,
		"a rule that only changes a limit": {Rules: []string{"long"}, Overrides: map[string]string{"preset": "slow"}},
		"a rule that is only observed":     {Would: &policy.Admission{Hold: &policy.Hold{Message: "Please call us."}}},
	} {
		if _, held := decide.Held(a, aClaim(), ""); held {
			t.Errorf("the job is held before its run because of %s, want a job that is not held", name)
		}
	}
}

// brokenError is an error whose method As panics.
type brokenError struct{}

func (brokenError) Error() string { return "frame 3 is broken" }
func (brokenError) As(any) bool   { panic("errors.As read the error") }

func TestAnErrorThatPanicsIsRecordedByItsText(t *testing.T) {
	t.Parallel()
	o := outcome(t, &decide.Input{Claim: aClaim(), Ending: &job.Ending{Err: brokenError{}, How: job.ByError}})
	if o.Failure == nil || o.Failure.Message != "frame 3 is broken" {
		t.Errorf("got the failure %+v, want a failure with the text of the error", o.Failure)
	}
}
