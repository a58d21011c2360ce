package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

func TestLineReader_CountsLinesAndBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000) // this line is longer than the buffer of the reader
	l := newLineReader("f", strings.NewReader("\n a \r\n\n"+long+"\nlast"), 256<<10)
	type line struct {
		text string
		n    int
	}
	var got []line
	for {
		text, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line{string(text), l.n})
	}
	want := []line{{"a", 2}, {long, 4}, {"last", 5}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
	if want := int64(len("\n a \r\n\n") + len(long) + len("\nlast")); l.bytes != want {
		t.Errorf("the reader has read %d bytes, want %d", l.bytes, want)
	}
}

// proves: X3
func TestX3_LinesAreBounded(t *testing.T) {
	t.Parallel()
	const payloadMax = 100
	bound := 6*payloadMax + 8*job.AttrsMax
	l := newLineReader("f", strings.NewReader(strings.Repeat("x", bound)), payloadMax)
	if _, err := l.next(); err != nil {
		t.Errorf("reading a line of the largest allowed length returned the error %v, want no error", err)
	}
	l = newLineReader("f", io.MultiReader(strings.NewReader("ok\n"), endless{}), payloadMax)
	if _, err := l.next(); err != nil {
		t.Fatal(err)
	}
	l = newLineReader("f", endless{}, payloadMax)
	if _, err := l.next(); err == nil || !strings.HasPrefix(err.Error(), "f:1: the line is longer than") {
		t.Errorf("reading an endless line returned the error %v, want an error that the line is longer than the limit", err)
	}
}

// endless is an input with one line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type brokenReader struct{ after io.Reader }

var errDisk = errors.New("disk failure")

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.after.Read(p)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

func TestLineReader_ReturnsAReadErrorInsteadOfEOF(t *testing.T) {
	t.Parallel()
	l := newLineReader("f", brokenReader{strings.NewReader("a\nb")}, 100)
	if _, err := l.next(); err != nil {
		t.Fatal(err)
	}
	if text, err := l.next(); !errors.Is(err, errDisk) {
		t.Errorf("got line %q and error %v, want the error of the underlying reader", text, err)
	}
}

// FuzzLine checks three things: no line makes the parser panic, every accepted line is
// valid JSON with a kind, and all error messages are printable.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"kind":"a","payload":{"x":1},"queue":"q","priority":1,"in":"1s","attrs":{"n":1e999}}`))
	f.Add([]byte(`{"kind":"a","payload":null,"run_at":"2026-01-31T18:00:00Z","owner":"o","key":"k","correlation":"c"}`))
	f.Add([]byte(`{"kind":"a","kind":"b"}`))
	f.Add([]byte("{\"kind\":\"\xff\"}"))
	p := newLineParser(time.Unix(1_700_000_000, 0))
	f.Fuzz(func(t *testing.T, line []byte) {
		q, err := p.parse(bytes.TrimSpace(line))
		if err == nil {
			if !json.Valid(line) || q.Kind == "" {
				t.Errorf("the parser accepted the line %s, which is not valid JSON or has no kind, want an error", line)
			}
		}
		if err != nil && words.Clean(err.Error()) != err.Error() {
			t.Errorf("the error message contains control characters: %q", err)
		}
	})
}

func TestRequests_ErrorsDescribeTheMistake(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"\ufeff{\"kind\":\"a\"}":         "begins with a byte-order mark",
		"{":                              "write each object on one line",
		`{"kind":"a","priorty":1}`:       `did you mean "priority"?`,
		`{"kind":"a","in":"3d","in":""}`: `"in" is given twice`,
		`{"kind":"a","in":"3 days"}`:     `"in" must be a duration`,
		"{\"kind\":\"\xff\"}":            "is not UTF-8",
		`["a"]`:                          "must be one JSON object",
		`{}`:                             `"kind" is missing`,
	} {
		_, err := ReadRequests("f", strings.NewReader(line), 100, time.Unix(1_700_000_000, 0)).Next()
		if _, ok := errors.AsType[*LineError](err); !ok || !strings.HasPrefix(err.Error(), "f:1: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("line %s: got the error %v, want an error that contains %q", line, err, want)
		}
	}
	q, err := ReadRequests("f", strings.NewReader(`{"kind":"a","in":"3d","attrs":{"n":9007199254740993}}`), 100, time.Unix(1_700_000_000, 0)).Next()
	if err != nil || *q.In != 72*time.Hour || q.Attrs["n"] != json.Number("9007199254740993") {
		t.Errorf("got the request %+v and error %v, want 72h and the exact number 9007199254740993", q, err)
	}
}
