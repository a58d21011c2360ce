package failure

import (
	"context"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"syscall"
	"time"
)

// Limits of evidence. What is above them is cut with a visible mark.
const (
	MessageMax = 8 << 10  // bytes of Message
	DetailsMax = 64 << 10 // bytes of Details
	StderrMax  = 64 << 10 // bytes of Stderr, and of Stdout
	CodeMax    = 64       // bytes of a code, a class, a dependency or a type name
	TypesMax   = 8        // type names
	NodesMax   = 1000     // errors of one tree that are looked at
)

// Sent says whether a request can have reached the other side. The words are
// stored and append-only.
type Sent string

// What is known of the request.
const (
	SentUnknown Sent = ""         // it may have been received, and even done
	NotSent     Sent = "not_sent" // the other side has seen nothing of it, or says so
)

// Evidence is what is known about one failure. All texts are valid UTF-8. The
// zero value is the evidence of no error. Of makes it from an error; from
// elsewhere it comes as JSON, see MarshalJSON.
type Evidence struct {
	Message     string
	Code        string        // by mark: the handler's own
	Class       Class         // by mark
	Permanent   bool          // by mark
	RetryAfter  time.Duration // by mark or by a typed error: the shortest wait
	RetryMark   bool          // by mark: a later attempt can succeed, after RetryAfter
	NotBefore   time.Time     // by a typed error: no attempt before this; the decision makes a wait of it
	Dependency  string        // by mark: the service that is down
	Snooze      time.Duration // by mark: not a failure, run again after this
	Cancel      bool          // by mark: not a failure, do not run again
	HandOver    time.Duration // by mark: a call gave up and leaves it to the queue to run the job again after this
	Timeout     bool          // something timed out: a context's deadline, a connection
	Canceled    bool          // a context was cancelled
	HTTPStatus  int           // 100 to 599; 0 is unknown
	GRPC        string        // canonical name of a gRPC status, such as "UNAVAILABLE"
	SQLState    string        // five characters, such as "40001"
	Errno       string        // of the operating system or its resolver, such as "ECONNRESET", "EAI_AGAIN"
	ServiceCode string        // that the other side gave, such as "SlowDown", "SQLITE_BUSY"
	Types       []string      // see TypesMax; of errors that say something, the outer first; never changed
	Sent        Sent          // whether the request can have arrived
	Exit        *int          // exit code of a subprocess; nil is unknown
	Signal      string        // that ended a subprocess, such as "SIGKILL"
	Details     []byte        // a JSON object or nil
	Stderr      []byte        // the tail, of a subprocess, as plain text
	Stdout      []byte        // likewise; evidence after Stderr

	details []any // as collected from the marks
}

// Of reads the evidence of err: its text, its marks, and what its typed causes
// tell, anywhere in the tree that Unwrap spans, in the order of errors.As: the
// outer before the inner, of joined errors the first before the others. It
// never fails and never panics: nil gives the zero value, and a tree is followed
// for NodesMax errors, so that a cycle ends.
//
// Types are named by package and type, "net.OpError", without a pointer's star;
// known error values by their variable: "io.EOF", "io.ErrUnexpectedEOF",
// "fs.ErrNotExist", "fs.ErrExist", "fs.ErrPermission", "fs.ErrClosed". Errors
// that only wrap or only have a text are left out.
func Of(err error) Evidence {
	var e Evidence
	if err == nil {
		return e
	}
	e.Message = Text(err)
	e.readTree(err)
	if e.details != nil {
		e.Details = encodeDetails(e.details)
		e.details = nil
	}
	return e
}

// read takes what one error of the tree tells and reports whether that is more
// than a text. Nothing that is known already is overwritten: the walk comes
// from the outside. The types of the marks are named one by one because a call
// through an interface would move the evidence to the heap.
func (e *Evidence) read(err error) bool {
	switch err := err.(type) { //nolint:errorlint // the walk looks at each error by itself
	case *permanent:
		err.note(e)
	case *retryAfter:
		err.note(e)
	case *coded:
		err.note(e)
	case *classed:
		err.note(e)
	case *dependencyDown:
		err.note(e)
	case *handOver:
		err.note(e)
	case snooze:
		err.note(e)
	case cancel:
		err.note(e)
	case syscall.Errno:
		e.readErrno(err)
	default:
		return e.readShape(err, shapeOf(reflect.TypeOf(err)))
	}
	return true
}

// readShape reads what errors of this shape are known to tell.
func (e *Evidence) readShape(err error, s *shape) bool {
	switch {
	case s.has&onlyText != 0:
		return e.readValue(err)
	case s.has&onlyWraps != 0:
		return false
	}
	e.addTypes(s.names)
	if s.has&anyMethod != 0 {
		e.readMethods(err, s.has)
	}
	for _, how := range s.adapts {
		e.adapt(how, err, s.has)
	}
	if len(s.fields) > 0 {
		e.readFields(err, s)
	}
	if s.header != nil {
		e.readHeader(s.header(reflect.ValueOf(err)), e.HTTPStatus)
	}
	return true
}

// addTypes adds names to Types. When they are too many, the innermost, which is
// the cause, takes the last place.
func (e *Evidence) addTypes(names []string) {
	if e.Types == nil {
		e.Types = names
		return
	}
	for _, name := range names {
		e.addType(name)
	}
}

func (e *Evidence) addType(name string) {
	if slices.Contains(e.Types, name) {
		return
	}
	keep := e.Types[:min(len(e.Types), TypesMax-1)]
	e.Types = append(slices.Clip(keep), name) // clipped: the names of a shape are shared
}

// readValue reads an error of which there is only one, known by identity.
func (e *Evidence) readValue(err error) bool {
	if err == context.Canceled { //nolint:errorlint // the walk looks at each error by itself
		e.Canceled = true
		return true
	}
	for i := range values {
		if err == values[i].err { //nolint:errorlint // as above
			e.addTypes(values[i].names)
			return true
		}
	}
	return false
}

// readIs asks an error with an Is method which of the known values it stands
// for.
func (e *Evidence) readIs(err interface{ Is(error) bool }) {
	e.Timeout = e.Timeout || err.Is(context.DeadlineExceeded)
	e.Canceled = e.Canceled || err.Is(context.Canceled)
	for i := range values {
		if err.Is(values[i].err) {
			e.addTypes(values[i].names)
		}
	}
}

// values are the errors that are recognised by identity.
var values = [...]struct {
	err   error
	names []string
}{
	{io.EOF, []string{"io.EOF"}},
	{io.ErrUnexpectedEOF, []string{"io.ErrUnexpectedEOF"}},
	{fs.ErrNotExist, []string{"fs.ErrNotExist"}},
	{fs.ErrExist, []string{"fs.ErrExist"}},
	{fs.ErrPermission, []string{"fs.ErrPermission"}},
	{fs.ErrClosed, []string{"fs.ErrClosed"}},
}
