package store

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
)

// RedrivePlan says what the next step of a redrive has to do.
type RedrivePlan struct {
	// Release is the number of jobs to release. If Spread is true, the jobs are spread over
	// the whole set. Otherwise they are the jobs with the lowest death numbers above the
	// cursor.
	Release int
	Spread  bool
	Wait    time.Duration // time until the next step has work, like RedriveStep.Wait; set only when the plan releases no job
}

// Plan computes the next step of a redrive. It first moves the redrive to the state that follows
// from its numbers and from the store's time. The plan releases at most limit jobs.
//
// The ramp depends on the number of answers. A released job answers when its first attempt
// ends. The number of released jobs without an answer may be at most twice the number of
// answers, plus a window of 100. So the number of released jobs doubles while jobs succeed.
// A redrive without canary that never stops automatically has no such bound. The ramp begins when
// every job of the canary has answered, one of them has completed, and not too many are dead.
func (r *Redrive) Plan(now job.Micros, limit int) RedrivePlan {
	nothing := RedrivePlan{Wait: Never}
	if r.State == RedriveCanary {
		switch left := int64(r.Canary) - r.since().Released; {
		case left > 0:
			plan := r.paced(now, min(left, int64(limit)))
			plan.Spread = plan.Release > 0
			return plan
		case r.Answered < r.Released:
			return nothing
		}
		if r.stopCanary(now) || r.State == RedriveCanary && r.awaitsCanary() {
			return nothing
		}
		r.State = RedriveRamping
	}
	switch r.State {
	case RedriveRamping:
		if r.Live != nil {
			return r.paced(now, int64(limit))
		}
		if r.NeverStops() && r.Canary == 0 { // a plain retry: no answer can stop the redrive, so it does not wait for answers
			return r.paced(now, int64(limit))
		}
		if r.stopRamp(now) {
			return nothing
		}
		room := 2*r.Answered + redriveWindow - (r.Released - r.Answered)
		if room <= 0 {
			return nothing
		}
		return r.paced(now, min(room, int64(limit)))
	case RedriveSettling:
		r.end(now)
	// a redrive in one of these states has no work to do
	case RedriveCanary, RedrivePaused, RedriveStopped, RedriveCompleted, RedriveEnded, RedriveCancelled:
	}
	return nothing
}

// AwaitsOutcomes reports whether an active redrive has no work to do until one of its released
// jobs ends.
func (r *Redrive) AwaitsOutcomes() bool {
	const later = 1 << 62 // a time in microseconds, so far in the future that no rate limit delays a release
	next := *r
	plan := next.Plan(later, StepMax)
	return r.State.Active() && next.State == r.State && plan.Release == 0
}

// paced limits the number of releases by the rate. The redrive may make up for at most one
// second without releases.
func (r *Redrive) paced(now job.Micros, n int64) RedrivePlan {
	if r.Rate <= 0 {
		return RedrivePlan{Release: int(n)}
	}
	const second = int64(time.Second / time.Microsecond)
	r.LastAt = max(r.LastAt, now-job.Micros(second))
	allowed := int64(now-r.LastAt) * int64(r.Rate) / second
	if allowed < 1 {
		next := (second+int64(r.Rate)-1)/int64(r.Rate) - int64(now-r.LastAt) // rounded up, so that one job is allowed after the wait
		return RedrivePlan{Wait: time.Duration(max(next, 1)) * time.Microsecond}
	}
	return RedrivePlan{Release: int(min(n, allowed))}
}

// RedriveDone is the result of a step that has carried out a plan.
type RedriveDone struct {
	Released int64 // number of jobs that the step has released
	// Cursor is the number of the last examined death. A release with Spread examines the
	// whole set and does not change the redrive's cursor. In a redrive of live jobs, Cursor
	// is the id of the last examined job.
	Cursor    int64
	Exhausted bool  // whether the set has no further jobs to release
	Blocked   error // why the next job could not be released; nil when no release failed
	// Refused is the number of refused jobs up to the cursor, and RefusedWhy the reason for the first
	// of them. A step with Spread does not count them, because a later step examines these jobs again.
	Refused    int64
	RefusedWhy error
}

