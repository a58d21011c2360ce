package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	"context"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var headsBegin = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// The same with a server: a claim whose statement is ended by its limit, and those
// that follow.
func TestClaimsGoOnAfterALookThatWasEnded(t *testing.T) {
	t.Parallel()
	now := headsBegin
	s, dsn := freshAt(t, &Options{StatementTimeout: 5 * time.Second, Clock: func() time.Time { return now }})
	old := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{old}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	recent := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{recent}); err != nil {
		t.Fatal(err)
	}
	blocker := connected(t, dsn)
	run(t, blocker, `BEGIN`, `LOCK TABLE `+s.Schema()+`.redrive_jobs IN ACCESS EXCLUSIVE MODE`)
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
	}}
	if _, err := s.Exchange(t.Context(), x); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a claim that waits too long: %v", err)
	}
	run(t, blocker, `ROLLBACK`)
	if c := claimOne(t, s); c.ID != recent.ID {
		t.Errorf("the first claim after it goes back to job %d, want %d, which is new", c.ID, recent.ID)
	}
	h := s.hot.cursors
	var claimed []job.Claim
	eventually(t, "the looks to go back to the job that is old", func() bool {
		h.ScanNow()
		floor := h.From(claims.Place{}, false, claims.Earliest)
		answer, err := s.Exchange(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		claimed = append(claimed, answer.Claims...)
		return len(claimed) > 0 && floor <= job.At(now).Add(-time.Hour)
	})
	if len(claimed) != 1 || claimed[0].ID != old.ID {
		t.Errorf("claimed %+v, want job %d, which is old", claimed, old.ID)
	}
}

// A look apart finds what is before the bound, and what another holds stays behind it.
func TestALookApartSetsTheBounds(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	held, first := newJob(t, s), newJob(t, s)
	held.RunAt, first.RunAt = 1_000, 2_000
	if _, err := s.Enqueue(t.Context(), []job.New{first}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{held}); err != nil {
		t.Fatal(err)
	}
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	place := claims.Place{Lane: known.catalog.LaneOf("default", "mail", ""), Priority: 2}
	empty := claims.Place{Lane: place.Lane, Priority: 3}
	blocker := connected(t, dsn)
	run(t, blocker, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+held.ID.String()+` FOR UPDATE`)
	// The listener says at its start that anything may have changed.
	hears(t, opened(t, dsn, &Options{Schema: s.Schema()}), listenTo(t, s))
	h := s.hot.cursors
	h.Raise(claims.Taken{Since: h.Latest(), Up: map[claims.Place]job.Micros{place: 5_000}})
	begun := s.clock.Now()
	s.look(t.Context(), []claims.Place{place, empty})
	if from := h.From(place, false, claims.Earliest); from != first.RunAt {
		t.Errorf("reads from %d, want %d", from, first.RunAt)
	}
	if from := h.From(empty, false, claims.Earliest); from < begun {
		t.Errorf("reads from %d where nothing is, want %d or later", from, begun)
	}
	run(t, blocker, `ROLLBACK`)
	s.look(t.Context(), []claims.Place{place})
	if from := h.From(place, false, claims.Earliest); from != held.RunAt {
		t.Errorf("reads from %d, want %d, which is free again", from, held.RunAt)
	}
}

// Who waits for another that reads the lanes waits as long as its context.
func TestReadingLanesIsWaitedForWithinTheContext(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	s.hot.known.Store(nil)
	s.hot.reading <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := s.lanesKnown(ctx); done <- err }()
	cancel()
	limit, end := context.WithTimeout(t.Context(), testLimit)
	defer end()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	case <-limit.Done():
		t.Error("still waiting")
	}
	<-s.hot.reading
}

// A look may begin after the transaction that retries a dead job, and set its bound before this
// transaction commits. The retry tells where its job is, so that the next claim finds it.
//
// part of: Q2, D7
func TestQ2_ARetriedJobIsNotBehindABound(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	// When the listener has connected, anything may have changed, and a look sets no bound then.
	hears(t, opened(t, dsn, &Options{Schema: s.Schema()}), listenTo(t, s))
	c := claimN(t, s, 3)
	settles(t, s, kills(&c[0]), kills(&c[1]), kills(&c[2]))
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lane := known.catalog.LaneOf("default", "mail", "")
	h := s.hot.cursors
	h.Scanned(s.clock.local(), time.Hour, 0, claims.Earliest) // looks are made apart from now on
	retry := map[string]func() error{
		"a person": func() error {
			_, err := s.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: []job.ID{c[0].ID}})
			return err
		},
		"a redrive": func() error {
			if _, err := s.StartRedrive(t.Context(), ann, store.RedriveSpec{Through: 3, Total: 2, Canary: -1}); err != nil {
				return err
			}
			_, err := s.StepRedrives(t.Context(), 10)
			return err
		},
	}
	for _, who := range []string{"a person", "a redrive"} {
		want := map[string]int{"a person": 1, "a redrive": 2}[who]
		later := s.clock.Now().Add(time.Minute)
		h.Raise(claims.Taken{Since: h.Latest(), Up: map[claims.Place]job.Micros{{Lane: lane, Priority: 2}: later, {Lane: lane, Priority: store.RedrivePriority}: later}})
		if err := retry[who](); err != nil {
			t.Fatal(err)
		}
		x := claimsOne()
		x.Want[0].Max, x.Want[0].Kinds[0].Max = 10, 10
		if got, err := s.Exchange(t.Context(), x); err != nil || len(got.Claims) != want {
			t.Errorf("after a retry by %s: %d claims, error %v; want %d", who, len(got.Claims), err, want)
		}
	}
}
