package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A process that starts after a long time without events does not rescue runs at once, so that
// suspended workers have time to extend their leases. A process that replaces a killed process
// rescues runs at once.
//
// part of: Q3
func TestQ3_RescueAfterTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ away, wait time.Duration }{
		"killed just now":            {30 * time.Second, 0},
		"nothing happened for hours": {3 * time.Hour, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
			path := filepath.Join(t.TempDir(), "jobs.db")
			again := func() *Store {
				s, err := Open(t.Context(), path, &Options{Clock: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := again()
			id, err := s.ReserveIDs(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "k", Queue: "q", Priority: 2}}); err != nil {
				t.Fatal(err)
			}
			x, err := s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: 10 * time.Second, Want: []store.Want{
				{Queue: "q", Max: 1, Kinds: []store.KindWant{{Kind: "k", Max: 1, MaxCrashes: 2}}},
			}})
			if err != nil || len(x.Claims) != 1 {
				t.Fatalf("claim of one job: got %d claims, error %v; want 1 claim", len(x.Claims), err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			now = now.Add(c.away)
			s = again()
			defer func() { _ = s.Close() }()
			rescue := func() store.Rescue {
				out, err := s.Rescue(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			if c.wait > 0 {
				if out := rescue(); len(out.Jobs) != 0 || out.NextExpiry != c.wait {
					t.Errorf("right after the start: got rescued jobs %v and NextExpiry %s; want none and %s", out.Jobs, out.NextExpiry, c.wait)
				}
				now = now.Add(c.wait)
			}
			if out := rescue(); len(out.Jobs) != 1 {
				t.Errorf("%s after the start: got rescued jobs %v, want job %d", c.wait, out.Jobs, id)
			}
		})
	}
}
