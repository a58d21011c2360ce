package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one mistake in a configuration file.
type Problem struct {
	File string
	// Line and Col count from 1; Col counts characters, not bytes.
	Line, Col int
	// Message is one line that names the thing, the bound and the cure.
	Message string
}

// String gives "file:line:col: message".
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
}

// Problems are all mistakes of a file, sorted by position.
type Problems []Problem

// Error gives one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// position is a place in the file, both parts counted from 1.
type position struct{ line, col int }

// reader collects the problems of one file.
type reader struct {
	file     string
	problems Problems
	// seen keeps a mistake behind an anchor from being told once per alias.
	seen map[Problem]bool
}

func newReader(file string) *reader {
	return &reader{file: file, seen: map[Problem]bool{}}
}

func (r *reader) addf(at position, format string, args ...any) {
	p := Problem{r.file, at.line, at.col, fmt.Sprintf(format, args...)}
	if r.seen[p] {
		return
	}
	r.seen[p] = true
	r.problems = append(r.problems, p)
}

// err returns the sorted problems, or nil when there are none.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return r.problems
}

// quote shows text of the file in a message, shortened and on one line.
func quote(s string) string { return strconv.Quote(clip(s)) }

const clipLength = 60

func clip(s string) string {
	n := 0
	for i := range s {
		if n == clipLength {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
