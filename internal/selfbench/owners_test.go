package selfbench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/pgtest"
)

// The cost of owners is measured on both stores, beside jobs without an owner, with a target.
func TestFigureOfOwnersIsMeasuredOnBothStores(t *testing.T) {
	t.Parallel()
	load := Load{Jobs: 200, Workers: 10, Producers: 10, Payload: 20, Rounds: 1}
	var out, log bytes.Buffer
	err := Figures(t.Context(), load, 0, Seeded{Over: 1, DSN: pgtest.Database(t)}, []string{"owners"}, &out, &log)
	if err != nil && !errors.Is(err, ErrMissed) {
		t.Fatal(err)
	}
	for _, store := range []string{"SQLite", "PostgreSQL"} {
		targets, ratios := 0, 0
		for line := range strings.Lines(out.String()) {
			var f Figure
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f.Figure, " on "+store) || f.Measured <= 0 {
				continue
			}
			if f.Target == ">= 0.8 x without owners" && f.Pass == (f.Measured >= ownersLeast) {
				targets++
			} else if strings.Contains(f.Figure, "correlation id") {
				ratios++
			}
		}
		if targets != 1 || ratios != 2 {
			t.Errorf("on %s got %d figures with a target and %d with correlation ids, want 1 and 2:\n%s", store, targets, ratios, &out)
		}
	}
	if got := strings.Count(log.String(), "of 20000 owners"); got != 2 {
		t.Errorf("jobs with owners were measured %d times, want once on each store:\n%s", got, &log)
	}
}

// The measured jobs differ in owner and correlation id, so the index of owners gets many entries.
func TestMeasuredJobsHaveManyOwnersAndTheirOwnCorrelationIDs(t *testing.T) {
	t.Parallel()
	owners, ids := map[string]bool{}, map[string]bool{}
	for i := range 2 * ownersNum {
		o := withBoth(i)
		owners[o.Owner], ids[o.Correlation] = true, true
	}
	if len(owners) != ownersNum || len(ids) != 2*ownersNum {
		t.Errorf("%d jobs have %d owners and %d correlation ids, want %d and %d", 2*ownersNum, len(owners), len(ids), ownersNum, 2*ownersNum)
	}
}

// Commits of another connection are counted, and nothing else.
func TestWritesOfAFileAreItsCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place := &soakFile{path: filepath.Join(dir, "jobs.db")}
	s, err := place.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client, err := (&bencher{log: io.Discard, load: LoadDefault}).newClient(s, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{0, 1} {
		end, err := place.writes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range jobs {
			if _, err := client.Enqueue(t.Context(), redrive.NewRaw("noop", []byte("1"), nil)); err != nil {
				t.Fatal(err)
			}
		}
		n, err := end(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (n > 0) != (jobs > 0) {
			t.Errorf("%d commits were counted while %d jobs were enqueued", n, jobs)
		}
	}
}
