package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// claimsOne is an exchange that wants one job.
func claimsOne() store.Exchange {
	return store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{{Queue: "default", Max: 1,
		Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 3}}}}}
}

// A claim that is lost around its commit is given back by the store itself, whether
// or not more is asked for, and counts as no crash.
//
// part of: Q3
func TestQ3_LostClaimIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, point := range []pgproxy.Point{pgproxy.BeforeMessage, pgproxy.AfterMessage, pgproxy.BeforeReply, pgproxy.InReply} {
		t.Run(fmt.Sprint(point), func(t *testing.T) {
			t.Parallel()
			s, p := proxied(t)
			jobs := make([]job.New, 200)
			for i := range jobs {
				jobs[i] = plainJob(t, s)
			}
			if _, err := s.Enqueue(t.Context(), jobs); err != nil {
				t.Fatal(err)
			}
			running := 0
			err := cutAt(t, p, point, pgproxy.Commit, func() error {
				x, err := s.Exchange(t.Context(), claimsOne())
				running += len(x.Claims)
				if errors.Is(err, store.ErrUnavailable) { // a read was cut
					return nil
				}
				return err
			})
			if !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("%v", err)
			}
			eventually(t, "the job to be waiting", func() bool {
				n := 0
				for i := range jobs {
					j, err := s.Get(t.Context(), jobs[i].ID)
					if err != nil || j.Counters.Crashes != 0 {
						t.Fatalf("%+v, %v", j, err)
					}
					if j.State == job.Running {
						n++
					}
				}
				return n == running && len(s.hot.unconfirmed.List()) == 0
			})
		})
	}
}

// doubted makes a claim of a store one that may or may not have happened.
func doubted(t *testing.T, s *Store, c *job.Claim, holder string) {
	t.Helper()
	run := s.hot.runs.Recall(&job.Outcome{ID: c.ID, Token: c.Token})
	if run == nil {
		t.Fatal("the run is not remembered")
	}
	s.hot.unconfirmed.Add([]*sqlstore.Run{run}, holder, c.ClaimedAt, 0) // the store itself asks about them meanwhile
}

// What others have claimed after the claim in doubt was rolled back has the same
// token, and stays theirs.
//
// part of: Q3
func TestQ3_WhatOthersHaveClaimedStaysTheirs(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	c := claimN(t, s, 1)[0]
	doubted(t, s, &c, "somebody else")
	if err := s.resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if answers := settles(t, s, completes(&c)); answers[0] != nil {
		t.Errorf("%v", answers[0])
	}
}

// While a claim is not over, nothing else is claimed. What it has when it is over is
// given back.
//
// part of: Q3
func TestQ3_NothingIsClaimedWhileAClaimIsInDoubt(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(fmt.Sprint(commits), func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, impatient())
			c := claimN(t, s, 1)[0]
			other := plainJob(t, s)
			if _, err := s.Enqueue(t.Context(), []job.New{other}); err != nil {
				t.Fatal(err)
			}
			admin := connected(t, dsn)
			// As if the claim were still under way: the others see the row as it was.
			row := s.Schema() + `.redrive_jobs`
			run(t, admin, `CREATE TABLE `+s.Schema()+`.kept AS SELECT holder, claimed_at, lease_until FROM `+row+` WHERE id = `+c.ID.String(),
				`UPDATE `+row+` SET state = 1, token = token - 1, lease_until = NULL WHERE id = `+c.ID.String())
			tx, err := admin.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(t.Context(), `UPDATE `+row+` SET state = 3, token = token + 1, (holder, claimed_at, lease_until) =
				(SELECT holder, claimed_at, lease_until FROM `+s.Schema()+`.kept) WHERE id = `+c.ID.String())
			if err != nil {
				t.Fatal(err)
			}
			doubted(t, s, &c, "worker")
			if x, err := s.Exchange(t.Context(), claimsOne()); !errors.Is(err, store.ErrUnavailable) || len(x.Claims) > 0 {
				t.Errorf("while it is under way: %+v, %v", x, err)
			}
			if commits {
				err = tx.Commit(t.Context())
			} else {
				err = tx.Rollback(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[job.ID]job.Token)
			eventually(t, "both jobs to be claimed", func() bool {
				x, err := s.Exchange(t.Context(), claimsOne())
				if err != nil && !errors.Is(err, store.ErrUnavailable) {
					t.Fatal(err)
				}
				for _, c := range x.Claims {
					got[c.ID] = c.Token
				}
				return len(got) == 2
			})
			want := c.Token
			if commits {
				want++
			}
			if got[c.ID] != want || got[other.ID] != 1 {
				t.Errorf("claimed %v, want job %d with token %d", got, c.ID, want)
			}
		})
	}
}

