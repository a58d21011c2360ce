package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// walLarge is far above what check-points let the write-ahead log become.
	walLarge = 1 << 30
	// rescueLate is how long a lease may be over before it is odd that no worker
	// has rescued its run.
	rescueLate = 2 * time.Minute
	// damagesMax is how many findings of the integrity check are kept.
	damagesMax = 20
)

// Report is what Diagnose finds.
type Report struct {
	Path    string `json:"path"`
	Place   string `json:"file_system,omitempty"` // type of the file system; "" is not known
	Size    int64  `json:"size"`                  // bytes
	WALSize int64  `json:"wal_size"`              // bytes, of the write-ahead log

	Schema   Schema            `json:"schema"`
	SQLite   string            `json:"sqlite"`   // version that is linked in
	Modules  map[string]string `json:"modules"`  // versions of what it is linked in by
	Settings map[string]string `json:"settings"` // as read back from a connection
	Pages    int64             `json:"pages"`
	Free     int64             `json:"free_pages"`

	Jobs map[string]int64 `json:"jobs"` // by state, counted anew
	// Oldest is the job that is due for the longest time.
	Oldest *Due `json:"oldest_due,omitempty"`
	// Expired is how many runs have a lease that is over, ExpiredAt since when
	// the oldest of them is.
	Expired   int64      `json:"expired_leases"`
	ExpiredAt job.Micros `json:"oldest_expired_lease,omitempty"`

	// Problems tell what is wrong and what to do about it; none is healthy.
	Problems []string `json:"problems"`
}

// Due is a job that could run.
type Due struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Diagnose examines a database: where and how it is kept, whether its pages are
// sound, and whether its counters agree with its rows. It reads every page, and
// changes nothing. What is wrong is in the report; an error means that it could
// not be examined. Now is the time by which jobs are late.
func Diagnose(ctx context.Context, path string, now time.Time) (*Report, error) {
	r := &Report{SQLite: sqlite3.SQLITE_VERSION, Modules: modules(), Settings: map[string]string{},
		Jobs: map[string]int64{}, Problems: []string{}}
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	r.Path = path
	if err := r.files(); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if r.Schema, err = ReadSchema(ctx, path); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	conn, err := connectReadOnly(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	if err := r.examine(conn, job.At(now)); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.problem("cannot be read: %v", asStoreError(err))
	}
	return r, nil
}

// files looks at the files and the place they are in.
func (r *Report) files() error {
	info, err := os.Stat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no such file: %w", store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	r.Size = info.Size()
	if wal, err := os.Stat(r.Path + "-wal"); err == nil {
		r.WALSize = wal.Size()
	}
	if r.WALSize > walLarge {
		r.problem("the write-ahead log has %d bytes: some program keeps a read transaction open, which holds up check-points; end it",
			r.WALSize)
	}
	if err := checkPlace(r.Path); err != nil {
		r.problem("%v", err)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		r.Place = fileSystem(string(mounts), r.Path)
	}
	return nil
}

// fileSystem finds the type of the file system that holds path in what Linux
// tells about mounts, a line each:
//
//	36 35 98:0 / /mnt/data rw,noatime shared:1 - ext4 /dev/sda1 rw
func fileSystem(mounts, path string) (kind string) {
	longest := 0
	for line := range strings.SplitSeq(mounts, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(types) == 0 {
			continue
		}
		point := strings.TrimSuffix(strings.ReplaceAll(fields[4], `\040`, " "), "/") + "/"
		// Of two mounts on one point the later covers the earlier.
		if strings.HasPrefix(path, point) && len(point) >= longest {
			longest, kind = len(point), types[0]
		}
	}
	return kind
}

// modules returns the versions of what brings SQLite in. modernc.org/sqlite
// works only with the libc that it was built for.
func modules() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "zombiezen.com/go/sqlite", "modernc.org/sqlite", "modernc.org/libc":
			if m.Replace != nil {
				m = m.Replace
			}
			versions[m.Path] = m.Version
		}
	}
	return versions
}

func (r *Report) examine(conn *sqlite.Conn, now job.Micros) error {
	for _, name := range []string{"journal_mode", "synchronous", "page_size", "auto_vacuum", "encoding", "busy_timeout"} {
		value, err := one(conn, `PRAGMA `+name)
		if err != nil {
			return err
		}
		r.Settings[name] = value
	}
	s := newNative(conn)
	if err := r.pages(s); err != nil {
		return err
	}
	if err := r.Schema.Fits(); err != nil {
		r.problem("%v", err)
		return nil
	}
	switch {
	case r.Schema.Version == 0:
		r.problem("it is a database without redrive's tables; `redrive enqueue` and `redrive work` make them")
		return nil
	case r.Schema.Version < r.Schema.Known:
		r.problem("it has schema %d and this program uses %d; run `redrive migrate`", r.Schema.Version, r.Schema.Known)
		return nil
	}
	if _, err := s.Exec(beginRead); err != nil {
		return err
	}
	return errors.Join(r.rows(s, now), s.end())
}

// end ends a read transaction.
func (s *native) end() error {
	_, err := s.Exec(rollbackTx)
	return err
}

var (
	selPages     = &sqlstore.Query{Text: `PRAGMA page_count`}
	selFree      = &sqlstore.Query{Text: `PRAGMA freelist_count`}
	selIntegrity = &sqlstore.Query{Text: `PRAGMA integrity_check(` + fmt.Sprint(damagesMax) + `)`}
)

