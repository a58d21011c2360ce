package selfbench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive/job"
	store "github.com/redrive/redrive/store/sqlite"
)

// The benchmark of failing handlers must measure the full cost: each attempt stores a
// complete failure record, each job becomes a dead letter, and all dead letters belong to
// one group.
func TestFailingWorkIsRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := allFailing(100)
	if _, err := process(t.Context(), dir, 10, 200, w); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), filepath.Join(dir, "bench.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Failures) != 100 || w.attempts != 100 || len(d.Dead) != 25 {
		t.Errorf("got %d failure records of %d attempts and %d dead letters, want 100 records and 25 dead letters", len(d.Failures), w.attempts, len(d.Dead))
	}
	texts := map[string]bool{}
	for i := range d.Failures {
		f := &d.Failures[i]
		texts[f.Message] = true
		if n := len(f.Message); n < 150 || n > 220 || f.HTTPStatus != 503 || f.Fingerprint == "" || len(f.Decision) < 100 ||
			f.How != job.ByError || f.Holder == "" || !strings.Contains(f.Message, "unexpected status 503") {
			t.Errorf("got the failure record %+v, want a record with all its fields", f)
		}
	}
	if len(texts) != len(d.Failures) {
		t.Errorf("got %d different messages in %d failure records, want a different message in each record", len(texts), len(d.Failures))
	}
	if len(d.Groups) != 1 || d.Groups[0].N != 25 || d.Groups[0].Pending != 25 {
		t.Errorf("got the groups %+v, want one group of 25 dead letters", d.Groups)
	}
}

func TestEveryFifthAttemptFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := fifthFailing(100)
	if _, err := process(t.Context(), dir, 10, 200, w); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), filepath.Join(dir, "bench.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w.attempts != 100 || w.jobs != 80 || len(d.Failures) != 20 || len(d.Dead) != 0 {
		t.Errorf("got %d failure records of %d attempts of %d jobs and %d dead letters, want 20 records of 100 attempts of 80 jobs and 0 dead letters",
			len(d.Failures), w.attempts, w.jobs, len(d.Dead))
	}
}
