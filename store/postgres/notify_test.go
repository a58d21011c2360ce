package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
)

// hearing collects what a store hears.
type hearing struct {
	mu    sync.Mutex
	heard []claims.Notice
}

func listenTo(t *testing.T, s *Store) *hearing {
	t.Helper()
	h := &hearing{}
	t.Cleanup(s.news.hear(func(n claims.Notice) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard = append(h.heard, n)
	}))
	return h
}

// has reports whether something was heard that fits.
func (h *hearing) has(fits func(claims.Notice) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.heard, fits)
}

func (h *hearing) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = nil
}

// hears waits until a store listens: notices before that do not arrive.
func hears(t *testing.T, from *Store, h *hearing) {
	t.Helper()
	eventually(t, "the listener", func() bool {
		from.news.tell(claims.Notice{Ready: map[claims.Place]job.Micros{{Lane: 99, Priority: 1}: 1}})
		return h.has(func(n claims.Notice) bool { return n.Ready[claims.Place{Lane: 99, Priority: 1}] == 1 })
	})
	h.forget()
}

// part of: Q10
func TestNewsReachOtherProcesses(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	h := listenTo(t, b)
	hears(t, a, h)
	a.news.tell(claims.Notice{Signals: true, Ready: map[claims.Place]job.Micros{{Lane: 7, Priority: 2}: 123, {Lane: 8, Priority: 4}: 456}})
	eventually(t, "the news", func() bool {
		return h.has(func(n claims.Notice) bool {
			return n.Signals && n.Ready[claims.Place{Lane: 7, Priority: 2}] == 123 && n.Ready[claims.Place{Lane: 8, Priority: 4}] == 456
		})
	})
	// A process does not hear itself a second time: its echo would come before what
	// another one tells afterwards.
	own := listenTo(t, a)
	hears(t, b, own)
	echo, marker := claims.Place{Lane: 5, Priority: 1}, claims.Place{Lane: 6, Priority: 1}
	a.news.tell(claims.Notice{Ready: map[claims.Place]job.Micros{echo: 5}})
	eventually(t, "the news of the other", func() bool { return h.has(func(n claims.Notice) bool { return n.Ready[echo] == 5 }) })
	b.news.tell(claims.Notice{Ready: map[claims.Place]job.Micros{marker: 6}})
	eventually(t, "the notices afterwards", func() bool { return own.has(func(n claims.Notice) bool { return n.Ready[marker] == 6 }) })
	times := 0
	own.has(func(n claims.Notice) bool {
		if n.Ready[echo] == 5 {
			times++
		}
		return false
	})
	if times != 1 {
		t.Errorf("heard %d times: %+v", times, own.heard)
	}
}

// What a commit in a caller's transaction makes ready is heard when it commits,
// by its own process, too.
//
// part of: I2
func TestI2_NewsOfCallersTransactions(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		h := listenTo(t, s)
		other := opened(t, dsn, &Options{Schema: s.Schema()})
		hears(t, other, h)
		tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
		h.forget()
		if err := end(true); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the news", func() bool { return h.has(func(n claims.Notice) bool { return !n.Empty() }) })
	})
}

