package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
)

// The limits of what redrive writes.
const (
	errorMax   = 1 << 10 // bytes of the header redrive-error
	messageMax = 2 << 10 // bytes of the message in last_error, as JSON
	wordMax    = 512     // bytes of the other texts in last_error, as JSON
)

// The headers that redrive writes. Headers of producers with these names are not carried through.
const (
	JobHeader    = ours + "job"    // the store's id, the job, its life and its run: see Wait
	EventHeader  = ours + "event"  // the cursor of the event; a record that is written twice has the same
	SourceHeader = ours + "source" // topic/partition/offset of the record that brought the task
	ReasonHeader = ours + "reason" // why the job waits or is dead
	ClassHeader  = ours + "class"  // the class of its last failure
	CodeHeader   = ours + "code"   // the code of its last failure
	ErrorHeader  = ours + "error"  // the message of its last failure
)

// Compat names a family of headers that dead-letter records also get.
type Compat string

// The families.
const (
	CompatNone    Compat = ""        // the headers of redrive only
	CompatConnect Compat = "connect" // those of Kafka Connect: __connect.errors.*, texts
	CompatSpring  Compat = "spring"  // those of Spring Kafka: kafka_dlt-*, numbers in big-endian order
)

// Wait names one wait of a job: the job in one store, its life and its last run.
type Wait struct {
	Store string // the id of the store
	Job   job.ID
	Life  int32
	Run   job.Token
}

func (w Wait) String() string { return fmt.Sprintf("%s/%d/%d/%d", w.Store, w.Job, w.Life, w.Run) }

// Written is the wait that a record of a topic names. ok is false for a record that redrive has not written.
func Written(r *Record) (w Wait, ok bool) {
	text, ok := r.header(JobHeader)
	parts := strings.Split(text, "/")
	if !ok || len(parts) != 4 || parts[0] == "" {
		return Wait{}, false
	}
	id, err1 := strconv.ParseInt(parts[1], 10, 64)
	life, err2 := strconv.ParseInt(parts[2], 10, 32)
	run, err3 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return Wait{}, false
	}
	return Wait{Store: parts[0], Job: job.ID(id), Life: int32(life), Run: job.Token(run)}, true
}

// Out is a task that is written to a topic, and what is known of its job.
type Out struct {
	Wait    Wait
	Event   string // the cursor of the event that it reports
	Type    string // task_type
	Stream  string // the name of the stream
	Group   string // its consumer group
	Reason  string // why the job waits or is dead
	Payload []byte // as it is now; a person may have changed it
	ID, Key string // job_id and idempotency_key
	// Origin is the attribute "stream" of the job. It is the zero Origin for a job that no record brought.
	Origin Origin
	// RetryCount and MaxRetry are written as they are; without MaxRetry the field is missing.
	RetryCount             int
	MaxRetry               *int
	CreatedAt, LastRetryAt time.Time // zero: not known
	DueAt                  time.Time // zero: not waiting
	Failure                *job.Failure
}

// OutOf returns the Out that is written to a topic for a job of a stream. f is the job's last failure, or nil.
func OutOf(w Wait, j *job.Job, o *Origin, f *job.Failure) *Out {
	out := &Out{
		Wait: w, Stream: o.Stream, Origin: *o, Payload: j.Payload, Type: cmp.Or(o.TaskType, j.Kind), Reason: string(j.Reason),
		ID: cmp.Or(j.Correlation, j.ID.String()), Key: j.Key, MaxRetry: o.MaxRetry, CreatedAt: j.CreatedAt.Time(), Failure: f,
	}
	if o.CreatedAt != nil {
		out.CreatedAt = *o.CreatedAt
	}
	if j.Life == 1 {
		out.RetryCount = o.RetryCount // what was retried elsewhere belongs to the first life
	}
	attempts := int(j.Counters.Attempts)
	if j.State == job.Waiting || j.State == job.Retrying {
		out.RetryCount += attempts
		out.DueAt = j.RunAt.Time()
	} else {
		out.RetryCount += max(0, attempts-1) // the first attempt is no retry
	}
	switch {
	case f != nil && f.Life == j.Life && j.Counters.Attempts+j.Counters.Crashes > 1:
		out.LastRetryAt = f.StartedAt.Time()
	case o.LastRetryAt != nil:
		out.LastRetryAt = *o.LastRetryAt
	}
	return out
}

