package engine

import (
	"time"

	"github.com/redrive/redrive/store"
)

// Event is something that the core has to know. Answers carry the error of their
// call, which is nil when the rest counts.
type Event interface {
	apply(c *Core, now time.Duration)
}

type (
	// Woken says that the store has sent a notification.
	Woken struct{}
	// Finished are tasks whose outcome is made.
	Finished struct{ Tasks []*Task }
	// Unstuck are stuck tasks whose handlers have come back after all.
	Unstuck struct{ Tasks []*Task }
	// Reported are tasks with new progress.
	Reported struct{ Tasks []*Task }
	// WrittenInTx says that the handler is writing the task's success in a
	// transaction of its own.
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

// Actions is what the core wants done. It is valid until the next step.
type Actions struct {
	Start   []*Task // call the handler
	End     []*Task // end the context, with Cause
	Abandon []*Task // make the outcome without the handler
	Written []*Task // the outcome is stored: clean up
	Dropped []*Task // the outcome will never be stored: clean up

	Exchange *store.Exchange // valid until the core gets the answer
	Late     *store.Exchange // the same, of outcomes that are late
	Beat     []*Task         // with the progress of those that HasNews
	Rescue   int             // at most so many; 0 is none
	Signals  bool
	Declare  bool

	Notes   []Note
	Wake    time.Duration // step again at this time, even without an event
	Stopped bool          // nothing is left to do
}

// HasNews reports whether the next heartbeat is to carry the task's progress.
func (t *Task) HasNews() bool { return t.telling }

// NoteKind says what a note is about.
type NoteKind uint8

// The notes.
const (
	TroubleBegan    NoteKind = iota // the store began to fail: Err
	TroubleEnded                    // the store works again after Elapsed; N outcomes had waited
	OutcomesLate                    // the store cannot write some outcomes yet, as the task's, and writes others: Err
	LateWritten                     // no outcome is late any more, after Elapsed
	LeaseExpiring                   // the task's lease is unconfirmed for too long
	LeaseTaken                      // the store says that the task's lease is lost
	OutcomeRefused                  // the store refused the task's outcome: Err
	OutcomeInvalid                  // the task's outcome cannot be written and was replaced: Err
	HandlerStuck                    // the task's handler did not return after its context had ended
	HandlerReturned                 // a stuck handler came back
	ClaimUnknown                    // the store gave a job that nobody had asked for
	OutcomesGivenUp                 // at the stop: N outcomes could not be written
)

// Note is something that people should know.
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

// emptied returns s without its elements, and without holding on to them.
func emptied(s []*Task) []*Task {
	clear(s)
	return s[:0]
}
