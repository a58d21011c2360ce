package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

// part of: X3, Q10
//
// While PostgreSQL is full, restarts or cannot be reached, submits are refused with Retry-After, or their
// outcome is said to be unknown with their ids; /readyz says what is wrong; afterwards the server goes
// on by itself, and no refused job exists.
func TestServe_TheStoreIsInTrouble(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t, pgtest.Disk("160m"), pgtest.Setting("max_wal_size", "32MB"), pgtest.Setting("min_wal_size", "32MB"))
	s := serve(t, t.TempDir(), "--db", db.DSN())
	submit := func() (int, http.Header, string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/jobs", strings.NewReader(`{"kind":"k","payload":"`+strings.Repeat("fill", 50_000)+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		var body strings.Builder
		if err := a.Write(&body); err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header, body.String()
	}
	ready := func(want int, words string) {
		t.Helper()
		becomes(t, "/readyz says: "+words, func() bool {
			status, body := s.request(t.Context(), "GET", "/readyz", "")
			return status == want && strings.Contains(body, words)
		})
	}
	if status, _, body := submit(); status != http.StatusCreated {
		t.Fatalf("got %d %s, want 201", status, body)
	}
	db.FillDisk()
	becomes(t, "a submit to a full store is refused", func() bool {
		status, header, body := submit()
		if status != 201 && (status < 503 || header.Get("Retry-After") == "") {
			t.Errorf("the store is full: got %d %s, want 201 while there is room, otherwise 503, 504 or 507 with Retry-After", status, body)
		}
		return status == 507
	})
	ready(503, "the store is full")
	db.FreeDisk()
	becomes(t, "the store is written again", func() bool { status, _, _ := submit(); return status == 201 })
	ready(200, `"ready"`)
	db.Restart(servers.Fast)
	becomes(t, "the server goes on after a restart of the store", func() bool {
		status, header, body := submit()
		if status != 201 && (status < 503 || header.Get("Retry-After") == "") {
			t.Errorf("during the restart: got %d %s, want 201, or 503 or 504 with Retry-After", status, body)
		}
		return status == 201
	})
	db.Stop(servers.Fast)
	ready(503, "the store does not answer")
	status, header, body := submit()
	if unknown := status == 504 && strings.Contains(body, `"ids":["`); !unknown && status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("the store cannot be reached: got %d %s, want 503, or 504 with ids, with Retry-After", status, body)
	}
	db.Start()
	ready(200, `"ready"`)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
