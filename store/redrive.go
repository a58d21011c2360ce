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
	// now. Its Through and Total come from Preview of an ActRetry.
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
	// brings back limit jobs at most (1 to StepMax), all in one transaction.
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
	Total   int64      `json:"total"`
	Change  Change     `json:"-"` // no payload; priority 0 is RedrivePriority
	// Canary is how many are retried first, spread over the set; negative is
	// none, 0 is CanaryDefault.
	Canary int `json:"canary"`
	// Rate is how many are brought back per second at most; 0 is no limit.
	Rate int `json:"rate,omitempty"`
	// StopShare is the share of jobs whose first attempt fails again by the same
	// fingerprint above which the redrive stops by itself, above 0 to 1; 0 is
	// StopDefault. 1 never stops.
	StopShare float64 `json:"stop_share"`
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
	RedriveStopped   RedriveState = "stopped"   // by itself: too many have failed again
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
	Why       string       `json:"why,omitempty"` // it has stopped
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

	// How far it is. Resume is the state to go back to from a pause.
	Resume  RedriveState `json:"-"`
	Cursor  int64        `json:"-"` // deaths up to it have been brought back or passed over; canaries aside
	LastAt  job.Micros   `json:"-"` // of the release that the rate counts from
	Forgive int64        `json:"-"` // Answered when a person last resumed it: the stop rule counts from there
	Forgave int64        `json:"-"` // Again at that time
}

// RedrivePlan is what a step is to do with a redrive.
type RedrivePlan struct {
	// Release is how many to bring back: spread over the set when Spread is set,
	// else those with the lowest numbers above the cursor.
	Release int
	Spread  bool
	Wait    time.Duration // as RedriveStep.Wait, when nothing is released
}

// Plan moves the redrive to the state that follows from its numbers at a time of
// the store, and says what is to be done then. It brings back limit jobs at most.
//
// The ramp follows the answers: at most twice as many are out as have answered,
// and a window of 100 more. So it doubles while it goes well, and only that window is lost
// when everything fails again.
func (r *Redrive) Plan(now job.Micros, limit int) RedrivePlan {
	nothing := RedrivePlan{Wait: Never}
	if r.State == RedriveCanary {
		switch left := int64(r.Canary) - r.Released; {
		case left > 0:
			return RedrivePlan{Release: int(min(left, int64(limit))), Spread: true}
		case r.Answered < r.Released:
			return nothing
		}
		if r.stop(now) {
			return nothing
		}
		r.State = RedriveRamping
	}
	switch r.State {
	case RedriveRamping:
		if r.judged() && r.stop(now) {
			return nothing
		}
		room := 2*r.Answered + redriveWindow - (r.Released - r.Answered)
		if room <= 0 {
			return nothing
		}
		return r.paced(now, min(room, int64(limit)))
	case RedriveSettling:
		if r.Completed+r.Dead+r.Cancelled >= r.Released {
			r.State, r.EndedAt = RedriveCompleted, now
		}
	case RedriveCanary, RedrivePaused, RedriveStopped, RedriveCompleted, RedriveCancelled: // nothing is to be done
	}
	return nothing
}

// paced holds a release to the rate: its unused time counts for one second.
func (r *Redrive) paced(now job.Micros, n int64) RedrivePlan {
	if r.Rate <= 0 {
		return RedrivePlan{Release: int(n)}
	}
	const second = int64(time.Second / time.Microsecond)
	r.LastAt = max(r.LastAt, now-job.Micros(second))
	allowed := int64(now-r.LastAt) * int64(r.Rate) / second
	if allowed < 1 {
		next := (second+int64(r.Rate)-1)/int64(r.Rate) - int64(now-r.LastAt) // rounded up: then there is one
		return RedrivePlan{Wait: time.Duration(max(next, 1)) * time.Microsecond}
	}
	return RedrivePlan{Release: int(min(n, allowed))}
}

// Went notes what a step has done by a plan: how many it has brought back, the
// death up to which it has looked, and whether the set has no more. Of a spread
// one the cursor stays.
func (r *Redrive) Went(now job.Micros, p RedrivePlan, released, cursor int64, exhausted bool) {
	r.Released += released
	if !p.Spread {
		r.Cursor = cursor
		if r.Rate > 0 {
			r.LastAt = r.LastAt + job.Micros(released*int64(time.Second/time.Microsecond)/int64(r.Rate))
		}
	}
	if exhausted {
		r.State = RedriveSettling
		if r.Completed+r.Dead+r.Cancelled >= r.Released {
			r.State, r.EndedAt = RedriveCompleted, now
		}
	}
}

// judged reports whether there are enough answers for the stop rule of a ramp.
func (r *Redrive) judged() bool { return r.Answered-r.Forgive >= redriveJudged }

// stop stops the redrive when too many have failed again.
func (r *Redrive) stop(now job.Micros) bool {
	answered, again := r.Answered-r.Forgive, r.Again-r.Forgave
	if answered < 1 || float64(again) <= r.StopShare*float64(answered) {
		return false
	}
	r.Resume = r.State
	r.State, r.EndedAt = RedriveStopped, now
	r.Why = fmt.Sprintf("%d of %d first attempts failed by the same cause as before, more than the share of %g",
		again, answered, r.StopShare)
	return true
}

// Apply does what a person wants, or returns an ErrConflict.
func (r *Redrive) Apply(now job.Micros, do RedriveOp) (changed bool, err error) {
	refuse := func(only string) error {
		return fmt.Errorf("redrive %d is %s: only %s: %w", r.ID, r.State, only, ErrConflict)
	}
	switch do {
	case RedrivePause:
		switch {
		case r.State == RedrivePaused:
			return false, nil
		case !r.State.Active():
			return false, refuse("one that is under way can be paused")
		}
		r.Resume, r.State = r.State, RedrivePaused
	case RedriveResume:
		switch {
		case r.State.Active():
			return false, nil
		case r.State != RedrivePaused && r.State != RedriveStopped:
			return false, refuse("a paused or stopped one can be resumed")
		}
		if r.State == RedriveStopped {
			r.Resume = RedriveRamping // the canary has answered, and a person goes on nevertheless
			r.Forgive, r.Forgave = r.Answered, r.Again
		}
		r.State, r.EndedAt, r.Why, r.LastAt = r.Resume, 0, "", now
	case RedriveProceed:
		switch r.State {
		case RedriveRamping, RedriveSettling:
			return false, nil
		case RedriveCanary:
			r.State = RedriveRamping
		default:
			return false, refuse("one with a canary under way can proceed")
		}
	case RedriveCancel:
		switch r.State {
		case RedriveCancelled:
			return false, nil
		case RedriveCompleted:
			return false, refuse("one that has not ended can be cancelled")
		case RedriveCanary, RedriveRamping, RedriveSettling, RedrivePaused, RedriveStopped:
		}
		r.State, r.EndedAt = RedriveCancelled, now
	default:
		return false, fmt.Errorf("redrive %d: %.40q is nothing that can be done: %w", r.ID, string(do), ErrInvalid)
	}
	return true, nil
}

// SpreadTarget returns the number of a death from which on the i-th of n canaries
// is looked for, in a set whose first and last deaths are given.
func SpreadTarget(first, last int64, i, n int) int64 {
	if n < 2 {
		return first
	}
	return first + (last-first)/int64(n-1)*int64(i) + (last-first)%int64(n-1)*int64(i)/int64(n-1)
}
