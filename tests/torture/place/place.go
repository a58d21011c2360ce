// Package place is where the jobs of a torture are, with the tables of an
// application beside them: a file of SQLite's, or a schema of a PostgreSQL
// database. Who is tortured and who judges open it in the same way.
package place

import (
	"context"
	"errors"
	"strings"

	"github.com/redrive/redrive/store"
)

// Jobs is what the stores have in common.
type Jobs interface {
	store.Store
	store.Transactor
	store.TxReserver
}

// Place is an open store, and the application's own way into its database.
type Place struct {
	Jobs
	app application
}

// application is a database without regard to the jobs in it.
type application interface {
	tx(ctx context.Context, do func(context.Context, *Tx) error) error
	query(ctx context.Context, text string, each func(scan func(...any) error) error) error
	close() error
}

// Tx is a transaction of the application's own.
type Tx struct {
	Jobs store.Tx // to enqueue and complete jobs in it
	exec func(ctx context.Context, text string, args ...any) error
}

// Exec runs a statement whose parameters are question marks.
func (t *Tx) Exec(ctx context.Context, text string, args ...any) error {
	return t.exec(ctx, text, args...)
}

// Open opens a place: the path of a file, or the URL of a PostgreSQL server, whose
// fragment names the schema.
func Open(ctx context.Context, where string) (*Place, error) {
	if strings.HasPrefix(where, "postgres://") {
		return openPostgres(ctx, where)
	}
	return openSQLite(ctx, where)
}

// Tx runs do in a transaction of the application's own, which commits when do
// returns nil. The error is a store.ErrUnknown when the answer to the commit was
// lost.
func (p *Place) Tx(ctx context.Context, do func(ctx context.Context, tx *Tx) error) error {
	return p.app.tx(ctx, do)
}

// Query hands on the rows of a query of the application's.
func (p *Place) Query(ctx context.Context, text string, each func(scan func(...any) error) error) error {
	return p.app.query(ctx, text, each)
}

// Close closes both.
func (p *Place) Close() error { return errors.Join(p.app.close(), p.Jobs.Close()) }

// Passes reports whether an error may be gone when the call is made again.
func Passes(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrFull)
}
