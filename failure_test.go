package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("REDRIVE_TEST_ROLE") == "encoder" {
		fmt.Fprintln(os.Stderr, "moov atom not found")
		os.Exit(65)
	}
	goleak.VerifyTestMain(pgtest.Stopping(m))
}

// failures returns the failure records of a job.
func failures(t *testing.T, e *redrivetest.Engine, id redrive.JobID) []job.Failure {
	t.Helper()
	records, err := e.Failures(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// nearly compares times. It treats two times as equal if they differ by less than half a second,
// because a run may have to wait up to that long for a free worker.
var nearly = cmp.Comparer(func(a, b job.Micros) bool { return max(a, b)-min(a, b) < 500_000 })

// proves: F1
func TestF1_EveryFailedAttemptIsOneRecord(t *testing.T) {
	t.Parallel()
	var e *redrivetest.Engine
	e = handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		e.Advance(2 * time.Second)
		switch j.Attempt {
		case 1:
			return failure.Code("IMAGE_DOWNLOAD_FAILED", errors.New("clip 3: status 503"), "url", "https://a/3.png", "clip", 3)
		case 2:
			return failure.WithClass("Storage", errors.New("upload cut off"))
		}
		return failure.Permanent(errors.New("gave up"))
	}, &redrive.HandlerOptions{Schedule: &policy.Schedule{Waits: []time.Duration{time.Minute}, MaxRetries: 5}})
	start := e.Now()
	id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Correlation: "req-9"}))
	for range 3 {
		e.Work()
		e.Advance(time.Minute)
	}
	at := func(d time.Duration) job.Micros { return job.At(start.Add(d)) }
	base := job.Failure{Job: id, Life: 1, How: job.ByError, Holder: "redrivetest", Correlation: "req-9"}
	first, second, third := base, base, base
	first.Token, first.Attempt, first.StartedAt, first.EndedAt = 1, 1, at(0), at(2*time.Second)
	first.Class, first.Code, first.Message = "TemporaryServiceError", "IMAGE_DOWNLOAD_FAILED", "clip 3: status 503"
	first.Details = []byte(`{"url":"https://a/3.png","clip":3}`)
	second.Token, second.Attempt, second.StartedAt, second.EndedAt = 2, 2, at(62*time.Second), at(64*time.Second)
	second.Class, second.Message = "Storage", "upload cut off"
	third.Token, third.Attempt, third.StartedAt, third.EndedAt = 3, 3, at(124*time.Second), at(126*time.Second)
	third.Class, third.Message, third.Permanent = "UnknownError", "gave up", true
	for _, f := range []*job.Failure{&first, &second, &third} {
		f.Fingerprint = failure.Fingerprint("render", failure.Class(f.Class), f.Code, f.Message).Key
	}
	got := failures(t, e, id)
	if diff := cmp.Diff([]job.Failure{first, second, third}, got, cmpopts.IgnoreFields(job.Failure{}, "Decision", "UserMessage"), nearly); diff != "" {
		t.Errorf("wrong failure records (-want +got):\n%s", diff)
	}
	var reasons []string
	for _, f := range got {
		r, err := policy.ParseRecord(f.Decision)
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, r.Reason())
	}
	want := []string{"retry 1 of 5 in 1m", "retry 2 of 5 in 1m", "dead at once: the error is marked as permanent"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("wrong reasons of the decisions (-want +got):\n%s", diff)
	}
}

// proves: F1
func TestF1_ASubprocessLeavesItsExitCodeAndStderr(t *testing.T) {
	t.Parallel()
	e := handle(t, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		cmd := j.Command(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "REDRIVE_TEST_ROLE=encoder")
		return failure.Code("FFMPEG_ERROR", cmd.Run())
	}, &redrive.HandlerOptions{Schedule: &policy.Schedule{PermanentExitCodes: []int{65}}})
	enqueue(t, e, render.New(renderArgs{}, nil))
	out := e.Work()[0]
	f := out.Failure
	if f.Exit == nil || *f.Exit != 65 || !strings.Contains(string(f.Stderr), "moov atom not found") || f.Code != "FFMPEG_ERROR" {
		t.Errorf("got exit %v, stderr %q, code %q; want exit 65, the last line of stderr and FFMPEG_ERROR", f.Exit, f.Stderr, f.Code)
	}
	if out.State != job.Dead || !f.Permanent || out.Decision.Rule != policy.RuleExitCode {
		t.Errorf("got state %v, rule %q; want dead by the rule for its exit code", out.State, out.Decision.Rule)
	}
}

