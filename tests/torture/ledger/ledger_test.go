package ledger_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/plan"
)

// write makes a ledger with the given lines.
func write(t *testing.T, path string, lines ...ledger.Line) {
	t.Helper()
	book, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Note(lines...); err != nil {
		t.Fatal(err)
	}
}

func submit(name string) ledger.Line {
	return ledger.Line{Op: ledger.Submit, Name: name, Plan: plan.Quick, Digest: "d"}
}

// member and taken are lines about a member of the batch "b" with the key "k".
func member(name string) ledger.Line {
	l := submit(name)
	l.Batch, l.Key = "b", "k"
	return l
}

func taken(name string, id job.ID) ledger.Line {
	return ledger.Line{Op: ledger.Taken, Name: name, ID: id, Batch: "b", Key: "k"}
}

func TestReadAllPutsLedgersTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1"),
		submit("taken"), ledger.Line{Op: ledger.Taken, Name: "taken", ID: 7, Existing: true},
		submit("refused"), ledger.Line{Op: ledger.Refused, Name: "refused"},
		submit("unknown"), submit("again"), submit("refused later"),
		member("first"), taken("first", 20), ledger.Line{Op: ledger.Discard, Name: "first"}, ledger.Line{Op: ledger.Discarded, Name: "first"},
		member("second"), taken("second", 21), ledger.Line{Op: ledger.Discard, Name: "second"},
		ledger.Line{Op: ledger.Settle, ID: 7, Token: 1, Cause: uint8(job.Succeeded), To: job.Completed},
	)
	write(t, filepath.Join(dir, "2"),
		submit("again"), ledger.Line{Op: ledger.Taken, Name: "again", ID: 8},
		submit("refused later"), ledger.Line{Op: ledger.Refused, Name: "refused later"},
		ledger.Line{Op: ledger.Begin, At: 5, ID: 7, Life: 1, Token: 1, Holder: "w", Digest: "d"},
		ledger.Line{Op: ledger.Finish, At: 9, ID: 7, Token: 1, Result: "r"},
		ledger.Line{Op: ledger.Settle, ID: 7, Token: 1, Cause: uint8(job.Succeeded), To: job.Completed},
		ledger.Line{Op: ledger.Settled, ID: 7, Token: 1, Cause: uint8(job.Succeeded), To: job.Completed},
		ledger.Line{Op: ledger.Settle, ID: 8, Token: 3, Cause: uint8(job.Failed), To: job.Dead},
		ledger.Line{Op: ledger.Late, ID: 8, Token: 3, Cause: uint8(job.Failed), To: job.Dead},
		ledger.Line{Op: ledger.Stalled, Holder: "w", From: 11, At: 12},
		member("second"), taken("second", 22),
	)
	notes, err := ledger.ReadAll(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(name string, answer check.Answer, id job.ID, existing, again bool) check.Enqueue {
		return check.Enqueue{Name: name, Kind: plan.Work, Digest: "d", Answer: answer, ID: id, Existing: existing, Again: again}
	}
	discarded := func(name string, id job.ID, discard check.Discard) check.Enqueue {
		e := enqueue(name, check.Written, id, false, false)
		e.Discard = discard
		return e
	}
	want := ledger.Notes{
		Enqueues: []check.Enqueue{
			enqueue("taken", check.Written, 7, true, false),
			enqueue("refused", check.Refused, 0, false, false),
			enqueue("unknown", check.Unknown, 0, false, false),
			enqueue("again", check.Written, 8, false, true),
			enqueue("refused later", check.Unknown, 0, false, true),
			discarded("first", 20, check.Discarded), discarded("second", 22, check.Kept),
		},
		Returned: 2,
		Runs:     []check.Run{{Job: 7, Life: 1, Token: 1, Holder: "w", Start: 5, End: 9, Digest: "d", Result: "r"}},
		Writes: []check.Write{
			{Run: store.Run{ID: 7, Token: 1}, Cause: job.Succeeded, To: job.Completed, Answer: check.Written, Again: true},
			{Run: store.Run{ID: 8, Token: 3}, Cause: job.Failed, To: job.Dead, Answer: check.Refused},
		},
		Stalls: []ledger.Stall{{Holder: "w", From: 11, To: 12}},
		Plans: map[string]plan.Plan{"taken": plan.Quick, "refused": plan.Quick, "unknown": plan.Quick, "again": plan.Quick,
			"refused later": plan.Quick, "first": plan.Quick, "second": plan.Quick},
	}
	if diff := cmp.Diff(want, *notes); diff != "" {
		t.Errorf("the merged ledgers differ (-want +got):\n%s", diff)
	}
}

func TestALineThatWasCutShortIsLeftOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "1")
	write(t, path, submit("a"), submit("b"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lines, err := ledger.Read(path)
		if want := 2 * cut / len(whole); err != nil || len(lines) != want {
			t.Fatalf("ledger cut at byte %d of %d: got %d lines, want %d; got the error %v", cut, len(whole), len(lines), want, err)
		}
	}
	if err := os.WriteFile(path, []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Read(path); err == nil {
		t.Error("Read accepted a damaged line in the middle of a ledger, want an error")
	}
}

func TestNoteKeepsEveryLineOfManyWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "1")
	book, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 20 {
		writers.Go(func() {
			for range 10 {
				if err := book.Note(submit("x"), submit("y")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	lines, err := ledger.Read(path)
	if err != nil || len(lines) != 400 {
		t.Errorf("got %d lines and the error %v, want 400 lines and no error", len(lines), err)
	}
}
