package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var errProgram = errors.New("no such program")

// refuse returns the event that tasks have ended because their programs could not be started.
func refuse(trouble *Trouble, tasks ...*Task) Finished {
	for _, t := range tasks {
		t.settle(job.Deferred, job.Waiting)
		t.trouble = trouble
	}
	return Finished{append([]*Task(nil), tasks...)}
}

// wantSick fails the test unless the troubles of the process concern exactly these kinds.
func (r *rig) wantSick(kinds ...string) {
	r.t.Helper()
	list := r.core.ailments()
	same := len(list) == len(kinds)
	for i := range list {
		same = same && list[i].Kind == kinds[i]
	}
	if !same {
		r.t.Errorf("at %s: got the troubles %v, want troubles of the kinds %q", r.now, list, kinds)
	}
}

// part of: Q3
func TestQ3_AKindThatCannotStartIsNotClaimedUntilATrialWorks(t *testing.T) {
	handler := func(context.Context, *Run) error { return nil }
	r := newCore(t, func(c *Config) {
		c.Kinds = []Kind{{Name: "k", Handler: handler}, {Name: "other", Handler: handler}}
		c.Poll = time.Hour
	})
	r.brings(r.claims(3)...) // two jobs run, and one job is in the buffer
	first, second := r.act.Start[0], r.act.Start[1]
	r.empty()
	trouble := &Trouble{Err: errProgram}
	r.step(refuse(trouble, first))
	r.wantNotes(SickBegan)
	r.wantSick("k")
	// Job 1 is deferred and job 3 is handed back. Only jobs of the kind "other" are claimed.
	r.wantExchange([]job.ID{1, 3}, 1)
	if kinds := r.act.Exchange.Want[0].Kinds; len(kinds) != 1 || kinds[0].Kind != "other" {
		t.Fatalf("got requests %+v, want only a request for the kind %q", kinds, "other")
	}
	r.brings()
	r.step(refuse(trouble, second)) // The second run began before the trouble was known, so its end does not change the wait.
	r.wantNotes()
	r.empty()
	r.pass(trialWaitMin)
	r.wantExchange(nil, 2)
	if kinds := r.act.Exchange.Want[0].Kinds; len(kinds) != 2 || kinds[0].Kind != "k" || kinds[0].Max != 1 {
		t.Fatalf("got requests %+v, want a request for one job of the kind %q as a trial", kinds, "k")
	}
	r.brings(r.claims(1)...)
	trial := r.act.Start[0]
	r.empty()
	r.step(refuse(trouble, trial))
	r.wantNotes() // the core has made a note of this trouble before
	r.empty()
	r.pass(2*trialWaitMin - time.Millisecond)
	if r.act.Exchange != nil && len(r.act.Exchange.Want[0].Kinds) == 2 {
		t.Errorf("at %s: the second trial begins before its wait of %s is over, want it to begin later", r.now, 2*trialWaitMin)
	}
	r.empty()
	r.pass(time.Millisecond)
	r.brings(r.claims(1)...)
	trial = r.act.Start[0]
	r.empty()
	r.step(succeed(time.Millisecond, trial))
	r.wantNotes(SickEnded)
	r.wantSick()
}

// part of: Q3
func TestQ3_AProcessThatCannotStartAnythingClaimsNothing(t *testing.T) {
	r, tasks := withRuns(t, 2, func(c *Config) { c.Poll = time.Second })
	r.empty()
	trouble := &Trouble{Err: errors.New("too many open files"), Process: true, Check: func() error { return nil }}
	r.step(refuse(trouble, tasks...))
	r.wantNotes(SickBegan)
	r.wantSick("")
	r.wantExchange([]job.ID{1, 2})
	r.brings()
	r.wantQuiet()
	r.pass(trialWaitMin, Woken{})
	r.wantQuiet()
	if len(r.act.Checks) != 1 {
		t.Fatalf("got %d checks after the wait, want 1", len(r.act.Checks))
	}
	s := r.act.Checks[0]
	for range 5 {
		r.step(Checked{s, errors.New("still too many")})
		r.wantQuiet()
		r.pass(checkEvery)
		if len(r.act.Checks) != 1 {
			t.Fatalf("got %d checks %s after a check that failed, want 1", len(r.act.Checks), checkEvery)
		}
	}
	r.step(Checked{s, nil})
	r.wantExchange(nil, 1)
	r.brings(r.claims(1)...)
	if len(r.act.Start) != 1 {
		t.Fatalf("got %d started runs, want the run of the trial", len(r.act.Start))
	}
	r.wantQuiet() // only one trial runs at a time
	r.pass(trialTime)
	r.wantNotes(SickEnded) // the run has lasted long enough to show that it was started
	r.wantSick()
	r.wantExchange(nil, 1)
}

// If the run of a trial ends without showing whether programs can be started, another job is
// claimed as a trial.
//
// part of: Q3
func TestQ3_ATrialThatShowsNothingIsRepeated(t *testing.T) {
	r, tasks := withRuns(t, 2, nil)
	r.empty()
	r.step(refuse(&Trouble{Err: errProgram}, tasks[0]))
	r.empty()
	r.pass(trialWaitMin)
	claims := r.claims(2) // the store returns one job more than the core has requested
	r.brings(claims...)
	if len(r.act.Start) != 1 {
		t.Fatalf("got %d started runs, want the run of the trial", len(r.act.Start))
	}
	trial := r.act.Start[0]
	r.empty()
	trial.settle(job.Interrupted, job.Waiting)
	r.step(Finished{[]*Task{trial}})
	r.wantSick("k")
	r.wantExchange([]job.ID{trial.Claim.ID}, 1)
}

// part of: Q7
func TestQ7_ATroubleIsReportedSoon(t *testing.T) {
	r := withPresence(t)
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.brings(r.claims(2)...)
	task := r.act.Start[0]
	r.empty()
	r.pass(2 * time.Second)
	r.step(refuse(&Trouble{Err: errProgram}, task))
	if s := r.act.Sign; s == nil || len(s.Sick) != 1 || s.Sick[0].Kind != "k" {
		t.Fatalf("got the sign of life %+v at the begin of a trouble, want a sign of life that names the kind %q", s, "k")
	}
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.wantSign(nil)
	if want := store.PresentEvery; r.core.presence.at != r.now+want {
		t.Errorf("the next sign of life is due after %s, want %s", r.core.presence.at-r.now, want)
	}
}

// part of: Q3
func TestQ3_OnlyErrorsOfTheStartAreTroubles(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{errors.New("the work failed"), false}, {errProgram, false},
		{&Trouble{Err: errProgram}, true}, {errors.Join(errors.New("a"), &Trouble{Err: errProgram}), true},
	} {
		r := &Run{end: job.Ending{How: job.ByError, Err: tt.err}}
		if got := r.trouble() != nil; got != tt.want {
			t.Errorf("the error %q is a trouble of the worker: %v, want %v", tt.err, got, tt.want)
		}
		r.end.Stopped = job.StopShutdown
		if r.trouble() != nil {
			t.Errorf("the error %q of a run that the worker stopped is a trouble of the worker, want none", tt.err)
		}
	}
}
