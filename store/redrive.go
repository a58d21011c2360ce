package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Redrives keeps bulk retries. Every process that runs jobs advances them; when one of
// the processes dies, nothing is lost.
type Redrives interface {
	// StartRedrive makes a redrive of the dead letters that its filter selects
	// now. Through and Total come from a Preview of ActRetry. A redrive into a
	// queue that needs more lanes than the store has room for is an ErrTooLarge.
	//
	// When the Key of the spec has started a redrive before, the call starts
	// nothing and returns that redrive as it is now, whatever else the spec says.
	// So a start whose answer was lost can be repeated.
	//
	// Redrives are audited as "redrive.start", "redrive.stop",
	// "redrive.complete", and, for actions of people, "redrive.pause" and so on,
	// with the redrive's number as the target. Before each of these rows except the
	// first, a "redrive.release" row gives the number of jobs released since the
	// previous one: {"done":N}.
	StartRedrive(ctx context.Context, by By, r RedriveSpec) (Redrive, error)
	// Redrive returns a redrive; ErrNotFound when it does not exist.
	Redrive(ctx context.Context, id int64) (Redrive, error)
	// RedriveList returns the redrives, the newest first, at most RedrivesMax.
	RedriveList(ctx context.Context) ([]Redrive, error)
	// ControlRedrive pauses, resumes or cancels a redrive, or ends its canary.
	// ErrNotFound when it does not exist; ErrConflict when its state does not
	// allow the operation. Repeating an operation is not an error.
	ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error)
	// StepRedrives advances every redrive that is under way by one step and
	// retries at most limit jobs (1 to StepMax), all in one transaction. The
	// redrives share the limit.
	StepRedrives(ctx context.Context, limit int) (RedriveStep, error)
}

// RedriveStep is the result of a step of the redrives.
type RedriveStep struct {
	Active   int   // active redrives, including those that wait for outcomes
	Released int64 // jobs retried
	// Wait is the time until the next step has work by itself. 0 means at once; Never
	// means that it first needs an outcome or an action of a person.
	Wait time.Duration
}

// Limits and defaults of a redrive.
const (
	RedrivesMax       = 200 // redrives in a list
	CanaryDefault     = 10
	CanaryMax         = 1_000
	RedriveRateMax    = 1_000_000
	StopDefault       = 0.2
	RedrivePriority   = job.PriorityMax // runs after new jobs
	redriveWindow     = 100             // released jobs without an answer that are always allowed
	redriveAnswersMin = 10              // answers needed before the stop rule applies to a ramp
)

// RedriveSpec describes a redrive that a person starts.
type RedriveSpec struct {
	Filter  DeadFilter `json:"filter"` // a filter without statuses selects pending dead letters
	Through int64      `json:"through"`
	// Total is the number of dead letters when they were counted. It grows when more
	// than that are released: a dead letter that was reopened since then joins the set
	// again.
	Total int64 `json:"total"`
	// Change has no payload and no delay. Priority 0 means RedrivePriority. Any
	// priority holds only for the life that the redrive opens.
	Change Change `json:"-"`
	// Canary is the number of jobs that are retried first, spread over the set.
	// Negative means no canary; 0 means CanaryDefault.
	Canary int `json:"canary"`
	// Rate is the maximum number of jobs released per second; 0 means no limit.
	Rate int `json:"rate,omitempty"`
	// StopShare, above 0 to 1, is a share of the answered jobs. The redrive stops
	// by itself when more than this share fail their first attempt again with the
	// same fingerprint, or when no job of the canary completes. 0 means
	// StopDefault; 1 means that it never stops.
	StopShare float64 `json:"stop_share"`
	// Key identifies the request, at most job.TextMax bytes. Each key starts one
	// redrive, for ever. With "" each call starts a redrive.
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
		return fmt.Errorf("redrive: rate %d/s: must be 1 to %d, or 0 for no limit: %w", r.Rate, RedriveRateMax, ErrInvalid)
	case !(r.StopShare >= 0 && r.StopShare <= 1): // also refuses NaN
		return fmt.Errorf("redrive: stop share %g: must be above 0, at most 1: %w", r.StopShare, ErrInvalid)
	case r.Change.Payload != nil || r.Change.Delay != 0:
		return fmt.Errorf("redrive: it can change only queue, priority and settings of the jobs: %w", ErrInvalid)
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

// RedriveState is the state of a redrive. The words are stored.
type RedriveState string

// The states of a redrive.
const (
	RedriveCanary    RedriveState = "canary"    // the first few jobs are released, the rest waits for them
	RedriveRamping   RedriveState = "ramping"   // more and more jobs are released
	RedriveSettling  RedriveState = "settling"  // all jobs are released, some have not ended
	RedrivePaused    RedriveState = "paused"    // paused by a person
	RedriveStopped   RedriveState = "stopped"   // stopped by itself; Why says the reason
	RedriveCompleted RedriveState = "completed" // all jobs have ended
	RedriveCancelled RedriveState = "cancelled" // cancelled by a person
)

// Active reports whether a step may advance the redrive.
func (s RedriveState) Active() bool {
	return s == RedriveCanary || s == RedriveRamping || s == RedriveSettling
}

// RedriveOp is an operation of a person on a redrive.
type RedriveOp string

// The operations. The audit names them "redrive.pause" and so on.
const (
	RedrivePause   RedriveOp = "pause"
	RedriveResume  RedriveOp = "resume"  // continues a redrive that is paused or has stopped by itself
	RedriveProceed RedriveOp = "proceed" // stops waiting for the canary
	RedriveCancel  RedriveOp = "cancel"  // releases no more jobs; released jobs continue
)

// Redrive is a bulk retry. Its numbers count jobs.
type Redrive struct {
	ID int64 `json:"id"`
	RedriveSpec
	State     RedriveState `json:"state"`
	Why       string       `json:"why,omitempty"` // why it stopped: too many failed again, or it could not continue
	By        string       `json:"by"`
	Reason    string       `json:"reason,omitempty"`
	CreatedAt job.Micros   `json:"created_at"`
	EndedAt   job.Micros   `json:"ended_at,omitempty"`

	Released  int64 `json:"released"`
	Answered  int64 `json:"answered"` // jobs whose first attempt has ended, or that ended without one
	Again     int64 `json:"again"`    // answered jobs that failed with the same fingerprint as before
	Completed int64 `json:"completed"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`

	// The progress of the redrive. Resume is the state to return to after a pause or a
	// stop.
	Resume       RedriveState `json:"-"`
	Cursor       int64        `json:"-"` // all deaths up to this number were released or skipped, apart from canaries
	LastAt       job.Micros   `json:"-"` // time of the release from which the rate is counted
	BaseAnswered int64        `json:"-"` // Answered when a person last resumed it; the stop rule counts from there
	BaseAgain    int64        `json:"-"` // Again when a person last resumed it
	Audited      int64        `json:"-"` // Released when the last audit row was written
}
