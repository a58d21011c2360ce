package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// held answers the heartbeat under way: all leases are still held.
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
		t.Errorf("a heartbeat at %s", r.now)
	}
	r.pass(1)
	if got := ids(r.act.Beat); !slices.Equal(got, []job.ID{1, 2}) {
		t.Fatalf("a heartbeat of %v, want both", got)
	}
	r.pass(time.Second) // the answer takes a second: the lease counts from the call
	if len(r.act.Beat) != 0 {
		t.Error("a second heartbeat while one is under way")
	}
	r.step(r.held())
	r.pass(third - time.Second - 1)
	if len(r.act.Beat) != 0 {
		t.Errorf("the next heartbeat at %s", r.now)
	}
	r.pass(1)
	if len(r.act.Beat) != 2 {
		t.Errorf("at %s a heartbeat of %v, want both", r.now, ids(r.act.Beat))
	}
	if len(r.act.End) != 0 || tasks[0].phase != running {
		t.Error("a run was stopped")
	}
}

// A lease counts as lost when two thirds of it have passed since the last call that
// confirmed it was sent.
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
			t.Fatalf("ended at %s, want %s", r.now, lost)
		}
	}
	r.pass(1)
	if len(r.act.End) != 1 || r.act.End[0].Cause != store.ErrLeaseLost {
		t.Fatalf("at %s ended %v, want the run with ErrLeaseLost", r.now, r.act.End)
	}
	r.wantNotes(LeaseExpiring)
	// No other worker is known to have the job, so its outcome is sent.
	task := r.act.End[0]
	r.empty()
	r.step(succeed(time.Hour, task))
	r.wantExchange([]job.ID{1}, 2)
}

func TestAShortLeaseIsTriedAFewTimesToo(t *testing.T) {
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
		t.Errorf("%d heartbeats before the lease counted as lost, want three", tries)
	}
}

// part of: Q4
func TestQ4_ALeaseThatTheStoreCallsLostIsGone(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.pass(LeaseDefault / 3)
	r.step(r.held(func(i int, s *store.RunStatus) { s.Held = i != 0 }))
	if len(r.act.End) != 1 || r.act.End[0] != tasks[0] || tasks[0].Cause != store.ErrLeaseLost {
		t.Fatalf("ended %v, want the first run with ErrLeaseLost", ids(r.act.End))
	}
	r.wantNotes(LeaseTaken)
	r.pass(LeaseDefault / 3)
	if got := ids(r.act.Beat); !slices.Equal(got, []job.ID{2}) {
		t.Errorf("a heartbeat of %v, want the second alone", got)
	}
	r.empty()
	r.step(succeed(time.Second, tasks...))
	r.wantExchange([]job.ID{2}, 2) // its success is not written
	if got := ids(r.act.Dropped); !slices.Equal(got, []job.ID{1}) {
		t.Errorf("dropped %v, want the first", got)
	}
}

func TestALostLeaseOfAnOutcomeThatWaitsIsLeftToTheStore(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.step(succeed(time.Second, tasks...))
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.pass(LeaseDefault / 3)
	if len(r.act.Beat) != 1 {
		t.Fatal("the waiting outcome's lease is not extended")
	}
	r.step(r.held(func(_ int, s *store.RunStatus) { s.Held = false }))
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.pass(time.Minute)
	r.wantExchange([]job.ID{1})
	r.step(Exchanged{Answer: store.Exchanged{Settled: []error{store.ErrLeaseLost}}})
	r.wantNotes(OutcomeRefused, TroubleEnded)
	if len(r.act.Dropped) != 1 || len(r.core.tasks) != 0 {
		t.Errorf("dropped %v with %d tasks left", ids(r.act.Dropped), len(r.core.tasks))
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
		t.Error("the context ended")
	}
}

