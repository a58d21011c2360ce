package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/stream/wire"
)

// taken is what the store has of a record: its task, and its origin as the attributes keep it.
func taken(t *testing.T, r *wire.Record) (wire.Task, wire.Origin) {
	t.Helper()
	task, err := wire.Read(r, now, rules)
	if err != nil {
		t.Fatal(err)
	}
	return task, kept(t, r, &task)
}

// kept returns the origin after a way through the attributes of a job.
func kept(t *testing.T, r *wire.Record, task *wire.Task) (o wire.Origin) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(wire.OriginOf("chat", r, task)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func headers(r *wire.Record) map[string]string {
	all := map[string]string{}
	for _, h := range r.Headers {
		all[h.Name] = string(h.Value)
	}
	return all
}

var failedOnce = job.Failure{Token: 2, Life: 1, Attempt: 2, Class: "NetworkTimeout", Code: "TIMEOUT", Message: "no answer <from> the model",
	HTTPStatus: 504, Holder: "w-1", StartedAt: job.Micros(now.Add(-9 * time.Second).UnixMicro()), EndedAt: job.Micros(now.UnixMicro())}

func waitingJob(payload string) *job.Job {
	return &job.Job{ID: 41, Kind: "chat", State: job.Retrying, Life: 1, Token: 2, Counters: job.Counters{Attempts: 2}, Correlation: "j", Key: "k-1",
		CreatedAt: job.Micros(now.Add(-time.Hour).UnixMicro()), RunAt: job.Micros(now.Add(4200 * time.Millisecond).UnixMicro()), Payload: []byte(payload)}
}

// A waiting retry is written as the task that came, with its unknown fields, the time of its next
// attempt and its last error, and headers each once.
//
// part of: S1
func TestS1_KafkaTrap12_WritesTheRecordOfARetry(t *testing.T) {
	t.Parallel()
	r := record(`{"job_id":"j","task_type":"chat","payload":1,"big":12345678901234567890,"html":"<a>&\u0041",
		"metadata":{"created_at":"2026-11-28T11:20:22.5","retry_count":1,"max_retry":5,"idempotency_key":"k-1","tenant":1e2}}`,
		wire.Header{Name: "traceparent", Value: []byte("00-1")}, wire.Header{Name: "redrive-job", Value: []byte("forged")},
		wire.Header{Name: "delay_seconds", Value: []byte("0")})
	r.Key = []byte("user-7")
	_, origin := taken(t, r)
	j := waitingJob(`{"changed":"by hand"}`)
	out := wire.OutOf(wire.Wait{Store: "st", Job: 41, Life: 1, Run: 2}, j, &origin, &failedOnce)
	out.Reason, out.Event = "failed", "17.1"
	got := out.Retry("alice_retry_queue", 3, now)
	want := `{"job_id":"j","task_type":"chat","payload":{"changed":"by hand"},"metadata":{"retry_count":3,"max_retry":5,` +
		`"created_at":"2026-11-28T11:20:22.5Z","last_error":{"type":"NetworkTimeout","message":"no answer <from> the model",` +
		`"timestamp":"2026-11-28T12:00:00Z","context":{"attempt":2,"code":"TIMEOUT","http_status":504,"worker":"w-1"}},` +
		`"last_retry_at":"2026-11-28T11:59:51Z","scheduled_retry_at":1795867204.200,"idempotency_key":"k-1","tenant":1e2},` +
		`"big":12345678901234567890,"html":"<a>&\u0041"}`
	if diff := cmp.Diff(want, string(got.Value)); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	wantHeaders := map[string]string{"traceparent": "00-1", "redrive-job": "st/41/1/2", "redrive-event": "17.1", "redrive-source": "alice_tasks/2/7",
		"redrive-reason": "failed", "redrive-class": "NetworkTimeout", "redrive-code": "TIMEOUT", "delay_seconds": "4.200"}
	if diff := cmp.Diff(wantHeaders, headers(&got)); diff != "" || len(got.Headers) != len(wantHeaders) {
		t.Errorf("%d headers (-want +got):\n%s", len(got.Headers), diff)
	}
	if string(got.Key) != "user-7" || got.Partition != 2 {
		t.Errorf("key %q in partition %d, want those of the source", got.Key, got.Partition)
	}
	if w, ok := wire.Written(&got); !ok || w != out.Wait {
		t.Errorf("the record names the wait %v (%v), want %v", w, ok, out.Wait)
	}
	if _, ok := wire.Written(r); ok {
		t.Error("a forged header names a wait")
	}
	again, err := wire.Read(&got, now, rules)
	if err != nil || again.RetryCount != 3 || again.ZoneOff != 0 || !again.DueAt.Equal(now.Add(4200*time.Millisecond)) {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

// Ten times around, a record has the same fields and headers.
//
// part of: S1
func TestS1_KafkaTrap13_HeadersDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := record(withMetadata(`"retry_count":0,"x":[1.0,"<"]`), wire.Header{Name: "traceparent", Value: []byte("00-1")})
	for round := range 10 {
		task, origin := taken(t, r)
		out := wire.OutOf(wire.Wait{Store: "other", Job: 1, Life: 1, Run: 1}, waitingJob(string(task.Payload)), &origin, &failedOnce)
		next := out.Retry("alice_retry_queue", 3, now)
		next.Time = now
		if round > 0 && (len(next.Headers) != len(r.Headers) || len(next.Value) > len(r.Value)+4) {
			t.Fatalf("round %d: %d headers and %d bytes, before it %d and %d", round, len(next.Headers), len(next.Value), len(r.Headers), len(r.Value))
		}
		r = &next
	}
	if want := `"x":[1.0,"<"]`; !strings.Contains(string(r.Value), want) {
		t.Errorf("the value is %s, want %s in it", r.Value, want)
	}
}

// A dead letter says why, also in the words of Kafka Connect and Spring. What could not be read
// keeps its bytes.
func TestDeadRecords(t *testing.T) {
	t.Parallel()
	r := record(withMetadata(`"max_retry":5`))
	_, origin := taken(t, r)
	j := waitingJob("1")
	j.State, j.Reason, j.Counters.Attempts = job.Dead, job.NonRetriable, 1
	failure := failedOnce
	failure.Message = strings.Repeat("é", 1000)
	out := wire.OutOf(wire.Wait{Store: "st", Job: 41, Life: 1, Run: 1}, j, &origin, &failure)
	out.Group = "redrive-chat"
	for family, want := range map[wire.Compat]map[string]string{
		wire.CompatNone: {"redrive-reason": "non_retriable_error", "redrive-error": strings.Repeat("é", 512), "redrive-source": "alice_tasks/2/7"},
		wire.CompatConnect: {"__connect.errors.topic": "alice_tasks", "__connect.errors.partition": "2", "__connect.errors.offset": "7",
			"__connect.errors.exception.class.name": "NetworkTimeout"},
		wire.CompatSpring: {"kafka_dlt-original-partition": "\x00\x00\x00\x02", "kafka_dlt-original-offset": "\x00\x00\x00\x00\x00\x00\x00\x07",
			"kafka_dlt-original-topic": "alice_tasks", "kafka_dlt-exception-fqcn": "NetworkTimeout", "kafka_dlt-original-consumer-group": "redrive-chat"},
	} {
		dead := out.Dead("dlq", 2, family)
		got := headers(&dead)
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%q: header %s is %q, want %q", family, name, got[name], value)
			}
		}
		if !strings.Contains(string(dead.Value), `"retry_count":0,"max_retry":5`) || dead.Partition != 0 || got["delay_seconds"] != "" {
			t.Errorf("%q: the record is %s in partition %d", family, dead.Value, dead.Partition)
		}
	}
	bad := record("not JSON")
	place := wire.DeadOrigin("chat", bad, &wire.Arrival{Reason: wire.ReasonMalformed, Message: "byte 1"})
	j.Payload = []byte("not JSON")
	if dead := wire.OutOf(out.Wait, j, &place, &failure).Dead("dlq", 2, ""); string(dead.Value) != "not JSON" {
		t.Errorf("the record that could not be read is %q", dead.Value)
	}
	result := out.Result("results", 3, job.Completed, []byte(`{"n":1}`))
	early := *out
	early.Origin = wire.Origin{} // as that of a completed job
	if other := early.Result("results", 3, job.Completed, nil); other.Partition != result.Partition || string(other.Key) != string(result.Key) {
		t.Errorf("the results of one job are in the partitions %d and %d, with the keys %q and %q", other.Partition, result.Partition, other.Key, result.Key)
	}
	if want := `{"job_id":"j","task_type":"chat","status":"completed","result":{"n":1},"error":{"type":`; !strings.HasPrefix(string(result.Value), want) {
		t.Errorf("the result is %s, want it to begin with %s", result.Value, want)
	}
}

