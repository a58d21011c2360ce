package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	headsPlace = readyPlace{1, 2}
	headsBegin = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
)

// A look that takes longer than a statement may is not tried again and again: claims
// read what is new, and further looks go back as far as they can.
func TestALookThatNeverEndsDoesNotStopClaims(t *testing.T) {
	t.Parallel()
	h := newHeads()
	now := headsBegin
	garbage := time.Hour // what lies further back makes a look end at its limit
	const limit = 10 * time.Second
	claim := func() (back time.Duration, ok bool) {
		at := job.At(now)
		h.lookApart(now, func() []readyPlace { return []readyPlace{headsPlace} })
		look, to := h.looks(), h.back(at)
		select {
		case <-h.wanted:
			look = true
		default:
		}
		if from := h.from(headsPlace, look, to); from == earliest {
			back = 1 << 62
		} else {
			back = at.Sub(from)
		}
		if back > garbage {
			now = now.Add(limit)
			h.failed(now, look, at, []*front{{readyPlace: headsPlace}})
			return back, false
		}
		now = now.Add(time.Millisecond)
		if look {
			h.looked(now, time.Millisecond, 0, to)
		}
		return back, true
	}
	if _, ok := claim(); ok {
		t.Fatal("the first look does not fail")
	}
	failed, last := 0, now
	for end := now.Add(400 * time.Second); now.Before(end); {
		if _, ok := claim(); !ok {
			if wait := now.Sub(last) - limit; failed > 0 && wait < min(lookRetry<<(failed-1), lookAgain) {
				t.Errorf("after %d looks that failed another one is tried after %s", failed, wait)
			}
			failed, last = failed+1, now
		}
		now = now.Add(10 * time.Second)
	}
	if most := int(400*time.Second/lookAgain) + 6; failed == 0 || failed > most {
		t.Errorf("%d claims failed", failed)
	}
	if floor := job.At(now).Sub(h.floor); floor < 20*time.Minute {
		t.Errorf("claims read the last %s, and an hour would do", floor)
	}
	garbage = 1 << 62 // the server has cleaned up
	now = now.Add(lookAgain)
	for i := 0; ; i++ {
		if back, ok := claim(); !ok || i > 40 {
			t.Fatalf("claim %d went back %s, %v", i, back, ok)
		}
		if h.floor == earliest {
			break
		}
	}
}

// Once a look is dear, claims go by the bounds, and looks are made apart: now and
// then, and soon when anything may have changed. The bounds stay meanwhile.
func TestADearLookIsMadeApart(t *testing.T) {
	t.Parallel()
	h, now := newHeads(), headsBegin
	wanted := func() bool {
		h.lookApart(now, func() []readyPlace { return []readyPlace{headsPlace} })
		select {
		case <-h.wanted:
			return true
		default:
			return false
		}
	}
	h.raise(taken{h.latest(), map[readyPlace]job.Micros{headsPlace: 100}})
	if h.looked(now, time.Millisecond, 1, earliest); !h.looks() || wanted() {
		t.Fatal("a look that is cheap is not left to the claims")
	}
	if h.looked(now, 100*time.Millisecond, 1, earliest); h.looks() || wanted() {
		t.Fatal("after a dear look the next claim looks again")
	}
	h.heard(allNews)
	if from := h.from(headsPlace, false, earliest); from != 100 {
		t.Errorf("reads from %d, want 100, which is known", from)
	}
	if now = now.Add(lookSoon * 100 * time.Millisecond); !wanted() || wanted() {
		t.Error("want one look soon after anything may have changed")
	}
	h.looked(now, 100*time.Millisecond, 1, earliest)
	if now = now.Add(lookShare*100*time.Millisecond - 1); wanted() {
		t.Error("a look too soon")
	}
	if now = now.Add(1); !wanted() {
		t.Error("no look when it is time")
	}
	if h.looked(now, time.Millisecond, 1, earliest); !h.looks() {
		t.Error("a look that is cheap again is not left to the claims")
	}
}