// proves: R4
func TestR4_BetweenAttemptsAJobIsRetrying(t *testing.T) {
	t.Parallel()
	e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error { return errors.New("oops") },
		&redrive.HandlerOptions{Schedule: &policy.Schedule{Waits: []time.Duration{30 * time.Second}, MaxRetries: 3}})
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	e.Work()
	e.Advance(30 * time.Second)
	e.Work()
	j := get(t, e, id)
	if j.State != job.Retrying || j.Counters.Attempts != 2 {
		t.Errorf("got state %v after %d attempts, want state retrying after 2 attempts", j.State, j.Counters.Attempts)
	}
	if want := e.Now().Add(30 * time.Second); !j.RunAt.Time().Equal(want) {
		t.Errorf("the next attempt is due at %v, want %v", j.RunAt.Time(), want)
	}
	if f := failures(t, e, id); f[len(f)-1].Message != "oops" {
		t.Errorf("got the message %q in the last failure, want oops", f[len(f)-1].Message)
	}
	e.Advance(30*time.Second - time.Microsecond)
	if out := e.Work(); len(out) != 0 {
		t.Errorf("a job ran before it was due: got the outcomes %+v, want no run", out)
	}
	e.Advance(time.Microsecond)
	if out := e.Work(); len(out) != 1 || out[0].Attempt != 3 {
		t.Errorf("after the job was due: got the outcomes %+v, want one run with attempt 3", out)
	}
}

// proves: Q12
func TestQ12_APanicIsAFailedAttemptWithItsStack(t *testing.T) {
	t.Parallel()
	values := map[string]func(){
		"panic: no scene": func() { panic("no scene") },
		"panic: wrapped":  func() { panic(fmt.Errorf("wrapped")) },
		"panic: runtime error: index out of range [3] with length 0": func() { _ = []int{}[three()] },
		"panic: assignment to entry in nil map":                      func() { noMap()[1] = 1 },
	}
	for message, explode := range values {
		e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			if j.Args.Scene == 1 {
				explode()
			}
			return nil
		}, nil)
		first := enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
		second := enqueue(t, e, render.New(renderArgs{Scene: 2}, nil))
		e.Work()
		if j := get(t, e, first); j.State != job.Retrying || j.Counters.Attempts != 1 {
			t.Errorf("%s: got state %v after %d attempts, want state retrying after 1 attempt", message, j.State, j.Counters.Attempts)
		}
		f := failures(t, e, first)[0]
		if f.How != job.ByPanic || f.Class != "Panic" || f.Message != message {
			t.Errorf("got how %q, class %q, message %q; want how panic, class Panic, message %q", f.How, f.Class, f.Message, message)
		}
		if !strings.Contains(f.Stack, "failure_test.go") {
			t.Errorf("%s: want the file of the handler in the stack; got the stack:\n%s", message, f.Stack)
		}
		if j := get(t, e, second); j.State != job.Completed {
			t.Errorf("%s: the next job has state %v, want completed", message, j.State)
		}
	}
}

func three() int { return 3 }

func noMap() map[int]int { return nil }

type stackError struct{}

func (stackError) Error() string { return "broken" }

func (stackError) Format(f fmt.State, verb rune) {
	fmt.Fprint(f, "broken")
	if f.Flag('+') {
		fmt.Fprint(f, "\nmain.go:7")
	}
}

// proves: F1
func TestF1_AStackOnlyInDevelopment(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		e := redrivetest.New(t, &redrive.Config{Development: development})
		redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			if j.Args.Scene == 1 {
				return stackError{}
			}
			return errors.New("no stack")
		}, nil)
		enqueue(t, e, render.New(renderArgs{Scene: 1}, nil))
		enqueue(t, e, render.New(renderArgs{Scene: 2}, nil))
		out := e.Work()
		want := ""
		if development {
			want = "broken\nmain.go:7"
		}
		if out[0].Failure.Stack != want || out[1].Failure.Stack != "" {
			t.Errorf("Development %v: got the stacks %q and %q; want a stack in the first failure if Development is true, and none in the second", development, out[0].Failure.Stack, out[1].Failure.Stack)
		}
	}
}

