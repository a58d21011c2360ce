package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// oddStore changes the answers of a store to reads of dead letters.
type oddStore struct {
	store.Store
	reads atomic.Int64
	// page is called instead of the store if it is not nil.
	page func(n int64, f store.DeadFilter, p store.DeadPaging, real func() (store.DeadPage, error)) (store.DeadPage, error)
}

// DeadLetters implements store.DeadLetters.
func (s *oddStore) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error) {
	real := func() (store.DeadPage, error) { return s.Store.DeadLetters(ctx, f, p) }
	if s.page == nil {
		return real()
	}
	return s.page(s.reads.Add(1), f, p, real)
}

// newOddSite starts a site with n dead letters on a store in memory.
func newOddSite(t *testing.T, n int) (*site, *oddStore) {
	t.Helper()
	odd := &oddStore{Store: memory.New(memory.Options{})}
	s := newSiteOn(t, odd, nil)
	var specs []redrive.Spec
	for i := range n {
		specs = append(specs, redrive.NewRaw("k", fmt.Appendf(nil, `{"n":%d,"fill":%q}`, i, strings.Repeat("x", 500)), nil))
	}
	if _, err := s.client.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	s.fail()
	return s, odd
}

// part of: D3
//
// If an export fails in the middle, the server closes the connection, in every format, so that
// nobody takes an incomplete export for a complete one. An export that fails at its beginning is
// answered with a problem.
func TestTrap31_AnExportThatIsCutIsNotTakenForWhole(t *testing.T) {
	t.Parallel()
	s, odd := newOddSite(t, 1000)
	for _, format := range []string{"json", "ndjson", "csv"} {
		odd.reads.Store(0)
		odd.page = func(n int64, _ store.DeadFilter, _ store.DeadPaging, real func() (store.DeadPage, error)) (store.DeadPage, error) {
			if n > 6 {
				return store.DeadPage{}, fmt.Errorf("the disk is gone")
			}
			return real()
		}
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+dlq+"/export?format="+format, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		if cerr := got.Body.Close(); cerr != nil {
			t.Error(cerr)
		}
		if err == nil || got.Trailer.Get("X-Export-Complete") != "" || strings.Contains(string(text), `"complete":true`) || len(text) == 0 || got.StatusCode != 200 {
			t.Errorf("%s: got status %d, %d bytes, error %v and trailer %v, want a part and an error", format, got.StatusCode, len(text), err, got.Trailer)
		}
	}
	odd.page = func(int64, store.DeadFilter, store.DeadPaging, func() (store.DeadPage, error)) (store.DeadPage, error) {
		return store.DeadPage{}, fmt.Errorf("too slow: %w", store.ErrUnavailable)
	}
	if p := s.refused("store-unavailable", "GET", dlq+"/export", ""); p.Status != 503 {
		t.Errorf("got %+v, want 503", p)
	}
	odd.page = nil
	if a := s.ok("GET", dlq+"/export?format=ndjson", "", nil); strings.Count(string(a.body), "\n") != 1001 {
		t.Errorf("afterwards: got %d lines, want 1001", strings.Count(string(a.body), "\n"))
	}
}

// part of: D3, X3
//
// A caller has one export at a time.
func TestX3_ACallerHasOneExportAtATime(t *testing.T) {
	t.Parallel()
	s, odd := newOddSite(t, 3)
	asked, release := make(chan struct{}), make(chan struct{})
	odd.page = func(n int64, _ store.DeadFilter, _ store.DeadPaging, real func() (store.DeadPage, error)) (store.DeadPage, error) {
		if n == 1 {
			close(asked)
			<-release
		}
		return real()
	}
	ended := make(chan *answer)
	go func() { ended <- s.do("GET", dlq+"/export", "") }()
	<-asked
	s.refused("rate-limited", "GET", dlq+"/export", "")
	close(release)
	if a := <-ended; a.status != 200 {
		t.Errorf("the first export: got %d %s", a.status, a.body)
	}
	s.ok("GET", dlq+"/export", "", nil)
}

