package job

import "fmt"

// State is the state of a job. The numbers are stored, so they never change; new numbers
// can be added.
type State uint8

// The states. None stands for a job that does not exist. Only jobs in the states
// between None and Running can be claimed, so the order of the numbers matters.
const (
	None      State = 0
	Waiting   State = 1 // waits until it is due; its last run, if any, was not a failure
	Retrying  State = 2 // waits until it is due, after a failure
	Running   State = 3 // a worker has a lease for the job
	Completed State = 4
	Dead      State = 5 // failed, and is not retried automatically; the dead letter says why
	Cancelled State = 6
)

// States lists all states of a job, in order.
var States = [...]State{Waiting, Retrying, Running, Completed, Dead, Cancelled}

var stateNames = [...]string{"none", "waiting", "retrying", "running", "completed", "dead", "cancelled"}

// String returns the state's word.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *State) UnmarshalText(text []byte) error {
	parsed, err := ParseState(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ParseState returns the state with the given word.
func ParseState(word string) (State, error) {
	for _, s := range States {
		if s.String() == word {
			return s, nil
		}
	}
	return None, fmt.Errorf("unknown state %.32q: must be one of waiting, retrying, running, completed, dead, cancelled", word)
}

// Ready reports whether a job in this state can be claimed once it is due.
func (s State) Ready() bool { return s == Waiting || s == Retrying }

// Terminal reports whether the state is final: completed, cancelled or dead. Only a
// person can change a dead job; the other final states never change.
func (s State) Terminal() bool { return s >= Completed && s <= Cancelled }

// Cause is the reason why a job changes its state. The numbers are stored, so they never
// change; new numbers can be added.
type Cause uint8

// The causes of a change of state.
const (
	Enqueued    Cause = 1
	Claimed     Cause = 2
	Succeeded   Cause = 3  // the handler returned no error
	Failed      Cause = 4  // the handler failed: it returned an error, panicked or exceeded its time limit
	Snoozed     Cause = 5  // the handler asked to run again later; uses up no attempt
	Deferred    Cause = 6  // the job waits for a reason outside the job; uses up no attempt
	Interrupted Cause = 7  // the worker stopped gracefully and handed the job back; uses up no attempt
	Crashed     Cause = 8  // the lease expired because the worker stopped responding
	Cancel      Cause = 9  // a person or the handler cancelled the job
	Expired     Cause = 10 // the job's deadline passed before the job could run
	Retried     Cause = 11 // a person retried a dead job, which begins the next life
	Held        Cause = 12 // a rule of the policy held the job before it ran; a person has to decide
)

var causeNames = [...]string{"", "enqueued", "claimed", "succeeded", "failed", "snoozed", "deferred",
	"interrupted", "crashed", "cancelled", "expired", "retried", "held"}

// String returns the cause's word.
func (c Cause) String() string {
	if c != 0 && int(c) < len(causeNames) {
		return causeNames[c]
	}
	return fmt.Sprintf("cause(%d)", uint8(c))
}

// MarshalText implements encoding.TextMarshaler.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Transition is one legal change of state.
type Transition struct {
	From, To State
	Cause    Cause
}

// Transitions is the state machine: it lists every legal transition once. Stores and
// tests read this table.
var Transitions = [...]Transition{
	{None, Waiting, Enqueued},
	{Waiting, Running, Claimed},
	{Retrying, Running, Claimed},
	{Running, Completed, Succeeded},
	{Running, Retrying, Failed},
	{Running, Dead, Failed},
	{Running, Waiting, Snoozed},
	{Running, Waiting, Deferred},
	{Running, Waiting, Interrupted},
	{Running, Waiting, Crashed},
	{Running, Dead, Crashed},
	{Running, Dead, Held},
	{Running, Cancelled, Cancel},
	{Waiting, Cancelled, Cancel},
	{Retrying, Cancelled, Cancel},
	{Waiting, Dead, Expired},
	{Retrying, Dead, Expired},
	{Dead, Waiting, Retried},
}

// Legal reports whether the state machine has this transition.
func Legal(from, to State, cause Cause) bool {
	for _, t := range Transitions {
		if t.From == from && t.To == to && t.Cause == cause {
			return true
		}
	}
	return false
}

// Counters are a job's counters within its present life. Each run that has ended has added
// one to one of them; the cause of its end selects the counter. A cancelled run adds to none
// of them.
type Counters struct {
	Attempts   int32 `json:"attempts"`   // runs that succeeded or failed
	Crashes    int32 `json:"crashes"`    // runs that crashed: the worker stopped responding
	Deferrals  int32 `json:"deferrals"`  // waits for a reason outside the job
	Snoozes    int32 `json:"snoozes"`    // waits that the handler asked for
	Interrupts int32 `json:"interrupts"` // runs handed back by a stopping worker
}

// Count adds one to the counter that belongs to the cause of a run's end. It does nothing for a
// cause that does not end a run. It also does nothing for Cancel, because the job's state shows
// that the run was cancelled.
func (c *Counters) Count(cause Cause) {
	switch cause {
	case Succeeded, Failed:
		c.Attempts++
	case Crashed:
		c.Crashes++
	case Deferred, Held:
		c.Deferrals++
	case Snoozed:
		c.Snoozes++
	case Interrupted:
		c.Interrupts++
	case Enqueued, Claimed, Cancel, Expired, Retried:
	}
}

// Sum returns the sum of the counters: the number of ended runs that were not cancelled.
func (c Counters) Sum() int32 {
	return c.Attempts + c.Crashes + c.Deferrals + c.Snoozes + c.Interrupts
}
