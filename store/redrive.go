package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Redrives stores bulk retries and bulk actions on live jobs, and advances them. Every process
// that runs jobs also advances the redrives. When one of the processes dies, no progress is
// lost.
type Redrives interface {
	// StartRedrive makes a redrive of the dead letters that its filter selects now. Take Through
	// and Total of the spec from a Preview of ActRetry, or from PreviewLive if Live is set.
	// ErrTooLarge means that the jobs change to another queue and would need more lanes than the
	// store has room for.
	//
	// When the Key of the spec has already started a redrive, the call starts nothing and returns
	// the current state of that redrive. It then ignores the rest of the spec. So a caller that got
	// no answer can repeat the call.
	//
	// Redrives are audited as "redrive.start", "redrive.stop", "redrive.complete", "redrive.end", and, for actions
	// of people, "redrive.pause" and so on. The target is the redrive's number. Before each of
	// these rows except the first, a "redrive.release" row gives the number of jobs released since
	// the previous "redrive.release" row: {"done":N}.
	StartRedrive(ctx context.Context, by By, r RedriveSpec) (Redrive, error)
	// Redrive returns a redrive. It returns ErrNotFound when the redrive does not exist.
	Redrive(ctx context.Context, id int64) (Redrive, error)
	// RedriveList returns the redrives, the newest first, at most RedrivesMax.
	RedriveList(ctx context.Context) ([]Redrive, error)
	// ControlRedrive pauses, resumes or cancels a redrive, or ends its canary. It returns
	// ErrNotFound when the redrive does not exist, and ErrConflict when the redrive's state
	// does not allow the operation. Repeating an operation is not an error.
	ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error)
	// StepRedrives advances every active redrive by one step. Together the steps retry or
	// change at most limit jobs (1 to StepMax). A step is one transaction. The redrives
	// share the limit.
	StepRedrives(ctx context.Context, limit int) (RedriveStep, error)
}

// RedriveStep is the result of one call of StepRedrives.
type RedriveStep struct {
	Active   int   // number of active redrives, including those that wait for outcomes of released jobs
	Released int64 // number of jobs that the step has retried or changed
	// Wait is the time until the next step has work to do. 0 means that there is work now.
	// Never means that there is no more work until a released job ends or a person does
	// something.
	Wait time.Duration
	// Ended contains the redrives that have ended in the step: stopped automatically, completed or ended.
	Ended []Redrive
}

// Limits and defaults of a redrive.
const (
	RedrivesMax    = 200 // maximum number of redrives in a list
	CanaryDefault  = 10
	CanaryMax      = 1_000
	RedriveRateMax = 1_000_000
	// The defaults of StopShare, StopOther and StopDead.
	StopDefault      = 0.2
	StopOtherDefault = 0.5
	StopDeadDefault  = 0.2
	RedrivePriority  = job.PriorityMax // priority of released jobs; it is the lowest priority, so that new jobs run first
	// redriveWindow is the number of released jobs that may be running or waiting before any of
	// them has ended its first attempt.
	redriveWindow = 100
	// In the ramp, the stop rule applies only after redriveAnswersMin released jobs have ended
	// their first attempt.
	redriveAnswersMin = 10
)

// RedriveSpec describes a redrive that a person starts.
type RedriveSpec struct {
	Filter  DeadFilter `json:"filter"` // a filter without statuses selects pending dead letters
	Through int64      `json:"through"`
	// Total is the number of dead letters in the set when Preview counted them. It grows if
	// more jobs are released: a dead letter that a person has reopened since then belongs to
	// the set again.
	Total int64 `json:"total"`
	// Change must have no payload, and a delay only if there is no canary. Priority 0 means
	// RedrivePriority. The priority applies only to the life that the redrive opens.
	Change Change `json:"-"`
	// Patch is a JSON Patch (RFC 6902) that changes the payload of each released job. Nil changes no
	// payload. A job is refused if the patch does not apply to its payload, or if another living job
	// has the unique key of the new payload: it stays dead, and Redrive.Refused counts it.
	Patch []byte `json:"-"`
	// PayloadMax is the maximum size of a payload after the patch, in bytes. 0 means job.PayloadMax.
	PayloadMax int `json:"-"`
	// Canary is the number of jobs that are retried first. They are spread over the
	// whole set. A negative number means no canary; 0 means CanaryDefault.
	Canary int `json:"canary"`
	// Rate is the maximum number of jobs released per second; 0 means no limit.
	Rate int `json:"rate,omitempty"`
	// The redrive stops automatically when one of three shares is too large. StopShare and StopOther are
	// shares of the first attempts that have ended: the first attempts that failed with the same
	// fingerprint as before the redrive, and those that failed with another one. StopDead is the share
	// of the dead jobs among the released jobs that have ended. Each is above 0 and at most 1: 0 means
	// its default, and 1 that this share stops nothing. The redrive also stops if no job of the canary
	// completes, unless all three are 1: see NeverStops.
	StopShare float64 `json:"stop_share"`
	StopOther float64 `json:"stop_other"`
	StopDead  float64 `json:"stop_dead"`
	// Live is set for a bulk action on live jobs. Then Through is the highest id of the
	// frozen set, Filter is zero, and there is no canary and no stop rule. The Change of a
	// LiveAlter may have a delay, counted from each step.
	Live *LiveSpec `json:"live,omitempty"`
	// Key identifies the request, at most job.TextMax bytes. Only the first call with a key
	// starts a redrive. If the key is "", every call starts a redrive.
	Key string `json:"-"`
}

