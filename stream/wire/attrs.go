package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Origin is where a job comes from: the value of its attribute "stream".
type Origin struct {
	Stream    string     `json:"name"`
	Topic     string     `json:"topic"`
	Partition int32      `json:"partition"`
	Offset    int64      `json:"offset"`
	Time      *time.Time `json:"time,omitempty"` // when the record was written, as the topic says
	// Key is the record's key; KeyBase64 is set instead when the key is not UTF-8.
	Key       string         `json:"key,omitempty"`
	KeyBase64 string         `json:"key_base64,omitempty"`
	Headers   []OriginHeader `json:"headers,omitempty"`

	TaskType    string          `json:"task_type,omitempty"`   // the record's task_type; empty when it is the job's kind
	RetryCount  int             `json:"retry_count,omitempty"` // retries that were made elsewhere
	MaxRetry    *int            `json:"max_retry,omitempty"`
	CreatedAt   *time.Time      `json:"created_at,omitempty"`
	LastRetryAt *time.Time      `json:"last_retry_at,omitempty"`
	LastError   json.RawMessage `json:"last_error,omitempty"`
	Fields      json.RawMessage `json:"fields,omitempty"`   // unknown fields of the record's value
	Metadata    json.RawMessage `json:"metadata,omitempty"` // unknown fields of its metadata

	// Arrival is set when the record could not become a task.
	Arrival *Arrival `json:"arrival,omitempty"`
}

// OriginHeader is a header of a record. Base64 is set instead of Value when the value is not UTF-8.
type OriginHeader struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Base64 string `json:"base64,omitempty"`
}

// Arrival says why a record could not become a task.
type Arrival struct {
	Reason  string `json:"reason"` // ReasonMalformed, ReasonUnknownType or ReasonKeyConflict
	Message string `json:"message"`
	// Size and SHA256 describe the whole value when the payload has only its beginning.
	Size   int    `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// The reasons for which a record cannot become a task.
const (
	ReasonMalformed   = "malformed"
	ReasonUnknownType = "unknown_type"
	ReasonKeyConflict = "key_conflict"
)

// String returns topic/partition/offset.
func (o *Origin) String() string { return fmt.Sprintf("%s/%d/%d", o.Topic, o.Partition, o.Offset) }

// key returns the record's key, or nil.
func (o *Origin) key() []byte { return fromText(o.Key, o.KeyBase64) }

// OriginOf returns the origin of the job that a record becomes.
func OriginOf(stream string, r *Record, t *Task) Origin {
	o := place(stream, r, len(r.Key))
	for _, h := range r.carried() {
		text, binary := asText(h.Value)
		o.Headers = append(o.Headers, OriginHeader{Name: valid(h.Name), Value: text, Base64: binary})
	}
	o.TaskType, o.RetryCount, o.MaxRetry = t.Type, t.RetryCount, t.MaxRetry
	o.CreatedAt, o.LastRetryAt = moment(t.CreatedAt), moment(t.LastRetryAt)
	o.LastError, o.Fields, o.Metadata = t.LastError, t.Fields, t.Metadata
	return o
}

// deadKeyMax is the maximum number of bytes that are kept of a record's key if the record is not
// a task.
const deadKeyMax = 1 << 10

// DeadOrigin returns the origin of the job that stands for a record that is no task.
func DeadOrigin(stream string, r *Record, a *Arrival) Origin {
	o := place(stream, r, deadKeyMax)
	o.Arrival = a
	return o
}

func place(stream string, r *Record, keyMax int) Origin {
	o := Origin{Stream: stream, Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Time: moment(r.Time)}
	o.Key, o.KeyBase64 = asText(r.Key[:min(keyMax, len(r.Key))])
	return o
}

// moment returns nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func asText(b []byte) (text, binary string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return "", base64.StdEncoding.EncodeToString(b)
}

// fromText returns what asText was given, or nil if that was empty.
func fromText(text, binary string) []byte {
	if binary != "" {
		b, err := base64.StdEncoding.DecodeString(binary)
		if err == nil {
			return b
		}
	}
	if text == "" {
		return nil
	}
	return []byte(text)
}

func valid(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return base64.StdEncoding.EncodeToString([]byte(name))
}
