package engine

import (
	"time"

	"github.com/redrive/redrive/store"
)

// Event is an input of Core.Step. An event that answers a call has the error of that call.
// Its other fields are valid if the error is nil.
type Event interface {
	apply(c *Core, now time.Duration)
}

type (
	// Woken is a notification of the store.
	Woken struct{}
	// Finished reports tasks that have their outcomes.
	Finished struct{ Tasks []*Task }
	// Unstuck reports stuck tasks whose handlers have returned.
	Unstuck struct{ Tasks []*Task }
	// Reported reports tasks with new progress.
	Reported struct{ Tasks []*Task }
	// WrittenInTx says that the handler writes the success of the task in a transaction of
	// the handler.
	WrittenInTx struct{ Task *Task }
	// Exchanged answers an exchange.
	Exchanged struct {
		Answer store.Exchanged
		Err    error
	}
	// LateAsked answers an exchange with late outcomes.
	LateAsked struct {
		Answer store.Exchanged
		Err    error
	}
	// Beaten answers a heartbeat.
	Beaten struct {
		Status []store.RunStatus // Status has one element for each task of Actions.Beat, in the same order.
		Err    error
	}
	// Rescued answers a rescue call.
	Rescued struct {
		Jobs int
		Next time.Duration // Next is the time until the earliest lease ends.
		Err  error
	}
	// SignalsRead answers a read of the signals.
	SignalsRead struct {
		Signals store.Signals
		Err     error
	}
	// Declared answers the declaration of the queues.
	Declared struct{ Err error }
	// StopAsked begins a graceful stop.
	StopAsked struct{}
	// HaltAsked ends the grace time of a stop.
	HaltAsked struct{}
)

// Actions is the result of Core.Step. It states what the caller must do, and is valid until
// the next step.
type Actions struct {
	Start   []*Task // Start lists the tasks whose handlers must be called.
	End     []*Task // End lists the tasks whose contexts must be ended with Task.Cause.
	Abandon []*Task // Abandon lists the tasks that get an outcome although their handler has not returned.
	Written []*Task // Written lists the tasks whose outcomes are stored. Their resources must be released.
	Dropped []*Task // Dropped lists the tasks whose outcomes will never be stored. Their resources must be released.

	Exchange *store.Exchange // Exchange is valid until the core gets the answer.
	Late     *store.Exchange // Late is an exchange with the late outcomes. It is valid as long as Exchange.
	// Beat lists the tasks whose leases must be extended. The heartbeat contains the
	// progress of tasks with HasNews.
	Beat    []*Task
	Rescue  int // Rescue is the limit of a rescue call. 0 means no rescue.
	Signals bool
	Declare bool

	Notes   []Note
	Wake    time.Duration // Wake is the time of the next step, if no event comes before it.
	Stopped bool          // Stopped is true when the stop is complete.
}

// HasNews reports whether the next heartbeat must contain the progress of the task.
func (t *Task) HasNews() bool { return t.telling }

// NoteKind is the kind of a note.
type NoteKind uint8

// These are the kinds of notes.
const (
	TroubleBegan    NoteKind = iota // TroubleBegan says that the store began to fail with the error Err.
	TroubleEnded                    // TroubleEnded says that the store works again after Elapsed. N outcomes had waited.
	OutcomesLate                    // OutcomesLate says that the store cannot write the outcome of the task yet because of Err, but writes others.
	LateWritten                     // LateWritten says that no outcome is late any more. Outcomes had been late for Elapsed.
	LeaseExpiring                   // LeaseExpiring says that the lease of the task was not extended in time.
	LeaseTaken                      // LeaseTaken says that the store reported the lease of the task as lost.
	OutcomeRefused                  // OutcomeRefused says that the store refused the outcome of the task with Err.
	OutcomeInvalid                  // OutcomeInvalid says that the outcome of the task was invalid because of Err and was replaced.
	HandlerStuck                    // HandlerStuck says that the handler of the task did not return after the end of its context.
	HandlerReturned                 // HandlerReturned says that a stuck handler has returned.
	ClaimUnknown                    // ClaimUnknown says that the store returned a job that was not requested.
	OutcomesGivenUp                 // OutcomesGivenUp says that N outcomes could not be written at the stop.
)

// Note is a fact for the log.
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

// emptied returns s with length 0. It clears the elements so that their memory can be
// freed.
func emptied(s []*Task) []*Task {
	clear(s)
	return s[:0]
}
