package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

var begin = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// openDead opens a store with n dead letters. The dead letters differ in every field that a
// filter can select by.
func openDead(t *testing.T, n int) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"),
		&sqlite.Options{Clock: func() time.Time { return begin }, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	first, err := s.ReserveIDs(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	jobs := make([]job.New, n)
	want := store.Want{Queue: "main", Max: n}
	for i := range jobs {
		jobs[i] = job.New{ID: first + job.ID(i), Kind: deadKind(i), Queue: "main", Priority: job.PriorityDefault,
			Owner: fmt.Sprintf("tenant-%d", i%7), Correlation: fmt.Sprintf("req-%d", i%20), Attrs: fmt.Appendf(nil, `{"n":%d}`, i%3)}
		if i == 9 {
			jobs[i].Key, jobs[i].Digest = "order-9", []byte("d")
		}
		if i < 5 {
			want.Kinds = append(want.Kinds, store.KindWant{Kind: deadKind(i), Max: n, MaxCrashes: 3})
		}
	}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	x := store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{want}}
	out, err := s.Exchange(t.Context(), x)
	if err != nil || len(out.Claims) != n {
		t.Fatalf("claim of the jobs that must die: got %d claims, error %v; want %d claims", len(out.Claims), err, n)
	}
	x.Want = nil
	for _, c := range out.Claims {
		i := int(c.ID - first)
		class := fmt.Sprintf("Class%d", i%3)
		x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Dead, Cause: job.Failed, Reason: job.MaxRetries,
			Failure: &job.Failure{How: job.ByError, Class: class, Fingerprint: fmt.Sprintf("%s %d", class, i%6),
				Message: fmt.Sprintf("Refused %d times", i%4)}})
	}
	if _, err := s.Exchange(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	return s
}

func deadKind(i int) string { return fmt.Sprintf("kind-%02d", i%5) }

