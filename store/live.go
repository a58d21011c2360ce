package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
)

// Live changes live jobs for people: jobs with given ids, or all jobs that a filter selects.
type Live interface {
	// Alter changes waiting and retrying jobs: their due time, their queue, their priority, their
	// own retry settings, and the payload of a single job. A job keeps its state, its life and its
	// counters. If a job has not run in its current life, the life begins at the new due time. With
	// a Delay of 0, a job that is already due keeps its position in the queue.
	//
	// The answer has one error for each id: ErrNotFound, ErrConflict for a job in another state or
	// for a payload whose unique key another live job holds, ErrTooLarge when the store has no room
	// for the lane of the new queue, or nil. Original returns the values from before the first
	// change. Each changed job has an audit row "job.alter" and an event. Alter writes nothing for
	// a job that already has the new values.
	Alter(ctx context.Context, by By, ids []job.ID, c Change) ([]error, error)
	// PreviewLive counts the jobs that ActLive would change, and changes nothing. Pass the field
	// Through of the answer to ActLive, so that ActLive changes no job that was enqueued later.
	PreviewLive(ctx context.Context, a LiveAction) (LiveActed, error)
	// ActLive does one step of an action in one transaction. A step that changed a job writes one
	// audit row, "jobs.cancel" or "jobs.alter"; the target is the filter as JSON. The field After
	// of the row says how many jobs were changed, and what was changed in the jobs. A step that is
	// repeated changes nothing the second time.
	ActLive(ctx context.Context, by By, a LiveAction) (LiveActed, error)
}

// LiveAct is an operation on live jobs.
type LiveAct uint8

// The operations on live jobs.
const (
	// LiveCancel cancels waiting and retrying jobs, and asks running jobs to stop.
	LiveCancel LiveAct = 1
	// LiveAlter changes waiting and retrying jobs, as Live.Alter does.
	LiveAlter LiveAct = 2
)

var liveNames = [...]string{LiveCancel: "cancel", LiveAlter: "alter"}

// String returns the name of the act.
func (a LiveAct) String() string {
	if a >= 1 && int(a) < len(liveNames) {
		return liveNames[a]
	}
	return fmt.Sprintf("live act(%d)", uint8(a))
}

// MarshalText implements encoding.TextMarshaler.
func (a LiveAct) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// States returns the states of the jobs to which the act applies.
func (a LiveAct) States() []job.State {
	if a == LiveCancel {
		return []job.State{job.Waiting, job.Retrying, job.Running}
	}
	return []job.State{job.Waiting, job.Retrying}
}

// LiveLook is the maximum number of jobs that one step of an action on live jobs, or one
// call of PreviewLive, examines.
const LiveLook = 20_000

// LiveAction is an operation of a person on all live jobs that a filter selects.
type LiveAction struct {
	Do LiveAct
	// Filter selects the jobs. A filter without states selects jobs in all states to which the act
	// applies. It must not have an order, a cursor, a limit, a key, a reason or a range of end
	// times.
	Filter Filter
	// Through is the highest id of the frozen set, taken from PreviewLive; ActLive requires it. At
	// is the time of PreviewLive: jobs that were enqueued later are not in the set, even if their
	// ids are lower; 0 means no bound. After is the field Next from the answer to the previous
	// step. Limit is the maximum number of jobs that the step changes; 0 means StepMax.
	Through job.ID
	At      job.Micros
	After   job.ID
	Limit   int
	Change  Change // what a LiveAlter changes; without a payload
}

// LiveActed is the answer to a step of an action on live jobs.
type LiveActed struct {
	Done    int64  // jobs that were changed, or counted by PreviewLive
	Through job.ID // the highest id of the frozen set
	At      job.Micros
	// Next is the value of After for the next step; 0 when there is no next step. A step examines a
	// limited number of jobs, so a step may change nothing although a next step follows.
	Next job.ID
}

// Selection returns the filter of the action with the default states of its act.
func (a *LiveAction) Selection() Filter {
	f := a.Filter
	if len(f.States) == 0 {
		f.States = a.Do.States()
	}
	return f
}

// Validate returns an ErrInvalid or ErrTooLarge when the action cannot be done. Set preview if the
// jobs will only be counted.
func (a *LiveAction) Validate(preview bool) error {
	if a.Do != LiveCancel && a.Do != LiveAlter {
		return fmt.Errorf("operation %d on live jobs is unknown: %w", uint8(a.Do), ErrInvalid)
	}
	most := StepMax
	if preview {
		most = PreviewMax
	}
	f := &a.Filter
	for _, s := range f.States {
		if !slices.Contains(a.Do.States(), s) {
			return fmt.Errorf("%s: the filter selects %s jobs; only %v jobs can be selected: %w", a.Do, s, a.Do.States(), ErrInvalid)
		}
	}
	switch {
	case f.Order != Newest || !f.From.IsZero() || f.Limit != 0:
		return fmt.Errorf("%s: a filter of an action must not have an order, a cursor or a limit: %w", a.Do, ErrInvalid)
	case f.Key != "":
		return fmt.Errorf("%s: a key selects one job; name the job by its id, which Lookup returns: %w", a.Do, ErrInvalid)
	case f.Reason != "" || f.Ended != (Span{}):
		return fmt.Errorf("%s: \"reason\" and \"ended\" select jobs that have ended, not live jobs: %w", a.Do, ErrInvalid)
	case a.Through < 0 || a.At < 0 || a.After < 0 || a.Limit < 0 || a.Limit > most:
		return fmt.Errorf("%s: limit %d: must be 1 to %d, and After and Through must not be negative: %w", a.Do, a.Limit, most, ErrInvalid)
	case a.Through == 0 && !preview:
		return fmt.Errorf("%s: an action by filter needs Through, which PreviewLive returns: %w", a.Do, ErrInvalid)
	}
	if err := f.Validate(); err != nil {
		return err
	}
	if a.Do == LiveCancel {
		if !a.Change.IsZero() {
			return fmt.Errorf("cancel: a cancelled job cannot be changed: %w", ErrInvalid)
		}
		return nil
	}
	return a.Change.ValidateAlter(0)
}

// ValidateAlter returns an ErrInvalid or ErrTooLarge when the change cannot be made in n live jobs.
// If n is 0, a filter selects the jobs.
func (c *Change) ValidateAlter(n int) error {
	switch {
	case c.IsZero():
		return fmt.Errorf("alter: the change is empty; set a delay, queue, priority, policy or payload: %w", ErrInvalid)
	case c.Once:
		return fmt.Errorf("alter: a priority for one life only is allowed only for a retry: %w", ErrInvalid)
	case c.Payload != nil && n != 1:
		return fmt.Errorf("alter: a new payload is allowed only with one id, but there are %d: %w", n, ErrInvalid)
	}
	return c.validate()
}

// AuditStep returns the text After for the audit row of a step: the result of the step and the
// changes in the jobs.
func (a *LiveAction) AuditStep(done int64) string {
	shown := struct {
		Done    int64   `json:"done"`
		Through job.ID  `json:"through"`
		After   job.ID  `json:"after"`
		Change  *Change `json:"change,omitempty"`
	}{done, a.Through, a.After, nil}
	if !a.Change.IsZero() {
		shown.Change = &a.Change
	}
	return auditJSON(shown)
}

// AuditTarget returns the target of the audit row of a step: the filter as JSON.
func (a *LiveAction) AuditTarget() string { return auditJSON(&a.Filter) }
