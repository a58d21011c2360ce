package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A transaction that was prepared is in no list of the server's processes, and holds up
// as much as any other.
func TestDoctorFindsPreparedTransactions(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Setting("max_prepared_transactions", "2"))
	s := opened(t, server.DSN(), nil)
	conn := connected(t, server.DSN())
	run(t, conn, `CREATE TABLE held (id int)`, `BEGIN`, `INSERT INTO held VALUES (1)`, `PREPARE TRANSACTION 'Ann''s'`)
	d, err := Diagnose(t.Context(), server.DSN(), "", time.Now)
	if err != nil || d.OldestTransaction <= 0 {
		t.Errorf("the oldest transaction is %s old, %v", d.OldestTransaction, err)
	}
	r := &Diagnosis{}
	if err := s.transact(t.Context(), &s.begins.dump, func(c *pg.Session) error { return r.prepared(c, 0) }); err != nil {
		t.Fatal(err)
	}
	found := problems(r, "ROLLBACK PREPARED 'Ann''s'")
	if len(found) != 1 {
		t.Fatalf("problems: %q", r.Problems)
	}
	run(t, conn, `ROLLBACK PREPARED 'Ann''s'`)
}

// Rows that a caller has not read yet are said to be what is in the way.
//
// part of: I2
func TestI2_RowsThatAreOpen(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	const many = `SELECT n FROM generate_series(1, 100000) AS n`
	fits := func(tx store.Tx) error {
		_, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)})
		return err
	}
	t.Run("pgx", func(t *testing.T) {
		tx, err := connected(t, dsn).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query(t.Context(), many)
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		if err := fits(Tx(tx)); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "close them before") {
			t.Errorf("%v", err)
		}
		rows.Close()
		if err := errors.Join(fits(Tx(tx)), tx.Commit(t.Context())); err != nil {
			t.Error(err)
		}
	})
	t.Run("database/sql", func(t *testing.T) {
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db := stdlib.OpenDB(*config)
		defer func() { _ = db.Close() }()
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.QueryContext(t.Context(), many)
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		defer func() { _ = errors.Join(rows.Close(), rows.Err(), tx.Rollback()) }()
		if err := fits(SQLTx(tx)); err == nil || !strings.Contains(err.Error(), "close them before") {
			t.Errorf("%v", err)
		}
	})
}
