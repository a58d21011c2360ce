package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
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
	all := claimN(t, s, 1)
	end := held(t, s, dsn, kills(&all[0]))
	late := overdue(t, s, dsn)
	for range 3 {
		added(t, s)
	}
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 10, Kinds: []store.KindWant{{Kind: "mail", Max: 10, MaxCrashes: 2}}}}}
	out, err := s.Exchange(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Claims) != 3 || len(out.Expired) != 0 || out.NextDue > time.Second {
		t.Errorf("%d claims, %d expired, next due in %s; want 3, 0 and soon", len(out.Claims), len(out.Expired), out.NextDue)
	}
	end(true)
	eventually(t, "the job past its deadline to die", func() bool { // a full scan may be expensive, and come later
		if out, err = s.Exchange(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		return len(out.Expired) == 1 && out.Expired[0] == late
	})
}

// Runs whose lease is over are rescued while a transaction is open in which a job
// has died; but for those that would die of it, whose turn comes afterwards.
//
// part of: Q3
func TestQ3_AnOpenDeathStopsNoRescues(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 4)
	admin := connected(t, dsn)
	end := held(t, s, dsn, kills(&all[0]))
	jobs := s.Schema() + ".redrive_jobs"
	run(t, admin, `UPDATE `+jobs+` SET lease_until = 1, crash_max = 3 WHERE id > `+all[0].ID.String(),
		`UPDATE `+jobs+` SET crash_max = 1, begun = token, lease_until = 0 WHERE id = `+all[1].ID.String())
	rescued := func(limit, want int, to job.State) store.Rescue {
		t.Helper()
		out, err := s.Rescue(t.Context(), limit)
		if err != nil || len(out.Jobs) != want {
			t.Fatalf("%d jobs rescued, %v; want %d", len(out.Jobs), err, want)
		}
		for _, j := range out.Jobs {
			if j.To != to {
				t.Errorf("job %d is rescued to %s; want %s", j.ID, j.To, to)
			}
		}
		return out
	}
	rescued(1, 1, job.Waiting)
	if out := rescued(10, 1, job.Waiting); out.NextExpiry <= 0 || out.NextExpiry > time.Second {
		t.Errorf("asked again in %s; want soon", out.NextExpiry)
	}
	end(false)
	rescued(10, 1, job.Dead)
}

// Counters are folded, schedules fire, policies are published, jobs that wait or run
// are cancelled and queues are set while a transaction is open in which a job has
// died.
//
// part of: Q3
func TestQ3_AnOpenDeathStopsNeitherCronNorPeople(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 2)
	waiting := added(t, s)
	end := held(t, s, dsn, kills(&all[0]))
	if fired, err := s.Fire(t.Context(), "nightly", "0 2 * * * UTC", s.clock.Now()-1, []job.New{plainJob(t, s)}); err != nil || !fired.Fired {
		t.Errorf("fire: %v, %v", fired.Fired, err)
	}
	policy := store.StoredPolicy{Hash: "h", Name: "n", Body: []byte("{}")}
	if err := s.PublishPolicy(t.Context(), ann, policy); err != nil {
		t.Errorf("publish: %v", err)
	}
	if own, err := s.Cancel(t.Context(), ann, []job.ID{waiting, all[1].ID}); err != nil || own[0] != nil || own[1] != nil {
		t.Errorf("cancel: %v, %v", own, err)
	}
	if _, err := s.SetQueue(t.Context(), ann, store.QueueChange{Name: "default", Mode: new(store.Paused)}); err != nil {
		t.Errorf("set queue: %v", err)
	}
	look := connected(t, dsn)
	eventually(t, "all of that is folded", func() bool {
		return numberOf(t, look, `SELECT count(*) FROM `+s.Schema()+`.redrive_events
			WHERE seq > (SELECT value FROM `+s.Schema()+`.redrive_meta WHERE key = 'folded')`) == 0
	})
	end(true)
}

// Who asks for dead letters while a transaction holds them gets that answer after a
// moment, and by whom. Many who ask do not use up the connections.
//
// part of: Q3
func TestQ3_PeopleWhoWaitLeaveConnections(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 2)
	if own := settles(t, s, kills(&all[0])); own[0] != nil {
		t.Fatal(own[0])
	}
	end := held(t, s, dsn, kills(&all[1]))
	begun := make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	for range 2 * s.options.MaxConns {
		asking.Go(func() {
			for ctx.Err() == nil {
				_, err := s.Act(ctx, ann, store.Action{Do: store.ActRetry, IDs: []job.ID{all[0].ID}})
				select {
				case begun <- err:
				case <-ctx.Done():
				}
			}
		})
	}
	err := within(t, begun)
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the dead letters are locked by a transaction of") {
		t.Errorf("retry: %v; want an ErrUnavailable that names the holder", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	waiting := func() int { return len(s.people) }
	eventually(t, "all places of people are taken", func() bool { return waiting() == cap(s.people) })
	if used := s.pool.Stat().AcquiredConns(); int(used) == int(s.pool.Config().MaxConns) {
		t.Errorf("people have all %d connections", used)
	}
	if _, err := s.ReserveIDs(soon, 1); err != nil {
		t.Errorf("reserve: %v", err)
	}
	if _, err := s.Signals(soon, "worker"); err != nil {
		t.Errorf("signals: %v", err)
	}
	stop()
	asking.Wait()
	end(false)
	if did, err := s.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: []job.ID{all[0].ID}}); err != nil || did.Errors[0] != nil {
		t.Errorf("afterwards: %v, %v", did.Errors, err)
	}
}

// A job that was brought back is cancelled with its dead letter, for which the
// that lock is needed: also when it came to life while the cancel waited.
//
// part of: Q3, Q4
func TestQ3_ACancelOfARetriedJobResolvesIt(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	all := claimN(t, s, 1)
	other := added(t, s)
	if own := settles(t, s, kills(&all[0])); own[0] != nil {
		t.Fatal(own[0])
	}
	holder := connected(t, dsn)
	run(t, holder, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+other.String()+` FOR UPDATE`)
	done := cancelling(t, s, dsn, all[0].ID, other) // dead as yet
	if did, err := s.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: []job.ID{all[0].ID}}); err != nil || did.Errors[0] != nil {
		t.Fatal(did.Errors, err)
	}
	run(t, holder, `COMMIT`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d, err := s.DeadLetter(t.Context(), all[0].ID)
	if err != nil || d.Status != job.Resolved {
		t.Errorf("the dead letter is %s, %v; want resolved", d.Status, err)
	}
}
