package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error   { return e.error }
func (e *usageError) Kind() wire.Kind { return wire.InvalidField }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// absentError says that something does not exist. It wraps redrive.ErrNotFound.
type absentError string

func (e absentError) Error() string        { return string(e) }
func (e absentError) Is(target error) bool { return target == redrive.ErrNotFound }

func absentf(format string, args ...any) error { return absentError(fmt.Sprintf(format, args...)) }

// several holds the errors of a call that acts on several jobs, in the order of the jobs.
type several []error

func (s several) Error() string {
	lines := make([]string, len(s))
	for i, err := range s {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Kind returns the kind of the first error, or wire.Internal if the errors have different
// exit codes.
func (s several) Kind() wire.Kind { return wire.KindOfAll(s) }

// asError returns nil if the list has no errors.
func (s several) asError() error {
	if len(s) == 0 {
		return nil
	}
	return s
}

// noted is an error followed by a line of explanation.
type noted struct {
	error
	note string
}

func (e *noted) Error() string { return e.error.Error() + "\n" + e.note }
func (e *noted) Unwrap() error { return e.error }

// failed ends a command with exit code 1. The command has already printed what is wrong.
type failed struct{}

func (failed) Error() string { return "something is wrong" }

// warned ends a command with exit code 9. The command has already printed its warnings.
type warned struct{}

func (warned) Error() string   { return "something should be looked at" }
func (warned) Kind() wire.Kind { return wire.Warned }

// sentence returns the text of an error without the names of kinds of errors at the ends of its lines:
// the lines say what is wrong, and the exit code says the kind.
func sentence(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(strings.TrimSuffix(line, ": "+redrive.ErrInvalid.Error()), ": "+redrive.ErrConflict.Error())
		if said, cut := strings.CutSuffix(line, ": "+redrive.ErrNotFound.Error()); cut && strings.Contains(said, "; ") {
			line = said
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// report writes an error to standard error: as lines of text, or as one JSON object.
func report(w io.Writer, err error, asJSON bool) {
	if _, ended := errors.AsType[endedAs](err); ended || errors.Is(err, failed{}) || errors.Is(err, warned{}) {
		return
	}
	if !asJSON {
		for line := range strings.SplitSeq(sentence(err), "\n") {
			fmt.Fprintf(w, "redrive: %s\n", words.Clean(line))
		}
		return
	}
	shown := wire.ErrorOf(err)
	shown.Message = sentence(err)
	if werr := wire.Encode(w, map[string]wire.Error{"error": shown}, ""); werr != nil {
		fmt.Fprintf(w, "redrive: %s\n", words.Clean(shown.Message))
	}
}
