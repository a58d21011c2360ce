package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
)

func TestLineReader_CountsLinesAndBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000) // more than the buffer
	l := newLineReader("f", strings.NewReader("\n a \r\n\n"+long+"\nlast"), config.Default().Limits.PayloadBytes)
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
		t.Errorf("%d bytes, want %d", l.bytes, want)
	}
}

// proves: X3
func TestX3_LinesAreBounded(t *testing.T) {
	t.Parallel()
	const payloadMax = 100
	bound := 6*payloadMax + 8*job.AttrsMax
	if _, err := newLineReader("f", strings.NewReader(strings.Repeat("x", bound)), payloadMax).next(); err != nil {
		t.Errorf("a line of the bound: %v", err)
	}
	_, err := newLineReader("f", io.MultiReader(strings.NewReader("ok\n"), endless{}), payloadMax).next()
	if err != nil {
		t.Fatal(err)
	}
	l := newLineReader("f", endless{}, payloadMax)
	if _, err := l.next(); err == nil || !strings.HasPrefix(err.Error(), "f:1: the line is longer than") {
		t.Errorf("an endless line: %v", err)
	}
}

// endless is a line that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type brokenReader struct{ after io.Reader }

var errDisk = errors.New("disk on fire")

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.after.Read(p)
	if err == io.EOF {
		err = errDisk
	}
	return n, err
}

func TestLineReader_TellsAReadErrorFromTheEnd(t *testing.T) {
	t.Parallel()
	l := newLineReader("f", brokenReader{strings.NewReader("a\nb")}, 100)
	if _, err := l.next(); err != nil {
		t.Fatal(err)
	}
	if text, err := l.next(); !errors.Is(err, errDisk) {
		t.Errorf("got %q, %v, want the reader's error", text, err)
	}
}

// FuzzLine checks that no line makes the parser panic, that what it takes in has
// all that a job needs, and that what it says about the rest is printable.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"kind":"a","payload":{"x":1},"queue":"q","priority":1,"in":"1s","attrs":{"n":1e999}}`))
	f.Add([]byte(`{"kind":"a","payload":null,"run_at":"2026-01-31T18:00:00Z","owner":"o","key":"k","correlation":"c"}`))
	f.Add([]byte(`{"kind":"a","kind":"b"}`))
	f.Add([]byte("{\"kind\":\"\xff\"}"))
	r := &rules{settings: settings{Config: config.Default()}}
	p := newLineParser()
	f.Fuzz(func(t *testing.T, line []byte) {
		q, err := p.parse(bytes.TrimSpace(line))
		if err == nil {
			if !json.Valid(line) || q.kind == "" {
				t.Errorf("%s was taken", line)
			}
			_, err = r.spec(q)
		}
		if err != nil && clean(err.Error()) != err.Error() {
			t.Errorf("the error has characters that a terminal acts on: %q", err)
		}
	})
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	known := []string{"thumbnail", "mail", "ocr"}
	for _, tt := range []struct{ name, want string }{
		{"thumnail", `unknown kind "thumnail", did you mean "thumbnail"?`},
		{"Mail", `unknown kind "Mail", did you mean "mail"?`},
		{"mial", `unknown kind "mial", did you mean "mail"?`},
		{"video", `unknown kind "video"; known are thumbnail, mail, ocr`},
		{"x", `unknown kind "x"; known are thumbnail, mail, ocr`},
		{"\x1b[2J", `unknown kind "\x1b[2J"; known are thumbnail, mail, ocr`},
	} {
		if got := unknown("kind", tt.name, known); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if got := unknown("kind", "x", nil); got != `unknown kind "x"` {
		t.Errorf("without any known: %s", got)
	}
}
