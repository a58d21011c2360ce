package store

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

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
// and a window of 100 more. So it doubles while it goes well. The ramp begins when
// every job of the canary has answered and one has completed.
func (r *Redrive) Plan(now job.Micros, limit int) RedrivePlan {
	nothing := RedrivePlan{Wait: Never}
	if r.State == RedriveCanary {
		switch left := int64(r.Canary) - r.Released; {
		case left > 0:
			plan := r.paced(now, min(left, int64(limit)))
			plan.Spread = plan.Release > 0
			return plan
		case r.Answered < r.Released:
			return nothing
		}
		if r.stop(now) || r.barren(now) {
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

// AwaitsOutcomes reports whether a redrive that is under way goes on only when a job
// ends that it has brought back: no step does anything before.
func (r *Redrive) AwaitsOutcomes() bool {
	const later = 1 << 62 // when no rate holds it back any more
	next := *r
	plan := next.Plan(later, StepMax)
	return r.State.Active() && next.State == r.State && plan.Release == 0
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

// RedriveDone is what a step has done by a plan.
type RedriveDone struct {
	Released int64 // jobs brought back
	// Cursor is the death up to which it has looked. A spread one has looked all
	// over the set: it leaves the redrive's own.
	Cursor    int64
	Exhausted bool  // the set has no more
	Blocked   error // why the next job could not be brought back; nil: it was not tried
}

// Went notes what a step has done. It stops the redrive when there is no way on.
func (r *Redrive) Went(now job.Micros, p RedrivePlan, did RedriveDone) {
	stuck := did.Released == 0 && (p.Spread || did.Cursor <= r.Cursor)
	r.Released += did.Released
	r.Total = max(r.Total, r.Released)
	if !p.Spread {
		r.Cursor = did.Cursor
	}
	if r.Rate > 0 {
		r.LastAt = r.LastAt + job.Micros(did.Released*int64(time.Second/time.Microsecond)/int64(r.Rate))
	}
	switch {
	case did.Blocked != nil:
		r.stopFor(now, fmt.Sprintf("%d of %d are brought back, and the next cannot be: %v", r.Released, r.Total, did.Blocked))
	case did.Exhausted:
		r.State = RedriveSettling
		if r.Completed+r.Dead+r.Cancelled >= r.Released {
			r.State, r.EndedAt = RedriveCompleted, now
		}
	case stuck:
		r.stopFor(now, fmt.Sprintf("%d of %d are brought back; a step has found no other, and not the end of the set either", r.Released, r.Total))
	}
}

// Account returns how many jobs were brought back since the last audit row about
// that, and takes them as audited.
func (r *Redrive) Account() int64 {
	n := r.Released - r.Audited
	r.Audited = r.Released
	return n
}

// RedriveTurns puts redrives into the order in which a step has them take their
// turns: those that have brought back least come first, so that none waits for
// ever for another.
func RedriveTurns(a, b *Redrive) int {
	return cmp.Or(cmp.Compare(a.Released, b.Released), cmp.Compare(a.ID, b.ID))
}

// RedriveShare returns how many of the jobs that a step may still bring back are
// for the next redrive, of so many that have not had their turn yet. What one does
// not use is for those after it.
func RedriveShare(left, redrives int) int { return (left + redrives - 1) / redrives }

// judged reports whether there are enough answers for the stop rule of a ramp.
func (r *Redrive) judged() bool { return r.Answered-r.BaseAnswered >= redriveJudged }

// failing reports whether too many have failed again.
func (r *Redrive) failing() bool {
	answered, again := r.Answered-r.BaseAnswered, r.Again-r.BaseAgain
	return answered >= 1 && float64(again) > r.StopShare*float64(answered)
}

// stop stops the redrive when too many have failed again.
func (r *Redrive) stop(now job.Micros) bool {
	if !r.failing() {
		return false
	}
	r.stopFor(now, fmt.Sprintf("%d of %d first attempts failed by the same cause as before, more than the share of %g",
		r.Again-r.BaseAgain, r.Answered-r.BaseAnswered, r.StopShare))
	return true
}

// barren reports whether no job of the canary has completed: it waits for the first
// that does, and stops when all have ended otherwise, of whatever cause. A share of
// 1 never stops.
func (r *Redrive) barren(now job.Micros) bool {
	if r.Completed > 0 || r.Released == 0 || r.StopShare >= 1 {
		return false
	}
	if ended := r.Dead + r.Cancelled; ended >= r.Released {
		r.stopFor(now, fmt.Sprintf("none of the %d jobs that went first has completed", r.Released))
		r.Resume = RedriveRamping // a person goes on nevertheless
	}
	return true
}

func (r *Redrive) stopFor(now job.Micros, why string) {
	r.Resume = r.State
	r.State, r.EndedAt, r.Why = RedriveStopped, now, why
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
		if r.State == RedriveStopped && r.failing() {
			r.Resume = RedriveRamping // the canary has answered, and a person goes on nevertheless
			r.BaseAnswered, r.BaseAgain = r.Answered, r.Again
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