func TestMarks_DecideWhatFollows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		err   error
		cause job.Cause
		state job.State
		wait  time.Duration // the shortest wait; the real wait may be up to a tenth longer
		count job.Counters
	}{
		{"permanent", failure.Permanent(errors.New("gone")), job.Failed, job.Dead, 0, job.Counters{Attempts: 1}},
		{"a hint above the schedule", failure.RetryAfter(time.Hour, errors.New("429")), job.Failed, job.Retrying, time.Hour, job.Counters{Attempts: 1}},
		{"a hint below the schedule", failure.RetryAfter(time.Second, errors.New("429")), job.Failed, job.Retrying, 30 * time.Second, job.Counters{Attempts: 1}},
		{"snooze", fmt.Errorf("not yet: %w", failure.Snooze(time.Hour)), job.Snoozed, job.Waiting, time.Hour, job.Counters{Snoozes: 1}},
		{"cancel", failure.Cancel("obsolete"), job.Cancel, job.Cancelled, 0, job.Counters{}},
		{"joined", errors.Join(errors.New("a"), failure.Permanent(errors.New("b"))), job.Failed, job.Dead, 0, job.Counters{Attempts: 1}},
	}
	for _, tt := range tests {
		e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error { return tt.err },
			&redrive.HandlerOptions{Schedule: &policy.Schedule{Waits: []time.Duration{30 * time.Second}}})
		id := enqueue(t, e, render.New(renderArgs{}, nil))
		out := e.Work()[0]
		if out.Cause != tt.cause || out.State != tt.state || out.Wait < tt.wait || out.Wait > tt.wait+tt.wait/10 {
			t.Errorf("%s: got cause %v, state %v, wait %v; want cause %v, state %v, wait %v", tt.name, out.Cause, out.State, out.Wait, tt.cause, tt.state, tt.wait)
		}
		if j := get(t, e, id); j.Counters != tt.count {
			t.Errorf("%s: got the counters %+v, want %+v", tt.name, j.Counters, tt.count)
		}
	}
}

func TestCancel_TheHandlersReasonIsKept(t *testing.T) {
	t.Parallel()
	e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Cancel("scene was deleted") }, nil)
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	e.Work()
	if f := failures(t, e, id); len(f) != 1 || f[0].Message != "scene was deleted" || f[0].Class != "Cancelled" {
		t.Errorf("got failures %+v, want one failure of class Cancelled with the handler's reason", f)
	}
}

func TestTimeout_IsItsOwnClass(t *testing.T) {
	t.Parallel()
	var e *redrivetest.Engine
	e = handle(t, func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the handler's context has no deadline, want the time limit of the kind")
		}
		e.Advance(5 * time.Minute)
		<-ctx.Done()
		return fmt.Errorf("encode: %w", ctx.Err())
	}, &redrive.HandlerOptions{Timeout: 5 * time.Minute})
	enqueue(t, e, render.New(renderArgs{}, nil))
	f := e.Work()[0].Failure
	if f.Class != "AttemptTimeout" || f.How != job.ByTimeout || f.Message != "encode: context deadline exceeded" {
		t.Errorf("got class %q, how %q, message %q; want class AttemptTimeout, how timeout, and the handler's message", f.Class, f.How, f.Message)
	}
}

func TestCancel_APersonEndsARunningJob(t *testing.T) {
	t.Parallel()
	var e *redrivetest.Engine
	e = handle(t, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		if err := e.Cancel(ctx, redrive.By{Actor: "ann"}, j.ID); err != nil {
			t.Errorf("Cancel: got error %v, want none", err)
		}
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	if out := e.Work()[0]; out.State != job.Cancelled || out.Failure != nil {
		t.Errorf("got the outcome %+v, want the state cancelled and no failure record", out)
	}
	if j := get(t, e, id); j.State != job.Cancelled || j.Counters.Attempts != 0 {
		t.Errorf("got state %v after %d attempts, want state cancelled after 0 attempts", j.State, j.Counters.Attempts)
	}
}

func TestCeiling_EndsAnyJob(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{MaxAttempts: 4, Schedule: &policy.Schedule{MaxRetries: 1 << 30}})
	redrive.Handle(e.Client, render, func(context.Context, *redrive.Job[renderArgs]) error { return errors.New("oops") }, nil)
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	for range 10 {
		e.Work()
		e.Advance(time.Minute)
	}
	if j := get(t, e, id); j.State != job.Dead || j.Counters.Attempts != 4 || j.Reason != job.MaxRetries {
		t.Errorf("got state %v, reason %q after %d attempts; want state dead, reason MaxRetries after 4 attempts", j.State, j.Reason, j.Counters.Attempts)
	}
}

