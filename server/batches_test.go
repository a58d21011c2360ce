package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// batchView is the part of a batch that the tests read.
type batchView struct {
	ID                                                                                   int64
	Key, Name, Owner, State, Task, Standing                                              string
	Total, Waiting, Running, Completed, Dead, Cancelled, Drafts, Outcome, Retried, Count int64
	Next                                                                                 []struct{ Command string }
}

// copies is a site whose kind "copy" fails for good for the members in broken. Its handler can be
// held by the channel hold, which may be nil.
func copies(t *testing.T, change func(*redrive.Config, *server.Options), hold <-chan struct{}, broken ...string) (*site, *sync.Map) {
	t.Helper()
	s := newSite(t, change)
	fails := &sync.Map{}
	for _, key := range broken {
		fails.Store(strconv.Quote(key), true)
	}
	redrive.HandleRaw(s.client, "copy", func(ctx context.Context, j *redrive.Job[[]byte]) error {
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
			}
		}
		if _, bad := fails.Load(string(j.Args)); bad {
			return failure.Permanent(errors.New("the file is broken"))
		}
		return nil
	}, nil)
	return s, fails
}

func (s *site) run() {
	s.Helper()
	if err := s.client.RunUntilEmpty(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func (s *site) batch(method, path, body string, headers ...string) (v batchView) {
	s.Helper()
	s.ok(method, path, body, &v, headers...)
	return v
}

// members returns n members with the keys m1 to mN.
func members(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"kind":"copy","key":"m%d","payload":"m%d"}`, i+1, i+1))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// part of: B1, B2, B4
func TestB4_ABatchEndsInPartAndIsMendedOverHTTP(t *testing.T) {
	t.Parallel()
	s, fails := copies(t, nil, nil, "m2", "m3")
	redrive.HandleRaw(s.client, "report", func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil)
	const create = `{"name":"Autumn launch","attrs":{"shop":7},"callbacks":[{"on":"end","kind":"report","payload":{"to":"shop"}}],"expires_at":"30d"}`
	first := s.do("POST", "/api/batches", create, "Idempotency-Key: autumn")
	again := s.do("POST", "/api/batches", create, `Idempotency-Key: "autumn"`)
	if first.status != 201 || first.header.Get("Location") != "/api/batches/1" || again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" {
		t.Fatalf("create twice: got %d and %d %s, want 201 and the same batch with 200", first.status, again.status, again.body)
	}
	s.refused("key-reused", "POST", "/api/batches", `{"key":"autumn","name":"another"}`)
	s.refused("batch-empty", "POST", "/api/batches/1/publish", "")
	if p := s.refused("batch-draft", "POST", "/api/batches/1/cancel", ""); p.Detail != "batch 1: it is not published; discard it" {
		t.Errorf("cancel of a draft: got %q", p.Detail)
	}
	s.refused("batch-draft", "POST", "/api/batches/1/retry", "")

	var receipts []struct {
		ID, State string
		Existing  bool
	}
	if a := s.ok("POST", "/api/batches/1/members", members(4), &receipts); a.status != 201 || len(receipts) != 4 || receipts[0].State != "draft" {
		t.Errorf("add: got %d %+v, want 4 drafts", a.status, receipts)
	}
	if a := s.ok("POST", "/api/batches/1/members", members(4), &receipts); a.status != 200 || !receipts[3].Existing {
		t.Errorf("add again: got %d %+v, want the members that exist", a.status, receipts)
	}
	if v := s.batch("GET", "/api/batches/1", ""); v.State != "DRAFT" || v.Drafts != 4 || v.Standing != "Not published: 4 drafts wait" {
		t.Errorf("draft: got %+v", v)
	}
	var published struct {
		Drafts, Dead int64
		Batch        batchView
	}
	s.ok("POST", "/api/batches/1/publish", `{"note":"go"}`, &published)
	if b := published.Batch; published.Drafts != 4 || b.State != "PROCESSING" || b.Total != 4 || b.Standing != "Under way: 4 members wait to run" {
		t.Errorf("publish: got %+v", published)
	}
	s.run()
	if v := s.batch("GET", "/api/batches/1?wait=1s&after=0", ""); v.State != "PARTIAL" || v.Outcome != 1 || v.Completed != 2 || v.Dead != 2 ||
		len(v.Next) != 2 || v.Next[0].Command != "POST /api/batches/1/retry" {
		t.Errorf("ended: got %+v, want PARTIAL with two dead", v)
	}
	if v := s.batch("POST", "/api/batches/1/retry?preview=true", ""); v.Count != 2 || v.Retried != 0 {
		t.Errorf("preview: got %+v, want 2 counted", v)
	}
	fails.Clear()
	if v := s.batch("POST", "/api/batches/1/retry", `{"note":"mended"}`); v.Retried != 2 {
		t.Errorf("retry: got %+v, want 2", v)
	}
	s.run()
	var outcomes struct {
		Items []struct {
			N     int64
			State string
		}
	}
	if s.ok("GET", "/api/batches/1/outcomes", "", &outcomes); len(outcomes.Items) != 2 || outcomes.Items[0].State != "PARTIAL" || outcomes.Items[1].State != "READY" {
		t.Errorf("outcomes: got %+v, want PARTIAL and READY", outcomes.Items)
	}
	if v := s.batch("POST", "/api/batches/1/publish", ""); v.Retried != 0 || s.batch("GET", "/api/batches/1", "").State != "READY" {
		t.Errorf("publish again: got %+v, want that nothing happens", v)
	}
	counts, err := s.client.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range counts {
		if n.Kind == "report" && n.State == job.Completed && n.N != 2 {
			t.Errorf("%d callbacks, want one for each end", n.N)
		}
	}
}

// part of: B4, I1
func TestB4_MembersAreAddedAsLinesAndDiscarded(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, nil, nil)
	s.ok("POST", "/api/batches", `{"key":"k"}`, nil)
	lines := `{"kind":"copy","key":"a","payload":1}` + "\n" + `{"kind":"copy","payload":2}` + "\n" + `{"kind":"copy","key":"a","payload":3}` + "\n" + `{"kind":"copy","key":"b","payload":4}`
	a := s.do("POST", "/api/batches/1/members", lines, "Content-Type: application/x-ndjson")
	for _, want := range []string{`"line":1,"id":"`, `"state":"draft"}`, `{"line":2,"problem":"invalid-field"`, "/key", `{"line":3,"id":"`, `"problem":"key-reused"`, `"complete":true,"lines":4,"enqueued":2,"existing":0,"refused":2`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("lines: got\n%s\nwant %s in it", a.body, want)
		}
	}
	s.ok("POST", "/api/batches/1/members?keys=false", `{"kind":"copy","payload":5}`, nil)
	if a := s.ok("POST", "/api/batches/1/members", `{"kind":"copy","payload":6}`, nil, "Idempotency-Key: c"); a.status != 201 {
		t.Errorf("one member whose key is in the header: got %d %s", a.status, a.body)
	}
	for body, pointer := range map[string]string{
		`{"kind":"copy","payload":1}`: "/key", `{"kind":"copy","key":"x","payload":1,"batch":2}`: "/batch", `{"kind":"copy","key":"x","payload":1,"owner":"bob"}`: "/owner",
		`{"kind":"copy","key":"x","payload":1,"key_until":"1h"}`: "/key_until", `[{"kind":"copy","key":"x","payload":1},{"kind":"copy","payload":1}]`: "/1/key",
	} {
		if p := s.refused("invalid-field", "POST", "/api/batches/1/members", body); p.Errors[0].Pointer != pointer {
			t.Errorf("%s: got %+v, want a mistake at %s", body, p.Errors, pointer)
		}
	}
	p := s.refused("key-reused", "POST", "/api/batches/1/members", `[{"kind":"copy","key":"x","payload":1},{"kind":"copy","key":"a","payload":9}]`)
	if p.Errors[0].Pointer != "/1/key" {
		t.Errorf("a key twice: got %+v, want the place of the second one", p.Errors)
	}
	if p := s.refused("too-large", "POST", "/api/batches/1/members", members(api.JobsMax+1)); p.Errors[0].Bound == nil {
		t.Errorf("too many members: got %+v, want the bound", p)
	}
	var page struct {
		Items []struct{ ID, Key, State string }
		Next  string
	}
	if s.ok("GET", "/api/batches/1/members?state=draft&limit=3", "", &page); len(page.Items) != 3 || page.Items[0].Key != "a" || page.Items[0].State != "draft" || page.Next == "" {
		t.Fatalf("members: got %+v, want a page of 3 drafts", page)
	}
	s.refused("invalid-cursor", "GET", "/api/batches/1/members?state=dead&cursor="+page.Next, "")
	draft := page.Items[0].ID
	if s.ok("GET", "/api/batches/1/members?state=draft&limit=3&cursor="+page.Next, "", &page); len(page.Items) != 1 {
		t.Errorf("second page: got %+v, want 1", page)
	}
	var gone struct {
		Discarded int64
		Batch     *batchView
	}
	if s.ok("DELETE", "/api/batches/1?draft="+draft, "", &gone); gone.Discarded != 1 || gone.Batch == nil || gone.Batch.Drafts != 3 {
		t.Errorf("discard of one draft: got %+v", gone)
	}
	gone.Batch = nil
	if s.ok("DELETE", "/api/batches/1", "", &gone); gone.Discarded != 3 || gone.Batch != nil {
		t.Errorf("discard of the rest: got %+v, want that the batch is gone", gone)
	}
	s.refused("not-found", "GET", "/api/batches/1", "")
	s.refused("not-found", "POST", "/api/batches/1/members", members(1))
}

// part of: B1
func TestB1_ABatchIsCancelledAndExpiresOverHTTP(t *testing.T) {
	t.Parallel()
	now := time.Now()
	st := memory.New(memory.Options{Clock: func() time.Time { return now }})
	s := newSiteOn(t, st, func(_ *redrive.Config, o *server.Options) { o.Now = func() time.Time { return now } })
	s.ok("POST", "/api/batches", `{"name":"one","expires_at":"1h"}`, nil)
	s.ok("POST", "/api/batches/1/members", members(2), nil)
	s.ok("POST", "/api/batches/1/publish", "", nil)
	if v := s.batch("POST", "/api/batches/1/cancel", `{"note":"wrong list"}`); v.State != "FAILED" || v.Cancelled != 2 {
		t.Errorf("cancel: got %+v, want FAILED: none has completed", v)
	}
	for body, want := range map[string]string{`{"expires_at":"yesterday"}`: "/expires_at", `{"expires_at":""}`: "/expires_at", `{"expires_at":"2001-01-01"}`: "/expires_at"} {
		if p := s.refused("invalid-field", "PATCH", "/api/batches/1", body); p.Errors[0].Pointer != want {
			t.Errorf("%s: got %+v", body, p.Errors)
		}
	}
	s.ok("PATCH", "/api/batches/1", `{"expires_at":"never"}`, nil)
	if v := s.ok("PATCH", "/api/batches/1", `{"expires_at":"2h","note":"longer"}`, nil); !strings.Contains(string(v.body), "expires_at") {
		t.Errorf("got %s, want the time", v.body)
	}
	now = now.Add(3 * time.Hour)
	for _, path := range []string{"/publish", "/retry"} {
		s.refused("batch-expired", "POST", "/api/batches/1"+path, "")
	}
	if _, err := st.StepBatches(t.Context(), store.StepMax); err != nil {
		t.Fatal(err)
	}
	if v := s.batch("GET", "/api/batches/1?wait=30s&until=ended", ""); v.State != "EXPIRED" {
		t.Errorf("got %+v, want EXPIRED at once", v)
	}
	s.refused("batch-expired", "PATCH", "/api/batches/1", `{"expires_at":"2h"}`)
	s.refused("batch-expired", "POST", "/api/batches/1/members", members(1))
	for path, parameter := range map[string]string{"?state=OPEN": "state", "?limit=0": "limit", "/1?wait=1h": "wait", "/1?until=now&wait=1s": "until", "/1/members?state=odd": "state", "/1/outcomes?after=-1": "after"} {
		if p := s.refused("invalid-field", "GET", "/api/batches"+path, ""); p.Errors[0].Parameter != parameter {
			t.Errorf("%s: got %+v, want a mistake in %s", path, p.Errors, parameter)
		}
	}
	s.refused("not-found", "GET", "/api/batches/01", "")
	if v := s.ok("GET", "/api/batches?state=EXPIRED&name=ON", "", nil); !strings.Contains(string(v.body), `"id":1`) {
		t.Errorf("list: got %s, want the batch", v.body)
	}
}

// part of: B2
//
// A request that waits is answered when the batch ends, and not before.
func TestB2_ARequestWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, nil, nil)
	s.ok("POST", "/api/batches", `{}`, nil)
	s.ok("POST", "/api/batches/1/members", members(2), nil)
	s.ok("POST", "/api/batches/1/publish", "", nil)
	got := make(chan *answer, 1)
	go func() { got <- s.do("GET", "/api/batches/1?wait=30s&until=ended", "") }()
	for !strings.Contains(string(s.do("GET", "/metrics", "").body), "redrive_held_answers 1") {
		select {
		case a := <-got:
			t.Fatalf("answered before the end: %d %s", a.status, a.body)
		default:
		}
	}
	s.run()
	var v batchView
	if a := <-got; a.status == http.StatusOK {
		a.into(t, &v)
	}
	if v.State != "READY" || v.Outcome != 1 {
		t.Errorf("got %+v, want the batch that has ended", v)
	}
}

// proves: N1
//
// The topic of a batch has its changes of state with its counts, and the events of its members: for
// operators, and for its owner in the words of users. The owner of another batch gets nothing.
func TestN1_TheTopicOfABatch(t *testing.T) {
	t.Parallel()
	s, fails := copies(t, as, nil, "m2")
	s.ok("POST", "/api/batches", `{}`, nil, ann)
	s.ok("POST", "/api/batches/1/members", members(2), nil, ann)
	whole, own, other := s.listen("?topic=batch:1", ops), s.listen("?topic=batch:1", ann), s.listen("?topic=batch:1&topic=owner:ann", bob)
	s.ok("POST", "/api/batches/1/publish", "", nil, ann)
	s.run()
	fails.Clear()
	s.ok("POST", "/api/batches/1/retry", "", nil, ops)
	s.run()
	var states, mine, lost []string
	for len(states) < 4 {
		f := whole.next()
		var e struct {
			Type, Reason, Note string
			Batch, Done, Total int64
		}
		if err := json.Unmarshal([]byte(f.data), &e); err != nil || e.Batch != 1 {
			t.Fatalf("got %+v, want events of batch 1", f)
		}
		if e.Type == "batch.changed" {
			states = append(states, fmt.Sprintf("%s %d/%d %s", e.Reason, e.Done, e.Total, e.Note))
		}
	}
	if got := strings.Join(states, ", "); got != "published 0/2 , partial 1/2 1, processing 1/2 1, ready 2/2 2" {
		t.Errorf("operators: got %s", got)
	}
	for len(mine) < 4 {
		f := own.next()
		var e struct {
			Event, Status, Message string
			Batch                  int64
			Progress               struct{ Done, Total int64 }
		}
		if err := json.Unmarshal([]byte(f.data), &e); err != nil || e.Batch != 1 {
			t.Fatalf("got %+v, want events of batch 1", f)
		}
		switch e.Event {
		case "batch":
			mine = append(mine, fmt.Sprintf("%s %d/%d", e.Status, e.Progress.Done, e.Progress.Total))
		case "dead":
			lost = append(lost, e.Message)
		}
	}
	if got := strings.Join(mine, ", "); got != "PROCESSING 0/2, PARTIAL 1/2, PROCESSING 1/2, READY 2/2" || len(lost) != 1 {
		t.Errorf("the owner: got %s and the deaths %q", got, lost)
	}
	s.ok("POST", "/api/batches", `{}`, nil, bob)
	s.ok("POST", "/api/batches/2/members", members(1), nil, bob)
	s.ok("POST", "/api/batches/2/publish", "", nil, bob)
	theirs := s.listen("?topic=batch:2", bob, "Last-Event-ID: 0.0")
	if f := theirs.next(); !strings.Contains(f.data, `"batch":2`) {
		t.Errorf("bob's own batch: got %+v", f)
	}
	other.stop()
	for f := range other.frames {
		if strings.Contains(f.data, `"batch":1`) {
			t.Errorf("bob got %+v, an event of ann's batch", f)
		}
	}
}
