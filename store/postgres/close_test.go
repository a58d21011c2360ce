package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Close does not wait for a server that does not answer for longer than its grace,
// and those who wait get what is known of their calls.
//
// part of: Q10
func TestQ10_CloseOfAHangingServer(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	plain, keyed := plainJob(t, s), newJob(t, s)
	for _, n := range []job.New{plainJob(t, s), newJob(t, s)} { // so that the lanes are known
		if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
			t.Fatal(err)
		}
	}
	server.Pause()
	calls := map[string]func() error{
		"a job":            func() error { _, err := s.Enqueue(t.Context(), []job.New{plain}); return err },
		"a job with a key": func() error { _, err := s.Enqueue(t.Context(), []job.New{keyed}); return err },
		"a read":           func() error { _, err := s.Dump(t.Context()); return err },
		"a write":          func() error { _, err := s.ReserveIDs(t.Context(), 1); return err },
	}
	answers := make(map[string]chan error)
	for name, call := range calls {
		answer := make(chan error, 1)
		answers[name] = answer
		go func() { answer <- call() }()
	}
	eventually(t, "the calls to be under way", func() bool {
		return inUse(s.pool) >= 2 && inUse(s.fastPool) >= 2
	})
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if err := within(t, closed); err != nil {
		t.Error(err)
	}
	for name, answer := range answers {
		if err := within(t, answer); !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Resume()
}

func inUse(p *pgxpool.Pool) int32 { return p.Stat().AcquiredConns() + p.Stat().ConstructingConns() }
