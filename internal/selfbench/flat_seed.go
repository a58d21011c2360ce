package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/redrive/redrive/job"
	store "github.com/redrive/redrive/store/sqlite"
)

const (
	flatKinds  = 50 // number of lanes in each set of jobs; each lane has jobs of all priorities
	flatQueue  = "main"
	flatPaused = "paused"
	// flatChunk is the number of rows that one statement inserts.
	flatChunk = 500_000
)

var flatPayload = []byte(`{"user":4711,"template":"welcome"}`)

func flatKind(i int) string { return fmt.Sprintf("kind-%02d", i%flatKinds) }

// These statements have the same first parameters. ?1 to ?2 are the ids of the jobs. The jobs are
// spread over ?4 lanes, beginning with lane ?3, and over all priorities. ?5 is a time and ?6 is a
// payload.
const (
	flatRows = `WITH RECURSIVE seq(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM seq WHERE i < ?2)
		SELECT i, ?3 + i % ?4, 1 + i / ?4 % 4, `
	flatWaiting = `INSERT INTO redrive_jobs (id, lane, priority, state, token, life, attempts, crashes, deferrals, snoozes,
		interrupts, run_at, created_at, life_at, payload) ` + flatRows + `1, 0, 1, 0, 0, 0, 0, 0, ?5 + i, ?5, ?5, ?6 FROM seq`
	flatCompleted = `INSERT INTO redrive_done (job, lane, priority, state, token, life, attempts, crashes, deferrals, snoozes,
		interrupts, created_at, life_at, claimed_at, finished_at, holder, result)
		` + flatRows + `4, 1, 1, 1, 0, 0, 0, 0, ?5, ?5, ?5, ?5 + i, 'host-4711-0123456789ab', ?6 FROM seq`
	flatDead = `INSERT INTO redrive_dead (job, lane, priority, status, revived, reason, class, grp, died_at, token, life, attempts,
		crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at, holder, owner, payload)
		` + flatRows + `0, 0, 'max_retries_exceeded', 'NetworkTimeout', 1 + i % 1000, ?5 + i, 3, 1, 3, 0, 0, 0, 0, ?5, ?5, ?5,
		'host-4711-0123456789ab', 'tenant-' || (i % 100), ?6 FROM seq`
	flatGroups = `WITH RECURSIVE seq(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM seq WHERE i < 1000)
		INSERT INTO redrive_groups (id, fingerprint, kind, sample, first_at, last_at, n, pending, entries)
		SELECT i, 'timeout ' || i, 'probe', min(job), min(died_at), max(died_at), count(*), count(*), count(*)
		FROM seq JOIN redrive_dead INDEXED BY redrive_dead_pending ON grp = i AND status = 0 GROUP BY i`
)

// flatLanes are the groups of lanes. A claim may take jobs from the first group only.
var flatLanes = []struct {
	queue, kinds, deps string // kinds is the beginning of the name of each kind
	gate               int
}{
	{queue: flatQueue},
	{queue: flatPaused},
	{queue: flatQueue, kinds: "unknown-"},
	{queue: flatQueue, deps: "mail", gate: 1},
}

// flatPlaces are the sets of jobs that a claim must not take.
var flatPlaces = []struct {
	lanes  int // the index of the set's lanes in flatLanes
	state  job.State
	insert string
	at     time.Duration // the time of the set's first job, relative to now
}{
	{0, job.Waiting, flatWaiting, 24 * time.Hour}, // these jobs are due in 24 hours
	{1, job.Waiting, flatWaiting, -24 * time.Hour},
	{2, job.Waiting, flatWaiting, -24 * time.Hour},
	{3, job.Waiting, flatWaiting, -24 * time.Hour},
	{0, job.Completed, flatCompleted, -24 * time.Hour},
	{0, job.Dead, flatDead, -24 * time.Hour},
}

// seedFlat creates a database with the given number of jobs in each set of flatPlaces. The number
// is rounded down to a multiple of flatKinds times job.PriorityMax.
func seedFlat(ctx context.Context, path string, rows int) error {
	rows -= rows % (flatKinds * job.PriorityMax)
	return seedFile(ctx, path, func(s *seeder) {
		for i, l := range flatLanes {
			for k := range flatKinds {
				s.exec(`INSERT INTO redrive_lanes (id, queue, kind, deps, gate) VALUES (?, ?, ?, ?, ?)`,
					flatLane(i)+k, l.queue, l.kinds+flatKind(k), l.deps, l.gate)
			}
		}
		s.exec(`INSERT INTO redrive_queues (name, mode) VALUES (?, 0), (?, 1)`, flatQueue, flatPaused)
		for _, p := range flatPlaces {
			s.insert(p.insert, flatLane(p.lanes), flatKinds, rows, p.at, flatPayload)
			for k := range flatKinds {
				s.count(flatLane(p.lanes)+k, p.state, rows/flatKinds)
			}
		}
		s.exec(flatGroups)
		s.exec(deadCountRows)
	})
}

func flatLane(lanes int) int { return 1 + lanes*flatKinds }

// seeder fills a database with SQL statements. This is not durable, but much faster than
// the store. The seeder keeps the first error and does nothing more after it.
type seeder struct {
	conn *sqlite.Conn
	next int // the id of the next job that is inserted
	now  job.Micros
	err  error
}

// seedFile creates a database and fills it.
func seedFile(ctx context.Context, path string, fill func(*seeder)) (err error) {
	made, err := store.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	s := &seeder{conn: conn, next: 1, now: job.At(time.Now())}
	for _, pragma := range []string{`journal_mode=OFF`, `synchronous=OFF`, `locking_mode=EXCLUSIVE`, `cache_size=-262144`} {
		s.exec(`PRAGMA ` + pragma)
	}
	fill(s)
	s.exec(`UPDATE redrive_meta SET value = ? WHERE key = 'next_id'`, s.next)
	s.exec(`PRAGMA journal_mode=WAL`)
	return s.err
}

func (s *seeder) exec(text string, args ...any) {
	if s.err == nil {
		s.err = sqlitex.Execute(s.conn, text, &sqlitex.ExecOptions{Args: args})
	}
}

// insert inserts one job for each of the given rows. It spreads them over consecutive lanes, which
// begin with the given lane. The time of the first job is relative to now. Each further job is one
// microsecond later.
func (s *seeder) insert(text string, lane, lanes, rows int, at time.Duration, payload []byte) {
	for end := s.next + rows; s.next < end && s.err == nil; {
		last := min(s.next+flatChunk, end) - 1
		s.exec(text, s.next, last, lane, lanes, int64(s.now.Add(at)), payload)
		s.next = last + 1
	}
}

func (s *seeder) count(lane int, state job.State, n int) {
	s.exec(`INSERT INTO redrive_counters (lane, state, n) VALUES (?, ?, ?)`, lane, int(state), n)
}
