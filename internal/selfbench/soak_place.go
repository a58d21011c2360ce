package selfbench

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// soakSize is the size of a database.
type soakSize struct {
	Bytes int64 // the size of the database in bytes, with the write-ahead log of SQLite
	WAL   int64 // the size of the write-ahead log in bytes; Bytes includes it
	Dead  int64 // number of dead rows that vacuum must remove, as estimated by PostgreSQL
}

// soakPlace is the database of a soak. The soak creates and removes it.
type soakPlace interface {
	open(ctx context.Context) (store.Store, error)
	size(ctx context.Context) (soakSize, error)
	// hold opens a snapshot. While it is open, removed rows keep their space.
	hold(ctx context.Context) (soakSnapshot, error)
	// examine counts the rows of jobs by state, and returns the problems that it finds.
	examine(ctx context.Context) (jobs map[string]int64, problems []string, err error)
	remove(ctx context.Context) error
	// writes begins to count writes. The returned function ends this and returns their number:
	// commits of SQLite, or rows that PostgreSQL has inserted, changed or removed in the schema.
	writes(ctx context.Context) (end func(context.Context) (int64, error), err error)
}

// soakSnapshot is an open snapshot and its connection.
type soakSnapshot struct {
	check   func(context.Context) error // a function that returns an error if the snapshot was lost
	release func()
}

// held returns a snapshot. The first call of the reading function opens the snapshot. While
// the snapshot is open, this function must return the same text each time.
func held(ctx context.Context, read func(context.Context) (string, error), release func()) (soakSnapshot, error) {
	first, err := read(ctx)
	if err != nil {
		release()
		return soakSnapshot{}, err
	}
	return soakSnapshot{func(ctx context.Context) error {
		now, err := read(ctx)
		if err == nil && now != first {
			err = errors.New("the connection no longer has the same snapshot")
		}
		return err
	}, release}, nil
}

// place returns the database of the soak.
func (s *Soak) place(dir string) soakPlace {
	switch {
	case s.DSN != "":
		return &soakSchema{dsn: s.DSN, name: "redrive_soak_" + strings.ToLower(rand.Text()[:8])}
	case s.File != "":
		return &soakFile{path: s.File}
	}
	return &soakFile{path: filepath.Join(dir, "soak.db")}
}

// soakFile is an SQLite file.
type soakFile struct {
	path string
	made bool
}

func (f *soakFile) open(ctx context.Context) (store.Store, error) {
	if _, err := os.Lstat(f.path); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("the file %s exists, but a soak creates its file and removes it at the end; choose another name", f.path))
	}
	f.made = true
	return sqlite.Open(ctx, f.path, &sqlite.Options{ReadLimit: time.Minute}) // a long limit: a slow read must be measured and must not fail
}

func (f *soakFile) size(context.Context) (size soakSize, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(f.path + suffix)
		if err != nil {
			return size, err
		}
		size.Bytes += info.Size()
		if suffix != "" {
			size.WAL = info.Size()
		}
	}
	return size, nil
}

func (f *soakFile) hold(ctx context.Context) (soakSnapshot, error) {
	conn, err := zombiezen.OpenConn(f.path, zombiezen.OpenReadOnly)
	if err != nil {
		return soakSnapshot{}, err
	}
	// The table redrive_meta changes often, but a connection with an open snapshot does not
	// see the changes.
	read := func(context.Context) (seen string, err error) {
		err = sqlitex.ExecuteTransient(conn, `SELECT group_concat(value) FROM redrive_meta`, &sqlitex.ExecOptions{
			ResultFunc: func(row *zombiezen.Stmt) error { seen = row.ColumnText(0); return nil },
		})
		return seen, err
	}
	if err := sqlitex.ExecuteTransient(conn, `BEGIN`, nil); err != nil {
		return soakSnapshot{}, errors.Join(err, conn.Close())
	}
	return held(ctx, read, func() { _ = conn.Close() }) // no error check: the transaction has only read
}