// Retry returns the record of a job that waits for its next attempt, at the time now.
func (o *Out) Retry(topic string, partitions int32, now time.Time) Record {
	r := o.record(topic, partitions, o.value(nil))
	delay := max(0, o.DueAt.Sub(now).Seconds())
	r.Headers = append(r.Headers, text(delayHeader, strconv.FormatFloat(math.Ceil(delay*1e3)/1e3, 'f', 3, 64)))
	o.describe(&r)
	return r
}

// Dead returns the record of a dead job. A record that could not be read is written with the bytes
// that it had.
func (o *Out) Dead(topic string, partitions int32, compat Compat) Record {
	value := o.Payload
	if o.Origin.Arrival == nil {
		value = o.value(nil)
	}
	r := o.record(topic, partitions, value)
	o.describe(&r)
	if f := o.Failure; f != nil {
		r.Headers = append(r.Headers, text(ErrorHeader, cut(f.Message, errorMax)))
	}
	switch compat {
	case CompatConnect:
		o.connect(&r)
	case CompatSpring:
		o.spring(&r)
	case CompatNone:
	}
	return r
}

// Result returns the record of a job that has ended in a state such as "completed", with its result.
func (o *Out) Result(topic string, partitions int32, state job.State, result []byte) Record {
	if len(result) == 0 {
		result = []byte("null")
	}
	ended := []member{{name: "status", value: quoted(state.String())}, {name: "result", value: result}, {name: "error", value: o.lastError()}}
	r := o.record(topic, partitions, o.value(ended))
	// A completed job has no origin any more, so the results of a job are in order by its number only.
	r.Key = []byte(o.ID)
	if partitions > 0 {
		r.Partition = int32(int64(o.Wait.Job) % int64(partitions))
	}
	return r
}

// Task returns the task as an object that Read reads, with its unknown fields.
func (o *Out) Task() json.RawMessage { return o.value(nil) }

// record returns a record in the partition of its source, so that the records of a task stay in order.
func (o *Out) record(topic string, partitions int32, value []byte) Record {
	r := Record{Topic: topic, Value: value, Key: o.Origin.key()}
	if r.Key == nil {
		r.Key = []byte(o.ID)
	}
	source := int64(o.Origin.Partition)
	if o.Origin.Topic == "" {
		source = int64(o.Wait.Job)
	}
	if partitions > 0 {
		r.Partition = int32(source % int64(partitions))
	}
	for _, h := range o.Origin.Headers {
		if h.Name != delayHeader && !strings.HasPrefix(strings.ToLower(h.Name), ours) {
			r.Headers = append(r.Headers, Header{h.Name, fromText(h.Value, h.Base64)})
		}
	}
	r.Headers = append(r.Headers, text(JobHeader, o.Wait.String()), text(EventHeader, o.Event))
	if o.Origin.Topic != "" {
		r.Headers = append(r.Headers, text(SourceHeader, o.Origin.String()))
	}
	return r
}

// describe adds why the job waits or is dead.
func (o *Out) describe(r *Record) {
	r.Headers = append(r.Headers, text(ReasonHeader, o.Reason))
	if f := o.Failure; f != nil {
		r.Headers = append(r.Headers, text(ClassHeader, f.Class))
		if f.Code != "" {
			r.Headers = append(r.Headers, text(CodeHeader, cut(f.Code, errorMax)))
		}
	}
}

// value returns the object that Read reads, with more fields if there are any.
func (o *Out) value(more []member) []byte {
	meta := []member{{name: "retry_count", value: number64(o.RetryCount)}}
	if o.MaxRetry != nil {
		meta = append(meta, member{name: "max_retry", value: number64(*o.MaxRetry)})
	}
	meta = append(meta, member{name: "created_at", value: instant(o.CreatedAt)}, member{name: "last_error", value: o.lastError()},
		member{name: "last_retry_at", value: instant(o.LastRetryAt)}, member{name: "scheduled_retry_at", value: seconds(o.DueAt)},
		member{name: "idempotency_key", value: quoted(o.Key)})
	all := []member{{name: "job_id", value: quoted(o.ID)}, {name: "task_type", value: quoted(o.Type)}}
	if more == nil {
		all = append(all, member{name: "payload", value: o.payload()})
	}
	all = append(all, more...)
	all = append(all, member{name: "metadata", value: joined(meta, o.Origin.Metadata)})
	taken := make([]string, len(all))
	for i := range all {
		taken[i] = all[i].name
	}
	return joined(all, without(o.Origin.Fields, taken))
}

