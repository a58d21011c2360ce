// Package wire reads tasks from the records of a topic, and writes records of tasks that wait, are
// dead or have ended. It does no I/O and reads no clock.
//
// The value of a record is a JSON object in UTF-8:
//
//	{"job_id": "…", "task_type": "chat_completion", "payload": {…},
//	 "metadata": {"created_at": "2026-11-28T11:20:22.5", "retry_count": 0, "max_retry": 5,
//	              "idempotency_key": "…", "scheduled_retry_at": 1795864822.5,
//	              "last_error": {…}, "last_retry_at": null}}
//
// Only job_id and task_type are required. Other fields of the object and of its metadata are
// carried through with their exact numbers and escapes.
package wire

import (
	"fmt"
	"strings"
	"time"
)

// The limits of what a record may have.
const (
	IDMax         = 128             // maximum length of job_id in bytes
	KeyMax        = 256             // maximum length of an idempotency key in bytes
	DepthMax      = 64              // maximum depth of the value's JSON
	FieldsMax     = 12 << 10        // maximum size of the fields that are carried through, in bytes
	HeadersMax    = 32              // maximum number of headers that are carried through
	HeaderMax     = 4 << 10         // maximum size of the record's key and of those headers together, in bytes
	CountMax      = 1e9             // maximum of retry_count and max_retry
	ScheduledMax  = 720 * time.Hour // the longest time from now to scheduled_retry_at
	laterThanEver = 7258118400      // 2200-01-01 in seconds: later times are milliseconds, taken for seconds
	ours          = "redrive-"      // prefix of the headers that only redrive writes
	derivedKey    = "job:"          // prefix of the key that is made from job_id
	zoneStep      = 15 * 60         // the offsets of time zones are multiples of this number of seconds
	zoneMax       = 14 * 3600       // the largest offset of a time zone in seconds
	zoneTolerance = 2               // seconds between the time of the producer and that of the record
	delayHeader   = "delay_seconds"
)

// Record is a record of a topic. Value is nil for a tombstone.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Time      time.Time
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is a header of a record. The same name may occur several times.
type Header struct {
	Name  string
	Value []byte
}

// String returns topic/partition/offset.
func (r *Record) String() string { return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset) }

// carried returns the headers that are carried through: all but those that redrive writes.
func (r *Record) carried() []Header {
	var kept []Header
	for _, h := range r.Headers {
		if !strings.HasPrefix(strings.ToLower(h.Name), ours) && h.Name != delayHeader {
			kept = append(kept, h)
		}
	}
	return kept
}

// header returns the value of the last header with this name.
func (r *Record) header(name string) (value string, ok bool) {
	for _, h := range r.Headers {
		if h.Name == name {
			value, ok = string(h.Value), true
		}
	}
	return value, ok
}

// Malformed says why a record is no task.
type Malformed struct {
	Reason string
	// At is the position in the value at which the mistake is, in bytes from 0; -1 if the mistake is
	// not at one place.
	At int
}

func (m *Malformed) Error() string {
	if m.At < 0 {
		return m.Reason
	}
	return fmt.Sprintf("byte %d: %s", m.At, m.Reason)
}

func malformed(at int, format string, args ...any) error {
	return &Malformed{Reason: fmt.Sprintf(format, args...), At: at}
}
