package postgres

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
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
