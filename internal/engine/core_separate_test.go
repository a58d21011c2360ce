package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// separateCore makes a core with four workers whose last chances get a process of their own.
func separateCore(t *testing.T) *rig {
	t.Helper()
	return newCore(t, func(c *Config) {
		twoCrashes(c)
		c.Queues[0].Workers = 4
		c.Separate = func(context.Context, *job.Claim, time.Duration) error { return nil }
	})
}

// Where a last chance gets a process of its own, this process goes on: it claims jobs for its other
// slots, and neither extends the lease nor writes an outcome.
//
// part of: Q3
func TestQ3_ALastChanceInAnotherProcessHoldsUpNoSlot(t *testing.T) {
	t.Parallel()
	r := separateCore(t)
	r.brings(slices.Concat(r.claims(2), r.crashedClaims(1, 1))...)
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{3, 1, 2}) || len(r.act.Begin) != 0 {
		t.Fatalf("got the started jobs %v and a begin call for %v, want all jobs started and no begin call", got, ids(r.act.Begin))
	}
	separate, others := r.act.Start[0], slices.Clone(r.act.Start[1:])
	if !separate.separate || others[0].separate || others[1].separate {
		t.Fatal("want job 3 in a process of its own, and only this job")
	}
	r.pass(time.Millisecond, Woken{})
	r.wantExchange(nil, 1) // the separate run takes one of four slots
	r.empty()
	r.pass(LeaseDefault / 3)
	if got := ids(r.act.Beat); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("got a heartbeat for the jobs %v, want one for the jobs 1 and 2", got)
	}
	r.step(r.held())
	r.empty()
	r.step(succeed(time.Second, others...))
	r.wantExchange([]job.ID{1, 2}, 3)
	r.empty()
	for range 100 { // the lease of the separate run does not count as lost here
		r.pass(LeaseDefault)
		r.empty()
		if len(r.act.End)+len(r.act.Abandon)+len(r.act.Beat) != 0 {
			t.Fatalf("at %s: got the actions %+v for a run in another process, want none", r.now, r.act)
		}
	}
	r.step(Finished{[]*Task{separate}})
	if got := ids(r.act.Dropped); !slices.Equal(got, []job.ID{3}) {
		t.Errorf("got the dropped jobs %v, want job 3", got)
	}
	r.pass(emptyGap, Woken{})
	r.wantExchange(nil, 4)
	r.empty()
	if !r.core.Idle() {
		t.Error("the core is not idle, want it idle after the end of the other process")
	}
}

// A stop lets a separate run finish in the grace time, then ends its context, and waits until the
// other process has ended.
//
// part of: Q3, Q8
func TestQ3_AStopWaitsForARunInAnotherProcess(t *testing.T) {
	t.Parallel()
	r := separateCore(t)
	r.brings(r.crashedClaims(1, 1)...)
	separate := r.act.Start[0]
	r.empty()
	r.step(StopAsked{})
	r.pass(GraceDefault)
	if got := ids(r.act.End); !slices.Equal(got, []job.ID{1}) || !errors.Is(separate.Cause, ErrInterrupted) {
		t.Fatalf("got the ended runs %v with the cause %v, want job 1, which is interrupted", got, separate.Cause)
	}
	r.pass(time.Minute)
	if r.act.Stopped || len(r.act.Abandon) != 0 {
		t.Error("the core has stopped while the other process was running, want it to wait")
	}
	r.step(Finished{[]*Task{separate}})
	if !r.act.Stopped || r.core.handed != 0 {
		t.Errorf("stopped: %t, jobs handed back: %d; want a complete stop without jobs that this process hands back", r.act.Stopped, r.core.handed)
	}
}

// A request to cancel is left to the process that has the run.
//
// part of: Q3
func TestACancelIsLeftToTheOtherProcess(t *testing.T) {
	t.Parallel()
	r := separateCore(t)
	r.brings(r.crashedClaims(1, 1)...)
	r.pass(time.Second)
	r.step(SignalsRead{Signals: store.Signals{Cancel: []store.Run{{ID: 1, Token: 1}}}})
	if len(r.act.End) != 0 {
		t.Error("the run was ended here, want no action")
	}
}

// When the other process cannot be started, the job is handed back, and for a minute last chances have
// this process to themselves. Other jobs go on.
//
// part of: Q3
func TestQ3_WithoutAnotherProcessALastChanceIsAlone(t *testing.T) {
	t.Parallel()
	r := separateCore(t)
	r.brings(r.crashedClaims(1, 1)...)
	first := r.act.Start[0]
	r.empty()
	r.step(refuse(&Trouble{Err: errProgram}, first))
	r.wantSick()
	r.wantExchange([]job.ID{1}, 4)
	r.brings(r.crashedClaims(1, 1)...)
	if got := ids(r.act.Begin); !slices.Equal(got, []job.ID{2}) || len(r.act.Start) != 0 {
		t.Fatalf("got a begin call for %v and the started jobs %v, want a begin call for job 2", got, ids(r.act.Start))
	}
	r.step(r.begun())
	r.step(succeed(time.Second, r.act.Start[0]))
	r.empty()
	r.pass(separatePause, Woken{})
	r.brings(r.crashedClaims(1, 1)...)
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{3}) {
		t.Errorf("got the started jobs %v a minute later, want job 3 in a process of its own", got)
	}
}

// An error of Config.Separate says that the run has not begun.
//
// part of: Q3
func TestQ3_AProcessThatCannotBeStartedHasNotBegun(t *testing.T) {
	t.Parallel()
	e := &Engine{core: new(Core)}
	e.cfg.Clock = systemClock{}
	e.cfg.Separate = func(context.Context, *job.Claim, time.Duration) error { return errProgram }
	r := &Run{engine: e, task: &Task{separate: true}}
	if err := r.elsewhere(); !errors.Is(err, proc.ErrNotStarted) || !errors.Is(err, errProgram) {
		t.Errorf("got the error %v, want one that is ErrNotStarted, because of %v", err, errProgram)
	}
}
