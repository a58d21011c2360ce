package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/bench/agent"
)

// shown returns a page of three rounds with five systems: redrive, a slower one, a faster one, one
// whose runs failed, and one that could not be measured.
func shown(t *testing.T) string {
	t.Helper()
	o, err := parseOptions([]string{"-only", "both,river-sqlite,backlite,asynq"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	add := func(name, setting string, rates ...float64) {
		for i, rate := range rates {
			results = append(results, result{
				System: name, Setting: setting, Workload: "both", Round: i + 1, Jobs: 1000, PerSecond: rate,
				Rows: agent.Counts{Finished: 1000},
			})
		}
	}
	add("redrive-sqlite", "defaults", 9000, 40000, 10000)
	add("river-sqlite", "best", 1000, 3000, 2000)
	add("asynq", "everysec", 20000)
	results = append(results, result{System: "backlite", Setting: "best", Workload: "both", Error: "3 of 1000 jobs ran"})
	return page{options: o, results: results, missing: map[string]string{"asynq always": "Redis: not installed"}}.text()
}

func TestPageShowsMediansRatiosAndLosses(t *testing.T) {
	t.Parallel()
	text := shown(t)
	for _, want := range []string{
		"| redrive on SQLite (defaults) | **10,000** (9,000–40,000) |  |",
		"| River on SQLite (best) | **2,000** (1,000–3,000) | 5.00 |",
		"| asynq on Redis (everysec) | **20,000** (20,000–20,000) | **0.50** |",
		"- Enqueue and process at once: redrive on SQLite (defaults) is 0.50 × asynq on Redis (everysec).",
		"| backlite on SQLite (best) | no figure: 3 of 1000 jobs ran |",
		"- Not measured: asynq on Redis (always): Redis: not installed",
		"1,000 finished of 1,000",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q, want it there", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestALedgerThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, []byte("1 a\n2 b\n3 tor"), 0o600); err != nil {
		t.Fatal(err)
	}
	numbers, ids, err := readAcked(path)
	if err != nil || !slices.Equal(numbers, []int{1, 2}) || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("got the numbers %v, the ids %v and the error %v; want the numbers and the ids of the complete lines and no error", numbers, ids, err)
	}
	if _, _, err := readAcked(t.TempDir()); err == nil { // a directory can be opened, but has no lines
		t.Error("readAcked of an unreadable ledger returned no error, want an error")
	}
}

func TestKillCountsWhatBecameOfAcknowledgedJobs(t *testing.T) {
	t.Parallel()
	ran := []bool{true, true, false, false, true, true}
	got := compare([]int{0, 1, 2, 3, 4}, "fu-u-", ran)
	want := killed{Acked: 5, Lost: 1, Ran: 4, Finished: 1, Pending: 2, Again: 1}
	if *got != want {
		t.Errorf("got the counts %+v after the kill, want %+v", *got, want)
	}
}
