package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func idsOf(page store.Page) (ids []job.ID) {
	for i := range page.Jobs {
		ids = append(ids, page.Jobs[i].ID)
	}
	return ids
}

// The list of an owner has jobs that were just enqueued, also while an older transaction hides
// their events from readers of events. A caller's transaction lists the jobs that it has
// enqueued, and nobody else does.
//
// proves: Q9
func TestQ9_OwnersOwnEnqueuesAreListed(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	owned := func() job.New {
		n := newJob(t, s)
		n.Owner = "alice"
		return n
	}
	wants := func(when string, want ...job.ID) {
		t.Helper()
		page, err := s.List(t.Context(), store.Filter{Owner: "alice"})
		if err != nil || !slices.Equal(idsOf(page), want) || !page.Next.IsZero() {
			t.Errorf("list %s: got jobs %v, cursor %q, error %v; want jobs %v and no further page", when, idsOf(page), page.Next, err, want)
		}
	}
	old, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	early := owned()
	if _, err := s.EnqueueTx(t.Context(), Tx(old), []job.New{early}); err != nil {
		t.Fatal(err)
	}
	late := owned()
	if _, err := s.Enqueue(t.Context(), []job.New{late}); err != nil {
		t.Fatal(err)
	}
	wants("beside an older transaction", late.ID)
	if _, err := s.Sweep(t.Context(), store.Retention{}, 10); err != nil {
		t.Fatal(err)
	}
	wants("after a sweep beside an older transaction", late.ID)
	page, err := s.ListTx(t.Context(), Tx(old), store.Filter{Owner: "alice"})
	if err != nil || !slices.Equal(idsOf(page), []job.ID{late.ID, early.ID}) {
		t.Errorf("list in the older transaction: got jobs %v, error %v; want %v", idsOf(page), err, []job.ID{late.ID, early.ID})
	}
	if err := old.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants("after the older transaction", late.ID, early.ID)
	if _, err := s.Sweep(t.Context(), store.Retention{}, 10); err != nil {
		t.Fatal(err)
	}
	wants("after a sweep", late.ID, early.ID)
	conn := connected(t, dsn)
	eventually(t, "both jobs are in the index of owners", func() bool {
		if _, err := s.Sweep(t.Context(), store.Retention{}, 10); err != nil {
			t.Fatal(err)
		}
		var behind int64
		err := conn.QueryRow(t.Context(), `SELECT (SELECT max(seq) FROM `+s.Schema()+`.redrive_events) -
			(SELECT value FROM `+s.Schema()+`.redrive_meta WHERE key = 'owned')`).Scan(&behind)
		if err != nil {
			t.Fatal(err)
		}
		return behind <= 0
	})
	for lost, statement := range []string{`SELECT 1`, `DELETE FROM ` + s.Schema() + `.redrive_owned`} {
		run(t, connected(t, dsn), statement)
		r, err := Diagnose(t.Context(), dsn, s.Schema(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if found := problems(r, "2 jobs with an owner are not in the index of owners"); len(found) != lost {
			t.Errorf("problems of the index of owners after %s: got %q, want %d", statement, r.Problems, lost)
		}
	}
}

// Transactions that overlap number their ended jobs in another order than that of their times.
// Pages of a list in the order of ends miss no job and repeat none, whatever job a page ends
// with.
//
// proves: Q9
// part of: D3
func TestQ9_EndsOfOverlappingTransactionsAreListed(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	conn := connected(t, dsn)
	// Times of the rows in the order of their numbers. Every second row is a dead letter.
	table := s.Schema() + ".redrive_"
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil { // makes the lane 1
		t.Fatal(err)
	}
	const n = 120
	const base = 1_700_000_000_000_000
	for i := range n {
		done := base + 10*(i+(i*37)%23)
		run(t, conn, fmt.Sprintf(`INSERT INTO %sdone (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, finished_at) VALUES (%d, 1, 4, 2, 1, 1, 1, 0, 0, 0, 0, 1, 1, %d)`, table, 1000+i, done))
		run(t, conn, fmt.Sprintf(`INSERT INTO %sdead (death, job, status, reason, died_at, lane, priority, token, life, attempts, crashes,
			deferrals, snoozes, interrupts, created_at, life_at) VALUES (%d, %d, 0, 'r', %d, 1, 2, 1, 1, 1, 0, 0, 0, 0, 1, 1)`,
			table, i+1, 5000+i, base+10*i+5))
	}
	for _, limit := range []int{1, 2, 3, 7, 50} {
		f := store.Filter{Order: store.Ended, Limit: limit}
		seen := make(map[job.ID]int)
		for range 3 * n {
			page, err := s.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range idsOf(page) {
				seen[id]++
			}
			if f.From = page.Next; f.From.IsZero() {
				break
			}
		}
		for i := range n {
			for _, id := range []job.ID{job.ID(1000 + i), job.ID(5000 + i)} {
				if seen[id] != 1 {
					t.Errorf("pages of %d: job %d was listed %d times, want once", limit, id, seen[id])
				}
			}
		}
	}
}
