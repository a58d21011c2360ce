package postgres

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
)

// cure returns the statement of a section of the page for those who run the server.
func cure(t *testing.T, section string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	_, text, _ = strings.Cut(text, "```sql\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatalf("docs/postgres.md has no statement under %q", section)
	}
	return text
}

// A server's clock that was years ahead for a moment stays redrive's time: the doctor
// says so, and what the page says then puts it right.
//
// part of: Q2
func TestQ2_AClockThatWasYearsAhead(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	s := opened(t, dsn, &Options{ReadLimit: time.Minute})
	before := plainJob(t, s)
	before.RunAt = s.clock.Now().Add(time.Hour)
	if _, err := s.Enqueue(t.Context(), []job.New{before}); err != nil {
		t.Fatal(err)
	}
	const years = 5 * 365 * 24 * time.Hour
	s.clock.Floor(s.clock.Now().Add(years)) // as one transaction under the wrong time does
	ran, delayed := plainJob(t, s), plainJob(t, s)
	delayed.RunAt = s.clock.Now().Add(time.Hour)
	if _, err := s.Enqueue(t.Context(), []job.New{ran, delayed}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before, too, is due now
		claimOne(t, s)
	}
	if err := s.foldAll(t.Context()); err != nil { // and so writes down how far ahead it is
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const found = "ahead of the server's clock, which must have been wrong"
	d, err := Diagnose(t.Context(), dsn, "", time.Now)
	if err != nil || len(problems(d, found)) != 1 || d.StoredAhead < years-time.Hour {
		t.Fatalf("%s ahead, problems %q, %v", d.StoredAhead, d.Problems, err)
	}
	run(t, connected(t, dsn), cure(t, "A clock that was ahead"))
	if d, err = Diagnose(t.Context(), dsn, "", time.Now); err != nil || len(problems(d, found)) != 0 || d.StoredAhead != 0 {
		t.Errorf("after the cure: %s ahead, problems %q, %v", d.StoredAhead, d.Problems, err)
	}
	s = opened(t, dsn, &Options{ReadLimit: time.Minute})
	now := s.clock.Now()
	if off := now.Sub(job.At(time.Now())); off > time.Minute || off < -time.Minute {
		t.Errorf("a new process is %s off", off)
	}
	if j, err := s.Get(t.Context(), delayed.ID); err != nil || j.RunAt.Sub(now) > time.Hour || j.RunAt.Sub(now) < 50*time.Minute {
		t.Errorf("a job with a delay of an hour is due in %s, %v", j.RunAt.Sub(now), err)
	}
	if n := numberOf(t, connected(t, dsn), `SELECT count(*) FROM redrive.redrive_jobs WHERE state = 3
		AND lease_until <= extract(epoch FROM now()) * 1000000`); n != 2 {
		t.Errorf("the leases of %d runs are over, want 2", n)
	}
}
