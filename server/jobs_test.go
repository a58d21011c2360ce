package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
)

type receipt struct {
	ID, State, Status, Reason string
	Existing                  bool
}

// part of: I1, X1
func TestI1_AJobIsSubmittedAndShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var r receipt
	a := s.ok("POST", "/api/jobs", `{"kind":"render","payload":{"scene": 7},"owner":"ann","key":"k1","priority":1,"attrs":{"n":1e400},"delay_ms":60000}`, &r,
		"X-Correlation-Id: req-7")
	if a.status != http.StatusCreated || r.ID == "" || r.State != "waiting" || a.header.Get("Location") != "/api/jobs/"+r.ID {
		t.Fatalf("got %d %s and Location %q, want 201 with a receipt and its path", a.status, a.body, a.header.Get("Location"))
	}
	again := s.ok("POST", "/api/jobs", `{"kind":"render","payload":{"scene": 7},"owner":"ann","key":"k1"}`, &r)
	if again.status != http.StatusOK || !r.Existing {
		t.Errorf("the same job again: got %d %s, want 200 and existing", again.status, again.body)
	}
	p := s.refused("key-reused", "POST", "/api/jobs", `{"kind":"render","payload":{"scene": 8},"owner":"ann","key":"k1"}`)
	if p.Job != r.ID || len(p.Errors) != 1 || p.Errors[0].Pointer != "/key" {
		t.Errorf("another payload with the key: got %+v, want the job %s and the field /key", p, r.ID)
	}
	var shown struct {
		Job struct {
			ID, Kind, State, Owner, Key, Correlation string
			Priority                                 int
			Payload, Attrs                           json.RawMessage
		}
		Links map[string]string
	}
	s.ok("GET", "/api/jobs/"+r.ID, "", &shown)
	j := shown.Job
	if j.ID != r.ID || j.Owner != "ann" || j.Priority != 1 || j.Correlation != "req-7" || compact(t, j.Attrs) != `{"n":1e400}` || shown.Links["self"] != "/api/jobs/"+r.ID {
		t.Errorf("got the job %+v with the links %v, want it as it was submitted", j, shown.Links)
	}
}

// part of: I1
func TestI1_AnArrayIsSubmittedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var list []receipt
	s.ok("POST", "/api/jobs", `[{"kind":"a","payload":1},{"kind":"b","payload":2,"key":"x"}]`, &list)
	if len(list) != 2 || list[0].ID == list[1].ID {
		t.Fatalf("got the receipts %+v, want one for each of the two jobs", list)
	}
	p := s.refused("key-reused", "POST", "/api/jobs", `[{"kind":"a","payload":1},{"kind":"b","payload":3,"key":"x"}]`)
	if p.Errors[0].Pointer != "/1/key" {
		t.Errorf("got the mistake %+v, want /1/key", p.Errors)
	}
	s.refused("invalid-field", "POST", "/api/jobs", `[{"kind":"a","payload":1},{"kind":"b c","payload":3}]`)
	page, err := s.client.List(t.Context(), redrive.JobFilter{})
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("got %d jobs and error %v, want only the first two", len(page.Jobs), err)
	}
}