// RecordStep records the result of a step in the redrive. If the redrive cannot continue,
// RecordStep stops it.
func (r *Redrive) RecordStep(now job.Micros, p RedrivePlan, did RedriveDone) {
	stuck := did.Released == 0 && (p.Spread || did.Cursor <= r.Cursor)
	r.Released += did.Released
	r.Total = max(r.Total, r.Released)
	if !p.Spread {
		r.Cursor = did.Cursor
		r.Refused += did.Refused
		if r.RefusedWhy == "" && did.RefusedWhy != nil {
			r.RefusedWhy = strings.ToValidUTF8(did.RefusedWhy.Error(), "\uFFFD")
		}
	}
	if r.Rate > 0 {
		r.LastAt = r.LastAt + job.Micros(did.Released*int64(time.Second/time.Microsecond)/int64(r.Rate))
	}
	switch {
	case did.Blocked != nil:
		r.stopFor(now, fmt.Sprintf("%d of %d jobs are released; the next job cannot be released: %v", r.Released, r.Total, did.Blocked))
	case did.Exhausted:
		r.State = RedriveSettling
		r.end(now)
	case stuck:
		r.stopFor(now, fmt.Sprintf("%d of %d jobs are released; a step found no further job and did not reach the end of the set", r.Released, r.Total))
	}
}

// TakeUnaudited returns the number of jobs released since the last audit row about
// releases, and marks these jobs as audited.
func (r *Redrive) TakeUnaudited() int64 {
	n := r.Released - r.Audited
	r.Audited = r.Released
	return n
}

// RedriveTurns compares two redrives: a step serves the redrive with fewer released jobs
// first, so that no redrive waits for ever.
func RedriveTurns(a, b *Redrive) int {
	return cmp.Or(cmp.Compare(a.Released, b.Released), cmp.Compare(a.ID, b.ID))
}

// RedriveShare returns how many jobs the next redrive may release in a step. The first argument is
// the number of jobs that the step may still release; the second is the number of redrives that the
// step has not served yet. If a redrive releases fewer jobs than its share, the later redrives of
// the step may release the rest.
func RedriveShare(left, redrives int) int { return (left + redrives - 1) / redrives }

// Apply carries out an operation that a person has asked for. It returns an ErrConflict if the
// redrive's state does not allow the operation.
func (r *Redrive) Apply(now job.Micros, do RedriveOp) (changed bool, err error) {
	refuse := func(only string) error {
		return fmt.Errorf("redrive %d is %s; only %s: %w", r.ID, r.State, only, ErrConflict)
	}
	switch do {
	case RedrivePause:
		switch {
		case r.State == RedrivePaused:
			return false, nil
		case !r.State.Active():
			return false, refuse("an active redrive can be paused")
		}
		r.Resume, r.State = r.State, RedrivePaused
	case RedriveResume:
		switch {
		case r.State.Active():
			return false, nil
		case r.State != RedrivePaused && r.State != RedriveStopped:
			return false, refuse("a paused or stopped redrive can be resumed")
		}
		if r.State == RedriveStopped && r.Live == nil {
			r.again()
		}
		r.State, r.EndedAt, r.Why, r.LastAt = r.Resume, 0, "", now
	case RedriveProceed:
		switch r.State {
		case RedriveRamping, RedriveSettling:
			return false, nil
		case RedriveCanary:
			r.State = RedriveRamping
		default:
			return false, refuse("a redrive with a running canary can proceed")
		}
	case RedriveCancel:
		switch r.State {
		case RedriveCancelled:
			return false, nil
		case RedriveCompleted, RedriveEnded:
			return false, refuse("a redrive that has not ended can be cancelled")
		case RedriveCanary, RedriveRamping, RedriveSettling, RedrivePaused, RedriveStopped:
		}
		r.State, r.EndedAt = RedriveCancelled, now
	default:
		return false, fmt.Errorf("redrive %d: the operation %.40q is unknown: %w", r.ID, string(do), ErrInvalid)
	}
	return true, nil
}

// SpreadTarget returns the death number at which the search for canary i of n starts. The first two
// arguments are the lowest and the highest death number of the set.
func SpreadTarget(first, last int64, i, n int) int64 {
	if n < 2 {
		return first
	}
	return first + (last-first)/int64(n-1)*int64(i) + (last-first)%int64(n-1)*int64(i)/int64(n-1)
}

// SkipExpired counts members of batches that have expired, which no redrive retries.
func (d *RedriveDone) SkipExpired(n int64) {
	if n > 0 {
		d.Refused += n
		d.RefusedWhy = errExpiredMember
	}
}

var errExpiredMember = errors.New("the batch of the job has expired, which is final")
