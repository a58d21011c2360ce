package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
)

// RedriveRule names a share that can stop a redrive.
type RedriveRule string

// The shares that can stop a redrive.
const (
	StopAgain RedriveRule = "again" // RedriveSpec.StopShare
	StopOther RedriveRule = "other" // RedriveSpec.StopOther
	StopDead  RedriveRule = "dead"  // RedriveSpec.StopDead
)

// RedriveStop is one share of a redrive and its limit. The counts begin when a person last resumed
// the stopped redrive.
type RedriveStop struct {
	Rule  RedriveRule `json:"rule"`
	N     int64       `json:"n"`     // number of first attempts that failed, or of dead jobs
	Of    int64       `json:"of"`    // number of first attempts, or of jobs, that have ended
	Limit float64     `json:"limit"` // the redrive stops above this share; 1 means that this share stops nothing
}

// exceeded reports whether the share is above its limit.
func (s RedriveStop) exceeded() bool { return s.N > 0 && float64(s.N) > s.Limit*float64(s.Of) }

// stopBy stops the redrive because of a share. The reason names the most frequent causes.
func (r *Redrive) stopBy(now job.Micros, s RedriveStop) {
	what := map[RedriveRule]string{
		StopAgain: "first attempts failed with the same cause as before", StopOther: "first attempts failed with another cause than before",
		StopDead: "jobs that have ended are dead again",
	}[s.Rule]
	why := fmt.Sprintf("%d of %d %s, more than the %.4g %% allowed", s.N, s.Of, what, s.Limit*100)
	var causes []string
	list := r.CausesOf(s.Rule)
	for _, c := range list[:min(len(list), causesInReason)] {
		cause := fmt.Sprintf("%d %s", c.N, cmp.Or(c.Class, "others"))
		if text := messageInReason(c.Message); text != "" {
			cause += " (" + text + ")"
		}
		causes = append(causes, cause)
	}
	if len(causes) > 0 {
		why += ": " + strings.Join(causes, ", ")
	}
	r.stopFor(now, why)
}

// The reason of a stop names at most causesInReason causes, each with at most messageInReasonMax bytes of
// its message.
const (
	causesInReason     = 3
	messageInReasonMax = 80
)

func messageInReason(message string) string {
	text, _, _ := strings.Cut(message, "\n")
	if len(text) <= messageInReasonMax {
		return text
	}
	return strings.ToValidUTF8(text[:messageInReasonMax], "") + "…"
}

// RedriveCounts contains the counts of a redrive at one time.
type RedriveCounts struct {
	Released, Answered, Again, Other, Completed, Dead, Cancelled int64
}

// ended returns the number of released jobs that have ended.
func (c RedriveCounts) ended() int64 { return c.Completed + c.Dead + c.Cancelled }

// counts returns the present counts of the redrive.
func (r *Redrive) counts() RedriveCounts {
	return RedriveCounts{r.Released, r.Answered, r.Again, r.Other, r.Completed, r.Dead, r.Cancelled}
}

// since returns the counts since a person last resumed the stopped redrive, or all counts if nobody has
// resumed it.
func (r *Redrive) since() RedriveCounts {
	b := &r.Base
	return RedriveCounts{r.Released - b.Released, r.Answered - b.Answered, r.Again - b.Again, r.Other - b.Other,
		r.Completed - b.Completed, r.Dead - b.Dead, r.Cancelled - b.Cancelled}
}

// StopShares returns the shares that can stop the redrive, as they are now.
func (r *Redrive) StopShares() []RedriveStop {
	c := r.since()
	return []RedriveStop{
		{StopAgain, c.Again, c.Answered, r.StopShare},
		{StopOther, c.Other, c.Answered, r.StopOther},
		{StopDead, c.Dead, c.ended(), r.StopDead},
	}
}

// NeverStops reports whether nothing that happens to its jobs stops the redrive automatically: all
// three shares are 1.
func (r *RedriveSpec) NeverStops() bool {
	return r.StopShare >= 1 && r.StopOther >= 1 && r.StopDead >= 1
}

// WithoutStop returns the spec of a redrive that never stops automatically.
func (r RedriveSpec) WithoutStop() RedriveSpec {
	r.StopShare, r.StopOther, r.StopDead = 1, 1, 1
	return r
}

// neverStops reports whether each share is 1 or not set.
func neverStops(shares ...float64) bool {
	return !slices.ContainsFunc(shares, func(s float64) bool { return s != 0 && s != 1 })
}

func validShares(shares ...float64) bool {
	return !slices.ContainsFunc(shares, func(s float64) bool { return !(s >= 0 && s <= 1) }) // this condition also refuses NaN
}

// stopRamp stops the redrive if one of its shares is too large. A share counts after redriveAnswersMin
// ends.
func (r *Redrive) stopRamp(now job.Micros) bool {
	for _, s := range r.StopShares() {
		if s.Of >= redriveAnswersMin && s.exceeded() {
			r.stopBy(now, s)
			return true
		}
	}
	return false
}

// stopCanary stops the redrive if the canary failed: one of its shares is too large, also if all jobs that
// have not ended yet complete, or all its jobs have ended and none has completed. Call it when the first
// attempt of each released job has ended.
func (r *Redrive) stopCanary(now job.Micros) bool {
	c := r.since()
	for _, s := range r.StopShares() {
		certain := s
		if s.Rule == StopDead {
			certain.Of = max(s.Of, c.Released)
		}
		if certain.exceeded() {
			r.stopBy(now, s)
			return true
		}
	}
	if c.Released > 0 && c.Completed == 0 && c.ended() >= c.Released && !r.NeverStops() {
		r.stopFor(now, fmt.Sprintf("none of the %d jobs that went first has completed", c.Released))
		return true
	}
	return false
}

// awaitsCanary reports whether the canary has not succeeded yet: no job has completed, or too many of those
// that have ended are dead.
func (r *Redrive) awaitsCanary() bool {
	c := r.since()
	return c.Released > 0 && !r.NeverStops() && (c.Completed == 0 || r.StopShares()[2].exceeded())
}

func (r *Redrive) stopFor(now job.Micros, why string) {
	r.Resume = r.State
	r.State, r.EndedAt, r.Why = RedriveStopped, now, why
}

// again prepares a stopped redrive to continue: with a canary, if it had one. What has happened so far
// does not stop it again.
func (r *Redrive) again() {
	r.Resume = RedriveRamping
	if r.Canary > 0 {
		r.Resume = RedriveCanary
	}
	r.Base, r.Causes = r.counts(), nil
}

// end ends a redrive that has no further jobs to release, if all released jobs have ended.
func (r *Redrive) end(now job.Micros) {
	c := r.counts()
	switch {
	case r.Live != nil || c.Completed >= c.Released:
		r.State, r.EndedAt = RedriveCompleted, now
	case c.ended() >= c.Released:
		r.State, r.EndedAt = RedriveEnded, now
	}
}
