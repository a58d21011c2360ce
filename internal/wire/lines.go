package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Request is a request to enqueue a job, from a line of a file or from the command line.
type Request struct {
	Kind, Queue, Owner, Key, Correlation string
	Payload                              []byte
	Priority                             *int
	RunAt, Deadline                      time.Time
	In                                   *time.Duration
	Unique                               *time.Duration // the length of the periods in which the job is unique; 0 means while it is alive
	Attrs                                map[string]any
	Retry                                *policy.Override // the job's own settings of its retries
}

// Requests reads jobs from lines with one JSON object each. It is strict: a key that is
// unknown, that appears twice or whose value has the wrong type is an error.
type Requests struct {
	lineReader
	lineParser
}

// ReadRequests returns a reader for the jobs in a file. Messages call the file by the given
// name. The number payloadMax is the largest size of a payload in bytes; it also limits the
// length of a line. Times that are written as durations count from now.
func ReadRequests(name string, in io.Reader, payloadMax int, now time.Time) *Requests {
	return &Requests{newLineReader(name, in, payloadMax), newLineParser(now)}
}

// Next returns the next job, or io.EOF at the end of the file. A *LineError means that one
// line is wrong; the next call continues with the following line.
func (r *Requests) Next() (*Request, error) {
	line, err := r.next()
	if err != nil {
		return nil, err
	}
	q, err := r.parse(line)
	if err != nil {
		return nil, r.At(err)
	}
	return q, nil
}

// Name returns the name of the file.
func (r *Requests) Name() string { return r.name }

// Line returns the number of the last line that was read, from 1.
func (r *Requests) Line() int { return r.n }

// Bytes returns the number of bytes that were read.
func (r *Requests) Bytes() int64 { return r.bytes }

// At adds to an error the name of the file and the number of the last line that was read.
func (r *Requests) At(err error) error { return r.at(err) }

// LineError is a mistake in one line.
type LineError struct {
	Name string // name of the file
	Line int    // number of the line, from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

// Unwrap returns the mistake without the file name and the line number.
func (e *LineError) Unwrap() error { return e.Err }

// Kind returns the kind of the mistake, or InvalidField if the mistake has no kind.
func (e *LineError) Kind() Kind {
	if k := KindOf(e.Err); k != Internal {
		return k
	}
	return InvalidField
}

// lineReader reads lines and limits their length.
type lineReader struct {
	name  string
	in    *bufio.Reader
	max   int
	n     int   // number of the last line that was read, from 1
	long  bool  // whether the rest of the last line was not read, because the line is too long
	bytes int64 // number of bytes that were read
}

// newLineReader returns a lineReader. It computes the largest length of a line from payloadMax:
// each byte of a payload can become an escape of six bytes, and the other fields need space
// too.
func newLineReader(name string, in io.Reader, payloadMax int) lineReader {
	return lineReader{name: name, in: bufio.NewReaderSize(in, 64<<10), max: 6*payloadMax + 8*job.AttrsMax}
}

// next returns the next line that is not blank, or io.EOF at the end of the file.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() (line []byte, err error) {
	if err := l.skip(); err != nil {
		return nil, err
	}
	l.n++
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		l.bytes += int64(len(part))
		switch {
		case len(line) > l.max:
			l.long = err != nil
			return nil, l.at(fmt.Errorf("the line is longer than %d bytes; store large data elsewhere and put only its address into the payload", l.max))
		case err == nil || err == io.EOF && len(line) > 0:
			return line, nil
		case err == io.EOF:
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read %s: %w", l.name, err)
		}
	}
}

// skip reads the rest of a line that is too long.
func (l *lineReader) skip() error {
	for l.long {
		part, err := l.in.ReadSlice('\n')
		l.bytes += int64(len(part))
		switch {
		case err == nil || errors.Is(err, io.EOF):
			l.long = false
		case !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("read %s: %w", l.name, err)
		}
	}
	return nil
}

// at adds to an error the name of the file and the number of the last line that was read.
func (l *lineReader) at(err error) error { return &LineError{Name: l.name, Line: l.n, Err: err} }

// field is a key that a line can have. It has a description of the values for messages, and a
// function that reads a value.
type field struct {
	key, want string
	read      func(*Request, json.RawMessage) error
}

func text(key string, into func(*Request) *string) field {
	return field{key, "a text", func(r *Request, v json.RawMessage) error { return json.Unmarshal(v, into(r)) }}
}

func moment(key string, now time.Time, into func(*Request) *time.Time) field {
	return field{key, human.TimeForms, func(r *Request, v json.RawMessage) error {
		var written string
		if err := json.Unmarshal(v, &written); err != nil {
			return err
		}
		at, err := human.ParseTime(written, now, false)
		*into(r) = at
		return err
	}}
}

