package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Redrives keeps bulk retries as objects. Whoever runs jobs takes them further;
// any number of processes may, and the death of one loses nothing.
type Redrives interface {
	// StartRedrive makes a redrive of the dead letters that its filter selects
	// now. Its Through and Total come from Preview of an ActRetry. One into a queue
	// that needs more lanes than the store has room for is an ErrTooLarge.
	//
	// A spec whose Key has started a redrive before starts none: the answer is that
	// redrive as it stands, whatever else the spec says. So a start whose answer was
	// lost can be asked again.
	//
	// Redrives are audited by what happens to them ("redrive.start", "redrive.stop",
	// "redrive.complete", and "redrive.pause" and so on by people), the number as
	// target. Before such a row, but for the first, one "redrive.release" says how
	// many jobs were brought back since the last of these: {"done":N}.
	StartRedrive(ctx context.Context, by By, r RedriveSpec) (Redrive, error)
	// Redrive returns one; ErrNotFound when there is none.
	Redrive(ctx context.Context, id int64) (Redrive, error)
	// RedriveList returns the redrives, the newest first, RedrivesMax at most.
	RedriveList(ctx context.Context) ([]Redrive, error)
	// ControlRedrive pauses, resumes or cancels one, or ends its canary.
	// ErrNotFound, or ErrConflict when its state does not allow that; doing the
	// same again is no error.
	ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error)
	// StepRedrives takes every redrive that is under way a step further and
	// brings back limit jobs at most (1 to StepMax), all in one transaction. The
	// redrives share the limit.
	StepRedrives(ctx context.Context, limit int) (RedriveStep, error)
}

// RedriveStep is what a step of the redrives did.
type RedriveStep struct {
	Active   int   // redrives that are under way, those that wait for outcomes included
	Released int64 // jobs brought back
	// Wait is how long until another step can do something without that anything
	// else happens: 0 is at once, Never when it needs an outcome or a person.
	Wait time.Duration
}

// The bounds and defaults of a redrive.
const (
	RedrivesMax     = 200 // of a list
	CanaryDefault   = 10
	CanaryMax       = 1_000
	RedriveRateMax  = 1_000_000
	StopDefault     = 0.2
	RedrivePriority = job.PriorityMax // lower than that of fresh work
	redriveWindow   = 100             // jobs out without an answer that are always allowed
	redriveJudged   = 10              // answers that a ramp needs before it may stop
)

// RedriveSpec is what a person wants of a redrive.
type RedriveSpec struct {
	Filter  DeadFilter `json:"filter"` // pending ones, when it names no status
	Through int64      `json:"through"`
	// Total is how many there were when they were counted. It grows when more than
	// that are brought back: a dead letter that somebody has reopened since is one of
	// the set again.
	Total int64 `json:"total"`
	// Change has no payload and no delay. Priority 0 is RedrivePriority; whatever it
	// is, it is for the life only that the redrive opens.
	Change Change `json:"-"`
	// Canary is how many are retried first, spread over the set; negative is
	// none, 0 is CanaryDefault.
	Canary int `json:"canary"`
	// Rate is how many are brought back per second at most; 0 is no limit.
	Rate int `json:"rate,omitempty"`
	// StopShare is the share of jobs whose first attempt fails again by the same
	// fingerprint above which the redrive stops by itself, above 0 to 1; 0 is
	// StopDefault. A canary of which no job completes stops it, too. 1 never stops.
	StopShare float64 `json:"stop_share"`
	// Key names what is asked for, at most job.TextMax bytes; each key starts one
	// redrive for ever. "" is none: each call starts one.
	Key string `json:"-"`
}

