package engine

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// withPresence makes a core that sends signs of life, and has sent the first one.
func withPresence(t *testing.T) *rig {
	t.Helper()
	r := newCore(t, func(c *Config) {
		c.Present = func(context.Context, Sign) (store.Orders, error) { return store.Orders{NextExpiry: store.Never}, nil }
		c.Poll = time.Hour
	})
	if got := r.core.presence; !got.busy || !got.sent {
		t.Fatalf("after the first step: a sign of life is being sent: %v, a sign of life was sent before: %v; want both true", got.busy, got.sent)
	}
	return r
}

func (r *rig) wantSign(want *Sign) {
	r.t.Helper()
	switch got := r.act.Sign; {
	case got == nil && want == nil:
	case !reflect.DeepEqual(got, want):
		r.t.Errorf("at %s: got the sign of life %+v, want %+v", r.now, got, want)
	}
}

// part of: Q7
func TestQ7_SignsAreSentAtTheStartAndEvery10Seconds(t *testing.T) {
	r := withPresence(t)
	r.brings(r.claims(1)...)
	r.pass(3 * time.Second)
	r.wantSign(nil)
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.empty()
	r.pass(store.PresentEvery - 3*time.Second - time.Millisecond)
	r.wantSign(nil)
	if got := r.act.Wake - r.now; got > time.Millisecond {
		t.Errorf("the core asks for its next step after %s, want 1 ms, because the next sign of life is due then", got)
	}
	r.pass(time.Millisecond)
	r.wantSign(&Sign{Slots: 2, Running: 1})
	r.pass(time.Minute)
	r.wantSign(nil) // no second sign of life is sent before the call of the first one has returned
}

// part of: Q7
func TestQ7_AQuietCoreClaimsNothingAndHandsBackWhatHasNotStarted(t *testing.T) {
	r := withPresence(t)
	r.brings(r.claims(3)...) // two jobs run, and one job is in the buffer
	if len(r.act.Start) != 2 || len(r.core.queues[0].buffer) != 1 {
		t.Fatalf("got %d started runs and %d jobs in the buffer, want 2 runs and 1 job", len(r.act.Start), len(r.core.queues[0].buffer))
	}
	running := r.core.tasks[0]
	r.empty()
	r.step(Presented{Orders: store.Orders{Quiet: true, NextExpiry: store.Never}})
	r.wantNotes(QuietBegan)
	r.wantExchange([]job.ID{3})
	r.brings()
	r.step(succeed(time.Minute, running), Woken{})
	r.wantExchange([]job.ID{1}) // the outcome of job 1 is written, and no job is claimed
	r.brings()
	r.pass(time.Hour, Woken{})
	r.wantQuiet()
	r.step(Presented{Err: errors.New("down")}) // after a call that fails, the order to be quiet still applies
	r.wantNotes(SignFailed)
	r.wantQuiet()
	r.pass(store.PresentEvery)
	r.step(Presented{Orders: store.Orders{Quiet: true, NextExpiry: store.Never}})
	r.wantNotes()
	r.pass(store.PresentEvery)
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.wantNotes(QuietEnded)
	r.wantExchange(nil, 1)
}

// part of: Q7
func TestQ7_FailedSignsAreNotedOnceAndAreNoTrouble(t *testing.T) {
	r := withPresence(t)
	r.empty()
	for i := range 5 {
		r.step(Presented{Err: errors.New("down")})
		if i == 0 {
			r.wantNotes(SignFailed)
		} else {
			r.wantNotes()
		}
		r.wantSign(nil)
		r.pass(store.PresentEvery)
		r.wantSign(&Sign{Slots: 2})
	}
	r.step(Presented{Orders: store.Orders{NextExpiry: store.Never}})
	r.wantNotes()
	r.pass(store.PresentEvery)
	r.step(Presented{Err: errors.New("down again")})
	r.wantNotes(SignFailed)
}
