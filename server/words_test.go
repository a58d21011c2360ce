package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
	"github.com/redrive/redrive/server"
)

// withPreset gives a site the policy of a preset, and callers by name.
func withPreset(t *testing.T, name string) func(*redrive.Config, *server.Options) {
	t.Helper()
	text, _ := preset.Text(name)
	f, err := policyfile.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.Policy, c.MaxAttempts = f.Policy, 100
	}
}

// proves: Q14
//
// An owner sees its job and hears of it in the words of the policy: the states, the error object and how
// the retries stand.
func TestQ14_WordsOfThePresetsOnTheAPIAndInEvents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		waiting, retrying, dead string
		// fields are those of the error object; more are those of the job and of the events.
		fields, more string
	}{
		"transcribe": {"waiting", "RETRYING", "FAILED", "is_permanent message timestamp type", ""},
		"render":     {"QUEUED", "PROCESSING", "FAILED", "code message", ""},
		"watermark":  {"PENDING", "PENDING", "FAILED", "max_retries next_retry_at retry_count", "max_retries next_retry_at retry_count"},
		"chat":       {"waiting", "retrying", "dead", "context message timestamp type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withPreset(t, name))
			const ann, ops = "X-Test-Caller: submit/ann", "X-Test-Caller: operate"
			var made receipt
			s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, &made, ann)
			look := func(path string, v any) *answer { return s.ok("GET", path, "", v, ann) }
			var j map[string]json.RawMessage
			look("/api/jobs/"+made.ID, &j)
			if string(j["status"]) != fmt.Sprintf("%q", tt.waiting) || retryFields(j) != tt.more {
				t.Errorf("the new job: got %s, want the status %s and the fields %q", j, tt.waiting, tt.more)
			}
			runs := 0
			redrive.HandleRaw(s.client, "k", func(context.Context, *redrive.Job[[]byte]) error {
				if runs++; runs == 1 {
					return errors.New("503 Service Unavailable")
				}
				return failure.Permanent(errors.New("no such file"))
			}, nil)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- s.client.Run(ctx) }()
			defer func() { stop(); <-ended }()
			s.until(job.Retrying)
			s.ok("POST", "/api/queues/default/pause", "", nil, ops)
			j = nil
			a := look("/api/jobs/"+made.ID, &j)
			if string(j["status"]) != fmt.Sprintf("%q", tt.retrying) || fieldsOf(t, j["error"]) != tt.fields || retryFields(j) != tt.more {
				t.Errorf("the retrying job: got %s, want the status %s, the error object {%s} and the fields %q", a.body, tt.retrying, tt.fields, tt.more)
			}
			if tt.more != "" && (string(j["retry_count"]) != "0" || string(j["max_retries"]) != "3" || !strings.HasPrefix(string(j["next_retry_at"]), `"20`)) {
				t.Errorf("got %s, want no retry of 3 yet, and the time of the next one", a.body)
			}
			s.ok("POST", "/api/jobs/"+made.ID+"/run", "", nil, ops)
			if a := look("/api/jobs/"+made.ID, nil); tt.more != "" && !strings.Contains(string(a.body), `"next_retry_at":null`) {
				t.Errorf("got %s, want null for a retry that may start now", a.body)
			}
			s.ok("POST", "/api/queues/default/resume", "", nil, ops)
			s.until(job.Dead)
			j = nil
			a = look("/api/jobs/"+made.ID, &j)
			if string(j["status"]) != fmt.Sprintf("%q", tt.dead) || fieldsOf(t, j["error"]) != tt.fields {
				t.Errorf("the dead job: got %s, want the status %s and the error object {%s}", a.body, tt.dead, tt.fields)
			}
			var page struct{ Items []map[string]json.RawMessage }
			look("/api/events?topic=job:"+made.ID, &page)
			var heard []string
			for _, e := range page.Items {
				heard = append(heard, strings.Trim(string(e["status"]), `"`))
				if string(e["event"]) == `"dead"` && (fieldsOf(t, e["error"]) != tt.fields || retryFields(e) != tt.more) {
					t.Errorf("the event: got %s, want the error object {%s} and the fields %q", e, tt.fields, tt.more)
				}
			}
			if text := strings.Join(heard, " "); !strings.HasPrefix(text, tt.waiting+" ") || !strings.Contains(text, " "+tt.retrying+" ") || !strings.HasSuffix(text, " "+tt.dead) {
				t.Errorf("the events have the states %s, want %s, %s and %s", text, tt.waiting, tt.retrying, tt.dead)
			}
		})
	}
}

// until waits until a job has got a state.
func (s *site) until(state job.State) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	for e, err := range s.client.Events(ctx, event.Cursor{}, nil) {
		if err != nil {
			s.Fatal(err)
		}
		if e.To == state {
			return
		}
		if e.To == job.Dead {
			s.Fatalf("the job is dead, want it %s", state)
		}
	}
	s.Fatalf("no job has become %s", state)
}

// fieldsOf returns the names of the fields of an object, sorted.
func fieldsOf(t *testing.T, object json.RawMessage) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(object, &fields); err != nil {
		t.Errorf("read the object %q: %v", object, err)
	}
	return strings.Join(slices.Sorted(maps.Keys(fields)), " ")
}

// retryFields returns those names of system W that an object has, sorted.
func retryFields(object map[string]json.RawMessage) string {
	var found []string
	for _, name := range []string{"max_retries", "next_retry_at", "retry_count"} {
		if _, ok := object[name]; ok {
			found = append(found, name)
		}
	}
	return strings.Join(found, " ")
}
