package job

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Ending is how a run ended, as the worker saw it. The outcome of the run is computed
// from the Ending.
type Ending struct {
	Err error // the error that the handler returned; nil means success
	// Evidence is what is known about the cause of Err. If it is nil, the evidence is
	// read from Err itself. A worker that reports its endings over the network sets
	// Evidence instead of Err.
	Evidence *failure.Evidence
	How      How    // how the run failed; "" means success
	Stack    string // the stack of a panic; at most EvidenceMax bytes
	Stopped  Stop   // why the worker stopped the run; StopNone if it ended by itself
	// NotStarted says that the worker could not start the program of the run. Err says why. The
	// worker and not the job is the cause, so the job is deferred and uses up no attempt.
	NotStarted bool

	Holder  string        // the name of the process that executed the run
	Build   string        // the build of that process; "" if the process names no build
	Elapsed time.Duration // the time from the start of the handler to its end

	Result     []byte // the result of the job, at most ResultMax bytes
	Cost       int64  // the cost of the run, in millionths of a US dollar
	Sends      int32  // how many requests the run sent; see Outcome.Sends
	Stderr     []byte // the last part of the standard error of the run's commands
	Keep       bool   // whether a completed job keeps its payload; see Outcome.Keep
	Progressed bool   // whether the handler reported progress during the run

	// Admission is what the rules of the policy decided before the run began; nil means
	// that the kind has no rules. Only package redrive makes and reads this value, so
	// only that package knows its type.
	Admission any
}

// Stop is the reason why a worker stopped a run before it ended by itself.
type Stop uint8

// The reasons to stop a run.
const (
	StopNone      Stop = iota
	StopTimeLimit      // the time limit of the kind was reached
	StopShutdown       // the worker is shutting down
	StopCancel         // a person cancelled the job
	StopLeaseLost      // the worker could not extend the lease in time
)

// Outcome returns an outcome with the values that need no decision: id, token, cost, sends, and
// the result of a completed job. All other fields are empty.
func (e *Ending) Outcome(c *Claim, cause Cause, to State) Outcome {
	o := Outcome{
		ID: c.ID, Token: c.Token, Cause: cause, To: to,
		Cost: e.Cost, Sends: e.Sends, Progressed: e.Progressed,
	}
	if to == Completed {
		o.Result, o.Keep = e.Result, e.Keep
	}
	return o
}
