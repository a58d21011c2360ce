package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// held answers the heartbeat that is under way. The answer says that this worker still has all
// leases.
func (r *rig) held(change ...func(int, *store.RunStatus)) Beaten {
	status := make([]store.RunStatus, len(r.core.beating))
	for i := range status {
		status[i].Held = true
		for _, f := range change {
			f(i, &status[i])
		}
	}
	return Beaten{Status: status}
}

// part of: Q3
func TestQ3_LeasesAreExtendedInOneCallEachThird(t *testing.T) {
	t.Parallel()
	const third = LeaseDefault / 3
	r, tasks := withRuns(t, 2, nil)
	r.pass(third - 1)
	if len(r.act.Beat) != 0 {
		t.Errorf("got a heartbeat at %s, want none before a third of the lease", r.now)
	}
	r.pass(1)
	if got := ids(r.act.Beat); !slices.Equal(got, []job.ID{1, 2}) {
		t.Fatalf("got a heartbeat for the jobs %v, want jobs 1 and 2", got)
	}
	r.pass(time.Second) // The answer takes a second, but the lease counts from the start of the call.
	if len(r.act.Beat) != 0 {
		t.Error("got a second heartbeat while the first one is under way, want none")
	}
	r.step(r.held())
	r.pass(third - time.Second - 1)
	if len(r.act.Beat) != 0 {
		t.Errorf("got the next heartbeat at %s, want none yet", r.now)
	}
	r.pass(1)
	if len(r.act.Beat) != 2 {
		t.Errorf("at %s: got a heartbeat for the jobs %v, want jobs 1 and 2", r.now, ids(r.act.Beat))
	}
	if len(r.act.End) != 0 || tasks[0].phase != running {
		t.Error("a run was stopped, want both runs to continue")
	}
}

// A lease counts as lost when two thirds of it have passed since the start of the last call
// that confirmed it.
//
// part of: Q4
func TestQ4_AnUnconfirmedLeaseEndsTheContext(t *testing.T) {
	t.Parallel()
	r, _ := withRuns(t, 1, nil)
	r.pass(LeaseDefault / 3)
	sent := r.now
	r.pass(time.Second, r.held())
	lost := sent + LeaseDefault*2/3
	for r.now < lost-1 {
		r.now = min(r.act.Wake, lost-1)
		r.step()
		if r.core.beat.busy {
			r.step(Beaten{Err: store.ErrUnavailable})
		}
		if len(r.act.End) != 0 {
			t.Fatalf("the context of the run ended at %s, want %s", r.now, lost)
		}
	}
	r.pass(1)
	if len(r.act.End) != 1 || r.act.End[0].Cause != store.ErrLeaseLost {
		t.Fatalf("at %s: got the ended runs %v, want one run ended with ErrLeaseLost", r.now, r.act.End)
	}
	r.wantNotes(LeaseExpiring)
	// No other worker is known to have the job, so its outcome is sent.
	task := r.act.End[0]
	r.empty()
	r.step(succeed(time.Hour, task))
	r.wantExchange([]job.ID{1}, 2)
}

func TestTheHeartbeatOfAShortLeaseIsRepeated(t *testing.T) {
	t.Parallel()
	r, _ := withRuns(t, 1, func(c *Config) { c.Lease = LeaseMin })
	tries := 0
	for len(r.act.End) == 0 {
		r.now = r.act.Wake
		r.step()
		if r.core.beat.busy {
			tries++
			r.step(Beaten{Err: store.ErrUnavailable})
		}
	}
	if tries < 3 {
		t.Errorf("got %d heartbeats before the lease counted as lost, want at least 3", tries)
	}
}

// part of: Q4
func TestQ4_ALeaseThatTheStoreCallsLostIsGone(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.pass(LeaseDefault / 3)
	r.step(r.held(func(i int, s *store.RunStatus) { s.Held = i != 0 }))
	if len(r.act.End) != 1 || r.act.End[0] != tasks[0] || tasks[0].Cause != store.ErrLeaseLost {
		t.Fatalf("got the ended runs %v, want the first run ended with ErrLeaseLost", ids(r.act.End))
	}
	r.wantNotes(LeaseTaken)
	r.pass(LeaseDefault / 3)
	if got := ids(r.act.Beat); !slices.Equal(got, []job.ID{2}) {
		t.Errorf("got a heartbeat for the jobs %v, want only job 2", got)
	}
	r.empty()
	r.step(succeed(time.Second, tasks...))
	r.wantExchange([]job.ID{2}, 2) // The success of the run that lost its lease is not written.
	if got := ids(r.act.Dropped); !slices.Equal(got, []job.ID{1}) {
		t.Errorf("got the dropped jobs %v, want job 1", got)
	}
}

