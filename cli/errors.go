package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/store"
)

// exitCode is what the command ends with; scripts rely on the numbers.
type exitCode int

const (
	codeOK       exitCode = 0
	codeError    exitCode = 1
	codeUsage    exitCode = 2 // the command line is wrong
	codeReturned exitCode = 3 // stopped, and work was left
	codeNotFound exitCode = 4
	codeConflict exitCode = 5 // the thing is in a state that does not allow it
)

func (c exitCode) String() string {
	return [...]string{"ok", "error", "usage", "work_returned", "not_found", "conflict"}[c]
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// absentError says that a thing is not there. It is a store.ErrNotFound.
type absentError string

func (e absentError) Error() string        { return string(e) }
func (e absentError) Is(target error) bool { return target == store.ErrNotFound }

func absentf(format string, args ...any) error { return absentError(fmt.Sprintf(format, args...)) }

// several are the errors of a call about several things.
type several []error

func (s several) Error() string {
	lines := make([]string, len(s))
	for i, err := range s {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// asError returns nil for none.
func (s several) asError() error {
	if len(s) == 0 {
		return nil
	}
	return s
}

// noted is an error with a line of explanation after it.
type noted struct {
	error
	note string
}

func (e *noted) Error() string { return e.error.Error() + "\n" + e.note }
func (e *noted) Unwrap() error { return e.error }

// failed ends a command that has said already what is wrong.
type failed struct{}

func (failed) Error() string { return "something is wrong" }

// codeOf tells how the command ends. Several errors of different codes are a
// plain error.
func codeOf(err error) exitCode {
	if err == nil {
		return codeOK
	}
	if all, ok := errors.AsType[several](err); ok {
		code := codeOf(all[0])
		for _, one := range all {
			if codeOf(one) != code {
				return codeError
			}
		}
		return code
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return codeUsage
	}
	switch {
	case errors.As(err, new(*returnedError)), errors.As(err, new(*interruptedError)):
		return codeReturned
	case errors.Is(err, store.ErrNotFound):
		return codeNotFound
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrDraining):
		return codeConflict
	}
	return codeError
}

// report tells of an error on standard error: a line for each, or one object.
func report(w io.Writer, err error, asJSON bool) {
	if errors.Is(err, failed{}) {
		return
	}
	if !asJSON {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(w, "redrive: %s\n", clean(line))
		}
		return
	}
	type detail struct {
		Code    string `json:"code"`
		Exit    int    `json:"exit"`
		Message string `json:"message"`
	}
	code := codeOf(err)
	text, merr := json.Marshal(map[string]detail{"error": {code.String(), int(code), err.Error()}})
	if merr != nil {
		panic("a text always marshals: " + merr.Error())
	}
	fmt.Fprintf(w, "%s\n", plainJSON(text))
}
