// Package place opens the database of the torture test: a SQLite file or a schema of a PostgreSQL
// database with the jobs and the tables of an application. The tested processes and the checks open
// it in the same way.
package place

import (
	"context"
	"errors"
	"strings"

	"github.com/redrive/redrive/store"
)

// Jobs is the interface that both stores have.
type Jobs interface {
	store.Store
	store.Transactor
	store.TxReserver
}

// Place is an open store with the application's own connection to its database.
type Place struct {
	Jobs
	app application
}

// application is the application's own connection to the database.
type application interface {
	tx(ctx context.Context, do func(context.Context, *Tx) error) error
	query(ctx context.Context, text string, each func(scan func(...any) error) error) error
	close() error
}

// Tx is a transaction of the application.
type Tx struct {
	Jobs store.Tx // the same transaction as a store.Tx, to enqueue and complete jobs in it
	exec func(ctx context.Context, text string, args ...any) error
}

// Exec runs a statement whose parameters are question marks.
func (t *Tx) Exec(ctx context.Context, text string, args ...any) error {
	return t.exec(ctx, text, args...)
}

// Open opens the database of a torture test. The argument is the path of a file, or the URL of a
// PostgreSQL server with the schema as the fragment.
func Open(ctx context.Context, where string) (*Place, error) {
	if strings.HasPrefix(where, "postgres://") {
		return openPostgres(ctx, where)
	}
	return openSQLite(ctx, where)
}

// Tx calls the given function in a transaction of the application. The transaction commits if the
// function returns nil. The error is a store.ErrUnknown if the answer to the commit was lost.
func (p *Place) Tx(ctx context.Context, do func(ctx context.Context, tx *Tx) error) error {
	return p.app.tx(ctx, do)
}

// Query runs a query of the application and calls the given function for every row.
func (p *Place) Query(ctx context.Context, text string, each func(scan func(...any) error) error) error {
	return p.app.query(ctx, text, each)
}

// Close closes both connections.
func (p *Place) Close() error { return errors.Join(p.app.close(), p.Jobs.Close()) }

// Passes reports whether a repeated call may succeed after the error.
func Passes(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrFull)
}