// LiveSpec says what a redrive does with live jobs, instead of retrying dead ones.
type LiveSpec struct {
	Do     LiveAct    `json:"do"`
	Filter Filter     `json:"filter"`
	At     job.Micros `json:"at,omitempty"` // the same as LiveAction.At
}

// liveAction returns the action of one step, which continues after the job with the given id and
// changes at most the given number of jobs.
func (r *RedriveSpec) liveAction(after int64, limit int) LiveAction {
	return LiveAction{Do: r.Live.Do, Filter: r.Live.Filter, Through: job.ID(r.Through), At: r.Live.At, After: job.ID(after),
		Limit: limit, Change: r.Change}
}

// LiveAction returns the action of the next step of a redrive of live jobs. The step changes at
// most limit jobs.
func (r *Redrive) LiveAction(limit int) LiveAction { return r.liveAction(r.Cursor, limit) }

// validateLive checks the fields of a redrive of live jobs. It returns an ErrInvalid or ErrTooLarge
// that names the wrong field.
func (r *RedriveSpec) validateLive() error {
	switch {
	case !r.Filter.isZero():
		return fmt.Errorf("redrive: an action on live jobs must not have a filter of dead letters: %w", ErrInvalid)
	case r.Canary > 0 || !neverStops(r.StopShare, r.StopOther, r.StopDead):
		return fmt.Errorf("redrive: an action on live jobs has no canary, no StopShare, no StopOther and no StopDead: %w", ErrInvalid)
	case r.Patch != nil:
		return fmt.Errorf("redrive: an action on live jobs must not have a patch: %w", ErrInvalid)
	}
	a := r.liveAction(0, 0)
	return a.Validate(false)
}

// Validate returns an ErrInvalid that names the field.
func (r *RedriveSpec) Validate() error {
	switch {
	case r.Through < 1 || r.Total < 1:
		return fmt.Errorf("redrive: Through is %d and Total is %d: nothing is selected: %w", r.Through, r.Total, ErrInvalid)
	case r.Canary > CanaryMax:
		return fmt.Errorf("redrive: canary of %d jobs: at most %d jobs are allowed: %w", r.Canary, CanaryMax, ErrInvalid)
	case r.Rate < 0 || r.Rate > RedriveRateMax:
		return fmt.Errorf("redrive: rate of %d jobs per second: the rate must be 1 to %d, or 0 for no limit: %w", r.Rate, RedriveRateMax, ErrInvalid)
	case !validShares(r.StopShare, r.StopOther, r.StopDead):
		return fmt.Errorf("redrive: StopShare %g, StopOther %g, StopDead %g: each must be above 0 and at most 1: %w", r.StopShare, r.StopOther, r.StopDead, ErrInvalid)
	case r.Live == nil && r.Change.Payload != nil:
		return fmt.Errorf("redrive: a redrive cannot set one payload for all jobs; a patch changes the payload of each job: %w", ErrInvalid)
	case r.Live == nil && r.Change.Delay != nil && r.Canary > 0:
		return fmt.Errorf("redrive: the jobs of a canary must be due at once, so a redrive with a delay has no canary: %w", ErrInvalid)
	}
	if err := r.validatePatch(); err != nil {
		return err
	}
	if len(r.Key) > job.TextMax {
		return fmt.Errorf("redrive: key of %d bytes: at most %d bytes are allowed: %w", len(r.Key), job.TextMax, ErrTooLarge)
	}
	if !r.Filter.isUTF8() || r.Live != nil && !r.Live.Filter.isUTF8() {
		return fmt.Errorf("redrive: a text of the filter is not UTF-8, so the filter cannot be stored with the redrive: %w", ErrInvalid)
	}
	if r.Live != nil {
		return r.validateLive()
	}
	if err := r.Filter.Validate(); err != nil {
		return err
	}
	return r.Change.validate()
}

