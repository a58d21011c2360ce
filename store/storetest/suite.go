// Package storetest checks that a store keeps the contract of package store. Run checks the
// promises of the contract one by one and replays hand-written histories of jobs. Differential
// runs random operations on several stores and compares the stores. The package's tests run
// the suite against stores that are broken on purpose.
package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
)

// Open opens an empty store that reads the time from the given clock. The suite closes the
// store. If something else must be removed, such as files, the caller removes it.
type Open = func(t *testing.T, clock func() time.Time) store.Store

// Run is the conformance suite. Each promise of the contract is checked by a subtest. Each subtest
// has a new store and a clock that only the subtest moves.
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

// A promise is one part of the contract, with the function that checks it. The function gets a
// store and not a testing.T, so that the suite can also run against stores that must fail.
type promise struct {
	name  string // name of the promise; it begins with the id of the requirement that the check proves
	proof func(*rig)
}

func suite() []promise {
	return slices.Concat(
		enqueuePromises(), keyPromises(), uniquePromises(), claimPromises(), duePromises(), settlePromises(), deathPromises(), fencePromises(),
		heartbeatPromises(), rescuePromises(), termsPromises(), cancelPromises(), alterPromises(), seenPromises(), queuePromises(), limitPromises(), retryPromises(),
		policyPromises(), deadListPromises(), actPromises(), groupPromises(), redrivePromises(), redriveStepPromises(), sweepPromises(), schedulePromises(), presencePromises(), streamPromises(),
		batchPromises(), batchEndPromises(), batchPublishPromises(), noticePromises(), teamPromises(), causePromises(), olderCausePromises(), notePromises(), requestPromises(), accessPromises(), endpointPromises(), followPromises(), eventPromises(), readPromises(), ownerPromises(), hostilePromises(), seriesPromises(), boundPromises(), repeatPromises(), histories(),
	)
}

// on runs the check of the promise with a store. Then it checks the invariants of the store's
// content. It returns an error that says how the store breaks the promise, or nil.
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

// sound checks the invariants of the store's content. If the check has closed the store, sound
// does nothing.
func (r *rig) sound() error {
	_ = evaluate(r.Store) // if the check has closed the store, Dump fails, too
	d, err := r.Dump(ctx())
	if err != nil {
		return nil
	}
	return soundDump(d, r.removed)
}

// soundDump checks all invariants that can be checked with a dump alone. It cannot check which jobs
// were submitted or how long a key was valid. If data was removed, it checks only the dead letters
// and the counters.
func soundDump(d *store.Dump, removed bool) error {
	if err := soundDead(d); err != nil || removed {
		return err
	}
	bulk := slices.ContainsFunc(d.Audit, func(a store.Audit) bool {
		return a.Action == "dead_letter.retry" || a.Action == "redrive.release" // one audit row may stand for many retries
	})
	for _, v := range check.Check(&check.History{Dump: d}) {
		switch {
		case v.Invariant == check.NoPhantom, v.Invariant == check.IdempotentEnqueue:
		case v.Invariant == check.AuditComplete && bulk:
		default:
			return fmt.Errorf("the content of the store breaks this invariant: %s", v)
		}
	}
	return check.Figures(d, true)
}

// broken is the panic value of a check that has found that the store breaks the promise.
type broken string

func (b broken) Error() string { return string(b) }