func (r *Report) pages(s *native) (err error) {
	if r.Pages, err = sqlstore.ReadInt(s, selPages); err != nil {
		return err
	}
	if r.Free, err = sqlstore.ReadInt(s, selFree); err != nil {
		return err
	}
	return s.Rows(selIntegrity, func(row sqlstore.Row) error {
		if found := row.Text(0); found != "ok" {
			r.problem("the file is damaged: %s; stop all workers and restore a backup", found)
		}
		return nil
	})
}

var (
	recount = &sqlstore.Query{Text: `SELECT l.queue, l.kind, l.deps, state, sum(n), sum(kept) FROM (
			SELECT lane, state, count(*) AS n, 0 AS kept FROM redrive_jobs GROUP BY 1, 2
			UNION ALL SELECT lane, state, count(*), 0 FROM redrive_done GROUP BY 1, 2
			UNION ALL SELECT lane, 5, count(*), 0 FROM redrive_dead WHERE revived = 0 GROUP BY 1
			UNION ALL SELECT lane, state, 0, n FROM redrive_counters)
		JOIN redrive_lanes l ON l.id = lane GROUP BY lane, state`}
	recountGroups = &sqlstore.Query{Text: `SELECT g.fingerprint, g.pending, count(d.job) FILTER (WHERE d.status = 0), g.entries, count(d.job)
		FROM redrive_groups g LEFT JOIN redrive_dead d ON d.grp = g.id GROUP BY g.id
		HAVING g.pending != count(d.job) FILTER (WHERE d.status = 0) OR g.entries != count(d.job)`}
	recountDead = &sqlstore.Query{Text: `SELECT l.queue, l.kind, reason, class, status, sum(kept), sum(n) FROM (
			SELECT lane, reason, coalesce(class, '') AS class, status, 1 AS n, 0 AS kept FROM redrive_dead
			UNION ALL SELECT lane, reason, class, status, 0, n FROM redrive_dead_counts)
		JOIN redrive_lanes l ON l.id = lane GROUP BY lane, reason, class, status HAVING sum(kept) != sum(n)`}
	// selOldest seeks the first job of each lane and priority, which the ready
	// index has at hand; gates and pauses are not looked at.
	selOldest = &sqlstore.Query{Text: `SELECT j.id, l.queue, l.kind, j.run_at FROM redrive_lanes l,
		(SELECT 1 AS p UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)
		JOIN redrive_jobs j ON j.id = (SELECT id FROM redrive_jobs INDEXED BY redrive_ready
			WHERE lane = l.id AND priority = p AND state < 3 ORDER BY run_at LIMIT 1)
		WHERE j.run_at <= ?1 ORDER BY j.run_at, j.id LIMIT 1`}
	selOverdue = &sqlstore.Query{Text: `SELECT count(*), min(lease_until) FROM redrive_jobs INDEXED BY redrive_lease
		WHERE state = 3 AND lease_until <= ?1`}
)

// rows examines redrive's own tables.
func (r *Report) rows(s *native, now job.Micros) error {
	err := s.Rows(recount, func(row sqlstore.Row) error {
		state, n, kept := job.State(row.Int(3)), row.Int(4), row.Int(5)
		r.Jobs[state.String()] += n
		if n != kept {
			r.problem("the counter of queue %q, kind %q, %s is %d, and there are %d jobs; please report this",
				row.Text(0), row.Text(1), state, kept, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.deadLetters(s); err != nil {
		return err
	}
	err = s.Rows(selOldest, func(row sqlstore.Row) error {
		r.Oldest = &Due{ID: job.ID(row.Int(0)), Queue: row.Text(1), Kind: row.Text(2), RunAt: job.Micros(row.Int(3))}
		return nil
	}, sqlstore.Num(now))
	if err != nil {
		return err
	}
	return r.leases(s, now)
}

// deadLetters compares what counts dead letters with what there are.
func (r *Report) deadLetters(s *native) error {
	err := s.Rows(recountGroups, func(row sqlstore.Row) error {
		r.problem("the group %q counts %d pending of %d dead letters, and there are %d of %d; please report this",
			row.Text(0), row.Int(1), row.Int(3), row.Int(2), row.Int(4))
		return nil
	})
	if err != nil {
		return err
	}
	return s.Rows(recountDead, func(row sqlstore.Row) error {
		r.problem("the count of %s dead letters of queue %q, kind %q, %s, class %q is %d, and there are %d; please report this",
			job.Status(row.Int(4)), row.Text(0), row.Text(1), row.Text(2), row.Text(3), row.Int(5), row.Int(6))
		return nil
	})
}

func (r *Report) leases(s *native, now job.Micros) error {
	err := s.Rows(selOverdue, func(row sqlstore.Row) error {
		r.Expired, r.ExpiredAt = row.Int(0), job.Micros(row.Int(1))
		return nil
	}, sqlstore.Num(now))
	if err == nil && r.Expired > 0 && now.Sub(r.ExpiredAt) > rescueLate {
		r.problem("%d runs have lost their lease, the first at %s, and no worker has rescued them: start one",
			r.Expired, r.ExpiredAt.Time().Format(time.RFC3339))
	}
	return err
}
