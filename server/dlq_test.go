package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/sqlite"
)

// deadSite is a site whose jobs of the kinds "k" and "other" die until broken is false.
type deadSite struct {
	*site
	broken atomic.Bool
}

// newDeadSite starts a site on a new file.
func newDeadSite(t *testing.T, change func(*redrive.Config, *server.Options)) *deadSite {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "redrive.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &deadSite{site: newSiteOn(t, st, change)}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s.broken.Store(true)
	for _, kind := range []string{"k", "other"} {
		redrive.HandleRaw(s.client, kind, func(context.Context, *redrive.Job[[]byte]) error {
			if s.broken.Load() {
				return failure.Permanent(errors.New("the file /srv/secret/a.mp4 is not a valid video in " + kind))
			}
			return nil
		}, nil)
	}
	return s
}

// die enqueues jobs and runs them, one after the other, until they are dead.
func (s *deadSite) die(bodies ...string) (ids []string) {
	s.Helper()
	for _, body := range bodies {
		ids = append(ids, s.submit(body))
		s.run()
	}
	return ids
}

// dieMany enqueues n jobs of the kind "k" and runs them until they are dead.
func (s *deadSite) dieMany(n int) {
	s.Helper()
	var specs []redrive.Spec
	for i := range n {
		specs = append(specs, redrive.NewRaw("k", fmt.Appendf(nil, `{"n":%d}`, i), nil))
	}
	if _, err := s.client.EnqueueMany(s.Context(), specs); err != nil {
		s.Fatal(err)
	}
	s.run()
}

