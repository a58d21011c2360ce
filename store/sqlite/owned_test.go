package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// owners compares the list of each owner with the rows of the jobs.
func (k *keeper) owners(when string) {
	k.t.Helper()
	for i := range 7 {
		owner := fmt.Sprintf("tenant-%d", i)
		var want []job.ID
		k.rows(fmt.Sprintf(`SELECT id FROM redrive_jobs WHERE owner = '%[1]s' UNION SELECT job FROM redrive_done WHERE owner = '%[1]s'
			UNION SELECT job FROM redrive_dead WHERE owner = '%[1]s' ORDER BY 1 DESC`, owner), func(r sqlstore.Row) { want = append(want, job.ID(r.Int(0))) })
		f := store.Filter{Owner: owner, Limit: job.PageMax}
		var got []job.ID
		for more := true; more; more = !f.From.IsZero() {
			page, err := k.s.List(k.t.Context(), f)
			k.must(err)
			for j := range page.Jobs {
				got = append(got, page.Jobs[j].ID)
			}
			f.From = page.Next
		}
		if !slices.Equal(got, want) {
			k.t.Errorf("list %s: got the jobs %v of the owner %s, want %v", when, got, owner, want)
		}
	}
}

// The index of owners consists of few sorted parts, called runs, however often this process or
// another process has extended it. Jobs that retention removes are removed from the index, too. A
// restart does not change the index.
//
// proves: Q9
// part of: Q6
func TestQ9_IndexOfOwnersStaysSmall(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	other := &keeper{seeder: &seeder{t: t}, path: k.path, ahead: k.ahead}
	other.s = other.open()
	keep := store.Retention{Completed: 10 * time.Hour, Events: time.Hour}
	for i := range 60 {
		k.complete(20)
		k.add(2, func(int, *job.New) {})
		if i%10 == 0 {
			k.makeDead(3, func(int) string { return "cause" })
		}
		k.advance(time.Minute)
		[]*keeper{k, other}[i%2].sweep(keep, store.SweepMax)
	}
	jobs := k.number(`SELECT (SELECT count(*) FROM redrive_jobs) + (SELECT count(*) FROM redrive_done) + (SELECT count(*) FROM redrive_dead)`)
	if n := k.number(`SELECT sum(n) FROM redrive_owned_runs`); n != jobs {
		t.Errorf("jobs in the index: got %d, want %d", n, jobs)
	}
	if n := k.number(`SELECT count(*) FROM redrive_owned_runs`); n > 24 {
		t.Errorf("runs of the index after 60 steps: got %d, want at most 24", n)
	}
	k.owners("after 60 steps")
	k.must(k.s.Close())
	k.s = k.open()
	k.owners("after a restart")
	k.add(5, func(int, *job.New) {})
	k.owners("after new jobs")
	for range 20 { // each round is an hour in which only sweeps run
		k.advance(time.Hour)
		k.sweep(keep, store.SweepMax)
	}
	k.owners("after the retention")
	left := k.number(`SELECT (SELECT count(*) FROM redrive_jobs) + (SELECT count(*) FROM redrive_done) + (SELECT count(*) FROM redrive_dead)`)
	if n := k.number(`SELECT sum(n) FROM redrive_owned_runs`); n != left || left > jobs/4 {
		t.Errorf("jobs in the index after the retention: got %d, want %d as in the tables, and at most a quarter of the %d jobs before", n, left, jobs)
	}
	if n := k.number(`SELECT count(*) FROM redrive_owned WHERE place / 1024 NOT IN (SELECT run FROM redrive_owned_runs)`); n != 0 {
		t.Errorf("rows of the index that belong to no run: got %d, want 0", n)
	}
	k.doctor("", 0)
	lost := k.number(`SELECT n FROM redrive_owned_runs ORDER BY n DESC LIMIT 1`)
	k.direct(`DELETE FROM redrive_owned WHERE place / 1024 IN (SELECT run FROM redrive_owned_runs ORDER BY n DESC LIMIT 1)`)
	k.doctor(fmt.Sprintf("%d jobs with an owner are not in the index of owners", lost), 1)
}

// doctor makes the examination of redrive doctor. It checks how many problems about the index of
// owners begin with the given text: as many as the given number.
func (k *keeper) doctor(text string, want int) {
	k.t.Helper()
	r, err := Diagnose(k.t.Context(), k.path, func() time.Time { return seedNow.Add(time.Duration(k.ahead.Load())) })
	k.must(err)
	found := 0
	for _, p := range r.Problems {
		if strings.Contains(p, "index of owners") && strings.HasPrefix(p, text) {
			found++
		}
	}
	if found != want {
		k.t.Errorf("problems about the index of owners that begin with %q: got %d among %q, want %d", text, found, r.Problems, want)
	}
}

// A sweep does not remove events that are not in the index of owners yet. While the index cannot be
// extended and too many events are missing in it, a list of an owner reads all jobs.
//
// proves: Q9
// part of: N6
func TestQ9_OwnersAreListedWithoutTheIndex(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.direct(`ALTER TABLE redrive_owned RENAME TO away`)
	k.add(30, func(int, *job.New) {})
	k.direct(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
		INSERT INTO redrive_events (at, n, body) SELECT 1, 1, x'01' FROM n`)
	k.owners("with many events that are not in the index")
	k.advance(time.Hour)
	events := k.number(`SELECT count(*) FROM redrive_events`)
	if _, err := k.s.Sweep(t.Context(), store.Retention{Events: time.Minute}, store.SweepMax); err == nil {
		t.Error("sweep that cannot extend the index of owners: got no error, want one")
	}
	if n := k.number(`SELECT count(*) FROM redrive_events`); n != events {
		t.Errorf("events after a sweep that could not extend the index: got %d, want all %d", n, events)
	}
	k.direct(`ALTER TABLE away RENAME TO redrive_owned`)
	k.sweepAll(store.Retention{Events: time.Minute}, store.SweepMax, 10)
	if n := k.number(`SELECT count(*) FROM redrive_events`); n != 1 {
		t.Errorf("events after sweeps that extended the index: got %d, want only the newest", n)
	}
	k.owners("without events")
}
