package sqlite

import (
	"reflect"
	"testing"
	"time"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// cost is the amount of work that SQLite did for the writer's statements, as SQLite counts it. The
// same work has the same cost in every run and on every machine.
type cost struct {
	steps    int64 // number of steps of SQLite's virtual machine; reading a row takes several steps
	compiled int64 // number of times that SQLite compiled a statement again
}

// The cost of a claim does not depend on the number of jobs that the claim may not take. This is
// also true if the claim finds fewer jobs than it wants.
//
// proves: Q2
func TestQ2_ClaimCostIsFlat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test needs many rows")
	}
	small, large := openSeeded(t), openSeeded(t)
	small.fill(seedHeads)
	large.fill(max(*planRows/seedPlaces, 10*seedHeads))
	for _, s := range []*seeder{small, large} {
		s.poll(1) // this call compiles the statements, so its cost is not measured
		s.act()
	}
	for _, statistics := range []bool{false, true} {
		if statistics {
			small.analyzeAndReopen()
			large.analyzeAndReopen()
		}
		for _, due := range []int{0, 3, 100, 200} {
			few, many := small.costOf(due), large.costOf(due)
			t.Logf("claim with statistics %v and %d due jobs: SQLite needed %d steps with few other rows and %d steps with many other rows", statistics, due, few.steps, many.steps)
			if float64(many.steps) > 1.5*float64(few.steps) {
				t.Errorf("claim with statistics %v and %d due jobs: SQLite needed %d steps with many other rows and %d steps with few; want at most 1.5 times as many steps",
					statistics, due, many.steps, few.steps)
			}
			if few.compiled+many.compiled > 0 {
				t.Errorf("claim with statistics %v and %d due jobs: SQLite compiled statements again, %d times with few other rows and %d times with many; want 0 and 0", statistics, due, few.compiled, many.compiled)
			}
		}
	}
}

// costOf returns the cost of a claim of at most 100 jobs, when the given number of jobs is due
// in all lanes together. Afterwards it ends the claimed jobs.
func (s *seeder) costOf(due int) cost {
	s.t.Helper()
	s.add(due, func(_ int, n *job.New) { n.Payload, n.Key, n.Batch = []byte("{}"), "", 0 })
	s.count()
	got := s.poll(100)
	c := s.count()
	if want := min(due, 100); len(got.Claims) != want || got.Full != (want == 100) {
		s.t.Fatalf("claim of at most 100 jobs when %[2]d jobs are due: got %[1]d claims and Full %[3]v, want claims of all due jobs up to 100, and Full only for 100 claims", len(got.Claims), due, got.Full)
	}
	s.complete(got.Claims)
	s.complete(s.poll(100).Claims)
	return c
}

func (s *seeder) complete(claims []job.Claim) {
	x := store.Exchange{Holder: seedHolder, Lease: time.Minute}
	for _, c := range claims {
		x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Completed, Cause: job.Succeeded})
	}
	s.exchange(&x)
}

func (s *seeder) analyzeAndReopen() {
	s.analyze()
	s.must(s.s.Close())
	s.s = openAt(s.t, s.s.path)
	s.costOf(100) // this call compiles the statements, so its cost is not measured
}

// count returns the cost of the writer's statements since the last call.
func (s *seeder) count() (c cost) {
	s.t.Helper()
	s.must(s.s.write(s.t.Context(), func(t *sqlstore.Txn) error {
		tls := libc.NewTLS()
		defer tls.Close()
		for _, stmt := range t.Session().(*native).stmts {
			c.steps += status(tls, stmt.Stmt, sqlite3.SQLITE_STMTSTATUS_VM_STEP)
			c.compiled += status(tls, stmt.Stmt, sqlite3.SQLITE_STMTSTATUS_REPREPARE)
		}
		return nil
	}))
	return c
}

// status reads one of SQLite's counters of a statement and resets it. It uses reflection,
// because the zombiezen package does not export the statement's handle.
func status(tls *libc.TLS, stmt *sqlite.Stmt, counter int32) int64 {
	handle := reflect.ValueOf(stmt).Elem().FieldByName("stmt").Uint()
	return int64(sqlite3.Xsqlite3_stmt_status(tls, uintptr(handle), counter, 1))
}