// proves: F2, F6, F10
func TestF2_AFailureIsClassifiedWhereItIsReceived(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err   error
		class failure.Class
		code  string
		state job.State
	}{
		{errors.New("upstream answered: HTTP 503 Service Unavailable"), failure.TemporaryServiceError, "http.503", job.Retrying},
		{errors.New("The video is private"), failure.InvalidInput, "", job.Dead},
		{failure.Code("FFMPEG_ERROR", errors.New("exit status 1")), failure.UnknownError, "FFMPEG_ERROR", job.Retrying},
	} {
		e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error { return tt.err }, nil)
		id := enqueue(t, e, render.New(renderArgs{}, nil))
		out := e.Work()[0]
		f := failures(t, e, id)[0]
		if f.Class != string(tt.class) || f.Code != tt.code || out.State != tt.state {
			t.Errorf("error %q: got class %q, code %q, state %v; want class %q, code %q, state %v", tt.err, f.Class, f.Code, out.State, tt.class, tt.code, tt.state)
		}
		info, _ := failure.InfoOf(failure.Class(f.Class))
		want := info.Retrying
		if tt.state == job.Dead {
			want = info.Dead
		}
		if f.UserMessage != want || want == "" || strings.Contains(f.UserMessage, tt.err.Error()) {
			t.Errorf("error %q: got the user message %q, want %q", tt.err, f.UserMessage, want)
		}
	}
}

// proves: F11
func TestF11_ASecretInTheCodeIsNotStored(t *testing.T) {
	t.Parallel()
	codes := map[string]string{"sk-proj-abcdEFGH1234ijklMNOP5678qrstUVWX": failure.RedactedSecret}
	for _, known := range []string{
		"FFMPEG_TIMEOUT", "insufficient_quota", "SlowDown", "ECONNRESET", "40001", "0x80070005", "InvalidParameter.Value",
	} {
		codes[known] = known
	}
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		return failure.Code(j.Correlation, errors.New("oops"))
	}, nil)
	for code, want := range codes {
		id := enqueue(t, e, render.New(renderArgs{}, &redrive.Options{Correlation: code}))
		e.Work()
		f := failures(t, e, id)[0]
		r, err := policy.ParseRecord(f.Decision)
		if err != nil || f.Code != want || r.Code != want {
			t.Errorf("the code %q is stored as %q in the failure and as %q in the decision; want %q in both; reading the decision returned the error %v", code, f.Code, r.Code, want, err)
		}
	}
}

// proves: F11
func TestF11_NothingSecretIsStored(t *testing.T) {
	t.Parallel()
	const secret = "sk-proj-abcdEFGH1234ijklMNOP5678qrstUVWX"
	fails := func(_ context.Context, j *redrive.Job[renderArgs]) error {
		err := fmt.Errorf("job %s: open /home/ann/x.mp4 from 10.1.2.3 with api_key=%s", j.ID, secret)
		return failure.Code("X", err, "authorization", "Bearer "+secret, "clip", 3)
	}
	for _, raw := range []bool{false, true} {
		e := redrivetest.New(t, &redrive.Config{KeepRaw: raw, Development: true})
		redrive.Handle(e.Client, render, fails, nil)
		id := enqueue(t, e, render.New(renderArgs{}, nil))
		e.Work()
		f := failures(t, e, id)[0]
		all := f.Message + string(f.Details) + f.Stack + string(f.Decision) + f.UserMessage
		if strings.Contains(all, secret) != raw {
			t.Errorf("KeepRaw %v: want the secret stored only with KeepRaw; the stored texts are: %s", raw, all)
		}
		want := "job 1: open /home/ann/x.mp4 from 10.1.2.3 with api_key=[REDACTED]"
		if !raw && (f.Message != want || !strings.Contains(string(f.Details), `"clip":3`)) {
			t.Errorf("got message %q and details %s, want message %q and details with clip 3", f.Message, f.Details, want)
		}
	}
}