func (f *soakFile) examine(ctx context.Context) (map[string]int64, []string, error) {
	r, err := sqlite.Diagnose(ctx, f.path, time.Now)
	if err != nil {
		return nil, nil, err
	}
	return r.Jobs, r.Problems, nil
}

func (f *soakFile) remove(context.Context) error {
	if !f.made {
		return nil
	}
	return removeDatabase(f.path)
}

// writesPulse is the pause between two looks at SQLite's data_version, which changes with each
// commit. Commits that are closer to each other are counted once.
const writesPulse = time.Millisecond

func (f *soakFile) writes(ctx context.Context) (func(context.Context) (int64, error), error) {
	conn, err := zombiezen.OpenConn(f.path, zombiezen.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	version := func() (v int64, err error) {
		err = sqlitex.ExecuteTransient(conn, `PRAGMA data_version`, &sqlitex.ExecOptions{
			ResultFunc: func(row *zombiezen.Stmt) error { v = row.ColumnInt64(0); return nil },
		})
		return v, err
	}
	last, err := version()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	counting, stop := context.WithCancel(ctx)
	var n int64
	ended := make(chan error, 1)
	look := func() error {
		v, err := version()
		if err == nil && v != last {
			last, n = v, n+1
		}
		return err
	}
	go func() {
		var err error
		for err == nil && counting.Err() == nil {
			pause(counting, writesPulse)
			err = look()
		}
		ended <- err
	}()
	return func(context.Context) (int64, error) {
		stop()
		err := cmp.Or(<-ended, look())
		return n, errors.Join(err, conn.Close())
	}, nil
}

// soakSchema is a schema in a PostgreSQL database.
type soakSchema struct{ dsn, name string }

func (s *soakSchema) open(ctx context.Context) (store.Store, error) {
	return postgres.Open(ctx, s.dsn, &postgres.Options{Schema: s.name, ReadLimit: time.Minute})
}

// ask opens a connection and runs a query that returns numbers.
func (s *soakSchema) ask(ctx context.Context, query string, found ...any) (err error) {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return conn.QueryRow(ctx, query, s.name).Scan(found...)
}

func (s *soakSchema) size(ctx context.Context) (size soakSize, err error) {
	err = s.ask(ctx, `SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint, coalesce(sum(n_dead_tup), 0)::bigint
		FROM pg_stat_user_tables WHERE schemaname = $1`, &size.Bytes, &size.Dead)
	return size, err
}

// statsDelay is longer than the time after which a connection of PostgreSQL without work reports
// what it has written.
const statsDelay = 11 * time.Second

func (s *soakSchema) writes(ctx context.Context) (func(context.Context) (int64, error), error) {
	count := func(ctx context.Context) (n int64, err error) {
		pause(ctx, statsDelay)
		err = s.ask(ctx, `SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1`, &n)
		return n, err
	}
	first, err := count(ctx)
	return func(ctx context.Context) (int64, error) {
		n, err := count(ctx)
		return n - first, err
	}, err
}

func (s *soakSchema) hold(ctx context.Context) (soakSnapshot, error) {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return soakSnapshot{}, err
	}
	release := func() { _ = conn.Close(context.WithoutCancel(ctx)) } // no error check: the transaction has only read
	_, err = conn.Exec(ctx, `SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		release()
		return soakSnapshot{}, err
	}
	return held(ctx, func(ctx context.Context) (seen string, err error) {
		err = conn.QueryRow(ctx, `SELECT pg_current_snapshot()::text`).Scan(&seen)
		return seen, err
	}, release)
}

func (s *soakSchema) examine(ctx context.Context) (map[string]int64, []string, error) {
	r, err := postgres.Diagnose(ctx, s.dsn, s.name, time.Now)
	if err != nil {
		return nil, nil, err
	}
	return r.Jobs, r.Problems, nil
}

func (s *soakSchema) remove(ctx context.Context) (err error) {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, `SET client_min_messages = warning; DROP SCHEMA IF EXISTS `+s.name+` CASCADE`, pgx.QueryExecModeSimpleProtocol)
	return err
}
