package failure

import (
	"slices"
	"time"

	"github.com/redrive/redrive/internal/redact"
)

// Limits of evidence. What is above them is cut with a visible mark.
const (
	MessageMax = 8 << 10          // bytes of Message
	DetailsMax = redact.JSONMax   // bytes of Details
	StderrMax  = redact.OutputMax // bytes of Stderr, and of Stdout
	CodeMax    = 64               // bytes of a code, a class, a dependency or a type name
	TypesMax   = 8                // type names
	NodesMax   = 1000             // errors of one tree that are looked at
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
	Refused     string        // by mark: why a record cannot become its task, see Refuse; Permanent is true, too
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