// proves: X1
//
// A bad request names each field and its bound, and enqueues nothing.
func TestX1_AllMistakesOfAJobAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Kinds = map[string]server.KindOptions{"render": {Queue: "gpu"}, "letter": {Text: true}}
		o.Queues = []string{"gpu", "default"}
	})
	for _, c := range []struct{ body, want string }{
		{`{"kind":"rendr","payload":{},"priority":5,"queue":"gup","in":"soon","run_at":"2026-02-30","delay_ms":-1}`,
			`/kind|/priority 4|/queue|/run_at|/in|/delay_ms 3153600000000|/delay_ms|`},
		{`{"kind":"render","payload":{},"owner":"` + strings.Repeat("o", 257) + `","correlation":"` + strings.Repeat("c", 257) + `"}`, `/owner 256|/correlation 256|`},
		{`{"payload":{}}`, "/kind|"},
		{`{"kind":"render"}`, "/payload|"},
		{`{"kind":"letter","payload":{}}`, "/payload|"},
		{`{"kind":"render","payload":1,"state":"dead","token":1,"life":2,"payload":2}`, "/state|/token|/life|/payload|"},
		{`{"kind":"render","payload":1,"attrs":[1],"retry":{"max_retries":-1},"batch":1.5}`, "/attrs|/batch|/retry|"},
		{`{"kind":"render","payload":1,"retry":{"max_retries":-1}}`, "/retry|"},
		{`{"kind":"render","payload":1,"retry":{"max_retrys":1}}`, "/retry/max_retrys|"},
		{`{"kind":"render","payload":1,"unique":"x"}`, "/unique|"},
		{`"render"`, "|"},
		{`[]`, "|"},
		{`[1,{"kind":"render","payload":1},{"kind":""}]`, "/0|/2/payload|/2/kind|"},
	} {
		a := s.do("POST", "/api/jobs", c.body)
		var p problem
		a.into(t, &p)
		got := ""
		for _, m := range p.Errors {
			got += m.Pointer
			if m.Bound != nil {
				got += fmt.Sprintf(" %.0f", m.Bound)
			}
			got += "|"
		}
		if a.status != http.StatusBadRequest && a.status != http.StatusRequestEntityTooLarge || got != c.want {
			t.Errorf("%.100s: got %d with the mistakes %q, want %q:\n%s", c.body, a.status, got, c.want, a.body)
		}
	}
	page, err := s.client.List(t.Context(), redrive.JobFilter{})
	if err != nil || len(page.Jobs) != 0 {
		t.Errorf("got %d jobs and error %v, want none", len(page.Jobs), err)
	}
}

// part of: X2
//
// A submit cannot set what only the engine sets.
func TestTrap9_NoMassAssignment(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, field := range []string{"state", "token", "life", "id", "created_at", "counters", "runs", "result"} {
		p := s.refused("unknown-field", "POST", "/api/jobs", `{"kind":"k","payload":{},"`+field+`":1}`)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "/"+field {
			t.Errorf("field %s: got the mistakes %+v, want this field", field, p.Errors)
		}
	}
}

// part of: X2
func TestTrap4_AForeignHostIsRefusedOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, r := range api.Routes() {
		path := strings.NewReplacer("{id}", "1", "{name}", "a").Replace(r.Path)
		for _, host := range []string{"evil.example", "127.0.0.1.evil.example:8080", "localhost.evil.example", "[::2]"} {
			s.refused("host-unknown", r.Method, path, "", "Host: "+host)
		}
	}
	for _, host := range []string{"localhost", "localhost:99", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST"} {
		s.ok("GET", "/healthz", "", nil, "Host: "+host)
	}
	named := newSite(t, func(_ *redrive.Config, o *server.Options) { o.Hosts = []string{"jobs.internal"} })
	named.ok("GET", "/healthz", "", nil, "Host: jobs.internal:8080")
}

