package job

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Ending is how a run ended, as the worker saw it: what the outcome of the run is
// decided from.
type Ending struct {
	Err error // what the handler returned; nil is success
	// Evidence is what is known of Err; nil means that it is read from Err. A worker
	// that hands its endings over the network sends it in the place of Err.
	Evidence *failure.Evidence
	How      How    // how the run failed; "" is success
	Stack    string // of a panic; at most EvidenceMax bytes
	Stopped  Stop   // why the run was to stop before it ended; StopNone if it was not

	Holder  string        // the name of the process that ran it
	Waited  time.Duration // from the claim to the start of the handler
	Elapsed time.Duration // from there to its end

	Result     []byte // at most ResultMax bytes
	Cost       int64  // in millionths of a US dollar
	Sends      int32  // of the calls of the run, see Outcome.Sends
	Stderr     []byte // the end of what its commands wrote to standard error
	Progressed bool   // it reported progress

	// Admission is what the admission of the run left for the decision. Only who
	// admits and decides knows its type; nil means that nothing was left.
	Admission any
}

// Stop is why a run was to stop before it ended by itself.
type Stop uint8

// The reasons to stop a run.
const (
	StopNone      Stop = iota
	StopTimeLimit      // the time limit of its kind
	StopShutdown       // the worker is stopping
	StopCancel         // a person cancelled the job
	StopLeaseLost      // the worker could not extend the lease in time
)

// Outcome returns the outcome of a run with the facts that need no decision: id,
// token, cost, sends, and the result of a job that is completed.
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
