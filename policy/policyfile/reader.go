package policyfile

import (
	"errors"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
)

// Problem is one mistake in a policy file.
type Problem struct {
	File string
	// Line and Col start at 1. Col counts characters, not bytes.
	Line, Col int
	// Message is one line that says what the value is, what is allowed, and how to correct
	// it.
	Message string
}

// String returns the problem as "file:line:col: message".
func (p Problem) String() string { return yamlfile.Problem(p).String() }

// Problems are all mistakes of a policy file, sorted by position.
type Problems []Problem

// Error returns all problems, one per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

type (
	value    = yamlfile.Value
	field    = yamlfile.Field
	position = yamlfile.Position
)

// reader reads one policy file.
type reader struct {
	*yamlfile.Reader
	label      string // the name of the file for messages
	root       value
	references []reference
	builtin    *bool // the value of classify.builtin; nil if the file does not set it
	step       bool  // whether the file sets the active stage of the roll-out
	// spots contains the positions of list entries that the file writes in a shorter form. The
	// keys are their paths in the Spec.
	spots map[string]spot
}

// spot contains the position of a list entry, the position of its class, and the path of the
// entry in the file.
type spot struct {
	at, class position
	path      string
}

func newReader(file string) *reader {
	return &reader{
		label: file,
		Reader: yamlfile.NewReader(file, yamlfile.About{
			Noun:    "a policy",
			Example: "name: mine",
			Start:   `write at least "version: 1"`,
			Depth:   8,
			Days:    true,
			Renamed: map[string]string{"max_attempts_ceiling": "max_attempts"},
		}),
		spots: map[string]spot{},
	}
}

// Err returns the problems, sorted, or nil if there are no problems.
func (r *reader) Err() error {
	err := r.Reader.Err()
	found, ok := errors.AsType[yamlfile.Problems](err)
	if !ok {
		return err
	}
	problems := make(Problems, len(found))
	for i, p := range found {
		problems[i] = Problem(p)
	}
	return problems
}

// duration reads a duration between 0 and the given one.
func (r *reader) duration(into *time.Duration, longest time.Duration) func(value) {
	return r.Duration(into, 0, longest)
}

// pointer reads an optional value; nil means that the file does not set it.
func pointer[T any](into **T, read func(into *T) func(value)) func(value) {
	return func(v value) {
		var given T
		read(&given)(v)
		if v.Shape != yamlfile.Invalid {
			*into = &given
		}
	}
}

// texts reads a mapping from texts to texts. Empty texts are reported as mistakes.
func (r *reader) texts(into *map[string]string, want string) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, want) {
			return
		}
		*into = make(map[string]string, len(v.Entries))
		for _, e := range v.Entries {
			var text string
			r.NonEmpty(&text)(value{Node: e.Value, Path: yamlfile.Join(v.Path, e.Key)})
			(*into)[e.Key] = text
		}
	}
}

// oneOrMore reads one value or a list of values.
func oneOrMore[T any](r *reader, into *[]T, want string, read func(into *T) func(value)) func(value) {
	return func(v value) {
		if v.Shape != yamlfile.List {
			*into = make([]T, 1)
			read(&(*into)[0])(v)
			return
		}
		if len(v.Items) == 0 {
			r.Addf(v.Pos, "%s is empty; write %s", v.Path, want)
		}
		yamlfile.ListOf(r.Reader, into, want, read)(v)
	}
}
