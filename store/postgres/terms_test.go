package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The terms of a job that is enqueued in an open transaction are stored outside of it.
// So other processes do not wait for that transaction when they use the same terms.
//
// part of: I2, Q1
func TestTermsDoNotWaitForACallersTransaction(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		other := opened(t, dsn, &Options{Schema: s.Schema()})
		terms := job.Terms{ExpiredClass: "TooLate"}
		enqueued := func(s *Store) job.New {
			n := newJob(t, s)
			n.Terms = terms.Encode()
			return n
		}
		tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{enqueued(s)}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := other.Enqueue(ctx, []job.New{enqueued(other)}); err != nil {
			t.Errorf("an enqueue with the same terms while the transaction is open: %v", err)
		}
		if err := end(true); err != nil {
			t.Fatal(err)
		}
		d, err := s.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Terms) != 2 || d.Terms[0].Terms != terms.Encode() || d.Terms[1].Terms != terms.Encode() {
			t.Errorf("terms are %+v of %d jobs, want those of 2", d.Terms, len(d.Jobs))
		}
	})
}

// A server that lost the last commits, such as a standby after a fail-over, has neither the row of
// new terms nor the version that storing them has raised. A process that still knows the number of the
// terms stores them again, and the jobs have their terms also when another process has used the
// number for other terms. This holds for enqueues, enqueues in a caller's transaction, and claims.
//
// proves: I2
func TestI2_TermsThatAServerHasLostAreStoredAgain(t *testing.T) {
	t.Parallel()
	terms, others := job.Terms{ExpiredClass: "TooLate"}, job.Terms{ExpiredClass: "Other"}
	for _, reused := range []bool{false, true} {
		for _, way := range []string{"enqueue", "enqueue in a transaction", "claim"} {
			t.Run(fmt.Sprintf("%s, number used again %t", way, reused), func(t *testing.T) {
				t.Parallel()
				s, dsn := freshAt(t, nil)
				db, err := sql.Open("pgx", dsn)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				lost := func(text string, args ...any) {
					t.Helper()
					if _, err := db.ExecContext(t.Context(), strings.ReplaceAll(text, "redrive_", s.Schema()+".redrive_"), args...); err != nil {
						t.Fatal(err)
					}
				}
				n := newJob(t, s)
				if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
					t.Fatal(err)
				}
				known := newJob(t, s)
				known.Terms = terms.Encode()
				var before int64
				if err := db.QueryRowContext(t.Context(), `SELECT value FROM `+s.Schema()+`.redrive_meta WHERE key = 'settings'`).Scan(&before); err != nil {
					t.Fatal(err)
				}
				if err := s.storeTerms(t.Context(), []job.New{known}); err != nil {
					t.Fatal(err)
				}
				lost(`UPDATE redrive_meta SET value = $1 WHERE key = 'settings'`, before)
				if reused {
					lost(`UPDATE redrive_meta SET value = value + 1 WHERE key = 'settings'`) // by the process that stored the other terms
					lost(`UPDATE redrive_terms SET body = $1, digest = sha256($1)`, []byte(others.Encode()))
				} else {
					lost(`DELETE FROM redrive_terms`)
				}
				id := known.ID
				switch way {
				case "enqueue":
					_, err = s.Enqueue(t.Context(), []job.New{known})
				case "enqueue in a transaction":
					tx, begun := db.BeginTx(t.Context(), nil)
					if begun != nil {
						t.Fatal(begun)
					}
					if _, err = s.EnqueueTx(t.Context(), SQLTx(tx), []job.New{known}); err == nil {
						err = tx.Commit()
					}
				case "claim":
					id = n.ID
					_, err = s.Exchange(t.Context(), store.Exchange{Holder: "h", Lease: time.Minute, Want: []store.Want{{Queue: n.Queue, Max: 1,
						Kinds: []store.KindWant{{Kind: n.Kind, Max: 1, MaxCrashes: 3, Terms: terms.Encode()}}}}})
				}
				if err != nil {
					t.Fatal(err)
				}
				d, err := s.Dump(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(d.Terms, func(jt store.JobTerms) bool { return jt.Job == id })
				if i < 0 || d.Terms[i].Terms != terms.Encode() {
					t.Errorf("the stored terms by job are %+v, want those of job %s to be %s", d.Terms, id, terms.Encode())
				}
			})
		}
	}
}
