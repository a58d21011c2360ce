package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Task is what a record asks for.
type Task struct {
	ID      string // job_id
	Type    string // task_type
	Payload []byte // the payload's exact bytes; "null" when it is missing
	// Key is the idempotency key. When the record has none, it is made from job_id.
	Key string
	// RetryCount is the number of retries that were made elsewhere.
	RetryCount int
	// MaxRetry is the number of retries that the record allows, those made elsewhere included; nil
	// means that the policy decides.
	MaxRetry *int
	// DueAt is when the task is due; zero means now.
	DueAt time.Time
	// ZoneOff is set when scheduled_retry_at was wrong by an offset of a time zone; then DueAt is
	// made of the record's time and its header delay_seconds instead.
	ZoneOff time.Duration

	CreatedAt, LastRetryAt time.Time
	LastError              json.RawMessage // an object, or nil
	Fields                 json.RawMessage // the unknown fields of the object as an object, or nil
	Metadata               json.RawMessage // the unknown fields of the metadata as an object, or nil
}

// RetriesLeft returns how many retries the record still allows. ok is false when the policy decides.
func (t *Task) RetriesLeft() (n int, ok bool) {
	if t.MaxRetry == nil {
		return 0, false
	}
	return max(0, *t.MaxRetry-t.RetryCount), true
}

// Rules are the settings of a stream that Read needs.
type Rules struct {
	ValueMax int  // maximum size of the value in bytes
	Strict   bool // job_id must be a UUID of version 4
}

// Read reads the task of a record at the time now. The error is a *Malformed. The returned Task has
// what was read before the mistake, such as the job_id.
func Read(r *Record, now time.Time, rules Rules) (t Task, err error) {
	switch {
	case r.Value == nil:
		return t, malformed(-1, "the record is a tombstone: it has no value")
	case len(r.Value) > rules.ValueMax:
		return t, malformed(-1, "the value has %d bytes: at most %d are allowed (limits.payload)", len(r.Value), rules.ValueMax)
	}
	if err := checkJSON(r.Value); err != nil {
		return t, err
	}
	start := len(r.Value) - len(strings.TrimLeft(string(r.Value), " \t\r\n"))
	if r.Value[start] != '{' {
		return t, malformed(start, "the value must be a JSON object")
	}
	all, err := members(r.Value, 0, "the value")
	if err != nil {
		return t, err
	}
	if err := t.top(all, rules); err != nil {
		return t, err
	}
	return t, t.check(r, now)
}

