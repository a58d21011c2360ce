package seed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/redrive/redrive/store"
	sqlitestore "github.com/redrive/redrive/store/sqlite"
)

// SQLite creates a database file and fills it. The file must not exist, or have no jobs.
// The history of the jobs ends at the given time. The given function is called after each
// table.
func SQLite(ctx context.Context, path string, s Shape, now time.Time, progress func(table string)) error {
	clock := func() time.Time { return now }
	made, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{Clock: clock})
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	if err := fillFile(ctx, path, newLayout(s, now), progress); err != nil {
		return err
	}
	filled, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{Clock: clock, ReadLimit: time.Hour})
	if err != nil {
		return err
	}
	return errors.Join(index(ctx, filled), filled.Close())
}

// index lets the store make its index of owners, and merge the runs of the index.
func index(ctx context.Context, s store.Keeper) error {
	const sweeps = 50 // each merges eight times, which is enough for 50 million jobs
	for range sweeps {
		if _, err := s.Sweep(ctx, store.Retention{}, 1); err != nil {
			return err
		}
	}
	return nil
}

func fillFile(ctx context.Context, path string, l *layout, progress func(string)) (err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	f := &file{conn: conn}
	for _, pragma := range []string{"journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-524288"} {
		if err := f.exec(ctx, `PRAGMA `+pragma); err != nil {
			return err
		}
	}
	indexes, err := f.texts(`SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid`)
	if err != nil {
		return err
	}
	drops, err := f.texts(`SELECT 'DROP INDEX ' || name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		return err
	}
	return fillWithout(ctx, f, drops, append(indexes, `PRAGMA journal_mode=WAL`), l, progress)
}

// file is the sink of an SQLite file.
type file struct{ conn *sqlite.Conn }

func (f *file) exec(_ context.Context, text string) error {
	return sqlitex.ExecuteTransient(f.conn, text, nil)
}

func (f *file) texts(query string) (found []string, err error) {
	err = sqlitex.ExecuteTransient(f.conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(row *sqlite.Stmt) error { found = append(found, row.ColumnText(0)); return nil },
	})
	return found, err
}

func (f *file) insert(ctx context.Context, table, columns string, rows iter.Seq[[]any]) (err error) {
	names := strings.Fields(columns)
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")
	stmt, _, err := f.conn.PrepareTransient(`INSERT INTO ` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + marks + `)`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Finalize()) }()
	if err := f.exec(ctx, `BEGIN`); err != nil {
		return err
	}
	for row := range rows {
		if err := bind(stmt, row); err != nil {
			return err
		}
		if _, err := stmt.Step(); err != nil {
			return err
		}
		if err := stmt.Reset(); err != nil {
			return err
		}
	}
	return f.exec(ctx, `COMMIT`)
}

func bind(stmt *sqlite.Stmt, row []any) error {
	for i, value := range row {
		switch v := value.(type) {
		case nil:
			stmt.BindNull(i + 1)
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			stmt.BindBytes(i+1, v)
		default:
			return fmt.Errorf("column %d: cannot bind a value of the type %T", i, v)
		}
	}
	return nil
}
