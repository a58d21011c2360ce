package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/pgtest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/storetest"
)

// proves: Q10
func TestQ10_Conformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		return lend(t, &Options{Clock: clock, ReadLimit: time.Minute, StatementTimeout: time.Minute})
	})
}

// migrated are schemas for one test after the other: to migrate takes longer than
// most of them. There is no other place for what the tests of a binary share.
var migrated = pgtest.Schemas{Make: func(ctx context.Context, dsn, schema string) error {
	_, err := Migrate(ctx, dsn, schema, schemaVersion)
	return err
}}

// lent is a store in a schema that is given back when it is closed.
type lent struct {
	*Store
	t    *testing.T
	back func() error
}

// lend opens a store in one of the migrated schemas.
func lend(t *testing.T, o *Options) *lent {
	t.Helper()
	dsn, schema, back := migrated.Take(t)
	o.Schema = schema
	s, err := Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	return &lent{s, t, back}
}

// Close closes the store. What it has left open would keep the schema locked.
func (l *lent) Close() error {
	err := l.Store.Close()
	if back := l.back; back != nil {
		l.back = nil
		if err := back(); err != nil {
			l.t.Error(err)
		}
	}
	return err
}
