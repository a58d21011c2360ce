package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestOutcomesAreKeptAndSentAgainWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		store.ErrFull, store.ErrUnknown, store.ErrUnavailable, store.ErrReadOnly,
		errors.New("something else"), fmt.Errorf("exchange: %w", store.ErrFull),
	} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			r, tasks := withRuns(t, 2, func(c *Config) { c.Lease = time.Hour })
			r.step(succeed(time.Second, tasks...))
			r.wantExchange([]job.ID{1, 2}, 2)
			r.step(Exchanged{Err: err})
			r.wantNotes(TroubleBegan)
			wait := backoffMin
			for range 10 {
				r.wantQuiet()
				r.pass(wait - 1)
				r.wantQuiet()
				r.pass(1)
				r.wantExchange([]job.ID{1, 2}) // The core claims no jobs while the store fails.
				r.step(Exchanged{Err: err})
				r.wantNotes()
				wait = min(2*wait, backoffMax)
			}
			r.pass(wait)
			r.step(Exchanged{Answer: store.Exchanged{Settled: make([]error, 2)}})
			r.wantNotes(TroubleEnded)
			r.wantExchange(nil, 2) // The core claims jobs again without any other event.
			if got := ids(r.act.Written); !slices.Equal(got, []job.ID{1, 2}) {
				t.Errorf("got written outcomes of the jobs %v, want jobs 1 and 2", got)
			}
		})
	}
}

func TestTheBackOffHasJitter(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.Rand = func() float64 { return 0.5 } })
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.wantWake(backoffMin * 3 / 4)
}

// When no outcomes wait to be written, the core finds out with a claim whether a failing store
// works again.
func TestAStoreInTroubleIsTriedWithAClaim(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.step(Exchanged{Err: store.ErrFull})
	r.wantQuiet()
	r.pass(backoffMin)
	r.wantExchange(nil, 2)
}

func TestTroubleIsNotedOnceForAllCalls(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.wantNotes(TroubleBegan)
	r.pass(time.Second)
	r.step(SignalsRead{Err: store.ErrUnavailable})
	r.wantNotes()
	r.brings()
	r.wantNotes()
	r.pass(time.Second)
	r.step(SignalsRead{})
	r.wantNotes(TroubleEnded)
	if n := r.act.Notes[0]; n.Elapsed != 2*time.Second {
		t.Errorf("got the note that the store failed for %s, want 2 s", n.Elapsed)
	}
}

func TestTroubleEndsWhenTheFailedCallIsNoLongerNeeded(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.pass(LeaseDefault / 3)
	r.empty()
	r.step(Beaten{Err: store.ErrUnavailable}, SignalsRead{})
	r.wantNotes(TroubleBegan)
	r.step(succeed(time.Second, tasks...))
	r.brings()
	r.pass(time.Second)
	r.wantNotes(TroubleEnded)
}

func TestAnAnswerOfTheWrongLengthIsAnError(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.step(succeed(time.Second, tasks...))
	r.step(Exchanged{Answer: store.Exchanged{Settled: make([]error, 1)}})
	r.wantNotes(TroubleBegan)
	r.pass(backoffMin)
	r.wantExchange([]job.ID{1, 2})
}

// An outcome that the store refuses as invalid is replaced by a failure, so that its job
// ends. The core finds such an outcome also when the store refuses the whole exchange.
func TestAnInvalidOutcomeBecomesAFailure(t *testing.T) {
	t.Parallel()
	invalid := fmt.Errorf("the second outcome was refused: %w", store.ErrInvalid)
	r, tasks := withRuns(t, 3, func(c *Config) { c.Queues[0].Workers = 3 })
	r.step(succeed(time.Second, tasks...))
	r.step(Exchanged{Err: invalid})
	r.wantNotes()
	r.wantExchange([]job.ID{1})
	r.brings()
	r.wantExchange([]job.ID{2})
	r.step(Exchanged{Err: invalid})
	r.wantNotes(OutcomeInvalid)
	r.wantExchange([]job.ID{3})
	r.brings()
	r.wantExchange([]job.ID{2}, 3)
	o := r.act.Exchange.Settle[0]
	if o.Cause != job.Failed || o.To != job.Dead || o.Failure.Code != job.CodeInvalidOutcome || o.Validate() != nil {
		t.Errorf("got the replacement outcome %+v, want a valid failure that makes the job dead", o)
	}
	a := r.answer()
	a.Answer.Settled[0] = invalid
	r.step(a)
	r.wantNotes(OutcomeRefused)
	if len(r.act.Dropped) != 1 || len(r.core.tasks) != 0 {
		t.Errorf("got the dropped jobs %v with %d tasks left, want the replacement given up and no task", ids(r.act.Dropped), len(r.core.tasks))
	}
}

// An exchange that was refused has claimed nothing, so the core asks for jobs again after it has
// written the outcomes one by one.
func TestARefusedExchangeAsksForJobsAgain(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.step(succeed(time.Second, tasks...))
	r.wantExchange([]job.ID{1, 2}, 2)
	r.step(Exchanged{Err: store.ErrInvalid})
	r.wantExchange([]job.ID{1})
	r.brings()
	r.wantExchange([]job.ID{2})
	r.brings()
	if r.core.Idle() {
		t.Error("the core is idle before it has asked for jobs, want it to ask")
	}
	r.wantExchange(nil, 2)
}

func TestAnInvalidRequestIsNotRepeatedInALoop(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.step(Exchanged{Err: store.ErrInvalid})
	r.wantNotes(TroubleBegan)
	r.wantQuiet()
	r.wantWake(backoffMin)
}