// A search by text or attribute reads what it compares of many dead letters at once. One statement for
// each of them would take a round trip on PostgreSQL.
//
// part of: D2
func TestD2_SearchReadsManyMessagesAtOnce(t *testing.T) {
	t.Parallel()
	s := openDead(t, 210)
	for _, tt := range []struct {
		f                 store.DeadFilter
		found, statements int
	}{
		{store.DeadFilter{Text: "refused 3"}, 52, 4},
		{store.DeadFilter{Attr: store.Attr{Name: "n", Value: "1"}}, 70, 4},
		{store.DeadFilter{Attr: store.Attr{Name: "n", Value: "1"}, Text: "refused 3"}, 17, 7},
	} {
		for _, up := range []bool{false, true} {
			err := s.Way(t.Context(), &tt.f, true, func(w *sqlstore.Way) error {
				n := 0
				w.Counted(&n)
				found, _, more, err := w.Search(up, 1, w.High, 210, sqlstore.LookMax)
				if len(found) != tt.found || more || n != tt.statements {
					t.Errorf("search for %+v, ascending %v: got %d dead letters with %d statements, more: %v; want %d with %d", tt.f, up, len(found), n, more, tt.found, tt.statements)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A search uses the index in which it has to read the fewest rows for the filter.
//
// part of: D2
func TestD2_RouteOfAFilter(t *testing.T) {
	t.Parallel()
	s := openDead(t, 210)
	pending := []job.Status{job.Pending}
	for _, c := range []struct {
		name  string
		f     store.DeadFilter
		route string
		keys  int
	}{
		{"everything", store.DeadFilter{}, "allRoute", 1},
		{"a status", store.DeadFilter{Statuses: pending}, "allRoute", 1},
		{"a group", store.DeadFilter{Group: "Class1 1"}, "allRoute", 1},
		{"pending of a group", store.DeadFilter{Group: "Class1 1", Statuses: pending, Owner: "tenant-3"}, "pendingRoute", 1},
		{"an owner", store.DeadFilter{Owner: "tenant-3", Text: "refused"}, "ownerRoute", 1},
		{"a class", store.DeadFilter{Class: "Class1"}, "classRoute", 1},
		{"a kind", store.DeadFilter{Kind: deadKind(2)}, "laneRoute", 1},
		{"a queue of many kinds", store.DeadFilter{Queue: "main"}, "laneRoute", 5},
		{"a class and a kind with fewer", store.DeadFilter{Class: "Class1", Kind: deadKind(2)}, "laneRoute", 1},
		{"a class and a queue with more", store.DeadFilter{Class: "Class1", Queue: "main"}, "classRoute", 1},
		{"a correlation id", store.DeadFilter{Correlation: "req-3", Owner: "tenant-3", Class: "Class1"}, "correlationRoute", 1},
		{"a key", store.DeadFilter{Key: "order-9", Kind: deadKind(9), Owner: "tenant-2", Correlation: "req-9"}, "jobRoute", 1},
		{"an owner and a class", store.DeadFilter{Class: "Class1", Owner: "tenant-3"}, "ownerRoute", 1},
	} {
		err := s.Way(t.Context(), &c.f, true, func(w *sqlstore.Way) error {
			if w.None || w.Statement != c.route+".down" || w.Keys != c.keys {
				t.Errorf("filter by %s: got statement %s with %d keys (filter selects nothing: %v); want statement %s with %d keys", c.name, w.Statement, w.Keys, w.None, c.route, c.keys)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// When the counters and names already show that a filter selects nothing, the store does not
// search at all.
//
// part of: D2
func TestD2_NothingIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	s := openDead(t, 60)
	for _, f := range []store.DeadFilter{
		{Reason: job.Stalled}, {Class: "None"}, {Kind: "none"}, {Queue: "none"}, {Group: "none"}, {Statuses: []job.Status{job.Resolved}},
		{Until: job.At(begin.Add(-time.Hour))}, {Key: "order-8", Kind: deadKind(9)},
	} {
		err := s.Way(t.Context(), &f, true, func(w *sqlstore.Way) error {
			if !w.None {
				t.Errorf("filter %+v: got a search, want no search, because the filter can select nothing", f)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A search that may examine only a limited number of rows can be continued from the row where
// it stopped. On each route and in both directions, all steps together find the same entries as
// one unlimited search.
//
// part of: D2
func TestD2_SearchGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := openDead(t, 210)
	for _, f := range []store.DeadFilter{
		{Text: "REFUSED 3"}, {Owner: "tenant-3", Kind: deadKind(2)}, {Class: "Class1", Text: "d 1"}, {Queue: "main", Text: "d 2"},
		{Group: "Class1 1", Statuses: []job.Status{job.Pending}}, {Group: "Class2 2"}, {Queue: "main"},
		{Correlation: "req-3"}, {Attr: store.Attr{Name: "n", Value: "2"}}, {Worker: "w", Class: "Class1"},
	} {
		err := s.Way(t.Context(), &f, false, func(w *sqlstore.Way) error {
			whole, _, more, err := w.Search(true, 1, w.High, 1000, 1<<20)
			if err != nil || more || len(whole) < 5 {
				t.Fatalf("one search with filter %+v: got %d entries, more entries left: %v, error %v; want at least 5 entries and none left", f, len(whole), more, err)
			}
			for _, want := range []int{1, 3, 1000} {
				for _, look := range []int{1, 7, 40} {
					up, down := piecemeal(t, w, true, want, look), piecemeal(t, w, false, want, look)
					slices.Reverse(down)
					if diff := cmp.Diff(whole, up); diff != "" {
						t.Errorf("filter %+v, at most %d entries and %d examined rows per step, ascending: the steps found other entries than one search (-one search +steps):\n%s", f, want, look, diff)
					}
					if diff := cmp.Diff(whole, down); diff != "" {
						t.Errorf("filter %+v, at most %d entries and %d examined rows per step, descending: the steps found other entries than one search (-one search +steps):\n%s", f, want, look, diff)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// piecemeal makes a search in steps. Each step may examine only a limited number of rows, and
// piecemeal continues until no rows are left.
func piecemeal(t *testing.T, w *sqlstore.Way, up bool, want, look int) (all []int64) {
	t.Helper()
	low, high := int64(1), w.High
	for range 10_000 {
		found, edge, more, err := w.Search(up, low, high, want, look)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > want {
			t.Fatalf("one step returned %d entries, want at most %d", len(found), want)
		}
		all = append(all, found...)
		if !more {
			return all
		}
		if up {
			low = edge + 1
		} else {
			high = edge - 1
		}
	}
	t.Fatal("the search in steps does not end; want an end after all entries")
	return nil
}