// When the connection that listens is lost, another one is made, and all is
// looked at: notices meanwhile were missed.
//
// part of: Q10
func TestQ10_ListenerComesBack(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	h := listenTo(t, b)
	hears(t, a, h)
	admin := connected(t, dsn)
	for range 3 {
		h.forget()
		// Both the listeners and those who notify.
		run(t, admin, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
			AND application_name = 'redrive' AND (query LIKE '%LISTEN `+a.news.channel+`%' OR query LIKE '%pg_notify(''`+a.news.channel+`%')`)
		eventually(t, "a full look", func() bool { return h.has(func(n claims.Notice) bool { return n.All }) })
		hears(t, a, h)
	}
}

// However much there is to tell at a time, nothing of it is lost.
func TestNewsGoTogether(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	h := listenTo(t, b)
	hears(t, a, h)
	const many = 2_000
	for i := range many {
		a.news.tell(claims.Notice{Ready: map[claims.Place]job.Micros{{Lane: int64(i % 50), Priority: 1}: job.Micros(many - i)}})
	}
	lowest := func() (found int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var all claims.Notice
		for _, n := range h.heard {
			all.Merge(n)
		}
		if all.All {
			return 50
		}
		for lane := range int64(50) {
			if at, ok := all.Ready[claims.Place{Lane: lane, Priority: 1}]; ok && at <= 50 {
				found++
			}
		}
		return found
	}
	eventually(t, "all lanes", func() bool { return lowest() == 50 })
}

// Notifications go out at most so often: each costs a lock that all databases of the
// server share. They may come later on a slow machine, and never sooner.
func TestNotificationsAreApart(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ear := connected(t, dsn)
	run(t, ear, "LISTEN "+s.news.channel)
	const each = 100
	begun := time.Now()
	for i := range int64(each) {
		s.news.tell(claims.Notice{Ready: map[claims.Place]job.Micros{{Lane: i, Priority: 1}: 1}})
		if _, err := ear.WaitForNotification(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if took, least := time.Since(begun), (each-1)*announceEvery; took < least {
		t.Errorf("%d notifications went out in %s, want %s at least", each, took, least)
	}
}

// Behind PgBouncer in transaction mode the store says once that it polls, works,
// and still hears of others.
//
// part of: Q10
func TestQ10_BehindPgBouncer(t *testing.T) {
	t.Parallel()
	server, schema := pgtest.Schema(t)
	dsn := pgtest.Bouncer(t, server)
	var log safeBuffer
	o := &Options{Schema: schema, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s := opened(t, dsn, o)
	if !s.unnamed.Load() {
		t.Error("the pooler is not noticed")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				id, err := s.ReserveIDs(t.Context(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`)}})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Get(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	claimOne(t, s)
	eventually(t, "a word about it", func() bool { return strings.Contains(log.String(), "polling") })
	h := listenTo(t, s)
	direct := opened(t, server, &Options{Schema: schema})
	eventually(t, "what another process does", func() bool {
		if _, err := direct.ReserveIDs(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		return h.has(func(n claims.Notice) bool { return n.All })
	})
	if n := strings.Count(log.String(), "polling"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	if _, err := Migrate(context.WithoutCancel(t.Context()), dsn, schema, schemaVersion); err != nil {
		t.Errorf("migrate: %v", err)
	}
	if err := fmt.Sprint(s.Close(), direct.Close()); err != "<nil> <nil>" {
		t.Error(err)
	}
}

// safeBuffer is a buffer that a logger may write to while it is read.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// News of everything would have every claim read from the beginning, past all that an
// old snapshot keeps from being cleaned.
func TestNewJobsTellWhereTheyAre(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ear := connected(t, dsn)
	run(t, ear, "LISTEN "+s.news.channel)
	several := func() []job.New { return []job.New{newJob(t, s), newJob(t, s)} } // each with a key
	for name, enqueue := range map[string]func() error{
		"alone":   func() error { _, err := s.Enqueue(t.Context(), several()[:1]); return err },
		"several": func() error { _, err := s.Enqueue(t.Context(), several()); return err },
		"in the caller's transaction": func() error {
			return pgx.BeginFunc(t.Context(), connected(t, dsn), func(tx pgx.Tx) error {
				_, err := s.EnqueueTx(t.Context(), Tx(tx), several())
				return err
			})
		},
	} {
		if err := enqueue(); err != nil {
			t.Fatal(err)
		}
		n, err := ear.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := claims.ParseNotice(n.Payload); err != nil || got.All || len(got.Ready) != 1 {
			t.Errorf("%s: %q, %v; want the one place", name, n.Payload, err)
		}
	}
}