func (s *deadSite) run() {
	s.Helper()
	if err := s.client.RunUntilEmpty(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// deadEntry is the entry of a dead letter as system A documents it.
type deadEntry struct {
	JobID    string `json:"job_id"`
	TaskType string `json:"task_type"`
	Payload  json.RawMessage
	Metadata struct {
		CreatedAt  time.Time `json:"created_at"`
		RetryCount int       `json:"retry_count"`
		MaxRetry   *int      `json:"max_retry"`
		LastError  *struct {
			Type, Message string
			Timestamp     time.Time
			Context       map[string]any
		} `json:"last_error"`
		LastRetryAt    *time.Time `json:"last_retry_at"`
		IdempotencyKey *string    `json:"idempotency_key"`
		Death          int64
		State          string
		Queue          string
	}
	Reason     string    `json:"dlq_reason"`
	At         time.Time `json:"dlq_timestamp"`
	Status     string
	Resolution *struct{ Action, Notes string }
	ResolvedAt *time.Time `json:"resolved_at"`
	ResolvedBy *string    `json:"resolved_by"`
	Also       []string
}

type deadList struct {
	Entries       []deadEntry
	Page, Limit   int
	Total         *int64
	Next          string
	SearchedUntil *time.Time `json:"searched_until"`
}

func (l *deadList) ids() string {
	var ids []string
	for i := range l.Entries {
		ids = append(ids, l.Entries[i].JobID)
	}
	return strings.Join(ids, " ")
}

const dlq = "/api/admin/dlq"

// proves: D4, D3
//
// The filters and the pages of the list, newest death first.
func TestD4_DeadLettersAreListedByFiltersAndPages(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":1,"owner":"ann"}`, `{"kind":"other","payload":2,"correlation":"c2"}`, `{"kind":"k","payload":3,"queue":"default"}`)
	s.ok("POST", dlq+"/1/ignore?reason=a+test", "", nil)
	now := time.Now().UTC()
	hour := now.Add(-time.Hour).Format("2006-01-02T15:04:05")
	for query, want := range map[string]string{
		"": "3 2 1", "status=pending": "3 2", "status=pending&status=ignored": "3 2 1", "status=ignored,resolved": "1", "task_type=other": "2",
		"class=none": "", "queue=default": "3 2 1", "owner=ann": "1", "reason=non_retriable_error": "3 2 1", "reason=stalled": "",
		"text=video+in+other": "2", "correlation=c2": "2", "from_date=" + hour: "3 2 1", "to_date=" + hour: "", "from_date=1h": "3 2 1", "to_date=1h": "",
		"from_date=" + now.Add(-time.Hour).Format(time.RFC3339): "3 2 1", "page=2&limit=2": "1", "page=3&limit=2": "", "limit=1": "3",
	} {
		var got deadList
		s.ok("GET", dlq+"?"+query, "", &got)
		if got.ids() != want {
			t.Errorf("the list by %q: got the jobs %q, want %q", query, got.ids(), want)
		}
		if counted := !strings.ContainsAny(query, "_") || strings.HasPrefix(query, "task_type"); counted && strings.HasPrefix(query, "status") && (got.Total == nil || int(*got.Total) != len(got.Entries)) {
			t.Errorf("the list by %q: got the total %v, want %d", query, got.Total, len(got.Entries))
		}
	}
	for query, want := range map[string]string{
		"status=dead": "status", "from_date=2026-02-30": "from_date", "to_date=yesterday": "to_date", "page=0": "page", "limit=501": "limit", "page=1&cursor=x": "cursor",
		"from_date=2026-02-02&to_date=2026-02-01": "to_date", "sort=asc": "sort", "task_tipe=k": "task_tipe",
	} {
		if p := s.refused("invalid-field", "GET", dlq+"?"+query, ""); p.Errors[0].Parameter != want {
			t.Errorf("the list by %q: got the mistakes %+v, want one of %s", query, p.Errors, want)
		}
	}
}

// part of: D4
//
// The pages by number end at 10,000 entries; the answer has the cursor that goes on. A walk by cursor
// sees each entry once while others retry and remove some.
func TestTrap11_FarPagesAreReachedByCursor(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.dieMany(60)
	var first deadList
	s.ok("GET", dlq+"?page=500&limit=20", "", nil)
	p := s.refused("too-far", "GET", dlq+"?page=50000&limit=20", "")
	if p.Errors[0].Parameter != "page" {
		t.Errorf("got the mistakes %+v, want one mistake in the parameter page", p.Errors)
	}
	s.ok("POST", dlq+"/11/resolve", "", nil)
	seen, query := map[string]int{}, "?limit=7"
	for pages := range 30 {
		s.ok("GET", dlq+query, "", &first)
		for i := range first.Entries {
			seen[first.Entries[i].JobID]++
		}
		switch pages {
		case 1:
			s.ok("POST", dlq+"/30/retry", "", nil)
			s.ok("DELETE", dlq+"/purge?before_date="+time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04:05"), "", nil)
		case 2:
			s.run() // job 30 dies again: its new death is beyond the walk
		}
		if first.Next == "" {
			break
		}
		query, first = "?limit=7&cursor="+first.Next, deadList{}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("job %s was listed %d times, want once", id, n)
		}
	}
	if len(seen) < 58 { // 11 is removed, and 30 may be beyond the walk
		t.Errorf("got %d entries, want all that stayed", len(seen))
	}
}

// part of: D4
func TestTrap10_CursorsOfDeadLettersAndJobsAreNotMixed(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	const ops = "X-Test-Caller: operate"
	for range 3 {
		s.ok("POST", "/api/jobs", `{"kind":"k","payload":1,"owner":"ann"}`, nil, ops)
	}
	s.run()
	var dead, jobs struct{ Next string }
	s.ok("GET", dlq+"?limit=1", "", &dead, ops)
	s.ok("GET", "/api/jobs?limit=1", "", &jobs, ops)
	s.ok("GET", dlq+"?limit=2&cursor="+dead.Next, "", nil, ops)
	s.refused("invalid-cursor", "GET", dlq+"?limit=1&cursor="+jobs.Next, "", ops)
	s.refused("invalid-cursor", "GET", "/api/jobs?limit=1&cursor="+dead.Next, "", ops)
	s.refused("invalid-cursor", "GET", dlq+"?status=pending&cursor="+dead.Next, "", ops)
	s.refused("invalid-cursor", "GET", dlq+"?cursor="+dead.Next, "", "X-Test-Caller: submit/ann")
	s.refused("invalid-cursor", "GET", dlq+"?cursor="+strings.Repeat("A", 4000), "", ops)
	for i := range len(dead.Next) {
		text := dead.Next[:i] + "_" + dead.Next[i+1:]
		if a := s.do("GET", dlq+"?limit=1&cursor="+text, "", ops); a.status != 200 && a.status != 400 {
			t.Errorf("cursor %q: got %d %s, want a page or 400", text, a.status, a.body)
		}
	}
}

// part of: D4
//
// The path takes the outside id, which is the correlation id, or the job id. Digits that are an
// outside id are not a job id. If several dead letters have the outside id, the answer shows the
// newest and names the others. The path stats has its own route.
func TestD4_KafkaTrap27_ADeadLetterIsFoundByTheOutsideID(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":1,"correlation":"7f3a0d7e"}`, `{"kind":"k","payload":2,"correlation":"1"}`, `{"kind":"k","payload":3,"correlation":"7f3a0d7e"}`)
	for path, want := range map[string]string{"7f3a0d7e": "3 [1]", "1": "2 []", "2": "2 []", "3": "3 []"} {
		var got deadEntry
		s.ok("GET", dlq+"/"+path, "", &got)
		if text := fmt.Sprint(got.JobID, " ", got.Also); text != want {
			t.Errorf("the dead letter %s: got %s, want %s", path, text, want)
		}
	}
	var stats struct {
		Total    int64
		ByStatus map[string]int64 `json:"by_status"`
		Success  []any
	}
	s.ok("GET", dlq+"/stats", "", &stats)
	if stats.Total != 3 || stats.ByStatus["pending"] != 3 || len(stats.Success) == 0 {
		t.Errorf("stats: got %+v, want 3 pending dead letters and figures", stats)
	}
	s.refused("invalid-field", "GET", dlq+"/stats?window=1m", "")
	s.ok("GET", dlq+"/stats?window=7d", "", nil)
	s.refused("not-found", "GET", dlq+"/4", "")
	s.refused("not-found", "GET", dlq+"/nothing", "")
	s.refused("method-not-allowed", "POST", dlq+"/stats", "")
}

// part of: D4, D2
func TestD4_AnEntryHasItsFailuresGroupAndNextSteps(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":{"a":1}}`, `{"kind":"k","payload":{"a":2}}`)
	s.ok("POST", dlq+"/1/retry", `{"payload":{"a":3},"note":"another payload"}`, nil)
	s.run()
	var got struct {
		deadEntry
		Failures []struct{ Life int }
		Group    struct{ Pending int }
		Original struct {
			Payload struct{ A int }
			By      string
		}
		Audit []struct{ Action, Actor, Reason string }
		Next  []struct{ Command, Does string }
		Cause string
	}
	a := s.ok("GET", dlq+"/1", "", &got)
	if len(got.Failures) != 2 || got.Group.Pending != 2 || got.Original.Payload.A != 1 || got.Original.By != "local" || got.Cause == "" ||
		len(got.Audit) != 1 || got.Audit[0].Action != "job.retry" || got.Audit[0].Reason != "another payload" || len(got.Next) == 0 ||
		!strings.HasPrefix(got.Next[0].Command, "POST /api/") {
		t.Errorf("got the entry %s, want failures, group, original, actions and next steps", a.body)
	}
	if a := s.do("GET", dlq+"/1", "", "If-None-Match: "+a.header.Get("Etag")); a.status != 304 || len(a.body) != 0 {
		t.Errorf("If-None-Match: got %d %s, want 304", a.status, a.body)
	}
}

// part of: D4, X2
//
// Viewers do not see payloads, unless an option says so.
func TestD4_ViewersDoNotSeePayloads(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{false, true} {
		s := newDeadSite(t, func(c *redrive.Config, o *server.Options) {
			as(c, o)
			o.ViewersSeePayloads = seen
		})
		s.ok("POST", "/api/jobs", `{"kind":"k","payload":{"canary":1},"attrs":{"canary":2}}`, nil, "X-Test-Caller: operate")
		s.run()
		for _, path := range []string{"?limit=1", "/1", "/export", "/export?format=csv", "/export?format=ndjson"} {
			a := s.ok("GET", dlq+path, "", nil, "X-Test-Caller: view")
			if got := strings.Contains(strings.ReplaceAll(string(a.body), `"attrs":{"canary"`, ""), `canary`); got != seen {
				t.Errorf("%s with ViewersSeePayloads %t: got %s", path, seen, a.body)
			}
		}
	}
}

// part of: D8, D4
//
// An owner sees its own dead letters without what is internal: no path, no rule, no note of an operator.
func TestTrap8_AnOwnerSeesItsOwnDeadLettersFromOutside(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Kinds = map[string]server.KindOptions{"k": {Owner: server.OwnerRules{Retry: true, MaxRetries: 1}}, "other": {}}
	})
	const ops, ann, bob = "X-Test-Caller: operate", "X-Test-Caller: submit/ann", "X-Test-Caller: submit/bob"
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":{"n":1},"owner":"ann","attrs":{"x":1}}`, nil, ops)
	s.ok("POST", "/api/jobs", `{"kind":"other","payload":{"n":2},"owner":"bob"}`, nil, ops)
	s.run()
	s.ok("POST", dlq+"/1/resolve", `{"notes":"operators only"}`, nil, ops)
	var list deadList
	a := s.ok("GET", dlq, "", &list, ann)
	if list.ids() != "1" || list.Total != nil {
		t.Errorf("the list of ann: got %s, want job 1 without a total", a.body)
	}
	for _, path := range []string{"", "/1"} {
		a := s.ok("GET", dlq+path, "", nil, ann)
		for _, secret := range []string{"/srv/secret", "operators only", "operate", `"queue"`, `"group"`, `"attrs"`, `"n":1`} {
			if strings.Contains(string(a.body), secret) {
				t.Errorf("%s: an owner sees %s: %s", path, secret, a.body)
			}
		}
	}
	others, missing := s.do("GET", dlq+"/1", "", bob, "X-Request-Id: r"), s.do("GET", dlq+"/9", "", bob, "X-Request-Id: r")
	if got, want := string(others.body), strings.ReplaceAll(string(missing.body), "9", "1"); others.status != 404 || strings.ReplaceAll(got, "9", "1") != want {
		t.Errorf("the dead letter of another: got %d %s, want 404 %s", others.status, got, want)
	}
	s.refused("not-found", "POST", dlq+"/1/retry", "", bob)
	s.refused("invalid-field", "GET", dlq+"?text=secret", "", ann)
	s.refused("invalid-field", "GET", dlq+"?owner=bob", "", ann)
	s.refused("forbidden", "POST", dlq+"/1/resolve", "", ann)
	s.refused("forbidden", "GET", dlq+"/export", "", ann)
	s.refused("owner-may-not", "POST", dlq+"/2/retry", "", bob)
	s.refused("owner-may-not", "POST", dlq+"/1/retry", `{"queue":"fast"}`, ann)
	s.ok("POST", dlq+"/1/retry", "", nil, ann)
	s.run()
	s.refused("owner-may-not", "POST", dlq+"/1/retry", "", ann)
}
