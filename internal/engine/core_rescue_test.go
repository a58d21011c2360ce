package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/store"
)

// A worker may start just after an outage of the store. Living workers try to reach the store again
// after a back-off of at most 5 s, so a new worker rescues no run before.
//
// part of: Q3
func TestQ3_ANewWorkerGivesOthersTimeAfterAnOutage(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]time.Duration{10 * time.Second: backoffMax, time.Second: time.Second} {
		r := youngCore(t, func(c *Config) { c.Lease = lease })
		r.step()
		first := r.act.Rescue
		r.step(Declared{}, SignalsRead{})
		r.pass(want - 1)
		if first != 0 || r.act.Rescue != 0 {
			t.Errorf("lease of %s: got a rescue within %s of the start, want none", lease, want)
		}
		r.pass(1)
		if r.act.Rescue != rescueLimit {
			t.Errorf("lease of %s: got no rescue %s after the start, want one", lease, want)
		}
	}
}

// part of: Q3
func TestQ3_RescueRunsEveryInterval(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.RescueInterval = time.Minute })
	r.pass(time.Minute - 1)
	if r.act.Rescue != 0 {
		t.Error("got a rescue before it is due, want none")
	}
	r.pass(1)
	if r.act.Rescue != rescueLimit {
		t.Error("got no rescue when it is due, want a rescue")
	}
	r.step(Rescued{Jobs: rescueLimit})
	if r.act.Rescue != rescueLimit {
		t.Error("got no second rescue at once, want a rescue because there are more jobs to rescue")
	}
	r.step(Rescued{Err: errors.New("boom")})
	r.pass(backoffMin)
	if r.act.Rescue == 0 {
		t.Error("got no rescue after the wait that follows an error, want a rescue")
	}
	r.step(Rescued{Jobs: 1, Next: store.Never})
	if r.act.Rescue != 0 {
		t.Error("got a rescue, want none before it is due")
	}
}

// A slow store may not be able to rescue all jobs within the time limit of a call. So each failed
// call is followed by a smaller one, and each call that rescued as many jobs as it may by a larger
// one at once.
//
// part of: Q3
func TestQ3_AFailedRescueIsFollowedByASmallerOne(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.pass(RescueIntervalDefault)
	for _, want := range []int{rescueLimit, rescueLimit / 4, rescueLimit / 16, rescueLimit / 64, 1, 1} {
		if r.act.Rescue != want {
			t.Fatalf("got a rescue of at most %d jobs, want %d", r.act.Rescue, want)
		}
		r.step(Rescued{Err: errors.New("the call took too long")})
		r.pass(backoffMax)
	}
	for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, rescueLimit, rescueLimit} {
		if r.act.Rescue != want {
			t.Fatalf("got a rescue of at most %d jobs, want %d", r.act.Rescue, want)
		}
		r.step(Rescued{Jobs: want})
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
			t.Errorf("at %s: got a rescue before it is due, want none", r.now)
		}
		r.pass(1)
		if r.act.Rescue != rescueLimit {
			t.Fatalf("at %s: got no rescue, want a rescue", r.now)
		}
		r.step(Rescued{Next: ends})
		r.empty()
	}
	look(RescueIntervalDefault, 7*time.Second)
	look(7*time.Second+rescueSpread/2, 0) // Another transaction holds the row of the job.
	look(rescueGap, 0)
	look(rescueGap, time.Hour)
	look(RescueIntervalDefault, store.Never)
	look(RescueIntervalDefault, store.Never)
}

// The answer to a sign of life contains the time at which the earliest lease of other processes
// ends. An idle process makes a rescue at that time, and does not wait for the next interval.
//
// part of: Q3
func TestQ3_ASignOfLifeTellsWhenALeaseEnds(t *testing.T) {
	t.Parallel()
	r := withPresence(t)
	r.core.cfg.Rand = func() float64 { return 0.5 }
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.pass(store.PresentEvery)
	r.step(Presented{Orders: store.Orders{NextExpiry: 4 * time.Second}})
	r.pass(4*time.Second + rescueSpread/2 - 1)
	if r.act.Rescue != 0 {
		t.Error("got a rescue before the lease ends, want none")
	}
	r.pass(1)
	if r.act.Rescue != rescueLimit {
		t.Fatal("got no rescue at the end of the lease that the sign of life has announced, want a rescue")
	}
	r.step(Rescued{Err: errors.New("down")}, Presented{Orders: store.Orders{NextExpiry: 0}})
	if r.act.Rescue != 0 {
		t.Error("a sign of life has ended the back-off after a failed rescue, want the back-off to continue")
	}
}

// After an outage of 20 s, a process rescues no jobs for one lease. By then, each living worker
// has extended its leases or written its outcomes, even a worker with the longest wait between
// two attempts.
//
// part of: Q3
func TestQ3_NoRescueUntilOneLeaseAfterAnOutage(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 1, nil)
	outage := func(fails Event, works func() Event) {
		t.Helper()
		r.step(fails)
		for range 20 {
			r.pass(time.Second)
			if r.act.Rescue != 0 {
				t.Fatalf("at %s: got a rescue during the outage, want none", r.now)
			}
		}
		r.step(works())
		healed := r.now
		r.pass(LeaseDefault - 1)
		if r.act.Rescue != 0 {
			t.Errorf("got a rescue %s after the outage, want none before the lease of %s", r.now-healed, LeaseDefault)
		}
		r.pass(1)
		if r.act.Rescue != rescueLimit {
			t.Errorf("got no rescue one lease after the outage, want one")
		}
		r.step(Rescued{Next: store.Never})
	}
	r.pass(RescueIntervalDefault)
	r.step(Rescued{Next: store.Never})
	r.step(succeed(time.Second, tasks...))
	outage(Exchanged{Err: store.ErrUnavailable}, func() Event { return r.answer() })
	r.empty()
	outage(SignalsRead{Err: store.ErrUnavailable}, func() Event { return SignalsRead{} })
}

// If only rescues fail, the next one comes after the back-off.
//
// part of: Q3
func TestQ3_AFailedRescueIsRepeatedSoon(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.pass(RescueIntervalDefault)
	r.step(Rescued{Err: store.ErrUnavailable})
	r.pass(backoffMin)
	if r.act.Rescue == 0 {
		t.Error("got no rescue after the back-off, want one")
	}
}
