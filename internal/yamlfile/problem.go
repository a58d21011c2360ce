package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one error in a file.
type Problem struct {
	File string
	// Line and Col are the numbers of the line and of the character in it, both from 1.
	Line, Col int
	// Message is one line that names the setting, the bound and a remedy.
	Message string
}

// String returns "file:line:col: message".
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
}

// Problems holds all errors of a file, sorted by position.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Position is a place in a file. Line and Col are the numbers of the line and of the character in
// it, both from 1.
type Position struct{ Line, Col int }

var start = Position{1, 1}

// Addf adds a problem, unless the same problem at the same position was added before.
func (r *Reader) Addf(at Position, format string, args ...any) {
	p := Problem{r.file, at.Line, at.Col, fmt.Sprintf(format, args...)}
	if r.seen[p] {
		return
	}
	r.seen[p] = true
	r.problems = append(r.problems, p)
}

// Err returns the sorted problems as Problems, or nil if there are no problems.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return r.problems
}

// Problems returns the problems so far, in the order in which they were added.
func (r *Reader) Problems() Problems { return slices.Clip(r.problems) }

// Quote returns a text of the file in quotes, for a message. The result has one line, and a
// long text is shortened.
func Quote(s string) string { return strconv.Quote(Clip(s)) }

const clipLength = 60

// Clip shortens s to 60 characters.
func Clip(s string) string {
	n := 0
	for i := range s {
		if n == clipLength {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
