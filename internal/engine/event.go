package engine

import (
	"time"

	"github.com/redrive/redrive/store"
)

// Event is an input of Core.Step. The events that answer a call have the error of that
// call; the other fields are valid if it is nil.
type Event interface {
	apply(c *Core, now time.Duration)
}

type (
	// Woken is a notification of the store.
	Woken struct{}
	// Finished are tasks that have their outcomes.
	Finished struct{ Tasks []*Task }
	// Unstuck are stuck tasks whose handlers have returned.
	Unstuck struct{ Tasks []*Task }
	// Reported are tasks with new progress.
	Reported struct{ Tasks []*Task }
	// WrittenInTx says that the handler is writing the task's success in its own
	// transaction.
	WrittenInTx struct{ Task *Task }
	// Exchanged answers an exchange.
	Exchanged struct {
		Answer store.Exchanged
		Err    error
	}
	// LateAsked answers an exchange of outcomes that were late.
	LateAsked struct {
		Answer store.Exchanged
		Err    error
	}
	// Beaten answers a heartbeat.
	Beaten struct {
		Status []store.RunStatus // in the order of Actions.Beat
		Err    error
	}
	// Rescued answers a look for lost leases.
	Rescued struct {
		Jobs int
		Next time.Duration // until the earliest lease ends
		Err  error
	}
	// SignalsRead answers a look at the signals.
	SignalsRead struct {
		Signals store.Signals
		Err     error
	}
	// Declared answers the declaration of the queues.
	Declared struct{ Err error }
	// StopAsked begins the graceful stop.
	StopAsked struct{}
	// HaltAsked ends the grace time of a stop.
	HaltAsked struct{}
)

// Actions is the result of Core.Step: what the caller is to do. It is valid until the
// next step.
type Actions struct {
	Start   []*Task // call the handler
	End     []*Task // end the context, with Cause
	Abandon []*Task // make the outcome without the handler
	Written []*Task // the outcome is stored: clean up
	Dropped []*Task // the outcome will never be stored: clean up

	Exchange *store.Exchange // valid until the core gets the answer
	Late     *store.Exchange // like Exchange, with the late outcomes
	Beat     []*Task         // tasks to extend, with the progress of those that HasNews
	Rescue   int             // the limit of a rescue; 0 means no rescue
	Signals  bool
	Declare  bool

	Notes   []Note
	Wake    time.Duration // step again at this time, even without an event
	Stopped bool          // the stop is complete
}

// HasNews reports whether the next heartbeat is to carry the task's progress.
func (t *Task) HasNews() bool { return t.telling }

// NoteKind is the kind of a note.
type NoteKind uint8

// The notes.
const (
	TroubleBegan    NoteKind = iota // the store began to fail: Err
	TroubleEnded                    // the store works again after Elapsed; N outcomes had waited
	OutcomesLate                    // the store cannot write the task's outcome yet, but writes others: Err
	LateWritten                     // no outcome is late any more, after Elapsed
	LeaseExpiring                   // the task's lease was not extended for too long
	LeaseTaken                      // the store says that the task's lease is lost
	OutcomeRefused                  // the store refused the task's outcome: Err
	OutcomeInvalid                  // the task's outcome cannot be written and was replaced: Err
	HandlerStuck                    // the task's handler did not return after its context had ended
	HandlerReturned                 // a stuck handler came back
	ClaimUnknown                    // the store returned a job that was not requested
	OutcomesGivenUp                 // at the stop: N outcomes could not be written
)

// Note is a fact to be logged.
type Note struct {
	Kind    NoteKind
	Task    *Task
	Err     error
	N       int
	Elapsed time.Duration
}

func (a *Actions) reset() {
	*a = Actions{
		Start: emptied(a.Start), End: emptied(a.End), Abandon: emptied(a.Abandon), Written: emptied(a.Written),
		Dropped: emptied(a.Dropped), Beat: emptied(a.Beat), Notes: a.Notes[:0],
	}
}

// emptied returns s with length 0, and clears its elements so that they can be freed.
func emptied(s []*Task) []*Task {
	clear(s)
	return s[:0]
}