// fields returns the keys that a line can have.
func fields(now time.Time) []field {
	return []field{
		text("kind", func(r *Request) *string { return &r.Kind }),
		{"payload", "", func(r *Request, v json.RawMessage) error { r.Payload = v; return nil }},
		text("queue", func(r *Request) *string { return &r.Queue }),
		{"priority", fmt.Sprintf("a number from %d to %d", job.PriorityMin, job.PriorityMax), readPriority},
		moment("run_at", now, func(r *Request) *time.Time { return &r.RunAt }),
		{"in", human.DurationForms, readIn},
		moment("deadline", now, func(r *Request) *time.Time { return &r.Deadline }),
		text("owner", func(r *Request) *string { return &r.Owner }),
		text("key", func(r *Request) *string { return &r.Key }),
		{"unique", "\"alive\" or a duration such as \"24h\"", readUnique},
		text("correlation", func(r *Request) *string { return &r.Correlation }),
		{"attrs", "an object", readAttrs},
		{"retry", "an object such as {\"max_retries\": 2}; its keys are retry, max_retries, max_total_retries, max_attempts, max_cost and waits", readRetry},
	}
}

func readPriority(r *Request, v json.RawMessage) error { return json.Unmarshal(v, &r.Priority) }

func readIn(r *Request, v json.RawMessage) error {
	var written string
	if err := json.Unmarshal(v, &written); err != nil {
		return err
	}
	d, err := human.ParseDuration(written)
	r.In = &d
	return err
}

func readUnique(r *Request, v json.RawMessage) error {
	var written string
	if err := json.Unmarshal(v, &written); err != nil {
		return err
	}
	period, err := ParseUnique(written)
	r.Unique = &period
	return err
}

// ParseUnique reads for how long a job is unique. It returns 0 for "alive"; any other text must
// be the length of a period.
func ParseUnique(written string) (time.Duration, error) {
	if written == "alive" {
		return 0, nil
	}
	d, err := human.ParseDuration(written)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: must be \"alive\", or a time above zero such as 24h", written)
	}
	return d, nil
}

// readAttrs reads the attributes. Numbers are kept as they are written.
func readAttrs(r *Request, v json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	return dec.Decode(&r.Attrs)
}

func readRetry(r *Request, v json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r.Retry); err != nil || r.Retry == nil {
		return err
	}
	return r.Retry.Validate()
}

// lineParser parses lines into requests. Unknown and repeated keys are errors.
type lineParser struct {
	fields map[string]field
	keys   []string
}

func newLineParser(now time.Time) lineParser {
	p := lineParser{fields: make(map[string]field)}
	for _, f := range fields(now) {
		p.fields[f.key] = f
		p.keys = append(p.keys, f.key)
	}
	return p
}

var (
	errNotOneObject = errors.New(`the line must be one JSON object such as {"kind":"thumbnail","payload":{}}`)
	errBOM          = errors.New("the line begins with a byte-order mark; save the file as UTF-8 without this mark")
)

func (p *lineParser) parse(line []byte) (*Request, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not UTF-8; save the file as UTF-8")
	}
	if bytes.HasPrefix(line, []byte("\ufeff")) {
		return nil, errBOM
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errNotOneObject
	}
	r := &Request{}
	seen := make(map[string]bool, len(p.keys))
	for dec.More() {
		if err := p.entry(dec, r, seen); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(dec, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errNotOneObject
	}
	if r.Kind == "" {
		return nil, errors.New(`"kind" is missing`)
	}
	return r, nil
}

// entry reads one key and its value.
func (p *lineParser) entry(dec *json.Decoder, r *Request, seen map[string]bool) error {
	token, err := dec.Token()
	if err != nil {
		return notJSON(dec, err)
	}
	key := token.(string) // Inside an object, the decoder returns every key as a string.
	f, known := p.fields[key]
	switch {
	case !known:
		return errors.New(suggest.Unknown("key", key, p.keys))
	case seen[key]:
		return fmt.Errorf("%q is given twice; keep one of them", key)
	}
	seen[key] = true
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return notJSON(dec, err)
	}
	if string(value) == "null" && key != "payload" {
		return fmt.Errorf("%q must be %s, found null; leave the key out", key, f.want)
	}
	err = f.read(r, value)
	if _, bound := errors.AsType[human.BoundError](err); bound {
		return fmt.Errorf("%q: %w", key, err)
	}
	if err != nil {
		return fmt.Errorf("%q must be %s, found %s", key, f.want, words.Shorten(words.Clean(string(value)), 40))
	}
	return nil
}

func notJSON(dec *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line is not JSON: it ends too early; write each object on one line (`jq -c .` does)")
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	return fmt.Errorf("the line is not JSON, at byte %d: %s", dec.InputOffset()+1, reason)
}