// part of: X2, Q9
//
// An owner sees its own jobs, without what is internal. For the job of another owner it gets the
// same bytes as for a job that does not exist.
func TestTrap8_JobsOfOthersDoNotExist(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	var ann, bob receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":{"secret":1}}`, &ann, "X-Test-Caller: submit/ann")
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":{}}`, &bob, "X-Test-Caller: submit/bob")
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"k","payload":{},"owner":"bob"}`, "X-Test-Caller: submit/ann")
	var shown map[string]any
	s.ok("GET", "/api/jobs/"+ann.ID, "", &shown, "X-Test-Caller: submit/ann")
	if shown["status"] != "waiting" || shown["payload"] != nil || shown["job"] != nil {
		t.Errorf("the own job: got %v, want the outside view", shown)
	}
	others := s.do("GET", "/api/jobs/"+bob.ID, "", "X-Test-Caller: submit/ann", "X-Request-Id: r")
	missing := s.do("GET", "/api/jobs/999", "", "X-Test-Caller: submit/ann", "X-Request-Id: r")
	if got, want := string(others.body), strings.ReplaceAll(string(missing.body), "999", bob.ID); others.status != 404 || got != want {
		t.Errorf("the job of another: got %d %s, want 404 %s", others.status, got, want)
	}
	var list struct{ Items []struct{ ID string } }
	s.ok("GET", "/api/jobs", "", &list, "X-Test-Caller: submit/ann")
	if len(list.Items) != 1 || list.Items[0].ID != ann.ID {
		t.Errorf("the list of ann: got %+v, want only job %s", list.Items, ann.ID)
	}
	s.refused("invalid-field", "GET", "/api/jobs?owner=bob", "", "X-Test-Caller: submit/ann")
	s.refused("unauthenticated", "GET", "/api/jobs", "")
	s.refused("forbidden", "GET", "/api/jobs", "", "X-Test-Caller: work")
}

// proves: Q9
func TestQ9_JobsAreListedByCursor(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var specs []redrive.Spec
	for i := range 25 {
		specs = append(specs, redrive.NewRaw(fmt.Sprintf("k%d", i%2), []byte("{}"), nil))
	}
	if _, err := s.client.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	seen, cursor := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		var page struct {
			Items []struct{ ID, Kind string }
			Next  string
		}
		s.ok("GET", "/api/jobs?kind=k1&limit=5&state=waiting,retrying"+cursor, "", &page)
		for _, j := range page.Items {
			if seen[j.ID] || j.Kind != "k1" {
				t.Errorf("page %d has job %+v, want each job of the kind once", pages, j)
			}
			seen[j.ID] = true
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	if len(seen) != 12 {
		t.Errorf("got %d jobs, want 12", len(seen))
	}
}

// part of: X3
func TestTrap10_ForeignCursorsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var list struct{ Next string }
	s.ok("POST", "/api/jobs", `[{"kind":"k","payload":1},{"kind":"k","payload":2}]`, nil)
	s.ok("GET", "/api/jobs?kind=k&limit=1", "", &list)
	s.ok("GET", "/api/jobs?kind=k&limit=2&cursor="+list.Next, "", nil) // the limit may change
	for _, query := range []string{"kind=j", "kind=k&order=due", "kind=k&state=dead", ""} {
		s.refused("invalid-cursor", "GET", "/api/jobs?limit=1&"+query+"&cursor="+list.Next, "")
	}
	for i := range len(list.Next) {
		for _, c := range "A_9" {
			text := list.Next[:i] + string(c) + list.Next[i+1:]
			if a := s.do("GET", "/api/jobs?kind=k&limit=1&cursor="+text, ""); a.status != 200 && a.status != 400 {
				t.Errorf("cursor %q: got %d %s, want a page or 400", text, a.status, a.body)
			}
		}
	}
	s.refused("invalid-cursor", "GET", "/api/jobs?cursor="+strings.Repeat("A", 4000), "")
}

// part of: X3
func TestX3_BoundsOfASubmit(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) { c.PayloadMax, o.PayloadMax = 1000, 1000 })
	jobOf := func(payload int) string { return `{"kind":"k","payload":"` + strings.Repeat("x", payload-2) + `"}` }
	array := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"kind":"k","payload":1},`, n), ",") + "]"
	}
	nested := func(n int) string {
		return `{"kind":"k","payload":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	key := func(n int) string { return `{"kind":"k","payload":1,"key":"` + strings.Repeat("k", n) + `"}` }
	for _, c := range []struct {
		name  string
		body  func(int) string
		limit int
		kind  string
	}{
		{"payload", jobOf, 1000, "too-large"}, {"array", array, api.JobsMax, "too-large"}, {"depth", nested, api.DepthMax, "invalid-json"},
		{"key", key, job.TextMax, "too-large"},
		{"body", func(n int) string { return `{"kind":"k","payload":1}` + strings.Repeat(" ", n-24) }, api.BodyMax, "too-large"},
	} {
		s.ok("POST", "/api/jobs", c.body(c.limit-1), nil)
		s.ok("POST", "/api/jobs", c.body(c.limit), nil)
		s.refused(c.kind, "POST", "/api/jobs", c.body(c.limit+1))
	}
	long := strings.Repeat("a", api.URLMax)
	s.refused("url-too-long", "GET", "/api/jobs?text="+long, "")
	s.refused("too-large", "GET", "/api/jobs?text="+long[:api.FilterTextMax+1], "")
	s.ok("GET", "/api/jobs?text="+long[:api.FilterTextMax], "", nil)
	s.refused("invalid-field", "GET", "/api/jobs?limit=501", "")
	s.ok("GET", "/api/jobs?limit=500", "", nil)
	s.refused("invalid-field", "GET", "/api/jobs?limit=0", "")
}

// part of: I1
func TestI1_TheHeaderIsTheKeyOfOneJob(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	const body = `{"kind":"k","payload":1}`
	var first, second receipt
	s.ok("POST", "/api/jobs", body, &first, `Idempotency-Key: "a \"b\""`)
	a := s.ok("POST", "/api/jobs", body, &second, `Idempotency-Key: a "b"`)
	if first.ID != second.ID || !second.Existing || a.header.Get("Idempotent-Replayed") != "true" || a.status != 200 {
		t.Errorf("the repeat: got %d %s with %v, want job %s", a.status, a.body, a.header, first.ID)
	}
	s.refused("key-reused", "POST", "/api/jobs", `{"kind":"k","payload":2}`, `Idempotency-Key: a "b"`)
	p := s.refused("invalid-field", "POST", "/api/jobs", `{"kind":"k","payload":2,"key":"other"}`, `Idempotency-Key: k`)
	if p.Errors[0].Header != "Idempotency-Key" {
		t.Errorf("got %+v, want a mistake of the header", p.Errors)
	}
	for _, key := range []string{`"a`, `""`, `"a"b`, `"\n"`, "\u00e9"} {
		s.refused("invalid-field", "POST", "/api/jobs", body, "Idempotency-Key: "+key)
	}
	s.refused("invalid-field", "POST", "/api/jobs", body, "Idempotency-Key: a", "Idempotency-Key: b")
	s.refused("too-large", "POST", "/api/jobs", body, "Idempotency-Key: "+strings.Repeat("k", 257))
	j, err := s.client.Get(t.Context(), 1)
	if err != nil || j.Key != `a "b"` {
		t.Errorf("got the key %q and error %v, want that of the header", j.Key, err)
	}
}

