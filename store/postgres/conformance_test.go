package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
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

// lend opens a store in one of the migrated schemas for the time of a test.
func lend(t *testing.T, o *Options) *Store {
	t.Helper()
	s, end := pgtest.Lend(t, &migrated, func(dsn, schema string) (*Store, error) {
		o.Schema = schema
		return Open(t.Context(), dsn, o)
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// part of: Q10
func TestQ10_FindingsOfTheDoctor(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Setting("fsync", "on")) // a server whose settings and transactions belong to this test
	s := opened(t, server.DSN(), nil)
	storetest.Findings(t, s, time.Now(), func() (*store.Findings, error) {
		d, err := Diagnose(t.Context(), server.DSN(), "", time.Now)
		if err != nil {
			return nil, err
		}
		return &d.Findings, nil
	})
}
