package postgres

import (
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// overdue enqueues a job whose deadline is over.
func overdue(t *testing.T, s *Store, dsn string) job.ID {
	t.Helper()
	id := added(t, s)
	run(t, connected(t, dsn), `UPDATE `+s.Schema()+`.redrive_jobs SET deadline = 1 WHERE id = `+id.String())
	return id
}

// A claim that meets a job past its deadline does not wait for a transaction in
// which a job has died: it leaves the one and takes the others. The job dies when
// the transaction is over.
//
// part of: Q3
func TestQ3_AnOpenDeathStopsNoClaims(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claims(t, s, 1)
	end := held(t, s, dsn, kills(&all[0]))
	late := overdue(t, s, dsn)
	for range 3 {
		added(t, s)
	}
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 10, Kinds: []store.KindWant{{Kind: "mail", Max: 10, CrashMax: 2}}}}}
	out, err := s.Exchange(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Claims) != 3 || len(out.Expired) != 0 || out.NextDue > time.Second {
		t.Errorf("%d claims, %d expired, next due in %s; want 3, 0 and soon", len(out.Claims), len(out.Expired), out.NextDue)
	}
	end(true)
	if out, err = s.Exchange(t.Context(), x); err != nil || len(out.Expired) != 1 || out.Expired[0] != late {
		t.Errorf("afterwards: expired %v, %v; want job %d", out.Expired, err, late)
	}
}
