package failure

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
)

// readMethods asks an error by the method names that libraries in Go use.
func (e *Evidence) readMethods(err error, has ability) {
	if has&notSent != 0 {
		e.Sent = NotSent
	}
	if has&isTimeout != 0 {
		if err, ok := err.(interface{ Timeout() bool }); ok && err.Timeout() {
			e.Timeout = true
		}
	}
	if has&isValue != 0 {
		if err, ok := err.(interface{ Is(error) bool }); ok {
			e.readIs(err)
		}
	}
	if has&httpStatus != 0 {
		e.setStatus(statusBy(err))
	}
	if has&(exitCode|sqlState|errorCode|errorType|reason|retryWait|unsent|rawJSON) != 0 {
		e.readRareMethods(err, has)
	}
}

func (e *Evidence) readRareMethods(err error, has ability) {
	if has&exitCode != 0 {
		e.readProcess(err)
	}
	if err, ok := err.(interface{ SQLState() string }); ok {
		e.setSQLState(err.SQLState())
	}
	switch err := err.(type) { //nolint:errorlint // the walk looks at each error by itself
	case interface{ ErrorCode() string }:
		e.setServiceCode(err.ErrorCode())
	case interface{ Code() string }:
		e.setServiceCode(err.Code())
	case interface{ ErrorCode() int }:
		e.setServiceNumber(int64(err.ErrorCode()))
	}
	if err, ok := err.(interface{ Reason() string }); ok {
		e.setServiceCode(err.Reason())
	}
	if err, ok := err.(interface{ ErrorType() string }); ok {
		if name := err.ErrorType(); isCode(name) {
			e.addType(name)
		}
	}
	if err, ok := err.(interface{ RetryAfter() time.Duration }); ok {
		e.RetryAfter = max(e.RetryAfter, err.RetryAfter())
	}
	if err, ok := err.(interface{ SafeToRetry() bool }); ok && err.SafeToRetry() {
		e.Sent = NotSent
	}
	if err, ok := err.(interface{ RawJSON() string }); ok {
		e.readBody(err.RawJSON())
	}
}

// statusBy asks for an HTTP status; 0 means no status.
func statusBy(err error) int {
	switch err := err.(type) { //nolint:errorlint // the walk looks at each error by itself
	case interface{ HTTPStatus() int }:
		return err.HTTPStatus()
	case interface{ HTTPStatusCode() int }:
		return err.HTTPStatusCode()
	case interface{ StatusCode() int }:
		return err.StatusCode()
	case interface{ HTTPCode() int }:
		return err.HTTPCode()
	case interface{ Status() int }:
		return err.Status()
	}
	return 0
}

// setStatus and the other setters take a value that is one, if none is known.
func (e *Evidence) setStatus(status int) {
	if e.HTTPStatus == 0 && status >= statusMin && status <= statusMax {
		e.HTTPStatus = status
	}
}

const statusMin, statusMax = 100, 599

func (e *Evidence) setSQLState(state string) {
	if e.SQLState == "" && isSQLState(state) {
		e.SQLState = state
	}
}

// isSQLState reports whether s has the form of a state that tells of an error:
// five digits and capital letters, and not of the classes 00 (success), 01
// (warning) and 02 (no data).
func isSQLState(s string) bool {
	if len(s) != 5 || s[0] == '0' && s[1] <= '2' {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'A' || s[i] > 'Z') {
			return false
		}
	}
	return true
}

func (e *Evidence) setServiceCode(code string) {
	if e.ServiceCode == "" && code != e.SQLState && isCode(code) {
		e.ServiceCode = code
	}
}

// setServiceNumber takes a number that is a code: not 0, and not one that would
// read as an HTTP status.
func (e *Evidence) setServiceNumber(n int64) {
	if e.ServiceCode == "" && n != 0 && (n < statusMin || n > statusMax) {
		e.ServiceCode = strconv.FormatInt(n, 10)
	}
}

