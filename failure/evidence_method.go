package failure

import (
	"fmt"
	"strings"
	"syscall"
	"time"

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
		e.Signal = plaintext.Clip(err.SignalName(), CodeMax)
	case interface{ Sys() any }:
		e.Signal = signalOf(err.Sys())
	case interface{ Signal() string }:
		if name := err.Signal(); name != "" { // RFC 4254 leaves out the prefix
			e.Signal = plaintext.Clip("SIG"+strings.TrimPrefix(name, "SIG"), CodeMax)
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
