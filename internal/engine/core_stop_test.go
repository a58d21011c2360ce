package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// interrupt returns the event that tasks have ended as interrupted.
func interrupt(tasks ...*Task) Finished {
	for _, t := range tasks {
		t.settle(job.Interrupted, job.Waiting)
	}
	return Finished{tasks}
}

// part of: Q8
func TestQ8_AStopLetsRunsFinishWithinTheGrace(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, func(c *Config) { c.Lease = time.Hour })
	r.step(StopAsked{})
	if r.wantQuiet(); len(r.act.End) != 0 || r.act.Stopped {
		t.Fatal("the stop ended runs at once, want a grace time")
	}
	r.pass(10*time.Second, Woken{}, succeed(time.Second, tasks[0]))
	r.wantExchange([]job.ID{1})
	r.brings()
	r.pass(20*time.Second - 1)
	if len(r.act.End) != 0 {
		t.Error("a run was ended before the grace time was over, want no run ended")
	}
	r.pass(1)
	if len(r.act.End) != 1 || tasks[1].Cause != ErrInterrupted {
		t.Fatalf("got the ended runs %v, want the second run with ErrInterrupted", ids(r.act.End))
	}
	r.step(interrupt(tasks[1]))
	r.wantExchange([]job.ID{2})
	if r.act.Stopped {
		t.Error("the core stopped before the outcome was written, want it to wait until then")
	}
	r.brings()
	if !r.act.Stopped || r.core.handed != 1 || r.core.unsaved != 0 {
		t.Errorf("the core has stopped: %t, with %d jobs handed back and %d unsaved outcomes; want true, 1 job and 0 outcomes", r.act.Stopped, r.core.handed, r.core.unsaved)
	}
}

// part of: Q8
func TestQ8_AHaltEndsTheGraceAtOnce(t *testing.T) {
	t.Parallel()
	for _, first := range [][]Event{{HaltAsked{}}, {StopAsked{}, HaltAsked{}}} {
		r, _ := withRuns(t, 2, nil)
		r.step(first...)
		if len(r.act.End) != 2 {
			t.Errorf("after %T: got the ended runs %v, want both runs ended", first[0], ids(r.act.End))
		}
		r.step(HaltAsked{}, StopAsked{})
		if len(r.act.End) != 0 {
			t.Error("a run was ended a second time, want each run ended once")
		}
	}
}

func TestAStopWithNothingToDoIsComplete(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.brings()
	if r.step(StopAsked{}); !r.act.Stopped {
		t.Error("the core did not stop although it had nothing to do, want it stopped")
	}
}

// Jobs that an exchange returns after the beginning of a stop are handed back.
func TestAStopHandsBackWhatIsStillComing(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	if r.step(StopAsked{}); r.act.Stopped {
		t.Fatal("the core stopped while an exchange was under way, want it to wait for the answer")
	}
	r.brings(r.claims(2)...)
	r.wantExchange([]job.ID{1, 2})
	if len(r.act.Start) != 0 || r.act.Exchange.Settle[0].Cause != job.Interrupted {
		t.Errorf("got the started jobs %v and the settled outcomes %+v, want no start and the job handed back", ids(r.act.Start), r.act.Exchange.Settle)
	}
	if r.brings(); !r.act.Stopped || r.core.handed != 0 {
		t.Errorf("the core has stopped: %t, with %d jobs counted as handed back; want true and 0, because the jobs had not started", r.act.Stopped, r.core.handed)
	}
}

// part of: Q8
func TestQ8_AStuckHandlerDoesNotDelayTheStop(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.step(HaltAsked{})
	r.pass(5*time.Second + returnGrace)
	if len(r.act.Abandon) != 1 {
		t.Fatal("the run of the stuck handler was not abandoned, want it abandoned")
	}
	tasks[0].Stuck = true
	r.step(interrupt(tasks[0]))
	if r.brings(); !r.act.Stopped || r.core.handed != 1 {
		t.Errorf("the core has stopped: %t, with %d jobs handed back; want true and 1 job", r.act.Stopped, r.core.handed)
	}
}

func TestAStopGivesUpOnAStoreThatStaysBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		hangs bool
	}{{"failing", false}, {"hanging", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, tasks := withRuns(t, 2, nil)
			r.step(StopAsked{}, succeed(time.Second, tasks...))
			asked, began := 0, r.now
			for !r.act.Stopped {
				if r.act.Exchange != nil && !tt.hangs {
					if asked++; !slices.Equal(settled(r.act.Exchange), []job.ID{1, 2}) {
						t.Fatalf("the exchange settles the outcomes %v, want the outcomes of jobs 1 and 2", r.act.Exchange.Settle)
					}
					r.step(Exchanged{Err: store.ErrUnavailable})
					continue
				}
				if r.now-began > time.Minute {
					t.Fatal("the core did not give up its outcomes within a minute, want it to give them up")
				}
				r.now = r.act.Wake
				r.step()
			}
			r.wantNotes(OutcomesGivenUp)
			if took := r.now - began; took != lastAttempts || r.core.unsaved != 2 {
				t.Errorf("the core gave up %d outcomes after %s, want 2 after %s", r.core.unsaved, took, lastAttempts)
			}
			if !tt.hangs && asked < 10 {
				t.Errorf("got %d calls to the store in %s, want at least 10", asked, lastAttempts)
			}
		})
	}
}

func settled(x *store.Exchange) (out []job.ID) {
	for _, o := range x.Settle {
		out = append(out, o.ID)
	}
	return out
}

func TestIdleMeansNothingLeftToDo(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	want := func(idle bool, when string) {
		t.Helper()
		if got := r.core.Idle(); got != idle {
			t.Errorf("%s: the core is idle: %t, want %t", when, got, idle)
		}
	}
	want(false, "while asking")
	r.brings()
	want(true, "after an empty answer")
	r.step(Woken{})
	want(false, "after a wake-up")
	r.brings(r.claims(1)...)
	want(false, "while running")
	r.step(succeed(time.Second, r.act.Start...))
	want(false, "while writing")
	r.step(Exchanged{Err: store.ErrUnavailable})
	want(false, "while the outcome waits")
	r.pass(time.Second)
	r.brings()
	r.brings()
	want(true, "in the end")
}
