package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
)

// shows fails the test unless a page has all of the texts.
func (r *reader) shows(path string, texts ...string) string {
	r.t.Helper()
	status, page := r.send("GET", path, nil)
	for _, text := range texts {
		if status != http.StatusOK || !strings.Contains(page, text) {
			r.t.Errorf("GET %s: got %d without %q", path, status, text)
		}
	}
	return page
}

// proves: U4
//
// A new job is checked by the schema of its kind: each mistake stands beside its field, what was typed
// survives, a form that is sent twice makes one job, and who may only look has no button.
func TestU4_ANewJobIsCheckedBesideItsFields(t *testing.T) {
	t.Parallel()
	render, err := schema.Compile("render.json", []byte(`{"type":"object","required":["image"],"properties":{"image":{"type":"string","minLength":1},"seconds":{"type":"number","minimum":1}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.PayloadChecks = map[string]redrive.PayloadCheck{"render": render}
		o.Kinds = map[string]server.KindOptions{"render": {}, "text": {Text: true}}
	})
	r := s.reader("operate")
	r.shows("/ui/new?kind=render", "JSON Schema of the payload", "&#34;minLength&#34;: 1", "<option selected>render</option>")
	typed := url.Values{"kind": {"render"}, "payload": {`{"image":"","seconds":0}`}, "priority": {"2"}, "run_at": {"tomorow"}, "key": {"k-<1>"}, "attrs": {"[]"}, "owner": {"acme"}, "nonce": {"N1"}}
	status, page := r.send("POST", "/ui/new", typed)
	for _, text := range []string{
		"No job was added", `id="w-attrs"`, "must be a JSON object", `value="tomorow"`, `value="k-&lt;1&gt;"`, `value="acme"`, "{&#34;image&#34;:&#34;&#34;,&#34;seconds&#34;:0}",
	} {
		if status != http.StatusBadRequest || !strings.Contains(page, text) {
			t.Errorf("a form with mistakes: got %d without %q", status, text)
		}
	}
	typed.Set("attrs", "{}")
	if status, page = r.send("POST", "/ui/new", typed); status != http.StatusBadRequest || !strings.Contains(page, `id="w-run_at"`) {
		t.Errorf("a wrong time: got %d without a mistake beside it", status)
	}
	typed.Set("run_at", "2h")
	status, page = r.send("POST", "/ui/new", typed)
	for _, text := range []string{"does not fit the schema of render", "<code>/image</code>", "<code>/seconds</code>"} {
		if status != http.StatusBadRequest || !strings.Contains(page, text) {
			t.Errorf("a payload that does not fit: got %d without %q", status, text)
		}
	}
	typed.Set("payload", `{"image":"cat.png",`)
	if status, page = r.send("POST", "/ui/new", typed); status != http.StatusBadRequest || !strings.Contains(page, "is not JSON") {
		t.Errorf("a payload of no JSON: got %d", status)
	}
	typed.Set("payload", `{"image":"cat.png"}`)
	r.must("Job 1 is enqueued.", "/ui/new", typed)
	r.must("Job 1 has this key already. No job was added.", "/ui/new", typed)
	typed.Del("key")
	r.must(" is enqueued.", "/ui/new", typed)
	r.must(" has this key already.", "/ui/new", typed) // a second click
	r.must(" is enqueued.", "/ui/new", url.Values{"kind": {"text"}, "payload": {"line 1\r\nline 2"}, "nonce": {"N2"}})
	list, err := s.client.List(t.Context(), redrive.JobFilter{})
	if err != nil || len(list.Jobs) != 3 {
		t.Fatalf("got %d jobs and %v, want 3", len(list.Jobs), err)
	}
	if j, err := s.client.Get(t.Context(), list.Jobs[0].ID); err != nil || string(j.Payload) != "line 1\nline 2" {
		t.Errorf("got the payload %q and %v, want the two lines", j.Payload, err)
	}
	r.shows("/ui/new?from=1", "cat.png", `value="acme"`)
	page = s.reader("view").shows("/ui/new?kind=render", "it needs the role submit or operate")
	if strings.Contains(page, `type="submit">Add the job`) {
		t.Error("who may only look has a button that adds jobs")
	}
	if status, _ := s.reader("view").send("POST", "/ui/new", typed); status != http.StatusForbidden {
		t.Errorf("a job added by who may only look: got %d, want 403", status)
	}
}

// proves: R9
//
// The policy page answers as `redrive explain --error` does: class, rule, what it beat, formula, and
// the next waits up to the end. A question with mistakes keeps what was typed.
func TestR9_ThePolicyPageExplainsAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	r := s.reader("view")
	r.shows("/ui/policy", "Policy default:", "NetworkTimeout", "30s × 2^(n−1), ±20 %", "the class (classes.NetworkTimeout)", "none: the job is dead at once")
	status, page := r.send("POST", "/ui/policy", url.Values{"error": {"dial tcp 10.0.0.7:443: connect: connection refused"}, "attempt": {"2"}, "kind": {"fetch"}})
	for _, text := range []string{"Retry 2 of 3 in 1m", "transport.refused", "service.notready", "30s × 2^(2−1) = 1m", "48s to 1m12s", "Next waits, if it keeps failing", "are used up, 3 of 3"} {
		if status != http.StatusOK || !strings.Contains(page, text) {
			t.Errorf("an error that is retried: got %d without %q", status, text)
		}
	}
	if n := strings.Count(page, "random number"); n != 1 {
		t.Errorf("the page has %d random numbers, want the one of the decision: those of the next waits are not known", n)
	}
	status, page = r.send("POST", "/ui/policy", url.Values{"error": {""}, "attempt": {"x"}, "attrs": {"{"}, "status": {"99"}})
	for _, text := range []string{`id="w-attempt"`, `id="w-attrs"`, `id="w-status"`, `value="x"`, `value="99"`} {
		if status != http.StatusBadRequest || !strings.Contains(page, text) {
			t.Errorf("a question with mistakes: got %d without %q", status, text)
		}
	}
	if status, page := r.send("POST", "/ui/policy", url.Values{"kind": {"fetch"}}); status != http.StatusBadRequest || !strings.Contains(page, `id="w-error"`) {
		t.Errorf("a question without an error: got %d without a mistake beside it", status)
	}
	if status, _ := r.send("GET", "/ui/policy?show=none", nil); status != http.StatusNotFound {
		t.Errorf("a policy that is not stored: got %d, want 404", status)
	}
}

// proves: Q13
//
// The page of schedules shows when each fires and what it last enqueued, and pauses and resumes it.
func TestQ13_SchedulesArePausedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.Cron = []redrive.Cron{{Name: "nightly", Expression: "0 3 * * *", Spec: redrive.NewRaw("report", []byte("{}"), nil)}}
	})
	r := s.reader("operate")
	r.shows("/ui/schedules", "1 schedule<", "nightly", "at 03:00 every day", "03:00:00", "never")
	page := r.shows("/ui/schedules", "Run now")
	for range 2 { // two clicks
		if text := r.press(page, "/ui/schedules/nightly/run", "Run now", nil); !strings.Contains(text, "Schedule nightly has enqueued job 1 now. Its times stay as they are.") {
			t.Errorf("run now: got %s", textOf(text))
		}
	}
	if jobs, err := s.client.List(t.Context(), redrive.JobFilter{Kind: "report", Limit: 10}); err != nil || len(jobs.Jobs) != 1 {
		t.Errorf("got %d jobs and %v, want 1 for two clicks", len(jobs.Jobs), err)
	}
	r.must("Schedule nightly is paused.", "/ui/schedules/nightly/pause", nil)
	r.shows("/ui/schedules", "1 schedule, paused", "none while it is paused")
	r.must("Schedule nightly goes on with its next time.", "/ui/schedules/nightly/resume", nil)
	if status, _ := r.send("POST", "/ui/schedules/other/pause", nil); status != http.StatusNotFound {
		t.Errorf("a schedule that does not exist: got %d, want 404", status)
	}
	s.reader("view").shows("/ui/schedules", `aria-disabled="true"`, "it needs the role operate")
}

// part of: U4
//
// One box finds jobs by id, key, correlation id, owner, attribute and the text of their error, and says
// where.
func TestU4_OneBoxFindsEverything(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(1)
	_, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", []byte("1"), &redrive.Options{Key: "acme", Correlation: "acme"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.client.Enqueue(t.Context(), redrive.NewRaw("k", []byte("2"), &redrive.Options{Owner: "acme", Attrs: map[string]any{"tier": "free"}})); err != nil {
		t.Fatal(err)
	}
	r := s.reader("view")
	r.shows("/ui/find?q=acme", "“acme” was found in 3 places", "<h2>Key</h2>", "<h2>Correlation</h2>", "<h2>Owner</h2>")
	r.shows("/ui/find?q=tier%3Dfree", "<h2>Attribute tier</h2>", "was found in 1 place<")
	spring, err := s.client.NewBatch(t.Context(), redrive.By{Actor: "mira"}, redrive.BatchSpec{Key: "c-7", Name: "Spring sale"})
	if err != nil {
		t.Fatal(err)
	}
	r.shows("/ui/find?q=c-7", "<h2>Batch</h2>", fmt.Sprintf(`href="/ui/batches/%d"`, spring.ID()))
	r.shows("/ui/find?q=sprin", "<h2>Batches</h2>", `href="/ui/batches?name=sprin"`)
	r.shows("/ui/find?q=nowhere", "Nothing is called “nowhere”")
	r.shows("/ui/find?q=1", `<span class="m">1</span>`) // the job itself
	r.shows("/ui/find?q=kind:k+owner:acme", "1 job<")
	letter, err := s.client.DeadLetter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r.shows("/ui/find?q="+url.QueryEscape(letter.Fingerprint), "<h2>Cause</h2>")
	if status, _ := r.send("GET", "/ui/find?q="+strings.Repeat("x", 257), nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a text of 257 bytes: got %d, want 413", status)
	}
}

// part of: U4
//
// The log of events is read backwards, page by page, with filters: every event once, the newest first.
func TestU4_TheLogOfEventsIsReadBackwards(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	r := s.reader("view")
	r.shows("/ui/events?kind=other", "No event matches")
	for i := range 130 {
		if _, err := s.client.Enqueue(t.Context(), redrive.NewRaw("other", []byte(fmt.Sprint(i)), nil)); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]bool)
	path, pages, last := "/ui/events?kind=other&type=job.enqueued", 0, int64(1<<60)
	for path != "" && pages < 9 {
		pages++
		page := r.shows(path, "job.enqueued")
		for part := range strings.SplitSeq(page, `href="/ui/jobs/`) {
			id, _, ok := strings.Cut(part, `">job `)
			if !ok || len(id) > 20 {
				continue
			}
			n, err := job.ParseID(id)
			if err != nil || seen[id] || int64(n) >= last {
				t.Fatalf("event of job %q is not older than the one before, or is there twice: %v", id, err)
			}
			seen[id], last = true, int64(n)
		}
		path = ""
		if _, rest, ok := strings.Cut(page, `<a class="btn" href="?before=`); ok {
			cursor, _, _ := strings.Cut(rest, `"`)
			path = "/ui/events?before=" + strings.ReplaceAll(cursor, "&amp;", "&")
		}
	}
	if len(seen) != 130 || pages < 2 {
		t.Errorf("got %d events on %d pages, want 130 on more than one", len(seen), pages)
	}
	for _, bad := range []string{"type=job.exploded", "job=x", "before=x"} {
		if status, _ := r.send("GET", "/ui/events?"+bad, nil); status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", bad, status)
		}
	}
}