func TestALostLeaseOfAnOutcomeThatWaitsIsLeftToTheStore(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.step(succeed(time.Second, tasks...))
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.pass(LeaseDefault / 3)
	if len(r.act.Beat) != 1 {
		t.Fatal("got no heartbeat for a job whose outcome waits to be written, want a heartbeat")
	}
	r.step(r.held(func(_ int, s *store.RunStatus) { s.Held = false }))
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.pass(time.Minute)
	r.wantExchange([]job.ID{1})
	r.step(Exchanged{Answer: store.Exchanged{Settled: []error{store.ErrLeaseLost}}})
	r.wantNotes(OutcomeRefused, TroubleEnded)
	if len(r.act.Dropped) != 1 || len(r.core.tasks) != 0 {
		t.Errorf("got the dropped jobs %v with %d tasks left, want 1 dropped job and no tasks", ids(r.act.Dropped), len(r.core.tasks))
	}
}

func TestARunThatIsSettledInATransactionMayLoseItsLease(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.step(WrittenInTx{tasks[0]})
	r.pass(LeaseDefault / 3)
	r.step(r.held(func(_ int, s *store.RunStatus) { s.Held = false }))
	r.wantNotes()
	if len(r.act.End) != 0 {
		t.Error("the context of the run ended, want it open")
	}
}

func TestABufferedClaimIsExtendedAndDroppedWhenLost(t *testing.T) {
	t.Parallel()
	r, _ := quick(t)
	r.brings()
	r.pass(LeaseDefault/3 - 20*time.Millisecond)
	if got := len(r.act.Beat); got != 5 {
		t.Fatalf("got a heartbeat for %d jobs, want 5", got)
	}
	r.step(r.held(func(i int, s *store.RunStatus) { s.Held = i < 2 }))
	if got := ids(r.act.Dropped); !slices.Equal(got, []job.ID{5, 6, 7}) {
		t.Errorf("got the dropped jobs %v, want the buffered jobs 5, 6 and 7", got)
	}
	if len(r.core.queues[0].buffer) != 0 || r.core.kinds[0].buffered != 0 {
		t.Error("the buffer still counts the dropped jobs, want an empty buffer")
	}
}

func TestCancelEndsARunAndAWaitingClaim(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		tell func(r *rig) Event
	}{
		{"by the signals", func(r *rig) Event {
			return SignalsRead{Signals: store.Signals{Cancel: []store.Run{{ID: 3, Token: 1}, {ID: 5, Token: 1}, {ID: 6, Token: 9}, {ID: 99, Token: 1}}}}
		}},
		{"by a heartbeat", func(r *rig) Event {
			r.pass(LeaseDefault/3 - 20*time.Millisecond)
			return r.held(func(i int, s *store.RunStatus) { s.Cancel = i == 0 || i == 2 })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, busy := quick(t)
			tell := tt.tell(r)
			r.empty()
			r.step(tell)
			if got := ids(r.act.End); !slices.Equal(got, []job.ID{3}) || busy[0].Cause != ErrCancelled {
				t.Errorf("got the ended runs %v, want job 3 with ErrCancelled", got)
			}
			if r.act.Exchange == nil || len(r.act.Exchange.Settle) != 1 {
				t.Fatalf("got the exchange %+v, want an exchange with one outcome", r.act.Exchange)
			}
			if o := r.act.Exchange.Settle[0]; o.ID != 5 || o.To != job.Cancelled || o.Validate() != nil {
				t.Errorf("the exchange settles %+v, want job 5 as cancelled", o)
			}
		})
	}
}

