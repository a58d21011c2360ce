package job

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Ending is how a run ended, as the worker saw it. The outcome of the run is decided
// from it.
type Ending struct {
	Err error // what the handler returned; nil is success
	// Evidence is what is known about Err; nil means that it is read from Err. A worker
	// that reports its endings over the network sets Evidence instead of Err.
	Evidence *failure.Evidence
	How      How    // how the run failed; "" means success
	Stack    string // the stack of a panic; at most EvidenceMax bytes
	Stopped  Stop   // why the worker stopped the run; StopNone if it ended by itself

	Holder  string        // the name of the process that ran it
	Waited  time.Duration // the time from the claim to the start of the handler
	Elapsed time.Duration // the time from the start of the handler to its end

	Result     []byte // the result, at most ResultMax bytes
	Cost       int64  // the cost in millionths of a US dollar
	Sends      int32  // how many requests the run sent; see Outcome.Sends
	Stderr     []byte // the end of what the run's commands wrote to standard error
	Progressed bool   // whether the run reported progress

	// Admission is what the rules decided before the run began; nil means that there
	// were none. Only package redrive, which makes it and reads it, knows its type.
	Admission any
}

// Stop is why a worker stopped a run before it ended by itself.
type Stop uint8

// The reasons to stop a run.
const (
	StopNone      Stop = iota
	StopTimeLimit      // the time limit of the kind was reached
	StopShutdown       // the worker is shutting down
	StopCancel         // a person cancelled the job
	StopLeaseLost      // the worker could not extend the lease in time
)

// Outcome returns the outcome of a run with the fields that need no decision: id,
// token, cost, sends, and the result of a completed job.
func (e *Ending) Outcome(c *Claim, cause Cause, to State) Outcome {
	o := Outcome{
		ID: c.ID, Token: c.Token, Cause: cause, To: to,
		Cost: e.Cost, Sends: e.Sends, Progressed: e.Progressed,
	}
	if to == Completed {
		o.Result = e.Result
	}
	return o
}