// Where a claim without a look cannot read from its bound any more, it forgets it.
func TestABoundThatIsTooFarBackIsGivenUp(t *testing.T) {
	t.Parallel()
	h, now := newHeads(), job.At(headsBegin)
	h.raise(taken{h.latest(), map[readyPlace]job.Micros{headsPlace: now.Add(-time.Hour)}})
	h.failed(headsBegin, false, now, []*front{{readyPlace: headsPlace}})
	if from := h.from(headsPlace, false, earliest); from != now.Add(-lookBack) {
		t.Errorf("reads the last %s", now.Sub(from))
	}
	h.heard(news{ready: map[readyPlace]job.Micros{headsPlace: now.Add(-time.Minute)}})
	if from := h.from(headsPlace, false, earliest); from != now.Add(-time.Minute) {
		t.Errorf("reads the last %s, and a job was made ready before", now.Sub(from))
	}
}

// What is told between a claim's read and its end is not hidden by the bound that
// the claim leaves.
func TestNewsDuringAClaimHoldsItsBoundDown(t *testing.T) {
	t.Parallel()
	other := readyPlace{2, 2}
	tell := func(place readyPlace, at job.Micros) news { return news{ready: map[readyPlace]job.Micros{place: at}} }
	for name, c := range map[string]struct {
		told []news
		want job.Micros
	}{
		"nothing":       {nil, 100},
		"later":         {[]news{tell(headsPlace, 101)}, 100},
		"elsewhere":     {[]news{tell(other, 50)}, 100},
		"earlier":       {[]news{tell(headsPlace, 70), tell(other, 10), tell(headsPlace, 90)}, 70},
		"anything":      {[]news{tell(headsPlace, 101), allNews}, earliest},
		"and afterward": {[]news{allNews, tell(headsPlace, 101)}, earliest},
	} {
		h := newHeads()
		h.heard(tell(headsPlace, 1)) // known before the read
		since := h.latest()
		for _, n := range c.told {
			h.heard(n)
		}
		h.raise(taken{since, map[readyPlace]job.Micros{headsPlace: 100}})
		if got := h.from(headsPlace, false, earliest); got != c.want {
			t.Errorf("%s: reads from %d, want %d", name, got, c.want)
		}
	}
}

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
	h := &s.hot.heads
	var claimed []job.Claim
	eventually(t, "the looks to go back to the job that is old", func() bool {
		h.mu.Lock()
		h.next = time.Time{} // where looks are dear, the next one is made at once
		floor := h.floor
		h.mu.Unlock()
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
	place := readyPlace{known.catalog.LaneOf("default", "mail", ""), 2}
	empty := readyPlace{place.lane, 3}
	blocker := connected(t, dsn)
	run(t, blocker, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+held.ID.String()+` FOR UPDATE`)
	// The listener says at its start that anything may have changed.
	hears(t, opened(t, dsn, &Options{Schema: s.Schema()}), listenTo(t, s))
	h := &s.hot.heads
	h.raise(taken{h.latest(), map[readyPlace]job.Micros{place: 5_000}})
	begun := s.clock.Now()
	s.look(t.Context(), []readyPlace{place, empty})
	if from := h.from(place, false, earliest); from != first.RunAt {
		t.Errorf("reads from %d, want %d", from, first.RunAt)
	}
	if from := h.from(empty, false, earliest); from < begun {
		t.Errorf("reads from %d where nothing is, want %d or later", from, begun)
	}
	run(t, blocker, `ROLLBACK`)
	s.look(t.Context(), []readyPlace{place})
	if from := h.from(place, false, earliest); from != held.RunAt {
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
	c := claims(t, s, 3)
	settles(t, s, kills(&c[0]), kills(&c[1]), kills(&c[2]))
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lane := known.catalog.LaneOf("default", "mail", "")
	h := &s.hot.heads
	h.looked(s.clock.local(), time.Hour, 0, earliest) // looks are made apart from now on
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
		h.raise(taken{h.latest(), map[readyPlace]job.Micros{{lane, 2}: later, {lane, store.RedrivePriority}: later}})
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
