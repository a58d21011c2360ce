package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Beside a snapshot that somebody holds, what was claimed stays in the index of ready
// jobs. A claim does not read it again: it begins at its bound.
//
// part of: Q2
func TestQ2_AHeldSnapshotDoesNotMakeClaimsLonger(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	admin := connected(t, setting(dsn, "search_path", s.Schema()))
	holder, err := connected(t, dsn).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT 1`); err != nil {
		t.Fatal(err)
	}
	const dead = 1_500
	enqueue := func(n int) {
		t.Helper()
		first, err := s.ReserveIDs(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		jobs := make([]job.New, n)
		for i := range jobs {
			jobs[i] = job.New{ID: first + job.ID(i), Kind: "k", Queue: "default", Priority: 2, Payload: make([]byte, 1_000)}
		}
		if _, err := s.Enqueue(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
	}
	work := func(settle []job.Outcome, most int) []job.Outcome {
		t.Helper()
		x := store.Exchange{Holder: "worker", Lease: time.Minute, Settle: settle}
		if most > 0 {
			x.Want = []store.Want{{Queue: "default", Max: most, Kinds: []store.KindWant{{Kind: "k", Max: most, MaxCrashes: 2}}}}
		}
		got, err := s.Exchange(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Claims) != most {
			t.Fatalf("%d claims, want %d", len(got.Claims), most)
		}
		settle = nil
		for _, c := range got.Claims {
			settle = append(settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Completed, Cause: job.Succeeded})
		}
		return settle
	}
	enqueue(dead)
	work(work(nil, dead), 0)
	h, now := s.hot.cursors, s.clock.local()
	h.Scanned(now, time.Hour, 0, claims.Earliest) // as it would be found, with more of them

	enqueue(2)
	work(nil, 1)
	place := claims.Place{Lane: numberOf(t, admin, `SELECT lane FROM redrive_jobs LIMIT 1`), Priority: 2}
	buffers := func(low job.Micros) int64 {
		t.Helper()
		tx, err := admin.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		if _, err := tx.Exec(t.Context(), `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`); err != nil {
			t.Fatal(err)
		}
		var text []byte
		err = tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) `+s.texts.Of(readyJobs),
			[]int64{place.Lane}, []int64{int64(place.Priority)}, []int64{int64(low)}, []int64{-1 << 63}, []int64{1},
			int64(s.clock.Now()), int64(1)).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct {
			Plan struct {
				Rows float64 `json:"Actual Rows"`
				Hit  int64   `json:"Shared Hit Blocks"`
				Read int64   `json:"Shared Read Blocks"`
			}
		}
		if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 || plans[0].Plan.Rows != 1 {
			t.Fatalf("%v: want the plan of a claim that finds one job: %s", err, text)
		}
		return plans[0].Plan.Hit + plans[0].Plan.Read
	}
	const most = 40
	if n := buffers(h.From(place, false, claims.Earliest)); n > most {
		t.Errorf("a claim beside %d dead rows reads %d pages, want %d at most", dead, n, most)
	}
	if n := buffers(claims.Earliest); n <= 4*most {
		t.Errorf("from the beginning it reads %d pages: the test proves nothing", n)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