// part of: Q5
func TestQ5_TheTimeLimitEndsTheContextAndThenTheRun(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, func(c *Config) { c.Kinds[0].Timeout, c.Lease = time.Minute, time.Hour })
	r.brings()
	r.pass(time.Minute - 1)
	if len(r.act.End) != 0 {
		t.Fatal("a run was ended before its time limit, want no run ended")
	}
	r.pass(1)
	if len(r.act.End) != 2 || !errors.Is(tasks[0].Cause, ErrTimeLimit) || tasks[0].Cause.Error() != "the run has reached its time limit of 1m" {
		t.Fatalf("got the ended runs %v with the cause %v, want both runs ended with ErrTimeLimit", ids(r.act.End), tasks[0].Cause)
	}
	r.step(succeed(time.Minute, tasks[0])) // The first run returns within its grace time.
	r.brings()
	r.pass(5*time.Second + returnGrace - 1)
	if len(r.act.Abandon) != 0 {
		t.Fatal("a run was given up before its grace time was over, want no run given up")
	}
	r.pass(1)
	if len(r.act.Abandon) != 1 || r.act.Abandon[0] != tasks[1] {
		t.Fatalf("got the abandoned runs %v, want the second run", ids(r.act.Abandon))
	}
	r.empty()
	tasks[1].Stuck = true
	r.step(succeed(time.Minute, tasks[1]))
	r.wantNotes(HandlerStuck)
	r.wantExchange([]job.ID{2}, 1) // The abandoned run still occupies its slot.
	r.brings()
	r.pass(time.Hour)
	r.wantNotes()
	if len(r.act.Abandon)+len(r.act.End)+len(r.act.Beat) != 0 {
		t.Error("got another action for the stuck run, want none")
	}
	r.brings()
	r.step(Unstuck{[]*Task{tasks[1]}})
	r.wantNotes(HandlerReturned)
	r.wantExchange(nil, 2)
}

func TestEachRunHasItsOwnGrace(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, func(c *Config) { c.Kinds[0].Timeout, c.Lease = time.Minute, time.Hour })
	r.pass(3*time.Second, Woken{})
	r.brings(r.claims(1)...)
	r.pass(57 * time.Second)
	r.pass(3 * time.Second) // The second run reaches its limit while the first run still has grace time.
	if len(r.act.End) != 1 || len(r.act.Abandon) != 0 {
		t.Errorf("got the ended runs %v and the abandoned runs %v, want the second run ended and none abandoned", ids(r.act.End), ids(r.act.Abandon))
	}
	r.pass(3 * time.Second)
	if got := ids(r.act.Abandon); !slices.Equal(got, ids(tasks)) {
		t.Errorf("got the abandoned runs %v, want the first run", got)
	}
}

// part of: Q11
func TestQ11_ProgressIsWrittenOnceASecond(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	news := func() (out []job.ID) {
		for _, task := range r.act.Beat {
			if task.HasNews() {
				out = append(out, task.Claim.ID)
			}
		}
		return out
	}
	r.step(Reported{tasks[:1]})
	if got := news(); !slices.Equal(got, []job.ID{1}) {
		t.Fatalf("got the progress of the jobs %v, want job 1 at once", got)
	}
	r.step(r.held(), Reported{tasks}, Reported{tasks})
	if len(r.act.Beat) != 0 {
		t.Error("got progress a second time within one second, want none")
	}
	r.pass(progressGap)
	if got := news(); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("got the progress of the jobs %v, want jobs 1 and 2", got)
	}
	r.step(Beaten{Err: store.ErrUnavailable})
	r.pass(progressGap)
	if got := news(); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("after a failed write: got the progress of the jobs %v, want the progress of both jobs again", got)
	}
	r.step(r.held(), Reported{tasks}, succeed(time.Second, tasks...))
	r.pass(progressGap)
	if len(r.act.Beat) != 0 || r.core.news != 0 {
		t.Errorf("got the progress of the ended jobs %v, want none", news())
	}
}

func TestSignalsAreReadAtSomeWakeUps(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.pass(time.Second)
	if !r.act.Signals {
		t.Error("the signals of the store (cancellations, settings of queues) were not read at the regular interval, want a read")
	}
	r.step(Woken{})
	r.step(SignalsRead{})
	if r.act.Signals {
		t.Error("the signals of the store (cancellations, settings of queues) were read twice without a wait between the reads, want one read")
	}
	r.pass(signalsGap)
	if !r.act.Signals {
		t.Error("the signals of the store (cancellations, settings of queues) were not read after a wake-up, want a read")
	}
	r.step(SignalsRead{})
	r.pass(signalsGap)
	if r.act.Signals {
		t.Error("the signals of the store (cancellations, settings of queues) were read again before the next poll, without a wake-up, want no read")
	}
	r.pass(signalsGap, Woken{})
	if !r.act.Signals {
		t.Error("the signals of the store (cancellations, settings of queues) were not read at once after a wake-up, want a read")
	}
}
