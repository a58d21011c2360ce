package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	seedPlaces = 6  // number of groups of jobs that fill makes, such as completed jobs and paused jobs
	seedKinds  = 50 // number of kinds of jobs in each of these groups
	seedHeads  = seedKinds * job.PriorityMax
	seedQueue  = "main"
	seedHolder = "host-1-0123456789abcdef"
)

// seedNow is the fixed time of stores that a seeder fills.
var seedNow = time.Date(2026, 3, 29, 1, 59, 59, 999_999_000, time.FixedZone("", 3600))

// seeder fills a store by calling its methods.
type seeder struct {
	batches int // number of batches
	t       *testing.T
	s       *Store
	n       int // number of jobs added so far
}

func openSeeded(t *testing.T) *seeder {
	return &seeder{t: t, s: openAt(t, filepath.Join(t.TempDir(), "jobs.db"))}
}

func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, &Options{Clock: func() time.Time { return seedNow }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *seeder) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func seedKind(i int) string { return fmt.Sprintf("kind-%02d", i%seedKinds) }

// fill adds jobs that a claim must not read: completed jobs, dead jobs, jobs that are due
// later, and jobs that are paused, of an unknown kind or parked. The jobs are spread over all
// kinds and priorities.
func (s *seeder) fill(rows int) {
	s.end(rows, func(o *job.Outcome) { o.To, o.Cause = job.Completed, job.Succeeded })
	s.end(rows, func(o *job.Outcome) {
		o.To, o.Cause, o.Reason = job.Dead, job.Failed, job.NonRetriable
		o.Failure = &job.Failure{How: job.ByError, Class: string(failure.UnknownError), Message: "refused",
			Fingerprint: fmt.Sprintf("refused %d", o.ID%100)}
	})
	s.add(rows, func(i int, n *job.New) { n.RunAt = job.At(seedNow.Add(time.Hour + time.Duration(i)*time.Second)) })
	s.add(rows, func(_ int, n *job.New) { n.Kind = "unknown-" + n.Kind })
	s.add(rows, func(_ int, n *job.New) { n.Deps = "mail" })
	s.add(rows, func(_ int, n *job.New) { n.Queue = "paused" })
	_, err := s.s.SetQueue(s.t.Context(), store.By{Actor: "ann"}, store.QueueChange{Name: "paused", Mode: new(store.Paused)})
	s.must(err)
	s.park()
}

// park closes the lanes of all jobs that have dependencies.
func (s *seeder) park() {
	s.direct(`UPDATE redrive_lanes SET gate = 1 WHERE deps <> ''`)
}

// first returns a member that keeps a new batch in PROCESSING.
func (s *seeder) first() []job.New {
	id, err := s.s.ReserveIDs(s.t.Context(), 1)
	s.must(err)
	return []job.New{{ID: id, Kind: "member", Queue: "members", Priority: 1}}
}

// add enqueues jobs. Each job gets the next kind. After the last kind, add starts again with the
// first kind and the next priority. The given function may change each job before it is enqueued.
func (s *seeder) add(rows int, change func(i int, n *job.New)) {
	for done := 0; done < rows; {
		jobs := make([]job.New, min(rows-done, job.EnqueueMax))
		first, err := s.s.ReserveIDs(s.t.Context(), len(jobs))
		s.must(err)
		for k := range jobs {
			i := s.n
			s.n++
			jobs[k] = job.New{
				ID: first + job.ID(k), Kind: seedKind(i), Queue: seedQueue, Priority: int8(1 + i/seedKinds%job.PriorityMax),
				Owner: fmt.Sprintf("tenant-%d", i%7), Key: fmt.Sprintf("order-%d", i), Digest: []byte{1},
				Batch: int64(1 + i/1000), Aside: i%2 == 0, Payload: []byte(`{"user":4711}`),
			}
			if i%100 == 0 {
				jobs[k].Payload = make([]byte, 2*sqlstore.InlineMax)
			}
			if int(jobs[k].Batch) > s.batches {
				_, _, err := s.s.StartBatch(s.t.Context(), store.By{}, store.NewBatch{Owner: "tenant-1"}, s.first())
				s.must(err)
				s.batches++
			}
			change(i, &jobs[k])
			jobs[k].Aside = jobs[k].Aside && jobs[k].Batch != 0
		}
		_, err = s.s.Enqueue(s.t.Context(), jobs)
		s.must(err)
		done += len(jobs)
	}
}

