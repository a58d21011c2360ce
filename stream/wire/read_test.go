package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/stream/wire"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

var rules = wire.Rules{ValueMax: 256 << 10}

func record(value string, headers ...wire.Header) *wire.Record {
	return &wire.Record{Topic: "alice_tasks", Partition: 2, Offset: 7, Time: now.Add(-time.Second), Value: []byte(value), Headers: headers}
}

func withMetadata(metadata string) string {
	return `{"job_id":"j","task_type":"chat","payload":1,"metadata":{` + metadata + `}}`
}

// A task as the chat system's producer writes it: naive times, nulls, and a field of its own.
//
// part of: S1
func TestS1_ReadsWhatTheProducerWrites(t *testing.T) {
	t.Parallel()
	got, err := wire.Read(record(`{"job_id": "3f2c8a52-6d0e-4c1b-9a64-1f7f0f6f2b11", "task_type": "chat_completion",
		"payload": {"n": 12345678901234567890, "text": "caf\u00e9 <b>"}, "trace": {"id": 1.0, "x": "\u0041"},
		"metadata": {"created_at": "2026-11-28T11:20:22.123456", "retry_count": 2, "max_retry": 5, "last_error": null,
		"last_retry_at": "2026-11-28T12:20:22+01:00", "idempotency_key": null, "scheduled_retry_at": 1795867205.25, "tenant": "acme"}}`), now, rules)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "3f2c8a52-6d0e-4c1b-9a64-1f7f0f6f2b11" || got.Type != "chat_completion" || got.Key != "job:"+got.ID {
		t.Errorf("got id %q, type %q and key %q", got.ID, got.Type, got.Key)
	}
	if want := `{"n": 12345678901234567890, "text": "caf\u00e9 <b>"}`; string(got.Payload) != want {
		t.Errorf("payload: got %s, want %s", got.Payload, want)
	}
	if want := `{"trace":{"id": 1.0, "x": "\u0041"}}`; string(got.Fields) != want {
		t.Errorf("fields: got %s, want %s", got.Fields, want)
	}
	if want := `{"tenant":"acme"}`; string(got.Metadata) != want {
		t.Errorf("metadata: got %s, want %s", got.Metadata, want)
	}
	if n, ok := got.RetriesLeft(); n != 3 || !ok {
		t.Errorf("retries left: got %d, %v, want 3", n, ok)
	}
	if want := time.Unix(1795867205, 250e6); !got.DueAt.Equal(want) {
		t.Errorf("due: got %v, want %v", got.DueAt, want)
	}
	if want := time.Date(2026, 11, 28, 11, 20, 22, 123456000, time.UTC); !got.CreatedAt.Equal(want) || !got.LastRetryAt.Equal(want.Truncate(time.Second)) {
		t.Errorf("created at %v, last retry at %v, want %v", got.CreatedAt, got.LastRetryAt, want)
	}
}

