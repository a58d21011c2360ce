package engine

import (
	"math"
	"time"

	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/job"
)

const (
	// checkEvery is the longest time between two checks of a trouble. A check costs little
	// and writes nothing.
	checkEvery = time.Second
	// The waits after a failed trial. A failed trial claims a job and hands it back, so it writes
	// to the store. The wait doubles with each failed trial, up to trialWaitMax. When the trouble
	// has lasted for trialsLong, the wait grows up to trialWaitLong.
	trialWaitMin  = 250 * time.Millisecond
	trialWaitMax  = 1500 * time.Millisecond
	trialWaitLong = 15 * time.Second
	trialsLong    = time.Minute
	// trialTime is how long the run of a trial has to last to show that it was started. The
	// start of a program fails much sooner.
	trialTime = 200 * time.Millisecond
	// troubleForgotten is the time without trouble after which a new trouble begins with the
	// shortest wait again.
	troubleForgotten = time.Minute
	// sickSignGap is the shortest time between two signs of life if a trouble begins or ends.
	sickSignGap = time.Second
)

// Trouble is a trouble of this process: it could not start the program of a run. The job is
// handed back without an attempt.
type Trouble = proc.NotStartedError

// trouble returns the trouble that kept a failed run from starting its program, or nil.
func (r *Run) trouble() *Trouble {
	if r.end.How != job.ByError || r.end.Stopped != job.StopNone {
		return nil
	}
	return r.group.Refused(r.end.Err)
}

// sickness is the state of a trouble, of one kind or of the whole process. While the trouble
// lasts, the jobs that it concerns are not claimed. After a wait, Trouble.Check is called. If
// it succeeds, or if there is no check, one job is claimed as a trial. The trouble ends when
// the program of this job was started.
type sickness struct {
	trouble *Trouble // the trouble of the kind or process; nil without trouble
	phase   sickPhase
	since   time.Duration // when the trouble began
	at      time.Duration // in the phase resting: when the wait ends; in the phase trying: when the trial has lasted long enough
	fails   int           // number of failed trials in a row
	trial   *Task         // the task of the trial; nil if no job was claimed for it
	endedAt time.Duration // when the previous trouble ended
}

type sickPhase uint8

const (
	resting  sickPhase = iota // waits until the next check or trial
	checking                  // Trouble.Check is being called
	trying                    // one job may be claimed as a trial
)

// Checked is the answer to a call of Trouble.Check.
type Checked struct {
	sick *sickness
	err  error
}

// room returns how many jobs may be claimed while this trouble lasts: any number if there is no
// trouble, one for a trial, otherwise none.
func (s *sickness) room() int {
	switch {
	case s.trouble == nil:
		return math.MaxInt
	case s.phase == trying && s.trial == nil:
		return 1
	}
	return 0
}

// limited reports whether the number of jobs of the kind is limited in this process.
func (k *kind) limited() bool { return k.Workers > 0 || k.sick.trouble != nil }

// sicknesses returns the two states of trouble that concern jobs of the kind: the state of the
// process and the state of the kind.
func (c *Core) sicknesses(k *kind) [2]*sickness { return [2]*sickness{&c.sick, &k.sick} }

// unfit reports whether a buffered task must be handed back because its program cannot be
// started now.
func (c *Core) unfit(t *Task) bool {
	if c.ill == 0 {
		return false
	}
	for _, s := range c.sicknesses(t.kind) {
		if s.trouble != nil && s.trial != t {
			return true
		}
	}
	return false
}

// trialBegins makes a claimed task the trial of the troubles that wait for a trial.
func (c *Core) trialBegins(t *Task) {
	if c.ill == 0 {
		return
	}
	for _, s := range c.sicknesses(t.kind) {
		if s.trouble != nil && s.phase == trying && s.trial == nil {
			s.trial, s.at = t, never
		}
	}
}

// trialStarts records that the handler of a trial was started.
func (c *Core) trialStarts(t *Task, now time.Duration) {
	if c.ill == 0 {
		return
	}
	for _, s := range c.sicknesses(t.kind) {
		if s.trial == t {
			s.at = now + trialTime
		}
	}
}

// trialEnds records that a task has ended. If the task was a trial and it is still unknown
// whether programs can be started, another job may be claimed as a trial.
func (c *Core) trialEnds(t *Task) {
	if c.ill == 0 || t.kind == nil {
		return
	}
	for _, s := range c.sicknesses(t.kind) {
		if s.trial == t {
			s.trial, s.at = nil, never
			c.more = true
		}
	}
}

