package job

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/failure"
)

// How says how a run failed. The words are stored and append-only.
type How string

// The ways to fail.
const (
	ByError   How = "error"
	ByPanic   How = "panic"
	ByTimeout How = "timeout"
	ByCrash   How = "crash"
	ByHold    How = "hold" // not run: a person is to decide first
)

// Failure is the stored record of one run that failed. There is one per (job,
// token); it is never rewritten.
type Failure struct {
	Job         ID     `json:"job"`
	Token       Token  `json:"run"`
	Life        int32  `json:"life"`
	Attempt     int32  `json:"attempt"` // number of the attempt; of a crash, the attempt that was under way
	StartedAt   Micros `json:"started_at"`
	EndedAt     Micros `json:"ended_at"` // set by the store
	How         How    `json:"how"`
	Class       string `json:"class"`
	Code        string `json:"code,omitempty"`
	Permanent   bool   `json:"permanent"`
	Message     string `json:"message"`
	UserMessage string `json:"user_message,omitempty"`
	HTTPStatus  int    `json:"http_status,omitempty"` // 0 is unknown
	Exit        *int   `json:"exit_code,omitempty"`   // nil is unknown
	Signal      string `json:"signal,omitempty"`
	Holder      string `json:"worker"`
	Correlation string `json:"correlation,omitempty"`
	Fingerprint string `json:"group,omitempty"`
	Details     []byte `json:"-"` // a JSON object or nil
	Stderr      []byte `json:"-"` // the tail
	Stack       string `json:"-"`
	Decision    []byte `json:"-"` // what was decided and why, versioned
	Cost        int64  `json:"cost_microusd,omitempty"`
	Sends       int32  `json:"sends,omitempty"` // of the run, see Outcome.Sends
}

func (f *Failure) validate(id ID) error {
	if f.How == ByCrash {
		return fmt.Errorf("job %d: a run that tells how it failed has not crashed", id)
	}
	for _, part := range [...]struct {
		name      string
		size, max int
	}{
		{"message", len(f.Message), MessageMax}, {"user message", len(f.UserMessage), MessageMax},
		{"class", len(f.Class), TextMax}, {"code", len(f.Code), TextMax}, {"signal", len(f.Signal), TextMax},
		{"fingerprint", len(f.Fingerprint), TextMax}, {"details", len(f.Details), EvidenceMax},
		{"standard error", len(f.Stderr), EvidenceMax}, {"stack", len(f.Stack), EvidenceMax},
		{"decision", len(f.Decision), EvidenceMax},
	} {
		if part.size > part.max {
			return fmt.Errorf("job %d: %s of %d bytes: at most %d", id, part.name, part.size, part.max)
		}
	}
	return nil
}

// Fingerprint names the group of a failure that has no message of its own, such
// as a crash: the key of failure.Fingerprint for no text. It is stored with
// failure records and is what dead letters are grouped by.
func Fingerprint(kind, class, code string) string {
	return failure.Fingerprint(kind, failure.Class(class), code, "").Key
}

// NewFailure returns the record of a run that failed, with the facts of the run. What
// the failure was (class, message, evidence, decision) is for the caller to add.
func NewFailure(c *Claim, e *Ending) *Failure {
	return &Failure{
		Job: c.ID, Token: c.Token, Life: c.Life, Attempt: c.Attempt(), StartedAt: c.ClaimedAt.Add(e.Waited),
		How: e.How, Holder: e.Holder, Correlation: c.Correlation, Cost: e.Cost, Sends: e.Sends,
	}
}

// The class and the code of the failure that takes the place of an outcome that
// cannot be written.
const (
	ClassInternal      = "Internal"
	CodeInvalidOutcome = "engine.invalid_outcome"
)

// Unwritable returns what becomes of a run whose outcome cannot be written, for the
// reason given: a failure for good, which people can see and retry. It keeps no
// output of the run, because nothing has taken secrets out of it.
func Unwritable(c *Claim, e *Ending, reason error) Outcome {
	const messageMax = 1 << 10
	message := "the outcome of the run could not be written: " + reason.Error()
	o := e.Outcome(c, Failed, Dead)
	o.Reason = NonRetriable
	o.Failure = NewFailure(c, e)
	o.Failure.How, o.Failure.Class, o.Failure.Code, o.Failure.Permanent = ByError, ClassInternal, CodeInvalidOutcome, true
	o.Failure.Message = strings.ToValidUTF8(message[:min(len(message), messageMax)], "")
	o.Failure.Fingerprint = Fingerprint(c.Kind, ClassInternal, CodeInvalidOutcome)
	return o
}

// ClassManualReview is the class of jobs that wait for a person's decision.
const ClassManualReview = "ManualReview"

// Hold returns the outcome of a run that did not begin, because a person is to decide
// first. Message says why, userMessage is the text for the user of the job.
func Hold(c *Claim, holder, message, userMessage string) Outcome {
	e := Ending{How: ByHold, Holder: holder}
	o := e.Outcome(c, Held, Dead)
	o.Reason = ManualReview
	o.Failure = NewFailure(c, &e)
	o.Failure.Class, o.Failure.Message, o.Failure.UserMessage = ClassManualReview, message, userMessage
	o.Failure.Fingerprint = Fingerprint(c.Kind, ClassManualReview, "")
	return o
}
