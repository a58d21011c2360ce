package postgres

import (
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/storetest"
)

// clocksApart opens two stores on one schema. The clock of the first is 160 ms behind that of the
// second.
func clocksApart(t *testing.T) (behind, ahead *Store, clock *storetest.Clock) {
	t.Helper()
	dsn, schema := pgtest.Schema(t)
	slow, fast := storetest.NewClock(), storetest.NewClock()
	behind = opened(t, dsn, &Options{Schema: schema, Clock: slow.Now})
	fast.Advance(160 * time.Millisecond)
	ahead = opened(t, dsn, &Options{Schema: schema, Clock: fast.Now})
	return behind, ahead, slow
}

// eventOf returns the first event that wanted accepts. It waits for the event, because PostgreSQL
// shows events only when no older transaction of the server is open.
func eventOf(t *testing.T, s *Store, wanted func(*event.Event) bool) (found event.Event) {
	t.Helper()
	eventually(t, "the wanted event is shown", func() bool {
		all, err := s.Events(t.Context(), event.Cursor{}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if wanted(&all[i]) {
				found = all[i]
				return true
			}
		}
		return false
	})
	return found
}

// deathsInOrder checks that the deaths are numbered in the order of their times.
func deathsInOrder(t *testing.T, s *Store, n int) {
	t.Helper()
	page, err := s.DeadLetters(t.Context(), store.DeadFilter{}, store.DeadPaging{Limit: 10})
	if err != nil || len(page.Entries) != n {
		t.Fatalf("%d dead letters, %v; want %d", len(page.Entries), err, n)
	}
	for i, l := range page.Entries[1:] {
		if newer := page.Entries[i]; newer.Death < l.Death || newer.DiedAt < l.DiedAt {
			t.Errorf("death %d is at %d, death %d at %d; want the order of the numbers", newer.Death, newer.DiedAt, l.Death, l.DiedAt)
		}
	}
}

// A store whose clock is behind writes a retry and a death in one exchange, after the death that
// another store has written. The wait of the retry is whole by the times that are written.
//
// part of: R3
func TestR3_ADeathOfAnotherClockShortensNoWait(t *testing.T) {
	t.Parallel()
	behind, ahead, clock := clocksApart(t)
	all := claimN(t, behind, 2)
	other := claimN(t, ahead, 1)
	settles(t, ahead, kills(&other[0]))
	const wait = 200 * time.Millisecond
	again := retries(&all[0])
	again.Delay = wait
	settles(t, behind, again, kills(&all[1]))
	failed := eventOf(t, behind, func(e *event.Event) bool { return e.Type == event.JobFailed && e.To == job.Retrying })
	if got := failed.DueAt.Sub(failed.At); got != wait {
		t.Errorf("the job is due %s after its failure, want %s", got, wait)
	}
	if got, want := failed.At, job.At(clock.Now()); got.Sub(want) > time.Millisecond {
		t.Errorf("the event is %s after the time of its transaction", got.Sub(want))
	}
	deathsInOrder(t, behind, 2)
}

// A claim finds a job past its deadline, and so needs the lock on dead letters, and a job with
// 100 ms left. The time at which that job is claimed is before its deadline.
//
// part of: D1
func TestD1_ADeathOfAnotherClockClaimsNothingLate(t *testing.T) {
	t.Parallel()
	behind, ahead, clock := clocksApart(t)
	other := claimN(t, ahead, 1)
	settles(t, ahead, kills(&other[0]))
	late, open := plainJob(t, behind), plainJob(t, behind)
	late.Deadline = job.At(clock.Now().Add(10 * time.Millisecond))
	open.Deadline = job.At(clock.Now().Add(120 * time.Millisecond))
	if _, err := behind.Enqueue(t.Context(), []job.New{late, open}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(20 * time.Millisecond)
	claimed := claimOne(t, behind)
	if claimed.ID != open.ID || claimed.ClaimedAt >= open.Deadline {
		t.Errorf("job %d is claimed at %d; want job %d before its deadline %d", claimed.ID, claimed.ClaimedAt, open.ID, open.Deadline)
	}
	e := eventOf(t, behind, func(e *event.Event) bool { return e.Type == event.JobClaimed && e.Job == open.ID })
	if e.At >= open.Deadline {
		t.Errorf("the event of the claim is %s after the deadline", e.At.Sub(open.Deadline))
	}
	deathsInOrder(t, behind, 2)
}