// part of: S6
func TestS6_MalformedRecordsSayWhatAndWhere(t *testing.T) {
	t.Parallel()
	id := `{"job_id":"j","task_type":"chat"`
	for value, want := range map[string]string{
		"":                              "byte 0: the value is not JSON",
		"hello":                         "byte 0: the value is not JSON",
		id:                              "the value is not JSON: unexpected end",
		id + `} {}`:                     "byte 34: the value is not JSON",
		`[1]`:                           "byte 0: the value must be a JSON object",
		`  "x"`:                         "byte 2: the value must be a JSON object",
		"{\"job_id\":\"\xff\"}":         "byte 11: the value is not UTF-8",
		id + `,"job_id":"k"}`:           `the value has the field "job_id" twice`,
		id + `,"a":` + deep(64) + `}`:   "more than 64 levels",
		`{"task_type":"chat"}`:          "job_id is missing",
		`{"job_id":"j"}`:                "task_type is missing",
		`{"job_id":7,"task_type":"c"}`:  `byte 10: job_id is "7": it must be a text`,
		`{"job_id":"","task_type":"c"}`: "job_id has 0 bytes: it must have 1 to 128",
		`{"job_id":"` + strings.Repeat("j", 129) + `","task_type":"c"}`:      "job_id has 129 bytes",
		`{"job_id":"a\u0000","task_type":"c"}`:                               "job_id has a control character",
		`{"job_id":"j","task_type":null}`:                                    "task_type is",
		id + `,"metadata":[]}`:                                               `byte 44: metadata is "[]": it must be an object`,
		withMetadata(`"a":1,"a":2`):                                          `metadata has the field "a" twice`,
		withMetadata(`"retry_count":-1`):                                     "retry_count is",
		withMetadata(`"retry_count":1.5`):                                    "retry_count is",
		withMetadata(`"max_retry":"5"`):                                      "max_retry is",
		withMetadata(`"max_retry":1e10`):                                     "max_retry is",
		withMetadata(`"idempotency_key":5`):                                  "idempotency_key is",
		withMetadata(`"idempotency_key":"` + strings.Repeat("k", 257) + `"`): "the idempotency key has 257 bytes",
		withMetadata(`"created_at":"yesterday"`):                             "created_at is",
		withMetadata(`"last_error":"boom"`):                                  "last_error is",
		withMetadata(`"scheduled_retry_at":"soon"`):                          "scheduled_retry_at is",
		withMetadata(`"scheduled_retry_at":-1`):                              "seconds since 1970, not below 0",
		withMetadata(`"scheduled_retry_at":1795867205250`):                   "milliseconds must be divided by 1000",
		withMetadata(`"scheduled_retry_at":1895867205`):                      "it must be within 30 days from now",
		withMetadata(`"x":"` + strings.Repeat("x", 12<<10) + `"`):            "at most 12288 are allowed",
		withMetadata(`"scheduled_retry_at":NaN`):                             "the value is not JSON",
	} {
		_, err := wire.Read(record(value), now, rules)
		if m, ok := errors.AsType[*wire.Malformed](err); !ok || !strings.Contains(m.Error(), want) {
			t.Errorf("%.80q: got the error %v, want a *Malformed with %q", value, err, want)
		}
	}
	for name, r := range map[string]*wire.Record{
		"tombstone":       {Time: now},
		"has 262145":      record(strings.Repeat(" ", 256<<10+1)),
		"has 33 headers":  record(withMetadata(""), make([]wire.Header, 33)...),
		"have 4097 bytes": record(withMetadata(""), wire.Header{Name: "h", Value: make([]byte, 4096)}),
	} {
		if _, err := wire.Read(r, now, rules); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got the error %v, want one with %q", err, name)
		}
	}
	if _, err := wire.Read(record(id+`}`), now, wire.Rules{ValueMax: 1 << 10, Strict: true}); err == nil || !strings.Contains(err.Error(), "not a UUID of version 4") {
		t.Errorf("with strict: got the error %v", err)
	}
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestKafkaTrap9_KafkaTrap10_DueTimes(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return fmt.Sprintf(`"scheduled_retry_at":%d`, now.Add(d).Unix()) }
	written := now.Add(-time.Second)
	for name, c := range map[string]struct {
		metadata, delay string
		want            time.Time
		off             time.Duration
	}{
		"none":                  {},
		"past is now":           {metadata: at(-time.Hour)},
		"future":                {metadata: at(time.Hour), want: now.Add(time.Hour)},
		"the header agrees":     {metadata: at(9 * time.Second), delay: "10.0", want: now.Add(9 * time.Second)},
		"an hour off":           {metadata: at(time.Hour + 9*time.Second), delay: "10", want: written.Add(10 * time.Second), off: time.Hour},
		"behind by 5:45":        {metadata: at(10*time.Second - 345*time.Minute), delay: "10", want: written.Add(10 * time.Second), off: -345 * time.Minute},
		"off by no zone":        {metadata: at(time.Hour + 300*time.Second), delay: "10", want: now.Add(time.Hour + 300*time.Second)},
		"off by more than 14 h": {metadata: at(20 * time.Hour), delay: "1", want: now.Add(20 * time.Hour)},
		"the header alone":      {delay: "30", want: written.Add(30 * time.Second)},
		"a header of no number": {delay: "soon"},
		"a header NaN":          {delay: "NaN"},
		"a negative header":     {delay: "-5"},
	} {
		r := record(withMetadata(c.metadata))
		if c.delay != "" {
			r.Headers = []wire.Header{{Name: "delay_seconds", Value: []byte(c.delay)}}
		}
		got, err := wire.Read(r, now, rules)
		if err != nil || !got.DueAt.Equal(c.want) || got.ZoneOff != c.off {
			t.Errorf("%s: got %v, zone off by %v and the error %v; want %v and %v", name, got.DueAt, got.ZoneOff, err, c.want, c.off)
		}
	}
}

