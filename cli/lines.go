package cli

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

	"github.com/redrive/redrive/job"
)

// lineReader reads lines of a bounded length.
type lineReader struct {
	name  string
	in    *bufio.Reader
	max   int
	n     int   // of the last line, from 1
	bytes int64 // read so far
}

// newLineReader bounds a line by the largest payload, each of whose bytes may be
// written as an escape of six, and what else a line may hold.
func newLineReader(name string, in io.Reader, payloadMax int) *lineReader {
	return &lineReader{name: name, in: bufio.NewReaderSize(in, 64<<10), max: 6*payloadMax + 8*job.AttrsMax}
}

// next returns the next line that is not blank; io.EOF after the last.
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
	l.n++
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		l.bytes += int64(len(part))
		switch {
		case len(line) > l.max:
			return nil, l.at(fmt.Errorf("the line is longer than %d bytes", l.max))
		case err == nil || err == io.EOF && len(line) > 0:
			return line, nil
		case err == io.EOF:
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read %s: %w", l.name, err)
		}
	}
}

// at puts the place of the last line before an error.
func (l *lineReader) at(err error) error { return &lineError{name: l.name, line: l.n, err: err} }

// lineError is a mistake in one line.
type lineError struct {
	name string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.name, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// field is a key of a line: what it must hold, and how it is read.
type field struct {
	key, want string
	read      func(*request, json.RawMessage) error
}

func text(key string, into func(*request) *string) field {
	return field{key, "a text", func(r *request, v json.RawMessage) error { return json.Unmarshal(v, into(r)) }}
}

func moment(key string, into func(*request) *time.Time) field {
	return field{key, "a time such as \"2026-01-31T18:00:00Z\"", func(r *request, v json.RawMessage) error {
		return json.Unmarshal(v, into(r))
	}}
}

// fields are the keys that a line may have.
func fields() []field {
	return []field{
		text("kind", func(r *request) *string { return &r.kind }),
		{"payload", "", func(r *request, v json.RawMessage) error { r.payload = v; return nil }},
		text("queue", func(r *request) *string { return &r.queue }),
		{"priority", fmt.Sprintf("a number from %d to %d", job.PriorityMin, job.PriorityMax), readPriority},
		moment("run_at", func(r *request) *time.Time { return &r.runAt }),
		{"in", "a duration such as \"90s\" or \"1h30m\"", readIn},
		moment("deadline", func(r *request) *time.Time { return &r.deadline }),
		text("owner", func(r *request) *string { return &r.owner }),
		text("key", func(r *request) *string { return &r.key }),
		text("correlation", func(r *request) *string { return &r.correlation }),
		{"attrs", "an object", readAttrs},
	}
}

func readPriority(r *request, v json.RawMessage) error { return json.Unmarshal(v, &r.priority) }

func readIn(r *request, v json.RawMessage) error {
	var written string
	if err := json.Unmarshal(v, &written); err != nil {
		return err
	}
	d, err := time.ParseDuration(written)
	r.in = &d
	return err
}

// readAttrs keeps numbers as they are written.
func readAttrs(r *request, v json.RawMessage) error {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	return dec.Decode(&r.attrs)
}

// lineParser reads lines into requests, strictly.
type lineParser struct {
	fields map[string]field
	keys   []string
}

func newLineParser() *lineParser {
	p := &lineParser{fields: make(map[string]field)}
	for _, f := range fields() {
		p.fields[f.key] = f
		p.keys = append(p.keys, f.key)
	}
	return p
}

var errNotOneObject = errors.New(`must be one JSON object such as {"kind":"thumbnail","payload":{}}`)

func (p *lineParser) parse(line []byte) (*request, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("is not UTF-8; save it as UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errNotOneObject
	}
	r := &request{}
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
	if r.kind == "" {
		return nil, errors.New(`"kind" is missing`)
	}
	return r, nil
}

// entry reads a key and its value.
func (p *lineParser) entry(dec *json.Decoder, r *request, seen map[string]bool) error {
	token, err := dec.Token()
	if err != nil {
		return notJSON(dec, err)
	}
	key := token.(string) // of an object nothing else comes here
	f, known := p.fields[key]
	switch {
	case !known:
		return errors.New(unknown("key", key, p.keys))
	case seen[key]:
		return fmt.Errorf("%q is there twice", key)
	}
	seen[key] = true
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return notJSON(dec, err)
	}
	if string(value) == "null" && key != "payload" {
		return fmt.Errorf("%q must be %s, found null; leave the key out", key, f.want)
	}
	if err := f.read(r, value); err != nil {
		return fmt.Errorf("%q must be %s, found %s", key, f.want, shorten(clean(string(value)), 40))
	}
	return nil
}

func notJSON(dec *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not JSON: it ends too early")
	}
	reason := strings.TrimPrefix(err.Error(), "json: ")
	return fmt.Errorf("is not JSON, at byte %d: %s", dec.InputOffset()+1, reason)
}