// payload is the payload as JSON. Bytes that are not JSON are written as a text.
func (o *Out) payload() json.RawMessage {
	switch {
	case len(o.Payload) == 0:
		return []byte("null")
	case json.Valid(o.Payload):
		return o.Payload
	}
	return quoted(string(o.Payload))
}

// lastError is the last failure as the chat system's programs write it; without a failure, what the
// record had. Its message is shortened where the fields beside the payload would be too large to be read.
func (o *Out) lastError() json.RawMessage {
	null := json.RawMessage("null")
	f := o.Failure
	if f == nil {
		if o.Origin.LastError != nil {
			return o.Origin.LastError
		}
		return null
	}
	room := FieldsMax - len(o.Origin.Fields) - len(o.Origin.Metadata)
	last := failed(f, messageMax)
	if over := len(last) - room; over > 0 {
		last = failed(f, max(0, messageMax-over))
	}
	if len(last) > room {
		return null
	}
	return last
}

func failed(f *job.Failure, most int) json.RawMessage {
	context := []member{{name: "attempt", value: number64(int(f.Attempt))}}
	if f.Code != "" {
		context = append(context, member{name: "code", value: quotedCut(f.Code, wordMax)})
	}
	if f.HTTPStatus != 0 {
		context = append(context, member{name: "http_status", value: number64(f.HTTPStatus)})
	}
	if f.Holder != "" {
		context = append(context, member{name: "worker", value: quotedCut(f.Holder, wordMax)})
	}
	return object([]member{{name: "type", value: quotedCut(f.Class, wordMax)}, {name: "message", value: quotedCut(f.Message, most)},
		{name: "timestamp", value: instant(f.EndedAt.Time())}, {name: "context", value: object(context)}})
}

// joined returns an object of the members and of those of another object.
func joined(all []member, more json.RawMessage) json.RawMessage {
	text := object(all)
	if len(more) <= len("{}") {
		return text
	}
	return append(append(text[:len(text)-1], ','), more[1:]...)
}

// without returns an object without some of its fields: a result has fields that a task may have as unknown ones.
func without(raw json.RawMessage, names []string) json.RawMessage {
	if raw == nil {
		return nil
	}
	all, err := members(raw, 0, "the fields")
	if err != nil {
		return nil // what the attributes have was written by OriginOf
	}
	kept := slices.DeleteFunc(all, func(m member) bool { return slices.Contains(names, m.name) })
	if len(kept) == len(all) {
		return raw
	}
	return object(kept)
}

func text(name, value string) Header {
	return Header{name, []byte(strings.ToValidUTF8(value, "\uFFFD"))}
}

func number64(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// instant is a time in UTC, to the microsecond; null for the zero time.
func instant(t time.Time) json.RawMessage {
	if t.IsZero() {
		return []byte("null")
	}
	return quoted(t.UTC().Format("2006-01-02T15:04:05.999999Z07:00"))
}

// seconds is a time in seconds since 1970, to the millisecond and not before it; null for the zero time.
func seconds(t time.Time) json.RawMessage {
	if t.IsZero() {
		return []byte("null")
	}
	ms := (t.UnixMicro() + 999) / 1000
	return fmt.Appendf(nil, "%d.%03d", ms/1000, ms%1000)
}

// cut returns at most so many bytes of a text, without half a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// quotedCut returns the beginning of a text as JSON of at most so many bytes, its quotes included.
func quotedCut(text string, most int) json.RawMessage {
	whole := quoted(cut(text, most))
	for len(whole) > most && text != "" {
		text = cut(text, min(len(text)-1, len(text)*most/len(whole)))
		whole = quoted(text)
	}
	return whole
}
