package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/retry"
)

// keys are all keys of a log line.
var keys = []string{
	"correlation_id", "delay_ms", "error_message", "error_status", "error_type", "is_retryable", "job_id", "level",
	"max_retries", "operation", "retry_attempt", "shell_file_id", "timestamp",
}

// proves: L5
func TestL5_OneLineForEachStepWithExactlyTheseKeys(t *testing.T) {
	t.Parallel()
	type line struct {
		Level       string
		Attempt     float64
		Delay       float64
		Type        string
		Status      float64
		IsRetryable bool
	}
	for name, c := range map[string]struct {
		errs []error
		job  bool
		want []line
	}{
		"recovered": {errs: []error{unavailable, &status{code: 429}}, want: []line{
			{"WARN", 1, 500, "TemporaryServiceError", 503, true}, {"WARN", 2, 1000, "RateLimitExceeded", 429, true},
			{"INFO", 2, 0, "RateLimitExceeded", 429, true},
		}},
		"exhausted": {errs: always(unavailable).errs, want: []line{
			{"WARN", 1, 500, "TemporaryServiceError", 503, true}, {"WARN", 2, 1000, "TemporaryServiceError", 503, true},
			{"WARN", 3, 2000, "TemporaryServiceError", 503, true}, {"ERROR", 3, 0, "TemporaryServiceError", 503, true},
		}},
		"rescheduled": {errs: always(&status{code: 503, after: time.Minute}).errs, job: true, want: []line{
			{"WARN", 0, 63000, "TemporaryServiceError", 503, true},
		}},
		"fast-fail":      {errs: []error{&status{code: 401}}, want: []line{{"ERROR", 0, 0, "AuthenticationFailure", 401, false}}},
		"plain success":  {},
		"fails later on": {errs: []error{unavailable, errors.New("odd")}, want: []line{{"WARN", 1, 500, "TemporaryServiceError", 503, true}, {"ERROR", 1, 0, "UnknownError", 0, false}}},
	} {
		r := newRig(t, 0.5, retry.Options{Operation: "page download"})
		ctx := t.Context()
		job, correlation := "j1", "c1"
		if c.job {
			ctx, _ = inJob(t)
			job, correlation = "j7", "c9"
		}
		ctx = retry.WithAttrs(retry.WithAttrs(ctx, "shell_file_id", 12), "correlation_id", "c1", slog.String("job_id", "j1"))
		_, _ = retry.Do(ctx, r.Strategy, failing(c.errs...).op)
		var got []line
		for _, l := range r.lines(t) {
			if have := slices.Sorted(maps.Keys(l)); !slices.Equal(have, keys) {
				t.Errorf("%s: the line has the keys %v, want %v", name, have, keys)
			}
			if l["operation"] != "page download" || l["max_retries"] != 3.0 || l["shell_file_id"] != 12.0 || l["job_id"] != job || l["correlation_id"] != correlation {
				t.Errorf("%s: got the log line %v; want a line with the operation, the limit, the ids and the attributes of the call", name, l)
			}
			got = append(got, line{l["level"].(string), l["retry_attempt"].(float64), l["delay_ms"].(float64),
				l["error_type"].(string), l["error_status"].(float64), l["is_retryable"].(bool)})
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: wrong log lines (-want +got):\n%s", name, d)
		}
	}
}

// Another library wrote credentials to the log: hashicorp/go-retryablehttp, CVE-2024-6104.
//
// proves: L5
func TestL5_NoSecretsInLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	secret := "get https://user:hunter2secret@api.example.com/v1?api_key=sk-abcdefghijklmnopqrstuvwxyz0123456789: 503 service unavailable, Authorization: Bearer abcdef0123456789abcdef"
	_, _ = retry.Do(t.Context(), r.Strategy, failing(errors.New(secret)).op)
	for _, s := range []string{"hunter2secret", "sk-abcdef", "abcdef0123456789"} {
		if strings.Contains(r.log.String(), s) {
			t.Errorf("the log contains the secret %q, want it removed:\n%s", s, r.log)
		}
	}
	if !strings.Contains(r.log.String(), "api.example.com") {
		t.Error("the log does not contain the host api.example.com, want it there")
	}
}

func TestLog_TheJobsLoggerIsTheDefault(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	p, err := r.With(func(o *retry.Options) { o.Logger = nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, _ := retry.WithJob(t.Context(), retry.JobInfo{ID: "j7", Logger: r.Options().Logger})
	if _, err := retry.Do(ctx, p, failing(unavailable).op); err != nil || len(r.lines(t)) != 2 {
		t.Errorf("got the error %v and the log lines %v of the job's logger, want no error and 2 lines", err, r.lines(t))
	}
}

func TestHooks_GetEveryEvent(t *testing.T) {
	t.Parallel()
	var seen []string
	say := func(_ context.Context, e *retry.Event) {
		seen = append(seen, fmt.Sprintf("%v %d/%d", e.Kind, e.Retry, e.Sends))
	}
	r := newRig(t, 0.5, retry.Options{Hooks: retry.Hooks{
		Send:  func(_ context.Context, c retry.Call) { seen = append(seen, fmt.Sprintf("send %d", c.Attempt)) },
		Retry: say, End: say,
	}})
	_, _ = retry.Do(t.Context(), r.Strategy, failing(unavailable).op)
	_, _ = retry.Do(t.Context(), r.Strategy, failing().op)
	_, _ = retry.Do(t.Context(), r.Strategy, failing(&status{code: 401}).op)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = retry.Do(ended, r.Strategy, failing().op)
	want := []string{
		"send 1", "call failed, retrying 1/1", "send 2", "call recovered 1/2", "send 1", "call succeeded 0/1",
		"send 1", "call failed, not retried 0/1", "call ended by its caller 0/0",
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("wrong calls of the hooks (-want +got):\n%s", d)
	}
}

// part of: M4
func TestStats_OfAnOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	for range 90 {
		_, _ = retry.Do(t.Context(), r.Strategy, failing().op)
	}
	for range 9 {
		_, _ = retry.Do(t.Context(), r.Strategy, failing(unavailable).op) // each of these calls waits 0.5 s
	}
	_, _ = retry.Do(t.Context(), r.Strategy, always(unavailable).op) // this call waits 3.5 s in all
	_, _ = retry.Do(first(inJob(t)), r.Strategy, always(unavailable).op)
	_, _ = retry.Do(t.Context(), r.Strategy, failing(errors.New("odd")).op)
	_, _ = retry.Do(first(inJob(t)), r.Strategy, failing().op)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = retry.Do(ended, r.Strategy, failing().op)
	want := retry.Stats{
		Operation: "ocr", Calls: 104, Sends: 90 + 18 + 4 + 4 + 1 + 1, Retried: 11, Recovered: 9, Exhausted: 1, HandedOver: 1, FailedFast: 1,
		Cancelled: 1, Unclassified: 1, AddedP95: 4096 * time.Millisecond,
	}
	if d := cmp.Diff(want, r.Stats()); d != "" {
		t.Errorf("wrong counts of the operation (-want +got):\n%s", d)
	}
	q, err := r.With(func(o *retry.Options) { o.Retries = 1 })
	if err != nil || q.Stats().Calls != 104 {
		t.Errorf("a strategy with the same operation has the counts %+v (error %v), want the shared count of 104 calls", q.Stats(), err)
	}
	if q, _ = r.With(func(o *retry.Options) { o.Operation = "other" }); q.Stats().Calls != 0 {
		t.Errorf("a strategy with another operation has the counts %+v, want its calls counted separately from 0", q.Stats())
	}
}