// Validate returns an ErrInvalid that names the field.
func (r *RedriveSpec) Validate() error {
	switch {
	case r.Through < 1 || r.Total < 1:
		return fmt.Errorf("redrive: Through %d, Total %d: nothing is selected: %w", r.Through, r.Total, ErrInvalid)
	case r.Canary > CanaryMax:
		return fmt.Errorf("redrive: canary of %d: at most %d: %w", r.Canary, CanaryMax, ErrInvalid)
	case r.Rate < 0 || r.Rate > RedriveRateMax:
		return fmt.Errorf("redrive: rate %d/s: must be 1 to %d, or 0 for none: %w", r.Rate, RedriveRateMax, ErrInvalid)
	case !(r.StopShare >= 0 && r.StopShare <= 1): // NaN, too
		return fmt.Errorf("redrive: stop share %g: must be above 0, at most 1: %w", r.StopShare, ErrInvalid)
	case r.Change.Payload != nil || r.Change.Delay != 0:
		return fmt.Errorf("redrive: only queue, priority and settings can be changed: %w", ErrInvalid)
	}
	if len(r.Key) > job.TextMax {
		return fmt.Errorf("redrive: key of %d bytes: at most %d: %w", len(r.Key), job.TextMax, ErrTooLarge)
	}
	if err := r.Filter.Validate(); err != nil {
		return err
	}
	return r.Change.validate()
}

// WithDefaults returns the spec with its defaults filled in.
func (r RedriveSpec) WithDefaults() RedriveSpec {
	if len(r.Filter.Statuses) == 0 {
		r.Filter.Statuses = ActRetry.Statuses()
	}
	if r.Change.Priority == 0 {
		r.Change.Priority = RedrivePriority
	}
	r.Change.Once = true
	switch {
	case r.Canary < 0:
		r.Canary = 0
	case r.Canary == 0:
		r.Canary = CanaryDefault
	}
	if r.StopShare == 0 {
		r.StopShare = StopDefault
	}
	return r
}

// RedriveState is where a redrive stands. The words are stored.
type RedriveState string

// The states of a redrive.
const (
	RedriveCanary    RedriveState = "canary"    // a few are out, the rest waits for them
	RedriveRamping   RedriveState = "ramping"   // more and more are brought back
	RedriveSettling  RedriveState = "settling"  // all are out, some have not ended
	RedrivePaused    RedriveState = "paused"    // by a person
	RedriveStopped   RedriveState = "stopped"   // by itself, see Why
	RedriveCompleted RedriveState = "completed" // all have ended
	RedriveCancelled RedriveState = "cancelled" // by a person
)

// Active reports whether a step may take the redrive further.
func (s RedriveState) Active() bool {
	return s == RedriveCanary || s == RedriveRamping || s == RedriveSettling
}

// RedriveOp is what a person does with a redrive.
type RedriveOp string

// What people do. The audit has them as "redrive.pause" and so on.
const (
	RedrivePause   RedriveOp = "pause"
	RedriveResume  RedriveOp = "resume"  // of a paused one, and of one that has stopped by itself
	RedriveProceed RedriveOp = "proceed" // do not wait for the canary any longer
	RedriveCancel  RedriveOp = "cancel"  // bring back no more; what is out goes on
)

// Redrive is a bulk retry. The numbers are of jobs.
type Redrive struct {
	ID int64 `json:"id"`
	RedriveSpec
	State     RedriveState `json:"state"`
	Why       string       `json:"why,omitempty"` // it has stopped: too many have failed again, or there was no way on
	By        string       `json:"by"`
	Reason    string       `json:"reason,omitempty"`
	CreatedAt job.Micros   `json:"created_at"`
	EndedAt   job.Micros   `json:"ended_at,omitempty"`

	Released  int64 `json:"released"`
	Answered  int64 `json:"answered"` // the first attempt has ended, or the job without one
	Again     int64 `json:"again"`    // of these, failed by the same fingerprint as before
	Completed int64 `json:"completed"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`

	// How far it is. Resume is the state to go back to from a pause or a stop.
	Resume       RedriveState `json:"-"`
	Cursor       int64        `json:"-"` // deaths up to it have been brought back or passed over; canaries aside
	LastAt       job.Micros   `json:"-"` // of the release that the rate counts from
	BaseAnswered int64        `json:"-"` // Answered when a person last resumed it: the stop rule counts from there
	BaseAgain    int64        `json:"-"` // Again at that time
	Audited      int64        `json:"-"` // Released when the last audit row was written
}
