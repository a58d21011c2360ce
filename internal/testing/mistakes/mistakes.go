// Package mistakes checks what a reader of YAML files reports about mistakes in a file.
package mistakes

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/yamlfile"
)

// problem is the shape that the problems of all readers have.
type problem interface {
	~struct {
		File      string
		Line, Col int
		Message   string
	}
}

// Of returns the problems of a reader whose error type is P, and nil if err is nil. Any other
// error fails the test.
func Of[P interface {
	error
	~[]E
}, E problem](t *testing.T, err error) yamlfile.Problems {
	t.Helper()
	if err == nil {
		return nil
	}
	var problems P
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("got the error %#v, want the type %T with at least one problem", err, problems)
	}
	var list yamlfile.Problems
	for _, p := range problems {
		list = append(list, yamlfile.Problem(p))
	}
	return list
}

// Golden compares the message of err with a file. If the last argument is true, it writes the
// file first.
func Golden(t *testing.T, err error, file string, update bool) {
	t.Helper()
	if err == nil {
		t.Fatal("a file with mistakes was read without an error, want an error")
	}
	got := err.Error() + "\n"
	if update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("the problems differ from those of %s (-want +got):\n%s", file, d)
	}
}

// Mark is a place in a text at which a problem is expected.
type Mark struct{ Line, Col int }

// Cut removes each mark « from a text and returns the places of the marks.
func Cut(text string) (string, []Mark) {
	var out strings.Builder
	var marks []Mark
	at := Mark{1, 1}
	for _, c := range text {
		switch c {
		case '«':
			marks = append(marks, at)
			continue
		case '\n':
			at = Mark{at.Line + 1, 0}
		case '\ufeff': // a byte order mark has no column
			at.Col--
		}
		at.Col++
		out.WriteRune(c)
	}
	return out.String(), marks
}

// AtMarks checks that there is one problem at each mark, and that the message of each problem
// contains the message of the same number.
func AtMarks(t *testing.T, problems yamlfile.Problems, marks []Mark, messages []string) {
	t.Helper()
	if len(problems) != len(marks) {
		t.Fatalf("got %d problems, want %d:\n%v", len(problems), len(marks), problems)
	}
	for i, p := range problems {
		if got := (Mark{p.Line, p.Col}); got != marks[i] {
			t.Errorf("got a problem at line and column %v, want %v; the problem: %v", got, marks[i], p)
		}
		if !strings.Contains(p.Message, messages[i]) {
			t.Errorf("got the message %q, want a message with %q", p.Message, messages[i])
		}
	}
}

// Readable checks that problems can be printed, are sorted by their positions, and have
// positions within the text that the reader was given.
func Readable(t *testing.T, problems yamlfile.Problems, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
	var before yamlfile.Problem
	for _, p := range problems {
		if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > utf8.RuneCountInString(lines[p.Line-1])+1 {
			t.Errorf("the position of a problem is outside of the text, want it inside: %v", p)
		}
		if p.Line < before.Line || p.Line == before.Line && p.Col < before.Col {
			t.Errorf("the problem %v comes after the problem %v, want the problems sorted by position", p, before)
		}
		if p.Message == "" || !utf8.ValidString(p.Message) || strings.ContainsFunc(p.Message, unicode.IsControl) {
			t.Errorf("the message of a problem is %q, want a text that can be printed", p.Message)
		}
		if strings.Contains(p.Message, "the parser failed") {
			t.Errorf("a problem reports a panic of the parser, want no panic: %v", p)
		}
		before = p
	}
}
