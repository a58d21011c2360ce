package keeper_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func newKeepRig(t *testing.T) *rig {
	t.Helper()
	c := keeper.Config{RescueEvery: 30 * time.Second, PresentEvery: 10 * time.Second}
	r := &rig{T: t, core: keeper.NewCore(c), now: start}
	r.want(keeper.Present)
	r.core.Reported(r.now, store.Orders{NextExpiry: store.Never})
	return r
}

// pass moves the time forward. It reports a result for every call that the core asks for, except
// rescues.
func (r *rig) pass(d time.Duration) {
	r.Helper()
	for end := r.now.Add(d); ; {
		r.quiet()
		switch a := r.core.Next(r.now); {
		case a.Call == keeper.Present:
			r.core.Reported(r.now, store.Orders{NextExpiry: store.Never})
		case a.Call == keeper.None && !a.At.After(end):
			r.now = a.At
		default:
			if a.Call == keeper.None {
				r.now = end
			}
			return
		}
	}
}

// The answer to a sign of life says when the next lease ends.
//
// part of: Q3
func TestQ3_ASignOfLifeTellsWhenALeaseEnds(t *testing.T) {
	t.Parallel()
	r := newKeepRig(t)
	r.pass(0)
	r.want(keeper.Rescue)
	r.core.Rescued(r.now, store.Rescue{NextExpiry: store.Never}, false)
	r.pass(10*time.Second - 1)
	r.now = r.now.Add(1)
	r.want(keeper.Present)
	r.core.Reported(r.now, store.Orders{NextExpiry: 4 * time.Second})
	signed := r.now
	r.pass(time.Hour)
	r.want(keeper.Rescue)
	if got := r.now.Sub(signed); got != 4*time.Second {
		t.Errorf("the rescue is due %s after the sign of life, want 4s", got)
	}
}

// Runs whose leases are over are ended at the start, at the end of the next lease, and every 30
// s.
//
// part of: Q3
func TestQ3_RescuesWithoutAnEngine(t *testing.T) {
	t.Parallel()
	r := newKeepRig(t)
	rescued := func(after time.Duration, answer store.Rescue, more bool) {
		t.Helper()
		began := r.now
		r.pass(time.Hour)
		r.want(keeper.Rescue)
		if got := r.now.Sub(began); got != after {
			t.Fatalf("the rescue is due after %s, want %s", got, after)
		}
		r.core.Rescued(r.now, answer, more)
	}
	one := []store.Rescued{{Crashes: 1, To: job.Waiting}}
	rescued(0, store.Rescue{NextExpiry: 7 * time.Second}, false)
	rescued(7*time.Second, store.Rescue{NextExpiry: store.Never}, false)
	rescued(30*time.Second, store.Rescue{Jobs: one, NextExpiry: time.Hour}, true)
	rescued(0, store.Rescue{NextExpiry: 0}, false)
	rescued(keeper.RescueMin, store.Rescue{NextExpiry: time.Hour}, false)
	rescued(30*time.Second, store.Rescue{NextExpiry: store.Never}, false)
	r.pass(30 * time.Second)
	a := r.want(keeper.Rescue)
	if again := r.core.Failed(r.now, a); again != keeper.RetryMin {
		t.Errorf("after an error the rescue is due again after %s, want %s", again, keeper.RetryMin)
	}
	rescued(keeper.RetryMin, store.Rescue{NextExpiry: store.Never}, false)
}

// part of: Q9
func TestQ9_SignsOfLifeWithoutAnEngine(t *testing.T) {
	t.Parallel()
	r := newKeepRig(t)
	for range 6 {
		began := r.now
		for {
			r.quiet()
			switch a := r.core.Next(r.now); a.Call {
			case keeper.Rescue:
				r.core.Rescued(r.now, store.Rescue{NextExpiry: store.Never}, false)
				continue
			case keeper.None:
				r.now = a.At
				continue
			case keeper.Load, keeper.Fire, keeper.Step, keeper.Sweep, keeper.Present, keeper.Close:
			}
			break
		}
		a := r.want(keeper.Present)
		if got := r.now.Sub(began); got != 10*time.Second {
			t.Errorf("the next sign of life is due after %s, want 10s", got)
		}
		r.core.Failed(r.now, a)
		r.now = r.now.Add(keeper.RetryMin)
		r.want(keeper.Present)
		r.core.Reported(r.now, store.Orders{NextExpiry: store.Never})
	}
}
