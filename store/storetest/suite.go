// Package storetest proves that a store keeps the contract of package store:
// Run checks its promises one by one and replays hand-written histories of
// jobs, Differential drives random operations on several stores in lockstep.
// The suite is itself tested against stores that are broken on purpose.
package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
)

// Open opens an empty store that reads the time from clock. The suite closes
// it; what else it leaves behind is the opener's to remove.
type Open = func(t *testing.T, clock func() time.Time) store.Store

// Run is the conformance suite: each promise of the contract is a subtest, on a
// store of its own, with a clock that only the test moves.
func Run(t *testing.T, open Open) {
	for _, p := range suite() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			s := open(t, clock.Now)
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := p.on(s, clock); err != nil {
				t.Error(err)
			}
		})
	}
}

// A promise is one part of the contract and its proof, which is a function of a
// store and not of a test: the suite also runs against stores that must fail it.
type promise struct {
	name  string // starts with the row that it proves
	proof func(*rig)
}

func suite() []promise {
	return slices.Concat(
		enqueuePromises(), keyPromises(), claimPromises(), duePromises(), settlePromises(), deathPromises(), fencePromises(),
		heartbeatPromises(), rescuePromises(), cancelPromises(), queuePromises(), limitPromises(), retryPromises(),
		policyPromises(), deadListPromises(), actPromises(), groupPromises(), redrivePromises(), redriveStepPromises(), sweepPromises(), schedulePromises(), eventPromises(), readPromises(), boundPromises(), repeatPromises(), histories(),
	)
}

// on runs the promise's proof and returns what is wrong with the store, or nil.
// What it leaves in the store must be sound, too.
func (p promise) on(s store.Store, clock *Clock) (err error) {
	r := newRig(s, clock)
	defer func() {
		switch why := recover().(type) {
		case nil:
		case broken:
			err = why
		default:
			panic(why)
		}
	}()
	p.proof(r)
	return r.sound()
}

// sound judges what is in the store now. A proof may have closed the store; then
// there is nothing to judge.
func (r *rig) sound() error {
	d, err := r.Dump(ctx())
	if err != nil {
		return nil
	}
	return soundDump(d, r.removed)
}

// soundDump judges a dump by the invariants, but for those that need to know
// who submitted what, and until when a key held. Where something was removed,
// the past is not all there: then only what is left is judged.
func soundDump(d *store.Dump, removed bool) error {
	if err := soundDead(d); err != nil || removed {
		return err
	}
	bulk := slices.ContainsFunc(d.Audit, func(a store.Audit) bool {
		return a.Action == "dead_letter.retry" || a.Action == "redrive.release" // one row for many retries
	})
	for _, v := range check.Check(&check.History{Dump: d}) {
		switch {
		case v.Invariant == check.NoPhantom, v.Invariant == check.IdempotentEnqueue:
		case v.Invariant == check.AuditComplete && bulk:
		default:
			return fmt.Errorf("the content of the store breaks %s", v)
		}
	}
	return nil
}

// broken is how a proof ends that found the promise broken.
type broken string

func (b broken) Error() string { return string(b) }