func TestABufferedClaimIsExtendedAndDroppedWhenLost(t *testing.T) {
	t.Parallel()
	r, _ := quick(t)
	r.brings()
	r.pass(LeaseDefault/3 - 20*time.Millisecond)
	if got := len(r.act.Beat); got != 5 {
		t.Fatalf("a heartbeat of %d, want all five", got)
	}
	r.step(r.held(func(i int, s *store.RunStatus) { s.Held = i < 2 }))
	if got := ids(r.act.Dropped); !slices.Equal(got, []job.ID{5, 6, 7}) {
		t.Errorf("dropped %v, want what was buffered", got)
	}
	if len(r.core.queues[0].buffer) != 0 || r.core.kinds[0].buffered != 0 {
		t.Error("the buffer still counts them")
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
				t.Errorf("ended %v, want job 3 with ErrCancelled", got)
			}
			if r.act.Exchange == nil || len(r.act.Exchange.Settle) != 1 {
				t.Fatalf("exchange %+v, want one outcome", r.act.Exchange)
			}
			if o := r.act.Exchange.Settle[0]; o.ID != 5 || o.To != job.Cancelled || o.Validate() != nil {
				t.Errorf("settles %+v, want job 5 cancelled", o)
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
		t.Fatal("ended before the limit")
	}
	r.pass(1)
	if len(r.act.End) != 2 || tasks[0].Cause != ErrTimeLimit {
		t.Fatalf("ended %v with %v, want both with ErrTimeLimit", ids(r.act.End), tasks[0].Cause)
	}
	r.step(succeed(time.Minute, tasks[0])) // this one returns in time
	r.brings()
	r.pass(5*time.Second + returnGrace - 1)
	if len(r.act.Abandon) != 0 {
		t.Fatal("given up too early")
	}
	r.pass(1)
	if len(r.act.Abandon) != 1 || r.act.Abandon[0] != tasks[1] {
		t.Fatalf("gave up %v, want the second", ids(r.act.Abandon))
	}
	r.empty()
	tasks[1].Stuck = true
	r.step(succeed(time.Minute, tasks[1]))
	r.wantNotes(HandlerStuck)
	r.wantExchange([]job.ID{2}, 1) // its slot stays taken
	r.brings()
	r.pass(time.Hour)
	r.wantNotes()
	if len(r.act.Abandon)+len(r.act.End)+len(r.act.Beat) != 0 {
		t.Error("something more was done about the stuck run")
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
	r.pass(3 * time.Second) // the second reaches its limit while the first may still return
	if len(r.act.End) != 1 || len(r.act.Abandon) != 0 {
		t.Errorf("ended %v and gave up %v, want to end the second and give up none", ids(r.act.End), ids(r.act.Abandon))
	}
	r.pass(3 * time.Second)
	if got := ids(r.act.Abandon); !slices.Equal(got, ids(tasks)) {
		t.Errorf("gave up %v, want the first", got)
	}
}

// part of: Q3
func TestQ3_RescueRunsAtTheStartAndEveryInterval(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.RescueInterval = time.Minute })
	r.pass(time.Minute - 1)
	if r.act.Rescue != 0 {
		t.Error("a rescue before its time")
	}
	r.pass(1)
	if r.act.Rescue != rescueLimit {
		t.Error("no rescue when it is due")
	}
	r.step(Rescued{Jobs: rescueLimit})
	if r.act.Rescue != rescueLimit {
		t.Error("no rescue at once although there is more")
	}
	r.step(Rescued{Err: errors.New("boom")})
	r.pass(backoffMin)
	if r.act.Rescue != rescueLimit {
		t.Error("no rescue after a back-off")
	}
	r.step(Rescued{Jobs: 1, Next: store.Never})
	if r.act.Rescue != 0 {
		t.Error("a rescue although none is due")
	}
}

// The jobs of a killed worker are rescued when their leases end, not only at the next
// interval.
//
// part of: Q3
func TestQ3_RescueRunsWhenTheEarliestLeaseEnds(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.Rand = func() float64 { return 0.5 } })
	look := func(after, ends time.Duration) {
		t.Helper()
		r.pass(after - 1)
		if r.act.Rescue != 0 {
			t.Errorf("at %s: a rescue before its time", r.now)
		}
		r.pass(1)
		if r.act.Rescue != rescueLimit {
			t.Fatalf("at %s: no rescue", r.now)
		}
		r.step(Rescued{Next: ends})
		r.empty()
	}
	look(RescueIntervalDefault, 7*time.Second)
	look(7*time.Second+rescueSpread/2, 0) // another transaction holds its row
	look(rescueGap, 0)
	look(rescueGap, time.Hour)
	look(RescueIntervalDefault, store.Never)
	look(RescueIntervalDefault, store.Never)
}

// After an outage a process must not rescue its own runs before their outcomes are written.
//
// part of: Q3
func TestQ3_NoRescueBeforeOwnOutcomesAreWritten(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	r.step(succeed(time.Second, tasks...))
	r.step(Exchanged{Err: store.ErrUnavailable})
	r.pass(RescueIntervalDefault)
	if r.act.Rescue != 0 {
		t.Error("a rescue while an outcome of this process waits")
	}
	r.brings()
	if r.act.Rescue != rescueLimit {
		t.Error("no rescue when it is written")
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
		t.Fatalf("progress of %v, want the first at once", got)
	}
	r.step(r.held(), Reported{tasks}, Reported{tasks})
	if len(r.act.Beat) != 0 {
		t.Error("progress again within a second")
	}
	r.pass(progressGap)
	if got := news(); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("progress of %v, want both", got)
	}
	r.step(Beaten{Err: store.ErrUnavailable})
	r.pass(progressGap)
	if got := news(); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("after a failed write progress of %v, want both again", got)
	}
	r.step(r.held(), Reported{tasks}, succeed(time.Second, tasks...))
	r.pass(progressGap)
	if len(r.act.Beat) != 0 || r.core.news != 0 {
		t.Errorf("progress of ended runs: %v", news())
	}
}

func TestSignalsAreReadAtWakeUpsButNotAtEach(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.pass(time.Second)
	if !r.act.Signals {
		t.Error("signals are not polled")
	}
	r.step(Woken{})
	r.step(SignalsRead{})
	if r.act.Signals {
		t.Error("read again at once")
	}
	r.pass(signalsGap)
	if !r.act.Signals {
		t.Error("not read after a wake-up")
	}
	r.step(SignalsRead{})
	r.pass(signalsGap)
	if r.act.Signals {
		t.Error("read without a reason")
	}
	r.pass(signalsGap, Woken{})
	if !r.act.Signals {
		t.Error("not read at once at a wake-up")
	}
}