// What has been read and is written as a retry is read again as the same task.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(withMetadata(`"retry_count":1,"max_retry":3,"x":{"y":[1.0, "\u0041<"]}`)), "no answer", []byte("key"))
	f.Add([]byte(`{"job_id":"\ud800","task_type":"a","&":"\\u2028","payload":"\u2028"}`), "\x00\xff", []byte{0xff})
	f.Add([]byte(`{"job_id":"a","task_type":"a","z":"`+strings.Repeat("z", wire.FieldsMax-12)+`"}`), strings.Repeat("\x01", 4000), []byte{})
	f.Fuzz(func(t *testing.T, value []byte, message string, key []byte) {
		r := record(string(value), wire.Header{Name: "h", Value: key})
		r.Key = key
		task, err := wire.Read(r, now, rules)
		if err != nil {
			return
		}
		origin := kept(t, r, &task)
		j := waitingJob(string(task.Payload))
		j.Correlation, j.Key, j.Kind = task.ID, task.Key, task.Type
		failure := failedOnce
		failure.Message = message
		out := wire.OutOf(wire.Wait{Store: "st", Job: 41, Life: 1, Run: 2}, j, &origin, &failure)
		written := out.Retry("retry", 3, now)
		written.Time = now
		again, err := wire.Read(&written, now, wire.Rules{ValueMax: 1 << 20})
		if err != nil {
			t.Fatalf("%q was written as %q, which cannot be read: %v", value, written.Value, err)
		}
		if again.ID != task.ID || again.Type != task.Type || again.Key != task.Key || string(again.Payload) != string(task.Payload) ||
			again.RetryCount != task.RetryCount+2 || !again.DueAt.Equal(j.RunAt.Time()) {
			t.Fatalf("%q was written as %q: read again it is %+v, want %+v", value, written.Value, again, task)
		}
		if compact(t, again.Fields) != compact(t, task.Fields) || compact(t, again.Metadata) != compact(t, task.Metadata) {
			t.Fatalf("%q: the unknown fields are %s and %s, want %s and %s", value, again.Fields, again.Metadata, task.Fields, task.Metadata)
		}
		if len(key) > 0 && (!bytes.Equal(written.Key, key) || headers(&written)["h"] != string(key)) {
			t.Fatalf("key %q and header %q, want %q", written.Key, headers(&written)["h"], key)
		}
	})
}

// compact returns JSON without white space between its tokens.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	if raw == nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