// part of: X2
func TestX2_WrongMethodsAndPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	a := s.do("DELETE", "/api/jobs", "")
	if a.status != 405 || a.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("DELETE: got %d and Allow %q, want 405 with the methods", a.status, a.header.Get("Allow"))
	}
	s.refused("not-found", "GET", "/api/nothing", "")
	s.refused("not-found", "GET", "/api/jobs/0", "")
	s.refused("not-found", "GET", "/api/jobs/99999999999999999999", "")
	s.refused("unsupported-media-type", "POST", "/api/jobs", "a=1", "Content-Type: application/x-www-form-urlencoded")
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"k","payload":1}`, "Sec-Fetch-Site: cross-site")
	s.refused("invalid-json", "POST", "/api/jobs", `{"kind":`)
	if head := s.do("HEAD", "/api/jobs", ""); head.status != 200 || len(head.body) != 0 {
		t.Errorf("HEAD: got %d and %d bytes, want 200 without a body", head.status, len(head.body))
	}
}

// part of: X1, X3
//
// A body that is not plain UTF-8 is refused by its header, and a job has one path.
func TestX1_OnlyPlainTextIsRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	const body = `{"kind":"k","payload":1}`
	for _, header := range []string{"Content-Encoding: gzip", "Content-Encoding: br, gzip", "Content-Type: application/json; charset=latin1", "Content-Type: application/x-ndjson; charset=utf-16"} {
		s.refused("unsupported-media-type", "POST", "/api/jobs", body, header)
	}
	for _, header := range []string{"Content-Encoding: identity", "Content-Type: application/json; charset=UTF-8"} {
		s.ok("POST", "/api/jobs", body, nil, header)
	}
	for _, id := range []string{"01", "+1", "1%20", "0x1"} {
		s.refused("not-found", "GET", "/api/jobs/"+id, "")
	}
}