// WithDefaults returns the spec in which every unset field has its default value.
func (r RedriveSpec) WithDefaults() RedriveSpec {
	if r.Live != nil {
		r.Canary = max(r.Canary, 0)
		r.StopShare, r.StopOther, r.StopDead = cmp.Or(r.StopShare, 1), cmp.Or(r.StopOther, 1), cmp.Or(r.StopDead, 1)
		return r
	}
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
	r.StopShare, r.StopOther, r.StopDead = cmp.Or(r.StopShare, StopDefault), cmp.Or(r.StopOther, StopOtherDefault), cmp.Or(r.StopDead, StopDeadDefault)
	return r
}

// RedriveState is the state of a redrive. The database stores it as a word.
type RedriveState string

// The states of a redrive.
const (
	// In the state RedriveCanary the first few jobs are released. The other jobs wait for the
	// results of these jobs.
	RedriveCanary    RedriveState = "canary"
	RedriveRamping   RedriveState = "ramping"   // more and more jobs are released
	RedriveSettling  RedriveState = "settling"  // all jobs are released, but some of them have not ended yet
	RedrivePaused    RedriveState = "paused"    // paused by a person
	RedriveStopped   RedriveState = "stopped"   // stopped automatically; the field Why gives the reason
	RedriveCompleted RedriveState = "completed" // all jobs have completed; of a redrive of live jobs: all are changed
	RedriveEnded     RedriveState = "ended"     // all jobs have ended, and some of them are dead or cancelled
	RedriveCancelled RedriveState = "cancelled" // cancelled by a person
)

// Active reports whether a step may advance the redrive.
func (s RedriveState) Active() bool {
	return s == RedriveCanary || s == RedriveRamping || s == RedriveSettling
}

// RedriveOp is an operation of a person on a redrive.
type RedriveOp string

// The operations on a redrive. The audit log names them "redrive.pause" and so on.
const (
	RedrivePause RedriveOp = "pause"
	// continues a redrive that is paused or was stopped automatically; a stopped one begins with a
	// canary again, and only what happens after the resume can stop it.
	RedriveResume  RedriveOp = "resume"
	RedriveProceed RedriveOp = "proceed" // ends the canary: the other jobs are released without waiting for its results
	RedriveCancel  RedriveOp = "cancel"  // releases no further jobs; the jobs that are already released continue
)

// Redrive is a bulk retry of dead jobs, or a bulk action on live jobs. Its counts are numbers of
// jobs. For an action on live jobs, Released is the number of changed jobs, and the other counts
// are 0.
type Redrive struct {
	ID int64 `json:"id"`
	RedriveSpec
	State RedriveState `json:"state"`
	// why the redrive was stopped: too many jobs failed again, or it could not continue
	Why       string     `json:"why,omitempty"`
	By        string     `json:"by"`
	Reason    string     `json:"reason,omitempty"`
	CreatedAt job.Micros `json:"created_at"`
	EndedAt   job.Micros `json:"ended_at,omitempty"`

	Released int64 `json:"released"`
	Answered int64 `json:"answered"` // number of released jobs whose first attempt has ended, or that ended without an attempt
	// number of released jobs whose first attempt failed with the same fingerprint as before the
	// redrive, and with another one
	Again     int64 `json:"again"`
	Other     int64 `json:"other"`
	Completed int64 `json:"completed"`
	Dead      int64 `json:"dead"`
	Cancelled int64 `json:"cancelled"`
	// the causes of Again, Other and Dead since a stopped redrive was last resumed, the most frequent first
	Causes []RedriveCause `json:"causes,omitempty"`
	// number of jobs that were not released: the patch does not apply, or another living job has the
	// unique key; and the reason for the first of them
	Refused    int64  `json:"refused,omitempty"`
	RefusedWhy string `json:"refused_why,omitempty"`

	// These fields are the progress of the redrive. Resume is the state in which the redrive
	// continues after a pause or a stop.
	Resume RedriveState `json:"-"`
	// the dead letters up to this death number were released or skipped; above this number, only
	// jobs of the canary were released
	Cursor int64      `json:"-"`
	LastAt job.Micros `json:"-"` // the time from which the rate limit is computed; each release sets it
	// the counts when a person last resumed the stopped redrive; the canary and the stop rules ignore them
	Base    RedriveCounts `json:"-"`
	Audited int64         `json:"-"` // value of Released when the last audit row about releases was written
}