// part of: D4
//
// A rare filter: the search ends before it has found anything, and the answer says how far it came.
func TestTrap12_APageOfARareFilterSaysHowFarItSearched(t *testing.T) {
	t.Parallel()
	s, odd := newOddSite(t, 5)
	odd.page = func(_ int64, f store.DeadFilter, p store.DeadPaging, real func() (store.DeadPage, error)) (store.DeadPage, error) {
		if f.Class != "rare" {
			return real()
		}
		before := p.Before
		if before == 0 {
			before = 1_000_000
		}
		if before -= 1_000; before <= 0 {
			return store.DeadPage{}, nil
		}
		return store.DeadPage{Next: before, Searched: job.Micros(before) * 1e9}, nil
	}
	var list deadList
	a := s.ok("GET", dlq+"?class=rare", "", &list)
	if len(list.Entries) != 0 || list.Next == "" || list.SearchedUntil == nil {
		t.Fatalf("got %s, want no entry, the next cursor and how far it searched", a.body)
	}
	first := *list.SearchedUntil
	s.ok("GET", dlq+"?class=rare&cursor="+list.Next, "", &list)
	if !list.SearchedUntil.Before(first) {
		t.Errorf("the next page has searched until %s, want before %s", list.SearchedUntil, first)
	}
	odd.reads.Store(0)
	a = s.ok("GET", dlq+"?class=rare&page=400", "", &list)
	if n := odd.reads.Load(); n > 50 || list.Next == "" || list.SearchedUntil == nil {
		t.Errorf("page 400: got %s after %d reads, want a bounded search that says so", a.body, n)
	}
}

// part of: X2
//
// No GET of dead letters, groups and redrives changes anything.
func TestTrap6_AGetOfDeadLettersChangesNothing(t *testing.T) {
	t.Parallel()
	s, odd := newOddSite(t, 4)
	s.ok("POST", "/api/redrives", `{"filter":{"all":true},"canary":1}`, nil)
	var groups struct{ Items []groupView }
	s.ok("GET", "/api/groups", "", &groups)
	before := dump(t, odd.Store)
	for _, r := range api.Routes() {
		if r.Method != "GET" || r.Group != "Dead letters" && r.Group != "Groups" && r.Group != "Redrives" {
			continue
		}
		path := strings.Replace(pathOf(&r), "0011223344556677", groups.Items[0].Group, 1)
		for range 2 {
			s.ok("GET", path, "", nil)
		}
	}
	if diff := cmp.Diff(before, dump(t, odd.Store)); diff != "" {
		t.Errorf("the GETs have changed the store (-before +after):\n%s", diff)
	}
}

// part of: F10, D4
//
// What a payload says stays: big numbers, their digits, the order of fields and doubled ones, from
// the submit to the entry and the raw export.
func TestTrap33_ThePayloadOfADeadLetterKeepsItsDigits(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	const payload = `{"z":1e400,"a":9223372036854775808,"a":0.10,"u":"\u0041\u2028"}`
	s.die(`{"kind":"k","payload":` + payload + `}`)
	for _, path := range []string{"", "/1", "/export?format=ndjson&raw=true", "/export?raw=true"} {
		a := s.do("GET", dlq+path, "")
		if !strings.Contains(string(a.body), `"payload":`+payload) {
			t.Errorf("%s: got %s, want the payload as it was sent", path, a.body)
		}
	}
	s.ok("POST", dlq+"/1/retry", `{"patch":[{"op":"replace","path":"/z","value":2}]}`, nil)
	if a := s.ok("GET", "/api/jobs/1/payload", "", nil); string(a.body) != strings.Replace(payload, "1e400", "2", 1) {
		t.Errorf("after a patch: got %s, want the other bytes as they were", a.body)
	}
}
