package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// What a role has set for itself is not for redrive: Open and calls wait for locks as
// long as their own limits say.
//
// part of: Q10
func TestQ10_LimitsOfTheRole(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lock_timeout", "statement_timeout"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.Schema(t)
			opened(t, dsn, &Options{Schema: schema})
			theirs := setting(setting(dsn, name, "20"), "application_name", schema)
			locker, admin := connected(t, dsn), connected(t, dsn)
			waited := func() bool {
				return numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE application_name = '`+schema+`'
					AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '40 ms'`) > 0
			}
			behindALock := func(what, statement string, call func() error) {
				t.Helper()
				run(t, locker, `BEGIN`, statement)
				answer := make(chan error, 1)
				go func() { answer <- call() }()
				early := false
				eventually(t, what+" to wait for the lock", func() bool {
					select {
					case err := <-answer:
						t.Errorf("%s: %v", what, err)
						early = true
					default:
					}
					return early || waited()
				})
				run(t, locker, `COMMIT`)
				if !early {
					if err := within(t, answer); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			meta := schema + `.redrive_meta`
			var s *Store
			behindALock("Open", `LOCK TABLE `+meta+` IN ACCESS EXCLUSIVE MODE`, func() (err error) {
				s, err = Open(t.Context(), theirs, &Options{Schema: schema, StatementTimeout: time.Minute})
				return err
			})
			if s == nil {
				return
			}
			defer func() { _ = s.Close() }()
			behindALock("ReserveIDs", `SELECT 1 FROM `+meta+` WHERE key = 'next_id' FOR UPDATE`, func() error {
				_, err := s.ReserveIDs(t.Context(), 1)
				return err
			})
			limit := func() error {
				return s.fast(t.Context(), func(f *fastTxn) error {
					return f.send(pg.Step{Q: query("limit", `SELECT current_setting('`+name+`')`), Each: func(r sqlstore.Row) error {
						if got := r.Text(0); got == "20ms" {
							t.Errorf("statements for many jobs have the role's %s, %s", name, got)
						}
						return nil
					}})
				})
			}
			// The role's limit holds for the statement that replaces it. On a busy machine, this
			// statement of a new connection can take longer.
			err := limit()
			for range 9 {
				if !errors.Is(err, store.ErrUnavailable) {
					break
				}
				err = limit()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A schema is made under whatever the role has set.
//
// part of: Q10
func TestQ10_SettingsOfTheRoleThatMigrates(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"default_transaction_read_only": "on", "idle_in_transaction_session_timeout": "1",
		"lock_timeout": "1", "default_transaction_isolation": "serializable", "search_path": "nowhere"} {
		dsn, schema := pgtest.Schema(t)
		s, err := Open(t.Context(), setting(dsn, name, value), &Options{Schema: schema})
		if err != nil {
			t.Errorf("%s = %s: %v", name, value, err)
			continue
		}
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
			t.Errorf("%s = %s: %v", name, value, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// traps are functions and operators that fit statements of redrive's better than the
// server's own do. A role that may make something in a schema of the search_path may make
// such ones.
func traps(t *testing.T, dsn string) {
	t.Helper()
	run(t, connected(t, dsn),
		`CREATE FUNCTION public.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'trapped, as %', current_user; END $$`,
		`CREATE FUNCTION public.trap(numeric, integer) RETURNS numeric LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'trapped, as %', current_user; END $$`,
		`CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.trap)`)
}

// Nobody's functions are called but the server's.
//
// part of: Q10
func TestQ10_FunctionsOfOthers(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		dsn := pgtest.Database(t)
		traps(t, dsn)
		direct := dsn
		if pooled {
			dsn = pgtest.Bouncer(t, dsn)
		}
		s := opened(t, dsn, nil)
		for _, n := range []job.New{plainJob(t, s), newJob(t, s)} {
			if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
				t.Errorf("pooled %t: %v", pooled, err)
			}
		}
		claims := []job.Claim{claimOne(t, s), claimOne(t, s)}
		settles(t, s, kills(&claims[0]), completes(&claims[1]))
		if err := s.foldAll(t.Context()); err != nil {
			t.Errorf("pooled %t: %v", pooled, err)
		}
		if _, err := s.Counts(t.Context()); err != nil {
			t.Errorf("pooled %t: %v", pooled, err)
		}
		if _, err := Diagnose(t.Context(), direct, "", time.Now); err != nil {
			t.Errorf("pooled %t: %v", pooled, err)
		}
	}
}

// In a caller's transaction it is the same, and the caller's search_path is the
// caller's again, whether a call goes well or not.
//
// part of: I2
func TestI2_SearchPathOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			traps(t, dsn)
			s := opened(t, dsn, nil)
			tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
			is := func(want string) {
				t.Helper()
				if err := exec(`DO $$ BEGIN IF current_setting('search_path') <> '` + want + `'
					THEN RAISE '%', current_setting('search_path'); END IF; END $$`); err != nil {
					t.Errorf("the search_path has become: %v", err)
				}
			}
			if err := exec(`SET search_path = public, "$user"`); err != nil {
				t.Fatal(err)
			}
			const path = `public, "$user"`
			if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
				t.Fatal(err)
			}
			is(path)
			none := job.Outcome{ID: 4711, Token: 1, Cause: job.Succeeded, To: job.Completed}
			if err := s.SettleTx(t.Context(), tx, none); !errors.Is(err, store.ErrLeaseLost) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a run that is not: %v", err)
			}
			is(path)
			if err := end(true); err != nil {
				t.Error(err)
			}
		})
	}
}
