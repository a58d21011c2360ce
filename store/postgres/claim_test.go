package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A claim that may take from many lanes reads the payloads of what it takes, not of
// all that it could take.
//
// part of: Q2
func TestQ2_AClaimReadsThePayloadsThatItTakes(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	const lanes, each, takes, size = 60, 5, 20, 20 << 10
	first, err := s.ReserveIDs(t.Context(), lanes*each)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []job.New
	var kinds []store.KindWant
	for lane := range lanes {
		kind := fmt.Sprint("kind", lane)
		kinds = append(kinds, store.KindWant{Kind: kind, Max: takes, MaxCrashes: 2})
		for range each {
			id := first + job.ID(len(jobs))
			payload := bytes.Repeat([]byte{byte(id)}, size)
			jobs = append(jobs, job.New{ID: id, Kind: kind, Queue: "default", Priority: 2, Payload: payload})
		}
	}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	before := p.Stats().ToClient
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute,
		Want: []store.Want{{Queue: "default", Max: takes, Kinds: kinds}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Claims) != takes {
		t.Fatalf("%d claims, want %d", len(x.Claims), takes)
	}
	for _, c := range x.Claims {
		if !bytes.Equal(c.Payload, bytes.Repeat([]byte{byte(c.ID)}, size)) {
			t.Errorf("job %d has %d bytes of payload, which are not its own", c.ID, len(c.Payload))
		}
	}
	if read, most := p.Stats().ToClient-before, int64(takes*size*3/2); read > most {
		t.Errorf("%d bytes came from the server for %d jobs of %d bytes, want %d at most", read, takes, size, most)
	}
}

// What another claim has locked and does not take is asked for again soon: it does
// not wait for the next poll.
//
// part of: Q2
func TestQ2_WhatOthersHaveLockedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	other := opened(t, dsn, &Options{Schema: s.Schema()})
	const lanes = 30
	var jobs []job.New
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{{Queue: "default", Max: 1}}}
	first, err := s.ReserveIDs(t.Context(), lanes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lanes {
		kind := fmt.Sprint("kind", i)
		x.Want[0].Kinds = append(x.Want[0].Kinds, store.KindWant{Kind: kind, Max: 1, MaxCrashes: 2})
		jobs = append(jobs, job.New{ID: first + job.ID(i), Kind: kind, Queue: "default", Priority: 2})
	}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	var mine, theirs store.Exchanged
	var locked error
	if err := s.fast(t.Context(), func(tx *fastTxn) (err error) {
		mine = store.Exchanged{NextDue: store.Never}
		if _, err = s.claimIn(tx, &x, &mine); err == nil {
			theirs, locked = other.Exchange(t.Context(), x)
		}
		return err
	}); err != nil || locked != nil {
		t.Fatal(err, locked)
	}
	if len(mine.Claims) != 1 || len(theirs.Claims) != 0 || theirs.NextDue > 20*time.Millisecond {
		t.Fatalf("%d and %d claims, the next after %v: want 1, and 0 that are asked for again at once", len(mine.Claims), len(theirs.Claims), theirs.NextDue)
	}
	if theirs, err = other.Exchange(t.Context(), x); err != nil || len(theirs.Claims) != 1 {
		t.Errorf("%d claims (%v) once the other had taken its own, want 1", len(theirs.Claims), err)
	}
	for range lanes - 2 {
		if _, err := s.Exchange(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if theirs, err = other.Exchange(t.Context(), x); err != nil || len(theirs.Claims) != 0 || theirs.NextDue != store.Never {
		t.Errorf("%d claims, the next after %v (%v), when nothing is left", len(theirs.Claims), theirs.NextDue, err)
	}
}

// What a claim held that has failed is not lost behind the bound that a look has set
// meanwhile.
//
// part of: Q2
func TestQ2_AFailedClaimLetsItsJobsGo(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	// When the listener has connected, anything may have changed, and a look sets no bound then.
	hears(t, opened(t, dsn, &Options{Schema: s.Schema()}), listenTo(t, s))
	id := added(t, s)
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	place := claims.Place{Lane: known.catalog.LaneOf("default", "mail", ""), Priority: 2}
	h := s.hot.cursors
	h.Scanned(s.clock.local(), time.Hour, 0, claims.Earliest) // looks are made apart from now on
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
	}}
	failure := errors.New("the claim fails")
	var src *source
	err = s.fast(t.Context(), func(tx *fastTxn) (err error) {
		var out store.Exchanged
		if src, err = s.claimIn(tx, &x, &out); err != nil {
			return err
		}
		if len(out.Claims) != 1 {
			t.Errorf("%d claims", len(out.Claims))
		}
		s.look(t.Context(), []claims.Place{place})
		h.Scanned(s.clock.local(), time.Hour, 0, claims.Earliest)
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	if from := h.From(place, false, claims.Earliest); from == claims.Earliest {
		t.Fatal("the look has set no bound")
	}
	s.reopenCursors(src)
	if c := claimOne(t, s); c.ID != id {
		t.Errorf("job %d, want %d", c.ID, id)
	}
}

// A claim that has waited in vain for a lock on the table, or that somebody
// has cancelled, is not one whose index is long to read: nothing is passed over.
//
// part of: Q2
func TestQ2_AClaimThatWaitedForALockPassesNothingOver(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: 3 * time.Second})
	old := plainJob(t, s)
	old.RunAt = 1_000
	if _, err := s.Enqueue(t.Context(), []job.New{old}); err != nil {
		t.Fatal(err)
	}
	admin := connected(t, dsn)
	run(t, admin, `BEGIN`, `LOCK TABLE `+s.Schema()+`.redrive_jobs IN ACCESS EXCLUSIVE MODE`)
	for range 3 {
		if _, err := s.Exchange(t.Context(), claimsOne()); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("beside a lock of the table: %v", err)
		}
	}
	run(t, admin, `ROLLBACK`)
	if c := claimOne(t, s); c.ID != old.ID {
		t.Errorf("job %d, want %d", c.ID, old.ID)
	}
	cancelled := &pgconn.PgError{Code: pg.StateCanceled}
	if limit := s.options.StatementTimeout; s.tookTooLong(cancelled, limit/2) || !s.tookTooLong(cancelled, limit) {
		t.Error("what somebody has cancelled is not distinguished from what took longer than its limit")
	}
}