// end enqueues jobs, claims them at once, and ends them with the given outcomes.
func (s *seeder) end(rows int, as func(*job.Outcome)) {
	for done := 0; done < rows; {
		n := min(rows-done, job.ExchangeMax/2) // each claim asks for jobs of two queues
		s.add(n, func(int, *job.New) {})
		claims := s.poll(n).Claims
		if len(claims) != n {
			s.t.Fatalf("claim of the new jobs: got %d claims, want %d", len(claims), n)
		}
		x := store.Exchange{Holder: seedHolder, Lease: time.Minute, Settle: make([]job.Outcome, n)}
		for i, c := range claims {
			x.Settle[i] = job.Outcome{ID: c.ID, Token: c.Token}
			as(&x.Settle[i])
		}
		s.exchange(&x)
		done += n
	}
}

// poll claims at most n jobs of the kinds that the process knows.
func (s *seeder) poll(most int) store.Exchanged {
	s.t.Helper()
	w := store.Want{Queue: seedQueue, Max: most}
	for i := range seedKinds {
		w.Kinds = append(w.Kinds, store.KindWant{Kind: seedKind(i), Max: most, MaxCrashes: 2})
	}
	return s.exchange(&store.Exchange{Holder: seedHolder, Lease: time.Minute,
		Want: []store.Want{w, {Queue: "paused", Max: most, Kinds: w.Kinds}}})
}

func (s *seeder) exchange(x *store.Exchange) store.Exchanged {
	s.t.Helper()
	out, err := s.s.Exchange(s.t.Context(), *x)
	s.must(err)
	for _, err := range out.Settled {
		s.must(err)
	}
	return out
}

// act makes at least one row in each table that stays empty when jobs are only enqueued and ended.
func (s *seeder) act() {
	ctx, by := s.t.Context(), store.By{Actor: "ann", Reason: "test"}
	s.add(4, func(int, *job.New) {})
	run := s.poll(2).Claims[0]
	beat := store.Beat{Lease: time.Minute, Runs: []store.Run{{ID: run.ID, Token: run.Token}},
		Progress: []job.Progress{{ID: run.ID, Token: run.Token, Done: 1, Total: 2}}}
	_, err := s.s.Heartbeat(ctx, beat)
	s.must(err)
	_, err = s.s.Cancel(ctx, by, []job.ID{run.ID})
	s.must(err)
	_, err = s.s.SetQueue(ctx, by, store.QueueChange{Name: seedQueue, Rate: &store.Rate{N: 1000, Per: time.Second}})
	s.must(err)
	s.poll(2)
	_, err = s.s.SetQueue(ctx, by, store.QueueChange{Name: seedQueue, Rate: new(store.Rate)})
	s.must(err)
}

// analyze makes SQLite collect statistics for its query planner.
func (s *seeder) analyze() { s.direct(`ANALYZE`) }

// forget removes SQLite's statistics for the query planner.
func (s *seeder) forget() { s.direct(`DROP TABLE sqlite_stat1; DROP TABLE sqlite_stat4`) }

// direct runs SQL statements on a new connection.
func (s *seeder) direct(script string) {
	s.t.Helper()
	conn, err := connect(s.s.path, roleWriter)
	s.must(err)
	defer conn.Close()
	for text := range strings.SplitSeq(script, ";") {
		_, err := one(conn, text)
		s.must(err)
	}
}
