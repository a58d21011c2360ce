package engine

import (
	"time"

	"github.com/redrive/redrive/store"
)

// Event is an input of Core.Step. An event that answers a store call contains the error of
// the call. Its other fields are only valid if this error is nil.
type Event interface {
	apply(c *Core, now time.Duration)
}

type (
	// Woken says that the store sent a notification.
	Woken struct{}
	// Finished contains tasks that have ended and whose outcomes can now be written.
	Finished struct{ Tasks []*Task }
	// Unstuck contains stuck tasks whose handlers have returned.
	Unstuck struct{ Tasks []*Task }
	// Reported contains tasks with new progress.
	Reported struct{ Tasks []*Task }
	// WrittenInTx says that a handler is writing the success of its task in a transaction
	// of the handler.
	WrittenInTx struct{ Task *Task }
	// Exchanged is the answer to an exchange.
	Exchanged struct {
		Answer store.Exchanged
		Err    error
	}
	// LateAsked is the answer to an exchange of late outcomes.
	LateAsked struct {
		Answer store.Exchanged
		Err    error
	}
	// Beaten is the answer to a heartbeat.
	Beaten struct {
		Status []store.RunStatus // the status of each run, in the same order as in Actions.Beat
		Err    error
	}
	// Begun is the answer to a begin call.
	Begun struct {
		Status []store.RunStatus // the status of each run, in the same order as in Actions.Begin
		Err    error
	}
	// Rescued is the answer to a rescue, which looks for lost leases.
	Rescued struct {
		Jobs int
		Next time.Duration // the time until the earliest lease of any run ends
		Err  error
	}
	// SignalsRead is the answer to a read of the store's signals, such as requests to cancel
	// running jobs.
	SignalsRead struct {
		Signals store.Signals
		Err     error
	}
	// Declared is the answer to the declaration of the queues.
	Declared struct{ Err error }
	// StopAsked begins a graceful stop.
	StopAsked struct{}
	// HaltAsked ends the grace time of a stop.
	HaltAsked struct{}
)

// Actions is the result of Core.Step: what the caller has to do. It is valid until the next
// step.
type Actions struct {
	Start   []*Task // call the handlers of these tasks
	End     []*Task // end the contexts of these tasks, with Task.Cause
	Abandon []*Task // make the outcomes of these tasks without waiting for their handlers
	Written []*Task // the outcomes of these tasks are stored: clean up
	Dropped []*Task // the outcomes of these tasks will never be stored: clean up

	Exchange *store.Exchange // the exchange to make; valid until the core gets the answer
	Late     *store.Exchange // the exchange that writes late outcomes; valid until the core gets the answer
	Beat     []*Task         // tasks whose leases to extend; the heartbeat includes the progress of tasks for which HasNews is true
	Begin    []*Task         // tasks whose runs begin: write this to the store, with a heartbeat in which Begin is true
	Rescue   int             // the largest number of jobs to rescue; 0 means no rescue
	Signals  bool
	Declare  bool
	Sign     *Sign       // the sign of life to send; nil means none
	Checks   []*sickness // the troubles for which to call Trouble.Check

	Notes   []Note
	Wake    time.Duration // make the next step at this time, even without an event
	Stopped bool          // whether the stop is complete
}

// HasNews reports whether the next heartbeat must contain the progress of the task.
func (t *Task) HasNews() bool { return t.telling }

// NoteKind says what a Note is about.
type NoteKind uint8

// The kinds of notes.
const (
	TroubleBegan    NoteKind = iota // the store began to fail with the error Err
	TroubleEnded                    // the store works again after the time Elapsed; N outcomes had to wait
	OutcomesLate                    // the store cannot write the task's outcome yet because of Err, but writes other outcomes
	LateWritten                     // all late outcomes are written, after the time Elapsed
	LeaseExpiring                   // the task's lease counts as lost, because it was not extended for too long
	LeaseTaken                      // the store says that the task's lease is lost
	OutcomeRefused                  // the store refused the task's outcome with the error Err
	OutcomeInvalid                  // the task's outcome could not be written because of Err and was replaced
	HandlerStuck                    // the task's handler did not return after its context had ended
	HandlerReturned                 // the handler of a stuck run has returned
	ClaimUnknown                    // the store returned a job that was not requested
	OutcomesGivenUp                 // the stop gave up writing N outcomes
	SignFailed                      // a sign of life could not be sent because of Err, but the previous sign was sent
	QuietBegan                      // a person has ordered the process to be quiet
	QuietEnded                      // a person has ended the order to be quiet
	SickBegan                       // because of Err, this process cannot start the programs of the kind Of (of all kinds if Of is "")
	SickEnded                       // this process can start the programs of the kind Of (of all kinds if Of is "") again, after the time Elapsed
)

// Note is something that the engine logs.
type Note struct {
	Kind    NoteKind
	Task    *Task
	Err     error
	N       int
	Elapsed time.Duration
	Of      string // the name of a kind; "" means all kinds
}

func (a *Actions) reset() {
	*a = Actions{
		Start: emptied(a.Start), End: emptied(a.End), Abandon: emptied(a.Abandon), Written: emptied(a.Written),
		Dropped: emptied(a.Dropped), Beat: emptied(a.Beat), Begin: emptied(a.Begin), Notes: a.Notes[:0],
		Checks: a.Checks[:0],
	}
}

// emptied returns s with length 0, and clears its elements so that their memory can be
// freed.
func emptied(s []*Task) []*Task {
	clear(s)
	return s[:0]
}
