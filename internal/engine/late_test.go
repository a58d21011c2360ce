package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var errHeldElsewhere = fmt.Errorf("another transaction holds the row: %w", store.ErrUnavailable)

// lateAnswer answers the exchange that is under way. The outcomes of the given jobs cannot be
// written yet, and the answer contains the given claims.
func (r *rig) lateAnswer(late []job.ID, claims ...job.Claim) {
	a := r.answer(claims...)
	for i, t := range r.core.flying {
		if slices.Contains(late, t.Claim.ID) {
			a.Answer.Settled[i] = errHeldElsewhere
		}
	}
	r.step(a)
}

// wantLate fails the test unless this step tries again to write exactly these late
// outcomes.
func (r *rig) wantLate(want ...job.ID) {
	r.t.Helper()
	var got []job.ID
	if r.act.Late != nil {
		got = settled(r.act.Late)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("at %s: the core sends the late outcomes of the jobs %v, want %v", r.now, got, want)
	}
}

// lateAgain answers the exchange that sends the late outcomes again.
func (r *rig) lateAgain(answers ...error) {
	r.step(LateAsked{Answer: store.Exchanged{Settled: answers}})
}

func TestALateOutcomeDelaysNoOtherJob(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, func(c *Config) { c.Lease = time.Hour })
	r.step(succeed(time.Second, tasks...))
	r.lateAnswer([]job.ID{1}, r.claims(1)...)
	r.wantNotes(OutcomesLate)
	if got := ids(r.act.Written); !slices.Equal(got, []job.ID{2}) {
		t.Errorf("got written outcomes of the jobs %v, want job 2", got)
	}
	if len(r.act.Start) != 1 {
		t.Fatal("the job in the answer did not start, want it started")
	}
	r.wantLate()
	wait := backoffMin
	for range 10 {
		r.pass(wait - 1)
		r.wantLate()
		r.pass(1)
		r.wantLate(1)
		// While job 1 is late, other jobs end, their outcomes are written, and more jobs are
		// claimed.
		started := slices.Clone(r.act.Start)
		if len(started) == 0 {
			started = tasksOf(r.core, running)
		}
		r.step(succeed(time.Second, started...))
		r.empty()
		r.pass(r.core.cfg.Poll)
		if r.act.Exchange == nil || len(r.act.Exchange.Want) == 0 {
			t.Fatalf("at %s: got no exchange that requests jobs, want an exchange", r.now)
		}
		r.brings(r.claims(1)...)
		if len(r.act.Start) != 1 {
			t.Fatalf("at %s: the claimed job did not start, want it started", r.now)
		}
		r.lateAgain(errHeldElsewhere)
		r.wantNotes()
		wait = min(2*wait, lateWaitMax)
	}
	r.pass(wait)
	r.wantLate(1)
	r.pass(time.Second)
	r.lateAgain(nil)
	r.wantNotes(LateWritten)
	if got := ids(r.act.Written); !slices.Equal(got, []job.ID{1}) {
		t.Errorf("got written outcomes of the jobs %v, want job 1", got)
	}
}

func tasksOf(c *Core, in phase) (some []*Task) {
	for _, t := range c.tasks {
		if t.phase == in {
			some = append(some, t)
		}
	}
	return some
}

// Late outcomes are kept in memory, so their number has a limit.
func TestTooManyLateOutcomesStopClaims(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, lateMax, func(c *Config) { c.Lease, c.Queues[0].Workers = time.Hour, lateMax })
	r.step(succeed(time.Second, tasks...))
	r.wantExchange(ids(tasks), lateMax)
	r.lateAnswer(ids(tasks[1:]))
	r.pass(PollDefault)
	r.wantLate(ids(tasks[1:])...)
	r.wantExchange(nil, lateMax) // with lateMax-1 late outcomes, the core still claims jobs
	r.brings(r.claims(1)...)
	last := r.act.Start[0]
	r.empty()
	r.step(succeed(time.Second, last))
	r.wantExchange([]job.ID{last.Claim.ID}, lateMax)
	r.lateAnswer([]job.ID{last.Claim.ID})
	r.wantQuiet()
	r.pass(time.Hour / 4)
	r.wantQuiet()
	answers := make([]error, lateMax-1)
	for i := 1; i < len(answers); i++ {
		answers[i] = errHeldElsewhere
	}
	r.lateAgain(answers...)
	r.wantExchange(nil, lateMax)
	r.brings()
	r.pass(backoffMin) // The next attempt is due after this short pause, because some of the outcomes were written.
	if r.act.Late == nil || len(r.act.Late.Settle) != lateMax-1 {
		t.Errorf("got the exchange %+v, want the remaining late outcomes", r.act.Late)
	}
}

func TestLateOutcomesAreKeptWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	for _, e := range []LateAsked{{Err: store.ErrUnknown}, {Err: store.ErrUnavailable}, {Answer: store.Exchanged{}}} {
		r, tasks := withRuns(t, 2, nil)
		r.step(succeed(time.Second, tasks...))
		r.lateAnswer([]job.ID{1, 2})
		r.pass(backoffMin)
		r.wantLate(1, 2)
		r.step(e)
		r.wantNotes() // The failure of the store was already reported because of other exchanges.
		r.pass(2*backoffMin - 1)
		r.wantLate()
		r.pass(1)
		r.wantLate(1, 2)
		r.lateAgain(store.ErrLeaseLost, nil)
		r.wantNotes(OutcomeRefused, LateWritten)
	}
}

// Late outcomes delay rescues by one lease at most. During this lease, the outcomes can still
// be written. After it, the expired runs of other workers are rescued even if outcomes are
// late.
func TestLateOutcomesGoBeforeARescue(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, func(c *Config) { c.RescueInterval = LeaseDefault / 2 })
	r.step(succeed(time.Second, tasks...))
	r.lateAnswer([]job.ID{1, 2})
	r.pass(LeaseDefault - 1)
	if r.act.Rescue != 0 {
		t.Error("got a rescue before the late outcomes were written, want none")
	}
	r.pass(1)
	if r.act.Rescue != rescueLimit {
		t.Error("got no rescue one lease after the outcomes became late, want a rescue")
	}
}

// A late outcome that is invalid is replaced by a failure, like any other outcome.
func TestALateOutcomeMayBeInvalid(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.step(succeed(time.Second, tasks...))
	r.lateAnswer([]job.ID{1, 2})
	r.empty()
	r.pass(backoffMin)
	r.wantLate(1, 2)
	r.step(LateAsked{Err: store.ErrInvalid})
	r.wantNotes() // No outcome was written in this step.
	r.wantExchange([]job.ID{1, 2}, 2)
	r.lateAnswer([]job.ID{2})
	r.wantNotes(OutcomesLate) // The outcomes are late again.
	r.pass(backoffMin)
	r.wantLate(2)
	r.pass(time.Second)
	r.lateAgain(nil)
	r.wantNotes(LateWritten)
	if got := r.act.Notes[0].Elapsed; got != time.Second+backoffMin {
		t.Errorf("got the note that outcomes were late for %s, want %s", got, time.Second+backoffMin)
	}
}

// A stop waits for late outcomes in the same way as for other outcomes. It gives up the
// outcomes that it cannot write in time.
func TestAStopWaitsForLateOutcomes(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{true, false} {
		r, tasks := withRuns(t, 1, func(c *Config) { c.Lease = time.Hour })
		r.empty()
		r.step(succeed(time.Second, tasks...))
		r.lateAnswer([]job.ID{1})
		r.empty()
		r.step(StopAsked{})
		if r.act.Stopped {
			t.Fatal("the core stopped before the late outcomes were written, want it to wait until then")
		}
		for range 100 {
			r.pass(backoffMin)
			if r.act.Late != nil {
				if written {
					r.lateAgain(nil)
				} else {
					r.lateAgain(errHeldElsewhere)
				}
			}
			if r.act.Stopped {
				break
			}
		}
		if lost := r.core.unsaved; !r.act.Stopped || (lost == 0) != written {
			t.Errorf("the core has stopped: %t, with %d outcomes given up; want true, and outcomes given up unless all were written (all written: %t)", r.act.Stopped, lost, written)
		}
	}
}