// isCode reports whether s can be a machine code: one word of CodeMax bytes at
// most, and neither 0 nor a number that would read as an HTTP status.
func isCode(s string) bool {
	if s == "" || len(s) > CodeMax {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-', c == '.', c == ':', c == '/', c == '#':
		default:
			return false
		}
	}
	status := len(s) == len("404") && s[0] >= '1' && s[0] <= '5'
	return digits < len(s) || !status && s != "0"
}

// readProcess asks for the end of a subprocess by methods, so that this package
// needs no os/exec: ExitCode, as *exec.ExitError has it, and SignalName and
// StderrTail and StdoutTail, which errors may have beside it; or ExitStatus and Signal, as
// clients of SSH have them.
func (e *Evidence) readProcess(err error) {
	if e.Exit != nil || e.Signal != "" {
		return
	}
	code := -1
	switch err := err.(type) { //nolint:errorlint // the walk looks at each error by itself
	case interface{ ExitCode() int }:
		code = err.ExitCode()
	case interface{ ExitStatus() int }:
		code = err.ExitStatus()
	}
	switch err := err.(type) { //nolint:errorlint // as above
	case interface{ SignalName() string }:
		e.Signal = clip(err.SignalName(), CodeMax)
	case interface{ Sys() any }:
		e.Signal = signalOf(err.Sys())
	case interface{ Signal() string }:
		if name := err.Signal(); name != "" { // RFC 4254 leaves out the prefix
			e.Signal = clip("SIG"+strings.TrimPrefix(name, "SIG"), CodeMax)
		}
	}
	if code > 0 || code == 0 && e.Signal == "" {
		e.Exit = &code
	}
	if p, ok := err.(interface{ StderrTail() []byte }); ok {
		e.setStderr(p.StderrTail())
	}
	if p, ok := err.(interface{ StdoutTail() []byte }); ok && e.Stdout == nil {
		e.Stdout = Output(p.StdoutTail())
	}
}

// setStderr keeps the tail of what a subprocess wrote.
func (e *Evidence) setStderr(b []byte) {
	if e.Stderr == nil {
		e.Stderr = Output(b)
	}
}

// Output returns what a subprocess wrote to its standard output or error in the form in which it
// is evidence: valid UTF-8, without escape sequences of terminals and earlier states of progress
// bars, and the last StderrMax bytes, from the beginning of a line. It returns nil for no output.
func Output(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	b = []byte(mend(string(plaintext.Clean(lastOutput(b)))))
	return lastOutput(b)
}

// lastOutput returns the last StderrMax bytes, from the beginning of a line.
func lastOutput(b []byte) []byte {
	if len(b) <= StderrMax {
		return b
	}
	b = plaintext.FromLine(b[len(b)-StderrMax:])
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

// signalOf reads what the Sys method of *exec.ExitError gives.
func signalOf(sys any) string {
	status, ok := sys.(interface {
		Signaled() bool
		Signal() syscall.Signal
	})
	if !ok || !status.Signaled() {
		return ""
	}
	for _, known := range signals {
		if known.signal == status.Signal() {
			return known.name
		}
	}
	return fmt.Sprintf("signal %d", int(status.Signal()))
}

var signals = [...]struct {
	signal syscall.Signal
	name   string
}{
	{syscall.SIGHUP, "SIGHUP"}, {syscall.SIGINT, "SIGINT"}, {syscall.SIGQUIT, "SIGQUIT"},
	{syscall.SIGILL, "SIGILL"}, {syscall.SIGTRAP, "SIGTRAP"}, {syscall.SIGABRT, "SIGABRT"},
	{syscall.SIGBUS, "SIGBUS"}, {syscall.SIGFPE, "SIGFPE"}, {syscall.SIGKILL, "SIGKILL"},
	{syscall.SIGSEGV, "SIGSEGV"}, {syscall.SIGPIPE, "SIGPIPE"}, {syscall.SIGALRM, "SIGALRM"},
	{syscall.SIGTERM, "SIGTERM"},
}