// part of: U4, M4
//
// The charts say in a sentence what they draw, have a table, and divide by queue, kind and class.
func TestU4_ChartsSayWhatTheyDraw(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(3)
	r := s.reader("view")
	for _, window := range []string{"6h", "24h", "7d", "30d"} {
		page := r.shows("/ui/charts?by=kind&window="+window, "ended dead; a column is", "As a table", "recovered / (recovered &#43; exhausted)", "3 jobs ended dead", "&gt; 60 %")
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: the chart has a coordinate that is no number", window)
		}
	}
	r.shows("/ui/charts?by=queue", ">default</a>")
	r.shows("/ui/charts?by=class&kind=k", "Remove this filter")
	r.shows("/ui/charts?kind=nothing", "Nothing ran in the last 24 hours")
	for _, bad := range []string{"window=1y", "by=owner"} {
		if status, _ := r.send("GET", "/ui/charts?"+bad, nil); status != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", bad, status)
		}
	}
}

// part of: U4
//
// Times are UTC until a cookie names the reader's zone; a cookie that names none changes nothing (trap
// 34). Every page shows the environment, and the page of a job links to its logs.
func TestTrap34_PagesShowTheZoneOfTheReader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC)
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Now = func() time.Time { return now }
		o.Environment = "staging & more"
		o.Links = []server.Link{{Label: "logs", URL: "https://logs.example/?q={correlation}"}}
	})
	_, err := s.client.Enqueue(context.Background(), redrive.NewRaw("k", []byte("1"), &redrive.Options{Correlation: "a b"}))
	if err != nil {
		t.Fatal(err)
	}
	r := s.reader("view")
	r.shows("/ui/", "staging &amp; more", "22:30:00 UTC", "Wed 1 Jul 2026, 22:30:00 UTC")
	for cookie, want := range map[string]string{
		"Asia%2FKolkata": "04:00:00 IST", "America/New_York": "18:30:00 EDT", "Etc%2FNowhere": "22:30:00 UTC", "Local": "22:30:00 UTC", "..%2F..%2Fetc%2Fpasswd": "22:30:00 UTC", "%zz": "22:30:00 UTC",
	} {
		if status, page := r.send("GET", "/ui/", nil, "Cookie: redrive_zone="+cookie); status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("the zone %s: got %d without %q", cookie, status, want)
		}
	}
	r.shows("/ui/jobs/1", `href="https://logs.example/?q=a%20b"`, "Open in logs")
}
