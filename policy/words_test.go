package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// part of: Q14
func TestQ14_WordsOfStatesAndClasses(t *testing.T) {
	t.Parallel()
	w := policy.Words{
		States:  map[string]string{"dead": "FAILED", "dead:stalled": "LOST", "retrying": "PROCESSING"},
		Classes: map[failure.Class]string{"InputExceedsLimits": "VideoExceedsLimits"},
	}
	for _, tt := range []struct {
		state  job.State
		reason job.Reason
		want   string
	}{
		{job.Dead, "", "FAILED"}, {job.Dead, job.DeadlineOver, "FAILED"}, {job.Dead, job.Stalled, "LOST"},
		{job.Retrying, "", "PROCESSING"}, {job.Waiting, "", "waiting"}, {job.None, "", "none"},
	} {
		if got := w.State(tt.state, tt.reason); got != tt.want {
			t.Errorf("state %s with the reason %q: got the name %s, want %s", tt.state, tt.reason, got, tt.want)
		}
	}
	if got := w.Class("InputExceedsLimits"); got != "VideoExceedsLimits" {
		t.Error(got)
	}
	if got := w.Class("NotFound"); got != "NotFound" {
		t.Error(got)
	}
}

// part of: Q14
func TestQ14_ErrorObjects(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 14, 3, 0, 250_000_000, time.FixedZone("", 3600))
	full := policy.ErrorValues{
		Class: "NetworkTimeout", Code: "http.504", Message: "a \"quote\"\n\x00 <b>", UserMessage: "Please wait.", Permanent: false, At: at,
		Details: []byte(`{"url":"x"}`), Stack: "main.go:1", Attempt: 2, Retries: 1, MaxRetries: 3, NextRetryAt: at.Add(time.Minute),
		Context: []byte(`{"model":"m"}`),
	}
	for name, tt := range map[string]struct {
		words  map[string]string
		values policy.ErrorValues
		want   string
	}{
		"all": {nil, full, `{"class":"NetworkTimeout","code":"http.504","message":"a \"quote\"\n\u0000 \u003cb\u003e","user_message":"Please wait.",` +
			`"permanent":false,"at":"2026-11-20T13:03:00.25Z","details":{"url":"x"},"stack":"main.go:1","attempt":2,"retries":1,"max_retries":3,` +
			`"next_retry_at":"2026-11-20T13:04:00.25Z","context":{"model":"m"}}`},
		"nothing": {nil, policy.ErrorValues{}, `{"class":"","code":null,"message":"","user_message":"","permanent":false,"at":null,` +
			`"attempt":0,"retries":0,"max_retries":0,"next_retry_at":null,"context":{}}`},
		"some": {map[string]string{"permanent": "is_permanent", "class": "type", "nonsense": "x"}, full, `{"type":"NetworkTimeout","is_permanent":false}`},
		"no JSON": {map[string]string{"details": "details", "context": "context"}, policy.ErrorValues{Details: []byte("{"), Context: []byte("[]")},
			`{"context":{}}`},
		"a name with a quote": {map[string]string{"attempt": `a"b`}, full, `{"a\"b":2}`},
	} {
		w := policy.Words{Error: tt.words}
		got := w.ErrorObject(&tt.values)
		if string(got) != tt.want {
			t.Errorf("%s:\ngot the error object  %s\nwant the error object %s", name, got, tt.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: the error object is not valid JSON, want JSON: %s", name, got)
		}
	}
}
