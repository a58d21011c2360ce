package postgres

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Whatever encoding is set for a role, in a DSN or by a program, a text is what it
// is: one key is one key for all processes, and comes back as it was.
//
// part of: I2
func TestI2_OneKeyInWhateverEncoding(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	user := role(t, dsn, schema)
	a := opened(t, dsn, &Options{Schema: schema})
	admin := connected(t, dsn)
	run(t, admin, `ALTER ROLE `+user+` SET client_encoding = 'LATIN1'`, `GRANT USAGE ON SCHEMA `+schema+` TO `+user,
		`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+user)
	program := func(_ context.Context, c *pgx.ConnConfig) error {
		c.RuntimeParams["client_encoding"] = "WIN1252"
		return nil
	}
	for name, b := range map[string]*Store{
		"of the role":      opened(t, with(t, dsn, user, secret, ""), &Options{Schema: schema}),
		"in the DSN":       opened(t, setting(dsn, "client_encoding", "LATIN1"), &Options{Schema: schema}),
		"in capitals":      opened(t, setting(dsn, "Client_Encoding", "LATIN1"), &Options{Schema: schema}),
		"by BeforeConnect": opened(t, dsn, &Options{Schema: schema, BeforeConnect: program}),
	} {
		first := newJob(t, a)
		first.Key = "größe " + name
		if _, err := a.Enqueue(t.Context(), []job.New{first}); err != nil {
			t.Fatal(err)
		}
		again := newJob(t, b)
		again.Key = first.Key
		if r, err := b.Enqueue(t.Context(), []job.New{again}); err != nil || !r[0].Existing {
			t.Errorf("%s: a key that is taken: %+v, %v", name, r, err)
		}
		theirs := newJob(t, b)
		theirs.Owner = "Łódź 日本"
		if _, err := b.Enqueue(t.Context(), []job.New{theirs}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if j, err := a.Get(t.Context(), theirs.ID); err != nil || j.Owner != theirs.Owner {
			t.Errorf("%s: %q comes back as %q, %v", name, theirs.Owner, j.Owner, err)
		}
	}
}

// A caller's own connection is the caller's: where texts would be taken for others,
// its transaction is refused.
//
// part of: I2
func TestI2_TransactionsInAnotherEncoding(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		for _, coding := range []string{"LATIN1", "SQL_ASCII"} {
			tx, _, end := w.begin(t, setting(dsn, "client_encoding", coding), &sql.TxOptions{})
			_, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)})
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), coding) || !strings.Contains(err.Error(), "client_encoding to UTF8") {
				t.Errorf("%s: %v", coding, err)
			}
			_ = end(false)
		}
		tx, _, end := w.begin(t, setting(dsn, "client_encoding", "UNICODE"), &sql.TxOptions{}) // another name of it
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
			t.Error(err)
		}
		if err := end(true); err != nil {
			t.Error(err)
		}
	})
}
