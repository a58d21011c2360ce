package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// sleep makes the clock of a store be behind, as that of a machine is that was
// suspended.
func (c *clock) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server, c.mark, c.jumped = c.server.Add(-d), c.mark.Add(-d), time.Time{}
}

func serverNow(t *testing.T, dsn string) job.Micros {
	t.Helper()
	return job.Micros(numberOf(t, connected(t, dsn), `SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint`))
}

// The first claim after a machine has slept goes by the server's time, not by that
// at which it fell asleep.
//
// part of: Q3
func TestQ3_FirstTransactionAfterASleep(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	for range 2 { // from here on the lanes are known, which are read in a transaction of another kind
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
		claimOne(t, s)
	}
	n := newJob(t, s)
	before := serverNow(t, dsn)
	s.clock.sleep(time.Hour)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	j, err := s.Get(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	if j.CreatedAt < before {
		t.Errorf("enqueued %s before the server's time", before.Sub(j.CreatedAt))
	}
	s.clock.sleep(time.Hour)
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
	}})
	if err != nil || len(x.Claims) != 1 {
		t.Fatalf("%d claims, %v", len(x.Claims), err)
	}
	if at := x.Claims[0].ClaimedAt; at < before {
		t.Errorf("claimed %s before the server's time", before.Sub(at))
	}
	if _, jumped := s.clock.SinceJump(); !jumped {
		t.Error("the sleep is not known, and runs may be rescued at once")
	}
}

// The server's clock was set back by much more than a lease. Processes that were
// there go on from where they were; so do others, and nobody takes the runs of those
// away.
//
// part of: Q3
func TestQ3_ServersClockSetBack(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(t *testing.T, old *Store, dsn string) (young *Store){
		"started later": func(t *testing.T, old *Store, dsn string) *Store {
			if _, err := old.Enqueue(t.Context(), []job.New{newJob(t, old)}); err != nil {
				t.Fatal(err)
			}
			return opened(t, dsn, &Options{Schema: old.Schema()})
		},
		"started later, without an event": func(t *testing.T, old *Store, dsn string) *Store {
			if err := old.foldAll(t.Context()); err != nil { // as it does each second
				t.Fatal(err)
			}
			return opened(t, dsn, &Options{Schema: old.Schema()})
		},
		"there before": func(t *testing.T, old *Store, dsn string) *Store {
			young := opened(t, dsn, &Options{Schema: old.Schema()})
			for _, s := range []*Store{old, young} {
				if err := s.foldAll(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			return young
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, dsn := freshAt(t, nil)
			old.clock.Floor(serverNow(t, dsn).Add(10 * time.Minute))
			young := before(t, old, dsn)
			if _, err := young.Enqueue(t.Context(), []job.New{newJob(t, young)}); err != nil {
				t.Fatal(err)
			}
			claim := claimOne(t, young)
			if out, err := old.Rescue(t.Context(), 10); err != nil || len(out.Jobs) != 0 {
				t.Errorf("rescued %v, %v; the lease of its holder has begun %s ago", out.Jobs, err, old.clock.Now().Sub(claim.ClaimedAt))
			}
		})
	}
}

// A server that has become a replica is recognised by the statements for many
// jobs, too.
//
// part of: Q10
func TestQ10_FailOverOfFastTransactions(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	n := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	claim := claimOne(t, s)
	server.Stop(servers.Fast)
	signal := filepath.Join(server.Process().Dir(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server.Start()
	beat := store.Beat{Lease: time.Minute, Runs: []store.Run{{ID: claim.ID, Token: claim.Token}}}
	if _, err := s.Heartbeat(t.Context(), beat); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a replica: %v", err)
	}
	server.Stop(servers.Fast)
	if err := os.Remove(signal); err != nil {
		t.Fatal(err)
	}
	server.Start()
	if status, err := s.Heartbeat(t.Context(), beat); err != nil || !status[0].Held {
		t.Errorf("a primary again: %v, %v", status, err)
	}
}
