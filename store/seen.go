package store

import (
	"fmt"

	"github.com/redrive/redrive/job"
)

// ErrMoved says that the job, redrive or group is not as the person has seen it any more; see By.Seen.
// Nothing was done. The error wraps ErrConflict.
var ErrMoved = fmt.Errorf("it has moved on: %w", ErrConflict)

// Seen is what a person has seen of a job, a redrive or a group before acting on it. A field that is nil
// is not compared, and neither is a field of another kind of object.
type Seen struct {
	State *job.State
	Life  *int32
	Token *job.Token // the number of the last run
	// Death and Status are those of the dead letter. A Death of 0 means that the job had none.
	Death  *int64
	Status *job.Status
	// Payload is the payload from which the new payload of an Alter was made. An Alter without a
	// new payload does not compare it, and neither does any other action.
	Payload []byte
	// Redrive is the state of the redrive, for ControlRedrive.
	Redrive *RedriveState
	// Group and Assignee are those of the group, for SetGroup and for an Act whose filter names the
	// group. Such an Act compares them in its first step only.
	Group    *GroupState
	Assignee *string
}

// CheckRedrive returns an ErrMoved unless the redrive is as it was seen.
func (b *By) CheckRedrive(now *Redrive) error {
	if b.Seen == nil || b.Seen.Redrive == nil || *b.Seen.Redrive == now.State {
		return nil
	}
	return fmt.Errorf("redrive %d is %s, not %s: %w", now.ID, now.State, *b.Seen.Redrive, ErrMoved)
}

// CheckGroup returns an ErrMoved unless the group is as it was seen.
func (b *By) CheckGroup(now *Group) error {
	switch s := b.Seen; {
	case s == nil:
	case s.Group != nil && *s.Group != now.State():
		return fmt.Errorf("group %s is %s, not %s: %w", now.Fingerprint, now.State(), *s.Group, ErrMoved)
	case s.Assignee != nil && *s.Assignee != now.Assignee:
		return fmt.Errorf("group %s is assigned to %q, not to %q: %w", now.Fingerprint, now.Assignee, *s.Assignee, ErrMoved)
	}
	return nil
}

// Present is a job as it is when a person acts on it.
type Present struct {
	State  job.State
	Life   int32
	Token  job.Token
	Death  int64 // 0: the job has no dead letter
	Status job.Status
}

// Check returns an ErrMoved unless the job is as it was seen. It does not compare the payload.
func (s *Seen) Check(id job.ID, now Present) error {
	switch {
	case s.Life != nil && *s.Life != now.Life:
		return fmt.Errorf("job %d is in life %d, not in life %d: %w", id, now.Life, *s.Life, ErrMoved)
	case s.State != nil && *s.State != now.State:
		return fmt.Errorf("job %d is %s, not %s: %w", id, now.State, *s.State, ErrMoved)
	case s.Token != nil && *s.Token != now.Token:
		return fmt.Errorf("job %d has had %d runs, not %d: %w", id, now.Token, *s.Token, ErrMoved)
	case s.Death != nil && *s.Death != now.Death:
		return fmt.Errorf("job %d: its last death is %d, not %d: %w", id, now.Death, *s.Death, ErrMoved)
	case s.Status != nil && *s.Status != now.Status:
		return fmt.Errorf("job %d: its dead letter is %s, not %s: %w", id, now.Status, *s.Status, ErrMoved)
	}
	return nil
}

// CheckLife returns an ErrMoved unless the job IDs[i] is in the life in which it was seen.
func (a *Action) CheckLife(i int, now int32) error {
	if a.Lives == nil || a.Lives[i] == now {
		return nil
	}
	return (&Seen{Life: &a.Lives[i]}).Check(a.IDs[i], Present{Life: now})
}

// CheckPayload returns an ErrMoved when a new payload was made from another payload than the
// present one. A payload that already is the new one was written by an earlier try of the call.
func (b *By) CheckPayload(id job.ID, present, next []byte) error {
	if b.Seen == nil || b.Seen.Payload == nil || next == nil || string(present) == string(b.Seen.Payload) || string(present) == string(next) {
		return nil
	}
	return fmt.Errorf("job %d: its payload was changed meanwhile: %w", id, ErrMoved)
}

// ValidateOn returns an error when the person may not act on n jobs: as Validate, but By.Seen is
// allowed for one job.
func (b By) ValidateOn(n int) error {
	if b.Seen != nil && n != 1 {
		return fmt.Errorf("the person has seen one job, but acts on %d: %w", n, ErrInvalid)
	}
	b.Seen = nil
	return b.Validate()
}

// ValidateBy returns an error when the person may not do the action; see By.Seen.
func (a *Action) ValidateBy(by By) error {
	if a.Filter != nil {
		if s := by.Seen; s != nil && a.Filter.Group != "" && (s.Group != nil || s.Assignee != nil) {
			by.Seen = nil
		}
		return by.Validate()
	}
	return by.ValidateOn(len(a.IDs))
}
