package job

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redrive/redrive/failure"
)

// How says how a run failed. The words are stored, so they never change; new words can be
// added.
type How string

// The ways in which a run fails.
const (
	ByError   How = "error"
	ByPanic   How = "panic"
	ByTimeout How = "timeout"
	ByCrash   How = "crash"
	ByHold    How = "hold" // a rule held the job before it ran, so that a person can decide
)

// Failure is the stored record of one failed run. Each run, which is a pair of job and
// token, has at most one record. A record is never changed.
type Failure struct {
	Job         ID     `json:"job"`
	Token       Token  `json:"run"`
	Life        int32  `json:"life"`
	Attempt     int32  `json:"attempt"`    // the number of the attempt; for a crash, the number of the attempt that was running
	StartedAt   Micros `json:"started_at"` // the time of the claim; the store sets it
	EndedAt     Micros `json:"ended_at"`   // the time of the write; the store sets it
	How         How    `json:"how"`
	Class       string `json:"class"`
	Code        string `json:"code,omitempty"`
	Permanent   bool   `json:"permanent"`
	Message     string `json:"message"`
	UserMessage string `json:"user_message,omitempty"`
	HTTPStatus  int    `json:"http_status,omitempty"` // HTTP status; 0 means unknown
	Exit        *int   `json:"exit_code,omitempty"`   // exit code; nil means unknown
	Signal      string `json:"signal,omitempty"`
	Holder      string `json:"worker"`
	Build       string `json:"build,omitempty"` // the build of the worker's program, as that program names it
	Correlation string `json:"correlation,omitempty"`
	Fingerprint string `json:"group,omitempty"`
	Details     []byte `json:"-"` // details of the error as a JSON object; nil without details
	Stderr      []byte `json:"-"` // the last part of the standard error of the run's commands
	Stdout      []byte `json:"-"` // the last part of the standard output of the command that failed; nil for commands that a handler in Go runs
	Stack       string `json:"-"`
	Decision    []byte `json:"-"` // the record of the decision as JSON; package policy reads it
	Cost        int64  `json:"cost_microusd,omitempty"`
	Sends       int32  `json:"sends,omitempty"` // how many requests the run sent; see Outcome.Sends
}

func (f *Failure) validate(id ID) error {
	if f.How == ByCrash {
		return fmt.Errorf("job %d: the outcome of a run reports a crash, but only the store reports crashes", id)
	}
	for _, part := range [...]struct {
		name      string
		size, max int
	}{
		{"message", len(f.Message), MessageMax}, {"user message", len(f.UserMessage), MessageMax},
		{"class", len(f.Class), TextMax}, {"code", len(f.Code), TextMax}, {"signal", len(f.Signal), TextMax},
		{"fingerprint", len(f.Fingerprint), TextMax}, {"build", len(f.Build), TextMax}, {"details", len(f.Details), EvidenceMax},
		{"standard error", len(f.Stderr), EvidenceMax}, {"standard output", len(f.Stdout), EvidenceMax}, {"stack", len(f.Stack), EvidenceMax},
		{"decision", len(f.Decision), EvidenceMax},
	} {
		if part.size > part.max {
			return fmt.Errorf("job %d: %s of %d bytes: at most %d bytes", id, part.name, part.size, part.max)
		}
	}
	return nil
}

// Fingerprint returns the fingerprint of a failure without a message, such as a crash.
// It is the key that failure.Fingerprint returns for an empty text. It is stored in the
// failure record, and dead letters with the same fingerprint form a group.
func Fingerprint(kind, class, code string) string {
	return failure.Fingerprint(kind, failure.Class(class), code, "").Key
}

// NewFailure returns the record of a failed run with the facts of the run, such as its
// number and its cost. The store adds the times. The caller adds what is known about the
// failure: class, message, evidence and decision.
func NewFailure(c *Claim, e *Ending) *Failure {
	return &Failure{
		Job: c.ID, Token: c.Token, Life: c.Life, Attempt: c.Attempt(),
		How: e.How, Holder: e.Holder, Build: e.Build, Correlation: c.Correlation, Cost: e.Cost, Sends: e.Sends,
	}
}

// The class and the code of the failure that is stored when the outcome of a run cannot
// be written.
const (
	ClassInternal      = "Internal"
	CodeInvalidOutcome = "engine.invalid_outcome"
)

// Unwritable returns an outcome that replaces an outcome that cannot be written. The
// new outcome is a permanent failure with the reason, which people can see and retry.
// It contains no output of the run, because the output may contain secrets.
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

// ClassWorker is the class of runs whose program the worker could not start. Such a run uses
// up no attempt.
const ClassWorker = "Worker"

// ClassManualReview is the class of jobs that are held until a person has decided.
const ClassManualReview = "ManualReview"

// Hold returns the outcome of a run that did not begin, because a person has to decide
// first. The message is the reason for people who operate the system; userMessage is
// shown to the user of the job.
//
// If notify is not "", it names the people to notify. The details of the failure have it, and the event
// JobHeld; see HoldNotify.
func Hold(c *Claim, holder, message, userMessage, notify string) Outcome {
	e := Ending{How: ByHold, Holder: holder}
	o := e.Outcome(c, Held, Dead)
	o.Reason = ManualReview
	o.Failure = NewFailure(c, &e)
	o.Failure.Class, o.Failure.Message, o.Failure.UserMessage = ClassManualReview, message, userMessage
	o.Failure.Fingerprint = Fingerprint(c.Kind, ClassManualReview, "")
	if notify != "" {
		o.Failure.Details, _ = json.Marshal(holdDetails{notify}) // a text can always be encoded
	}
	return o
}

type holdDetails struct {
	Notify string `json:"notify"`
}

// HoldNotify returns the people to notify that the job of a failure is held. It returns "" for any other
// failure.
func HoldNotify(f *Failure) string {
	var d holdDetails
	if f == nil || f.How != ByHold || json.Unmarshal(f.Details, &d) != nil {
		return ""
	}
	return d.Notify
}