// Close gives back what is in doubt.
//
// part of: Q3
func TestQ3_CloseGivesBackWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	c := claimN(t, s, 1)[0]
	doubted(t, s, &c, "worker")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := numberOf(t, connected(t, dsn), `SELECT count(*) FROM `+s.Schema()+`.redrive_jobs WHERE state = 1 AND crashes = 0`); n != 1 {
		t.Errorf("%d jobs are waiting, want 1", n)
	}
}

// ghost makes commits wait for a standby that is not there, until end is called. The
// setting is in force when the server's checkpointer has read it, which no view shows,
// so a commit is tried until one waits.
func ghost(t *testing.T, admin *pgx.Conn) (end func()) {
	t.Helper()
	writer := connected(t, admin.Config().ConnString())
	run(t, admin, `ALTER SYSTEM SET synchronous_standby_names = 'ghost'`, `SELECT pg_reload_conf()`)
	eventually(t, "a commit to wait for the standby", func() bool {
		committed := make(chan error, 1)
		go func() {
			_, err := writer.Exec(t.Context(), `SELECT pg_logical_emit_message(true, '', '')`)
			committed <- err
		}()
		pid := writer.PgConn().PID()
		waits := false
		eventually(t, "the commit to end or to wait", func() bool {
			if waits = numberOf(t, admin, fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event = 'SyncRep'`, pid)) > 0; waits {
				run(t, admin, fmt.Sprintf(`SELECT pg_cancel_backend(%d)`, pid))
			}
			return waits || len(committed) > 0
		})
		if err := <-committed; err != nil {
			t.Fatal(err)
		}
		return waits
	})
	return func() { run(t, admin, `ALTER SYSTEM SET synchronous_standby_names = ''`, `SELECT pg_reload_conf()`) }
}

// unanswered makes a call that is given up while its commit waits, however long it
// takes to get there, and returns its error.
func unanswered(t *testing.T, do func(context.Context) error) error {
	for wait := 300 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := do(ctx)
		cancel()
		if errors.Is(err, store.ErrUnknown) || !errors.Is(err, store.ErrUnavailable) || wait > testLimit {
			return err
		}
	}
}

// While the synchronous standby is away, a claim is cut and commits all the same. It
// is one claim at most, and no job suffers a crash.
//
// part of: Q3
func TestQ3_ClaimsWhileTheStandbyIsAway(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), &Options{StatementTimeout: 4 * testLimit})
	admin := connected(t, server.DSN())
	jobs := []job.New{plainJob(t, s), plainJob(t, s)}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	present := ghost(t, admin)
	if err := unanswered(t, func(ctx context.Context) error {
		_, err := s.Exchange(ctx, claimsOne())
		return err
	}); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("the first claim: %v", err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	another := make(chan error, 1)
	go func() {
		_, err := s.Exchange(ctx, claimsOne())
		another <- err
	}()
	eventually(t, "what the first has taken to be on its way back", func() bool {
		return numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`) > 0
	})
	giveUp()
	// It may have waited for the give-back of the store itself, or made one of its own.
	if err := within(t, another); err == nil || !strings.Contains(err.Error(), "what an earlier claim has taken") {
		t.Errorf("another claim: %v, want that it has waited for the first", err)
	}
	present()
	claimed := make(map[job.ID]bool)
	eventually(t, "both jobs to be claimed", func() bool {
		x, err := s.Exchange(t.Context(), claimsOne())
		if err != nil {
			return false
		}
		for _, c := range x.Claims {
			claimed[c.ID] = true
		}
		return len(claimed) == 2
	})
	for _, n := range jobs {
		if j, err := s.Get(t.Context(), n.ID); err != nil || j.Counters.Crashes != 0 || j.Token > 2 {
			t.Errorf("%+v, %v", j, err)
		}
	}
}

// What is there but on no standby is not acknowledged by being found.
//
// part of: Q10
func TestQ10_WhatIsOnNoStandbyIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	admin := connected(t, server.DSN())
	c := claimN(t, s, 1)[0]
	plain, keyed := plainJob(t, s), plainJob(t, s)
	keyed.Key, keyed.Digest = "k", []byte("d")
	second := plainJob(t, s)
	second.Key, second.Digest = keyed.Key, keyed.Digest
	plain.Repeat, keyed.Repeat = true, true // they are written by themselves, and given up with their contexts
	present := ghost(t, admin)
	var ask sync.WaitGroup
	for what, do := range map[string]func(context.Context) error{
		"enqueue":          func(ctx context.Context) error { _, err := s.Enqueue(ctx, []job.New{plain}); return err },
		"enqueue by a key": func(ctx context.Context) error { _, err := s.Enqueue(ctx, []job.New{keyed}); return err },
		"outcome": func(ctx context.Context) error {
			_, err := s.Exchange(ctx, store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{completes(&c)}})
			return err
		},
	} {
		ask.Go(func() {
			if err := unanswered(t, do); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("%s: %v, and no standby has it", what, err)
			}
		})
	}
	ask.Wait()
	eventually(t, "what was cut to be seen", func() bool {
		return numberOf(t, admin, `SELECT count(*) FROM redrive.redrive_jobs`) == 2 && numberOf(t, admin, `SELECT count(*) FROM redrive.redrive_done`) == 1
	})
	again := map[string]func(context.Context) error{
		"enqueue":          func(ctx context.Context) error { _, err := s.Enqueue(ctx, []job.New{plain}); return err },
		"enqueue by a key": func(ctx context.Context) error { _, err := s.Enqueue(ctx, []job.New{second}); return err },
		"outcome": func(ctx context.Context) error {
			x, err := s.Exchange(ctx, store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{completes(&c)}})
			if err == nil {
				err = x.Settled[0]
			}
			return err
		},
	}
	for what, do := range again {
		ask.Go(func() {
			if err := unanswered(t, do); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("%s, asked again: %v, and no standby has it", what, err)
			}
		})
	}
	ask.Wait()
	present()
	for what, do := range again {
		if err := do(t.Context()); err != nil {
			t.Errorf("%s, when the standby is back: %v", what, err)
		}
	}
}

