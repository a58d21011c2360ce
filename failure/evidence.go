package failure

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Limits of evidence. What is above them is cut with a visible mark.
const (
	MessageMax = 8 << 10  // bytes of Message
	DetailsMax = 64 << 10 // bytes of Details
	StderrMax  = 64 << 10 // bytes of Stderr
	CodeMax    = 64       // bytes of a code, a class or a dependency
	NodesMax   = 1000     // errors of one tree that are looked at
)

// EvidenceVersion is the format of Evidence as JSON.
const EvidenceVersion = 1

// Sent says whether a request can have reached the other side. The words are
// stored and append-only.
type Sent string

// What is known of the request.
const (
	SentUnknown Sent = ""         // it may have been received, and even done
	NotSent     Sent = "not_sent" // the other side has seen nothing of it, or says so
)

// Evidence is what is known about one failure. All texts are valid UTF-8. The
// zero value is the evidence of no error. As JSON it is a wire format with a
// version.
type Evidence struct {
	Message     string        `json:"message"`
	Code        string        `json:"code,omitempty"`         // by mark: the handler's own
	Class       Class         `json:"class,omitempty"`        // by mark
	Permanent   bool          `json:"permanent,omitempty"`    // by mark
	RetryAfter  time.Duration `json:"retry_after,omitempty"`  // by mark or typed error: the shortest wait
	NotBefore   time.Time     `json:"not_before,omitzero"`    // by typed error: no attempt before this time of the other side's clock
	Dependency  string        `json:"dependency,omitempty"`   // by mark: the service that is down
	Snooze      time.Duration `json:"snooze,omitempty"`       // by mark: not a failure, run again after this
	Cancel      bool          `json:"cancel,omitempty"`       // by mark: not a failure, do not run again
	Timeout     bool          `json:"timeout,omitempty"`      // something timed out: a context's deadline, a connection
	Canceled    bool          `json:"canceled,omitempty"`     // a context was cancelled
	HTTPStatus  int           `json:"http_status,omitempty"`  // 0 is unknown
	GRPC        string        `json:"grpc,omitempty"`         // canonical name of a gRPC status, such as "UNAVAILABLE"
	SQLState    string        `json:"sql_state,omitempty"`    // five characters, such as "40001"
	Errno       string        `json:"errno,omitempty"`        // of the operating system, such as "ECONNRESET"
	ServiceCode string        `json:"service_code,omitempty"` // that the other side gave, such as "SlowDown"
	Types       []string      `json:"types,omitempty"`        // of the errors that say something, the outer first, such as "net.OpError"
	Sent        Sent          `json:"sent,omitempty"`         // whether the request can have arrived
	Exit        *int          `json:"exit_code,omitempty"`    // of a subprocess; nil is unknown
	Signal      string        `json:"signal,omitempty"`       // that ended a subprocess, such as "SIGKILL"
	Details     []byte        `json:"-"`                      // a JSON object or nil
	Stderr      []byte        `json:"-"`                      // the tail, of a subprocess

	details []any // as collected from the marks
}

// Of reads the evidence of err: its text, its marks, and what its typed causes
// tell, anywhere in the tree that Unwrap spans, in the order of errors.As: the
// outer before the inner, of joined errors the first before the others. It
// never fails and never panics: nil gives the zero value, and a tree is followed
// for NodesMax errors, so that a cycle ends.
func Of(err error) Evidence {
	var e Evidence
	if err == nil {
		return e
	}
	e.Message = Text(err)
	walk(err, func(node error) { e.read(node) })
	e.Details = encodeDetails(e.details)
	e.details = nil
	return e
}

// read takes what one error of the tree tells. Nothing that is known already is
// overwritten: the walk comes from the outside.
func (e *Evidence) read(err error) {
	if m, ok := err.(mark); ok { //nolint:errorlint // walk looks at each error by itself
		m.note(e)
		return
	}
	e.Timeout = e.Timeout || stands(err, context.DeadlineExceeded)
	e.Canceled = e.Canceled || stands(err, context.Canceled)
	e.readHTTP(err)
	e.readProcess(err)
}

// stands reports whether this one error is target or says so by an Is method.
func stands(err, target error) bool {
	if err == target { //nolint:errorlint // walk looks at each error by itself
		return true
	}
	is, ok := err.(interface{ Is(error) bool })
	return ok && is.Is(target)
}

// readHTTP asks for a status by the method names that clients in Go use.
func (e *Evidence) readHTTP(err error) {
	status := 0
	switch err := err.(type) { //nolint:errorlint // walk looks at each error by itself
	case interface{ HTTPStatus() int }:
		status = err.HTTPStatus()
	case interface{ HTTPStatusCode() int }:
		status = err.HTTPStatusCode()
	case interface{ StatusCode() int }:
		status = err.StatusCode()
	}
	if e.HTTPStatus == 0 && status >= 100 && status <= 599 {
		e.HTTPStatus = status
	}
}

// readProcess asks for the end of a subprocess by methods, so that this package
// needs no os/exec: ExitCode, as *exec.ExitError has it, and SignalName and
// StderrTail, which errors may have beside it.
func (e *Evidence) readProcess(err error) {
	p, ok := err.(interface{ ExitCode() int })
	if !ok || e.Exit != nil || e.Signal != "" {
		return
	}
	if code := p.ExitCode(); code >= 0 {
		e.Exit = &code
	}
	switch err := err.(type) { //nolint:errorlint // walk looks at each error by itself
	case interface{ SignalName() string }:
		e.Signal = clip(err.SignalName(), CodeMax)
	case interface{ Sys() any }:
		e.Signal = signalOf(err.Sys())
	}
	if p, ok := err.(interface{ StderrTail() []byte }); ok {
		tail := p.StderrTail()
		e.Stderr = tail[max(0, len(tail)-StderrMax):]
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