func TestOriginKeepsTheRecord(t *testing.T) {
	t.Parallel()
	r := record(withMetadata(`"retry_count":1,"max_retry":0,"z":1e2`), wire.Header{Name: "Redrive-Job", Value: []byte("forged")},
		wire.Header{Name: "traceparent", Value: []byte("00-1")}, wire.Header{Name: "b", Value: []byte{0xff}})
	r.Key = []byte{0xfe}
	task, err := wire.Read(r, now, rules)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := task.RetriesLeft(); n != 0 || !ok {
		t.Errorf("retries left: got %d, %v, want 0", n, ok)
	}
	got, err := json.Marshal(wire.OriginOf("chat", r, &task))
	want := `{"name":"chat","topic":"alice_tasks","partition":2,"offset":7,"time":"2026-11-28T11:59:59Z","key_base64":"/g==",` +
		`"headers":[{"name":"traceparent","value":"00-1"},{"name":"b","base64":"/w=="}],"task_type":"chat","retry_count":1,"max_retry":0,"metadata":{"z":1e2}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s and the error %v, want %s", got, err, want)
	}
}

// Whatever a topic has, Read answers with a task within its bounds or with a *Malformed inside the value.
func FuzzRead(f *testing.F) {
	f.Add([]byte(withMetadata(`"retry_count":1,"scheduled_retry_at":1795867205.5,"x":{"y":[1.0]}`)), "3.5")
	f.Add([]byte(`{"job_id":"\ud800","task_type":"a","job_id":1}`), "")
	f.Add([]byte{'{', 0xff}, "x")
	f.Fuzz(func(t *testing.T, value []byte, delay string) {
		r := record(string(value), wire.Header{Name: "delay_seconds", Value: []byte(delay)})
		task, err := wire.Read(r, now, rules)
		if m, ok := errors.AsType[*wire.Malformed](err); ok {
			if m.At < -1 || m.At > len(value) || m.Reason == "" {
				t.Fatalf("%q: the mistake is at %d of %d bytes: %v", value, m.At, len(value), m)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: got %v, want a *Malformed", value, err)
		}
		if task.ID == "" || len(task.ID) > wire.IDMax || task.Key == "" || len(task.Key) > wire.KeyMax || !json.Valid(task.Payload) ||
			task.DueAt.Sub(now) > wire.ScheduledMax {
			t.Fatalf("%q: got %+v", value, task)
		}
		for _, raw := range [][]byte{task.Fields, task.Metadata, task.LastError} {
			if raw != nil && !json.Valid(raw) {
				t.Fatalf("%q: %q is not JSON", value, raw)
			}
		}
		again, err := wire.Read(r, now, rules)
		if err != nil || again.Key != task.Key || string(again.Fields) != string(task.Fields) {
			t.Fatalf("%q: read again it is %+v, %v", value, again, err)
		}
	})
}