// A claim whose server process has ended is over: what it has not claimed may be held by
// whomever, and stops no claims.
//
// part of: Q3
func TestQ3_AHeldJobOfAClaimThatIsOverStopsNoClaims(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	c := claimN(t, s, 1)[0]
	other := plainJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{other}); err != nil {
		t.Fatal(err)
	}
	ended, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	pid := ended.PgConn().PID()
	if err := ended.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := connected(t, dsn)
	eventually(t, "the server's process to end", func() bool {
		return numberOf(t, admin, fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE pid = %d`, pid)) == 0
	})
	run(t, admin, `UPDATE `+s.Schema()+`.redrive_jobs SET state = 1, token = token - 1, holder = NULL, claimed_at = NULL,
			lease_until = NULL WHERE id = `+c.ID.String(),
		`BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+c.ID.String()+` FOR UPDATE`)
	taken := s.hot.runs.Recall(&job.Outcome{ID: c.ID, Token: c.Token})
	s.hot.unconfirmed.Add([]*sqlstore.Run{taken}, "worker", c.ClaimedAt, pid)
	if got := claimOne(t, s); got.ID != other.ID {
		t.Errorf("job %d is claimed, want %d", got.ID, other.ID)
	}
	run(t, admin, `ROLLBACK`)
}

// Without a standby no run loses its lease, and no process is silent: heartbeats and signs of life
// wait for the disk alone.
//
// part of: Q3
func TestQ3_HeartbeatsWaitForNoStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	admin := connected(t, server.DSN())
	c := claimN(t, s, 1)[0]
	defer ghost(t, admin)()
	status, err := s.Heartbeat(t.Context(), store.Beat{Lease: time.Hour, Runs: []store.Run{{ID: c.ID, Token: c.Token}}})
	if err != nil || !status[0].Held {
		t.Fatalf("%+v, %v", status, err)
	}
	for range 2 { // the first call registers the process
		if _, err := s.Present(t.Context(), store.Process{Name: "p", Instance: "1"}); err != nil {
			t.Fatalf("a sign of life: got error %v, want none", err)
		}
	}
	until := numberOf(t, admin, `SELECT lease_until FROM redrive.redrive_jobs`)
	if left := job.Micros(until).Sub(s.clock.Now()); left < 30*time.Minute {
		t.Errorf("the lease ends in %s", left)
	}
}
