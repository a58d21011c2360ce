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

// walLarge is the size in bytes of a write-ahead log that the doctor reports as a problem.
// It is far above the size to which check-points limit the log.
const walLarge = 1 << 30

// Diagnosis is the result of Diagnose.
type Diagnosis struct {
	Path    string `json:"path"`
	Place   string `json:"file_system,omitempty"` // type of the file system; "" when it is not known
	Size    int64  `json:"size"`                  // size of the database file in bytes
	WALSize int64  `json:"wal_size"`              // size of the write-ahead log in bytes

	Schema   store.Schema      `json:"schema"`
	SQLite   string            `json:"sqlite"`   // version of the SQLite library in this program
	Modules  map[string]string `json:"modules"`  // versions of the modules that contain the SQLite library
	Settings map[string]string `json:"settings"` // settings of SQLite, as read from a connection
	Pages    int64             `json:"pages"`
	Free     int64             `json:"free_pages"`

	store.Findings // the findings in redrive's tables, and the problems of all examinations
}

func (r *Diagnosis) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// Diagnose examines a database: where and how it is stored, whether its pages are sound, and
// whether its counters agree with its rows. It reads every page and changes nothing. Problems are
// in the report; an error means that Diagnose could not examine the database. After reading the
// pages, Diagnose calls the given function and uses the returned time to decide which jobs and
// leases are late.
func Diagnose(ctx context.Context, path string, now func() time.Time) (*Diagnosis, error) {
	r := &Diagnosis{SQLite: sqlite3.SQLITE_VERSION, Modules: modules(), Settings: map[string]string{}, Findings: sqlstore.NewFindings()}
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
	if err := r.examine(conn, now); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.problem("cannot be read: %v", asStoreError(err))
	}
	return r, nil
}

// files examines the files of the database and their file system.
func (r *Diagnosis) files() error {
	info, err := os.Stat(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the file does not exist: %w", store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	r.Size = info.Size()
	r.Bytes = r.Size
	if wal, err := os.Stat(r.Path + "-wal"); err == nil {
		r.WALSize = wal.Size()
	}
	if r.WALSize > walLarge {
		r.problem("the write-ahead log has %d bytes: a program keeps a read transaction open, which blocks check-points; end it",
			r.WALSize)
	}
	r.Space = spaceOf(r.Path)
	if err := checkPlace(r.Path); err != nil {
		r.problem("%v", err)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		r.Place = fileSystem(string(mounts), r.Path)
	}
	return nil
}

// fileSystem finds the type of the file system that contains path. It reads Linux's list
// of mounts, which has one line for each mount:
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
		// If two file systems are mounted at the same path, the later mount hides the earlier
		// mount.
		if strings.HasPrefix(path, point) && len(point) >= longest {
			longest, kind = len(point), types[0]
		}
	}
	return kind
}

// modules returns the versions of the modules that contain the SQLite library. The report names
// both modules, because modernc.org/sqlite works only with the version of modernc.org/libc for
// which it was built.
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

func (r *Diagnosis) examine(conn *sqlite.Conn, now func() time.Time) error {
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
		r.problem("the database has no tables of redrive; `redrive enqueue` and `redrive work` create them")
		return nil
	case r.Schema.Version < r.Schema.Known:
		r.problem("the database has schema %d and this program uses schema %d; run `redrive migrate`", r.Schema.Version, r.Schema.Known)
		return nil
	}
	if _, err := s.Exec(beginRead); err != nil {
		return err
	}
	return errors.Join(r.rows(s, job.At(now())), s.end())
}

// end ends a read transaction.
func (s *native) end() error {
	_, err := s.Exec(rollbackTx)
	return err
}

var (
	selPages     = &sqlstore.Query{Name: "selPages"}
	selFree      = &sqlstore.Query{Name: "selFree"}
	selIntegrity = &sqlstore.Query{Name: "selIntegrity"}
)

func (r *Diagnosis) pages(s *native) (err error) {
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

// rows examines the rows of redrive's tables.
func (r *Diagnosis) rows(s *native, now job.Micros) error {
	f := &r.Findings
	if err := s.Rows(sqlstore.Recount, sqlstore.CompareJobs(f)); err != nil {
		return err
	}
	if err := s.Rows(sqlstore.RecountGroups, sqlstore.CompareGroups(f)); err != nil {
		return err
	}
	if err := s.Rows(sqlstore.RecountDead, sqlstore.CompareDead(f)); err != nil {
		return err
	}
	if err := s.Rows(sqlstore.RecountBatches, sqlstore.CompareBatches(f)); err != nil {
		return err
	}
	if err := s.Rows(sqlstore.RecountPositions, sqlstore.CompareCounts(f)); err != nil {
		return err
	}
	if err := s.Rows(sqlstore.SelOldest, sqlstore.FindDue(f), sqlstore.Num(now)); err != nil {
		return err
	}
	for _, q := range []struct {
		query *sqlstore.Query
		each  func(sqlstore.Row) error
	}{
		{sqlstore.SelProcesses, sqlstore.FindProcesses(f, now)}, {sqlstore.SelDeaths, sqlstore.FindDeaths(f)}, {sqlstore.SelClasses, sqlstore.FindClasses(f)},
		{sqlstore.SelOldestEnded, sqlstore.FindTime(&f.OldestEnded)}, {sqlstore.SelOldestEvent, sqlstore.FindTime(&f.OldestEvent)},
		{selLastAt, func(row sqlstore.Row) error { f.ClockAhead = max(0, job.Micros(row.Int(0)).Sub(now)); return nil }},
	} {
		if err := s.Rows(q.query, q.each); err != nil {
			return err
		}
	}
	if err := s.Rows(sqlstore.SelOverdue, sqlstore.FindExpired(f, now), sqlstore.Num(now)); err != nil {
		return err
	}
	if err := sqlstore.FindNotices(s, f); err != nil {
		return err
	}
	return sqlstore.CheckOwners(s, f)
}
