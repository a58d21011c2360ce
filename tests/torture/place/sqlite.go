package place

import (
	"context"
	"database/sql"
	"errors"

	"github.com/redrive/redrive/store/sqlite"
)

// file is the application's connection to a SQLite file.
type file struct {
	store *sqlite.Store
	path  string
}

func openSQLite(ctx context.Context, path string) (*Place, error) {
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return &Place{Jobs: s, app: file{s, path}}, nil
}

func (f file) tx(ctx context.Context, do func(context.Context, *Tx) error) error {
	return f.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return do(ctx, &Tx{Jobs: sqlite.Tx(tx), exec: func(ctx context.Context, text string, args ...any) error {
			_, err := tx.ExecContext(ctx, text, args...)
			return err
		}})
	})
}

// query reads the file through a different driver than the store.
func (f file) query(ctx context.Context, text string, each func(scan func(...any) error) error) (err error) {
	db, err := sql.Open("sqlite", f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // no error check: rows.Err returns the error
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (file) close() error { return nil }
