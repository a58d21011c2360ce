package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// An asynchronous standby that is promoted may lack the last commits of its primary, also those that
// were acknowledged. What it has stays sound: a lost claim is refused as a lost lease, a lost job can
// be enqueued again with its key, and no id is used twice.
//
// part of: Q4, Q10, I1
func TestAnAsynchronousStandbyMayLackTheLastCommits(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t)
	standby, err := primary.Process().Standby(t.Context(), "standby")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Close(); err != nil {
			t.Errorf("stop the standby: %v", err)
		}
	})
	u := standby.URL()
	u.Host = ""
	u.RawQuery = fmt.Sprintf("sslmode=disable&host=127.0.0.1,127.0.0.1&port=%d,%d&target_session_attrs=read-write",
		primary.Process().Port(), standby.Port())
	s := opened(t, u.String(), nil)
	kept := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{kept}); err != nil {
		t.Fatal(err)
	}
	admin := connected(t, primary.DSN())
	eventually(t, "the standby to have all", func() bool {
		return numberOf(t, admin, `SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()`) == 1
	})
	// A paused standby would still have what was sent to it.
	if err := standby.Stop(servers.Fast); err != nil {
		t.Fatal(err)
	}
	claim := claimOne(t, s)
	lost := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{lost}); err != nil {
		t.Fatal(err)
	}
	primary.Kill()
	if err := errors.Join(standby.Start(t.Context()), standby.Promote()); err != nil {
		t.Fatal(err)
	}

	var out store.Exchanged
	eventually(t, "an answer of the promoted standby", func() bool {
		out, err = s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{
			{ID: claim.ID, Token: claim.Token, Cause: job.Succeeded, To: job.Completed}}})
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			t.Fatal(err)
		}
		return err == nil
	})
	if !errors.Is(out.Settled[0], store.ErrLeaseLost) {
		t.Errorf("the outcome of a claim that was lost: %v, want %v", out.Settled[0], store.ErrLeaseLost)
	}
	if d, err := s.Dump(t.Context()); err != nil || len(d.Jobs) != 1 || d.Jobs[0].ID != kept.ID || d.Jobs[0].State != job.Waiting {
		t.Errorf("after the fail-over: %v, %+v, want only job %d, waiting", err, d.Jobs, kept.ID)
	}
	again := newJob(t, s)
	if again.ID <= lost.ID {
		t.Errorf("id %d is given away after id %d", again.ID, lost.ID)
	}
	again.Key = lost.Key
	if r, err := s.Enqueue(t.Context(), []job.New{again}); err != nil || r[0].Existing {
		t.Errorf("the lost job, enqueued again with its key: %+v, %v, want a new job", r, err)
	}
	if claim := claimOne(t, s); claim.ID != kept.ID {
		t.Errorf("job %d is claimed first, want %d", claim.ID, kept.ID)
	}
	report, err := Diagnose(context.WithoutCancel(t.Context()), standby.DSN(), s.Schema(), time.Now)
	// The test servers run without fsync.
	if err != nil || len(report.Problems) > len(problems(report, "fsync is off")) {
		t.Errorf("doctor after the fail-over: %v, %q, want no problems", err, report.Problems)
	}
}