// examine finds out from the end of a run whether its process had a trouble, and records it.
func (c *Core) examine(t *Task, now time.Duration) {
	if t.trouble != nil {
		s, of := &t.kind.sick, t.kind.Name
		if t.trouble.Process {
			s, of = &c.sick, ""
		}
		c.ail(s, of, t.trouble, now)
	}
	if c.ill == 0 {
		return
	}
	for _, s := range c.sicknesses(t.kind) {
		if s.trial == t && t.trouble == nil && t.Outcome.Cause != job.Held && t.Outcome.Cause != job.Interrupted {
			c.recover(s, now)
		}
	}
	c.trialEnds(t)
}

// ail records that a run has ended because of a trouble.
func (c *Core) ail(s *sickness, of string, t *Trouble, now time.Duration) {
	switch {
	case s.trouble == nil:
		if now-s.endedAt > troubleForgotten {
			s.fails = 0
		}
		s.since = now
		c.ill++
		c.note(Note{Kind: SickBegan, Of: of, Err: t})
		c.signSoon(now)
	case s.phase != trying: // the run began before the trouble was known
		return
	}
	s.trouble, s.trial = t, nil
	s.fails++
	longest := trialWaitMax
	if now-s.since > trialsLong {
		longest = trialWaitLong
	}
	c.rest(s, min(trialWaitMin<<min(s.fails-1, 8), longest), now)
}

// rest begins the wait until the next check or trial of a trouble. The wait is shortened by a
// random part, which is at most half of it.
func (c *Core) rest(s *sickness, wait, now time.Duration) {
	s.phase = resting
	s.at = now + wait - time.Duration(c.cfg.Rand()*float64(wait)/2)
}

// recover records that a trouble has ended.
func (c *Core) recover(s *sickness, now time.Duration) {
	of := ""
	for _, k := range c.kinds {
		if s == &k.sick {
			of = k.Name
		}
	}
	c.note(Note{Kind: SickEnded, Of: of, Elapsed: now - s.since})
	*s = sickness{fails: s.fails, endedAt: now}
	c.ill--
	c.more = true
	c.signSoon(now)
}

// signSoon lets the next sign of life be sent soon, because a trouble has begun or ended.
func (c *Core) signSoon(now time.Duration) {
	c.presence.at = min(c.presence.at, max(now, c.presence.sentAt+sickSignGap))
}

// nurse goes through all troubles. If the wait of a trouble is over, it asks for a check or allows
// a trial. If a trial has lasted long enough, the trouble ends.
func (c *Core) nurse(now time.Duration) {
	if c.ill == 0 {
		return
	}
	c.nurseOne(&c.sick, now)
	for _, k := range c.kinds {
		c.nurseOne(&k.sick, now)
	}
}

func (c *Core) nurseOne(s *sickness, now time.Duration) {
	switch {
	case s.trouble == nil || now < s.at || s.phase == checking:
	case s.phase == trying:
		c.recover(s, now)
	case s.trouble.Check != nil:
		s.phase = checking
		c.out.Checks = append(c.out.Checks, s)
	default:
		c.try(s)
	}
}

// try allows the claim of one job as a trial of whether programs can be started again.
func (c *Core) try(s *sickness) {
	s.phase, s.trial, s.at = trying, nil, never
	c.more = true
}

func (e Checked) apply(c *Core, now time.Duration) {
	if e.err != nil {
		c.rest(e.sick, checkEvery, now)
		return
	}
	c.try(e.sick)
}

// nurseAt returns the time at which nurse has to be called next.
func (c *Core) nurseAt() time.Duration {
	if c.ill == 0 {
		return never
	}
	at := c.sick.nextAt()
	for _, k := range c.kinds {
		at = min(at, k.sick.nextAt())
	}
	return at
}

func (s *sickness) nextAt() time.Duration {
	if s.trouble == nil || s.phase == checking {
		return never
	}
	return s.at
}

// ailments returns the present troubles of the process and of its kinds.
func (c *Core) ailments() (list []Ailment) {
	if c.ill == 0 {
		return nil
	}
	if t := c.sick.trouble; t != nil {
		list = append(list, Ailment{Err: t})
	}
	for _, k := range c.kinds {
		if t := k.sick.trouble; t != nil {
			list = append(list, Ailment{k.Name, t})
		}
	}
	return list
}

// Ailment describes a trouble of the process in a sign of life.
type Ailment struct {
	Kind string // the kind whose programs cannot be started; "" means all kinds
	Err  error
}
