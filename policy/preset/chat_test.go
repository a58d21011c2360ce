package preset_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// chatRetried returns examples of all failures that the chat system retries.
func chatRetried() (all []figures) {
	for s, class := range map[int]failure.Class{
		408: failure.NetworkTimeout, 429: failure.RateLimitExceeded, 500: failure.TemporaryServiceError,
		502: failure.TemporaryServiceError, 503: failure.TemporaryServiceError, 504: failure.NetworkTimeout,
	} {
		all = append(all, figures{name: "status", runs: []run{failing("the server said no", status(s))}, class: class})
	}
	for name, class := range map[string]failure.Class{
		"TimeoutError": failure.NetworkTimeout, "ConnectionError": failure.NetworkTimeout, "WeaviateTimeoutError": failure.NetworkTimeout,
		"MongoNetworkError": failure.NetworkTimeout, "ServiceUnavailable": failure.TemporaryServiceError, "KafkaError": failure.TemporaryServiceError,
		"RateLimitExceeded": failure.RateLimitExceeded,
	} {
		all = append(all, figures{name: name, class: class, runs: []run{
			failing("x", typed(name)), failing("x", typed("library.errors."+name)), failing(name + ": x"),
		}})
	}
	// In other languages, the error of a task at its time limit is called TimeoutError.
	return append(all, figures{name: "time limit", runs: []run{timeLimit()}, class: failure.AttemptTimeout})
}

// proves: P5
//
// part of: F2
func TestP5_Chat_F2(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "").Policy
	for _, f := range chatRetried() {
		f.waits, f.bounds, f.reason = seconds(2, 4, 8, 16, 32), plus(time.Second, 300*time.Second), exhausted
		f.check(t, p)
	}
}

// proves: P5
func TestP5_TheOtherBaseIsASetting(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "default: {backoff: {first: 1s, factor: 2, cap: 300s, jitter: {add: 1s}}}").Policy
	for _, f := range chatRetried() {
		f.waits, f.bounds, f.reason = seconds(1, 2, 4, 8, 16), plus(time.Second, 300*time.Second), exhausted
		f.check(t, p)
	}
}

// proves: P5
//
// part of: F5
func TestP5_AllElseIsDeadAtOnce_F5(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "").Policy
	runs := []run{
		failing("something odd happened"), failing(""), failing("connection reset by peer"), failing("Rate limit, please wait"), failing("timed out"),
		failing("service temporarily unavailable, no name"), {failure.Evidence{Message: "index out of range"}, job.ByPanic},
	}
	for s := 400; s < 600; s++ {
		switch s {
		case 408, 429, 500, 502, 503, 504:
		default:
			runs = append(runs, failing("the server said no", status(s)))
		}
	}
	for _, name := range []string{"ValidationError", "AuthenticationError", "PermissionError", "NotFoundError", "BusinessLogicError", "KeyError", "OSError"} {
		runs = append(runs, failing("x", typed(name)))
	}
	for _, r := range runs {
		if all := (life{}).execute(t, p, r); len(all) != 1 || all[0].Reason != permanent {
			t.Errorf("message %q, status %d, types %v: got %d attempts and the class %s by the rule %s, want one attempt and a permanent failure", r.evidence.Message, r.evidence.HTTPStatus, r.evidence.Types, len(all), all[0].Class, all[0].By.Rule)
		}
	}
}

// These failures end the job at once, with a class that says why.
// proves: P5
func TestP5_ClassesOfWhatIsDead(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "").Policy
	for s, class := range map[int]failure.Class{
		400: failure.ValidationError, 401: failure.AuthenticationFailure, 402: failure.PaymentRequired, 403: failure.PermissionError,
		404: failure.NotFound, 410: failure.NotFound, 413: failure.InputExceedsLimits, 422: failure.BusinessLogicError, 418: failure.UnknownError,
		501: failure.UnknownError, 505: failure.UnknownError,
	} {
		if got := p.Classify(&failure.Evidence{HTTPStatus: s}, "job").Class; got != class {
			t.Errorf("the status %d has the class %s, want %s", s, got, class)
		}
	}
	for name, class := range map[string]failure.Class{
		"ValidationError": failure.ValidationError, "AuthenticationError": failure.AuthenticationFailure, "PermissionError": failure.PermissionError,
		"NotFoundError": failure.NotFound, "BusinessLogicError": failure.BusinessLogicError, "KeyError": failure.UnknownError,
	} {
		if got := p.Classify(&failure.Evidence{Types: []string{name}}, "job").Class; got != class {
			t.Errorf("the error type %s has the class %s, want %s", name, got, class)
		}
	}
}

// The number of retries in a message takes precedence, up to the hard limit. No wait is
// longer than the cap.
// proves: P5
func TestP5_TheMessageWins(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "").Policy
	for retries, executions := range map[int]int{0: 1, 1: 2, 9: 10, 99: 100, 100: 100, 5000: 100} {
		l := life{u: almostOne, message: &policy.Override{MaxRetries: &retries}}
		all := l.execute(t, p, failing("the server said no", status(503)))
		if len(all) != executions {
			t.Errorf("max_retry %d: got %d attempts, want %d", retries, len(all), executions)
		}
		for i, w := range waits(all) {
			if w > 300*time.Second || i > 8 && w != 300*time.Second {
				t.Errorf("wait %d is %v, want at most 5m, and 5m from wait 10 on", i+1, w)
			}
		}
	}
}

// proves: P5
func TestP5_AllFailuresCount(t *testing.T) {
	t.Parallel()
	p := load(t, "chat", "").Policy
	all := life{}.execute(t, p, failing("x", status(429)), failing("x", status(503)), failing("x", typed("KafkaError")), failing("x", status(408)), failing("x", status(500)), failing("x", status(429)))
	if got := waits(all); len(all) != 6 || got[4] != 32*time.Second {
		t.Errorf("got the waits %v, want five waits, the last of 32s", got)
	}
}

// part of: Q14
func TestQ14_WordsOfChat(t *testing.T) {
	t.Parallel()
	w := load(t, "chat", "").Spec.Words
	at := time.Date(2026, 11, 20, 14, 3, 0, 500_000_000, time.UTC)
	values := policy.ErrorValues{Class: failure.NetworkTimeout, Message: "no answer", At: at}
	errorObject(t, w, values, `{"type":"NetworkTimeout","message":"no answer","timestamp":"2026-11-20T14:03:00.5Z","context":{}}`)
	values.Context = []byte(`{"model":"m"}`)
	errorObject(t, w, values, `{"type":"NetworkTimeout","message":"no answer","timestamp":"2026-11-20T14:03:00.5Z","context":{"model":"m"}}`)
}