// top reads the fields of the object.
func (t *Task) top(all []member, rules Rules) error {
	t.Payload = []byte("null")
	var rest []member
	var metadata *member
	var id, kind bool
	for i := range all {
		m := &all[i]
		var err error
		switch m.name {
		case "job_id":
			id = true
			t.ID, err = readID(m, rules.Strict)
		case "task_type":
			kind = true
			t.Type, err = readText(m)
		case "payload":
			t.Payload = m.value
		case "metadata":
			metadata = m
		default:
			rest = append(rest, *m)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !id:
		return malformed(-1, "job_id is missing")
	case !kind:
		return malformed(-1, "task_type is missing")
	}
	t.Fields = object(rest)
	t.Key = derivedKey + t.ID
	if metadata == nil || metadata.null() {
		return nil
	}
	if metadata.kind() != '{' {
		return wrongType(metadata, "an object")
	}
	inner, err := members(metadata.value, metadata.at, "metadata")
	if err != nil {
		return err
	}
	return t.metadata(inner)
}

// metadata reads the fields of the metadata.
func (t *Task) metadata(all []member) error {
	var rest []member
	for i := range all {
		m := &all[i]
		var err error
		switch {
		case !known[m.name]:
			rest = append(rest, *m)
		case m.null(): // as if it were missing
		case m.name == "idempotency_key":
			var key string
			if key, err = readText(m); err == nil && key != "" {
				t.Key = key
			}
		case m.name == "retry_count":
			t.RetryCount, err = readCount(m)
		case m.name == "max_retry":
			var n int
			n, err = readCount(m)
			t.MaxRetry = &n
		case m.name == "created_at":
			t.CreatedAt, err = readTime(m)
		case m.name == "last_retry_at":
			t.LastRetryAt, err = readTime(m)
		case m.name == "last_error" && m.kind() != '{':
			err = wrongType(m, "an object or null")
		case m.name == "last_error":
			t.LastError = m.value
		default:
			t.DueAt, err = readSeconds(m)
		}
		if err != nil {
			return err
		}
	}
	t.Metadata = object(rest)
	return nil
}

// known are the fields of the metadata that have a meaning.
var known = map[string]bool{
	"idempotency_key": true, "retry_count": true, "max_retry": true, "created_at": true,
	"last_retry_at": true, "last_error": true, "scheduled_retry_at": true,
}

// check checks the bounds of what was read, and decides when the task is due.
func (t *Task) check(r *Record, now time.Time) error {
	if len(t.Key) > KeyMax {
		return malformed(-1, "the idempotency key has %d bytes: at most %d are allowed", len(t.Key), KeyMax)
	}
	if n := len(t.Fields) + len(t.Metadata) + len(t.LastError); n > FieldsMax {
		return malformed(-1, "the fields beside the payload have %d bytes: at most %d are allowed", n, FieldsMax)
	}
	headers := r.carried()
	size := len(r.Key)
	for _, h := range headers {
		size += len(h.Name) + len(h.Value)
	}
	switch {
	case len(headers) > HeadersMax:
		return malformed(-1, "the record has %d headers: at most %d are allowed", len(headers), HeadersMax)
	case size > HeaderMax:
		return malformed(-1, "the record's key and headers have %d bytes: at most %d are allowed", size, HeaderMax)
	}
	t.byDelay(r)
	switch {
	case !t.DueAt.After(now):
		t.DueAt = time.Time{}
	case t.DueAt.Sub(now) > ScheduledMax:
		return malformed(-1, "scheduled_retry_at is %s: it must be within 30 days from now", t.DueAt.UTC().Format(time.RFC3339))
	}
	return nil
}

// byDelay compares the due time with the header delay_seconds. Programs that write
// utcnow().timestamp() are wrong by the offset of their machine's time zone. Then the header is
// right, because it is a duration. Without a due time the header alone says it.
func (t *Task) byDelay(r *Record) {
	text, ok := r.header(delayHeader)
	delay, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(delay >= 0 && delay <= ScheduledMax.Seconds()) || r.Time.IsZero() {
		return
	}
	meant := r.Time.Add(time.Duration(delay * float64(time.Second)))
	if t.DueAt.IsZero() {
		t.DueAt = meant
		return
	}
	off := t.DueAt.Sub(meant).Seconds()
	steps := math.Round(off / zoneStep)
	if steps != 0 && math.Abs(off) <= zoneMax+zoneTolerance && math.Abs(off-steps*zoneStep) <= zoneTolerance {
		t.DueAt, t.ZoneOff = meant, time.Duration(steps*zoneStep)*time.Second
	}
}

func readID(m *member, strict bool) (string, error) {
	id, err := readText(m)
	switch {
	case err != nil:
		return "", err
	case id == "" || len(id) > IDMax:
		return "", malformed(m.at, "job_id has %d bytes: it must have 1 to %d", len(id), IDMax)
	case strings.ContainsFunc(id, unicode.IsControl):
		return "", malformed(m.at, "job_id has a control character")
	case strict && !isUUID4(id):
		return "", malformed(m.at, "job_id %s is not a UUID of version 4, which the stream's setting strict asks for", quote(id))
	}
	return id, nil
}

func isUUID4(id string) bool {
	if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89abAB", rune(id[19])) {
		return false
	}
	for i := range len(id) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (id[i] == '-') ||
			!dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(id[i])) {
			return false
		}
	}
	return true
}

func wrongType(m *member, want string) error {
	return malformed(m.at, "%s is %s: it must be %s", m.name, quote(string(m.value)), want)
}

func readText(m *member) (text string, err error) {
	if m.kind() != '"' || json.Unmarshal(m.value, &text) != nil {
		return "", wrongType(m, "a text")
	}
	return text, nil
}

// number returns the value of a JSON number. Without a number the result is NaN.
func number(m *member) float64 {
	n, err := strconv.ParseFloat(string(m.value), 64)
	if c := m.kind(); err != nil || c != '-' && (c < '0' || c > '9') {
		return math.NaN()
	}
	return n
}

func readCount(m *member) (int, error) {
	n := number(m)
	if !(n >= 0 && n <= CountMax && n == math.Trunc(n)) {
		return 0, wrongType(m, "a whole number from 0 to 1000000000")
	}
	return int(n), nil
}

func readSeconds(m *member) (time.Time, error) {
	n := number(m)
	switch {
	case !(n >= 0):
		return time.Time{}, wrongType(m, "seconds since 1970, not below 0")
	case n >= laterThanEver:
		return time.Time{}, wrongType(m, "seconds since 1970, before the year 2200; milliseconds must be divided by 1000")
	}
	whole, part := math.Modf(n)
	return time.Unix(int64(whole), int64(math.Round(part*1e6))*1e3).UTC(), nil // a number of this size has no more digits
}

func readTime(m *member) (time.Time, error) {
	text, err := readText(m)
	if err != nil {
		return time.Time{}, wrongType(m, "a time such as 2026-11-28T11:20:22Z; without a zone it is UTC")
	}
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, wrongType(m, "a time such as 2026-11-28T11:20:22Z; without a zone it is UTC")
}
