package server_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
)

// press sends the form of the button with a label on a page, with the fields that a person has typed.
// It returns the page at which the form ends. The test fails if the page has no such button.
func (r *reader) press(page, path, label string, typed url.Values) string {
	r.t.Helper()
	action, fields := buttonOf(page, path, label)
	if action == "" {
		r.t.Fatalf("the page %s has no button %q:\n%s", path, label, textOf(page))
	}
	maps.Copy(fields, typed)
	_, text := r.send("POST", action, fields)
	return text
}

var (
	formTag   = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	inputTag  = regexp.MustCompile(`<input([^>]*)>`)
	attribute = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
	buttonTag = regexp.MustCompile(`(?s)<button([^>]*)>(.*?)</button>`)
	anyTag    = regexp.MustCompile(`(?s)<[^>]*>`)
	hiddenTag = regexp.MustCompile(`(?s)<span class="vh">.*?</span>`)
)

func attributesOf(tag string) map[string]string {
	all := make(map[string]string)
	for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
		all[m[1]] = strings.NewReplacer("&amp;", "&", "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+").Replace(m[2])
	}
	return all
}

func textOf(page string) string {
	return strings.Join(strings.Fields(anyTag.ReplaceAllString(page, " ")), " ")
}

// buttonOf returns the address and the fields of the form below a path whose enabled button has a label.
func buttonOf(page, path, label string) (string, url.Values) {
	for _, f := range formTag.FindAllStringSubmatch(page, -1) {
		form := attributesOf(f[1])
		if form["method"] != "post" {
			continue
		}
		for _, b := range buttonTag.FindAllStringSubmatch(f[2], -1) {
			button := attributesOf(b[1])
			if strings.TrimSpace(anyTag.ReplaceAllString(hiddenTag.ReplaceAllString(b[2], ""), "")) != label || button["aria-disabled"] != "" {
				continue
			}
			fields := url.Values{}
			for _, i := range inputTag.FindAllStringSubmatch(f[2], -1) {
				if input := attributesOf(i[1]); input["name"] != "" && input["type"] != "checkbox" {
					fields.Add(input["name"], input["value"])
				}
			}
			if button["name"] != "" {
				fields.Set(button["name"], button["value"])
			}
			action := form["action"]
			if button["formaction"] != "" {
				action, _, _ = strings.Cut(button["formaction"], "#")
			}
			if strings.HasPrefix(action, path) {
				return action, fields
			}
		}
	}
	return "", nil
}

// stage is a site with a job in a given state.
type stage struct {
	*deadSite
	r  *reader
	id job.ID
}

func newStage(t *testing.T, state job.State, held bool) *stage {
	t.Helper()
	change := as
	if held {
		change = withPreset(t, "transcribe")
	}
	s := &stage{deadSite: newDeadSite(t, change)}
	s.checked = false // the pages are not in the document of the API
	s.r = s.reader("operate")
	options := &redrive.Options{}
	if held {
		options.Attrs = map[string]any{"duration_seconds": 30_000}
	}
	if state == job.Waiting {
		options.RunAt = time.Now().Add(time.Hour)
	}
	kind := "k"
	if state == job.Retrying {
		kind = "flaky"
		redrive.HandleRaw(s.client, kind, func(context.Context, *redrive.Job[[]byte]) error {
			return errors.New("dial tcp 10.0.0.7:443: connect: connection refused")
		}, nil)
	}
	receipt, err := s.client.Enqueue(t.Context(), redrive.NewRaw(kind, []byte(`{"n":1}`), options))
	if err != nil {
		t.Fatal(err)
	}
	s.id = receipt.ID
	switch state {
	case job.Dead:
		s.run()
	case job.Completed:
		s.broken.Store(false)
		s.run()
	case job.Cancelled:
		if err := s.client.Cancel(t.Context(), redrive.By{Actor: "test"}, s.id); err != nil {
			t.Fatal(err)
		}
	case job.Retrying:
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.client.Run(ctx) }()
		for e, err := range s.client.Events(ctx, event.Cursor{}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if j, err := s.client.Get(t.Context(), e.Job); err == nil && j.State == job.Retrying {
				break
			}
		}
		stop()
		<-ended
	case job.Waiting, job.Running, job.None:
	}
	if j, err := s.client.Get(t.Context(), s.id); err != nil || j.State != state {
		t.Fatalf("got a job that is %s and %v, want %s", j.State, err, state)
	}
	return s
}

func (s *stage) path() string { return "/ui/jobs/" + s.id.String() }

func (s *stage) page() string {
	s.Helper()
	status, text := s.r.send("GET", s.path(), nil)
	if status != http.StatusOK {
		s.Fatalf("GET %s: got %d", s.path(), status)
	}
	return text
}

// proves: U4
//
// Each button of a job in each state does what it says, and does nothing when the job has moved on
// since the page was loaded: a second operator's click and a second click of the same form make no
// second action (traps 13 and 14). Buttons that the state does not allow say why.
func TestU4_EachButtonOfEachState(t *testing.T) {
	t.Parallel()
	states := []struct {
		state   job.State
		held    bool
		buttons map[string]string // label: what the page says then
		why     []string          // of those that cannot be pressed
	}{
		{job.Waiting, false, map[string]string{"Run now": "is due now", "Cancel": "is cancelled"}, []string{"Only a dead job is retried; this one is waiting."}},
		{job.Retrying, false, map[string]string{"Run now": "is due now", "Cancel": "is cancelled"}, []string{"Only a dead job is retried; this one is retrying."}},
		{job.Dead, false, map[string]string{"Retry": "waits again, in life 2", "Resolve": "is resolved", "Ignore": "is ignored"},
			[]string{"Only a job that waits can run now; this one is dead.", "A job that is dead has nothing to cancel."}},
		{job.Dead, true, map[string]string{"Release": "waits again, in life 2", "Refuse": "is refused"}, nil},
		{job.Completed, false, nil, []string{"Only a dead job is retried; this one is completed.", "A job that is completed has nothing to cancel."}},
		{job.Cancelled, false, nil, []string{"Only a dead job is retried; this one is cancelled.", "Only a job that waits can run now; this one is cancelled."}},
	}
	for _, st := range states {
		for label, says := range st.buttons {
			t.Run(fmt.Sprintf("%s/held %t/%s", st.state, st.held, label), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, st.state, st.held)
				page := s.page()
				action, fields := buttonOf(page, s.path(), label)
				if action == "" {
					t.Fatalf("no button %q on the page of a job that is %s:\n%s", label, st.state, textOf(page))
				}
				_, first := s.r.send("POST", action, fields)
				if !strings.Contains(first, says) {
					t.Fatalf("%s: got %s, want %q", label, textOf(first), says)
				}
				before := dump(t, s.store)
				if _, again := s.r.send("POST", action, fields); !strings.Contains(again, says) {
					t.Errorf("%s twice: got %s, want the answer of the first", label, textOf(again))
				}
				other := s.reader("operate,view") // a second operator with a page of the same time
				fields.Set("nonce", "")
				if _, late := other.send("POST", action, fields); label != "Run now" && label != "Refuse" && label != "Resolve" && label != "Ignore" && !strings.Contains(late, "Nothing was done: ") {
					t.Errorf("%s by a second operator: got %s, want a refusal", label, textOf(late))
				}
				if after := dump(t, s.store); len(after.Audit) != len(before.Audit) {
					t.Errorf("%s: got %d actions in the audit log, want %d: a click that is repeated does nothing", label, len(after.Audit), len(before.Audit))
				}
			})
		}
		t.Run(fmt.Sprintf("%s/held %t/refusals", st.state, st.held), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, st.state, st.held)
			page := s.page()
			for _, why := range st.why {
				if !strings.Contains(page, why) {
					t.Errorf("the page of a job that is %s does not say %q", st.state, why)
				}
			}
			_, seen := s.reader("view").send("GET", s.path(), nil)
			if action, _ := buttonOf(seen, s.path(), "Retry"); action != "" || !strings.Contains(seen, "it needs the role operate") {
				t.Error("a viewer gets a button that it may not press")
			}
		})
	}
}

// proves: D5
//
// A payload is edited on the page of its job: a mistake is named with its line, a payload that does not
// fit the schema is refused with each mistake, and what was typed stays in the form. The difference is
// shown before the retry. The first payload and the bytes of an unchanged payload are kept.
func TestD5_APayloadIsEditedAndChecked(t *testing.T) {
	t.Parallel()
	check, err := schema.Compile("k.json", []byte(`{"type":"object","required":["duration"],"properties":{"duration":{"type":"number","minimum":1,"x-unit":"second"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newDeadSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.PayloadChecks = map[string]redrive.PayloadCheck{"k": check}
	})
	s.checked = false
	r := s.reader("operate")
	payload := []byte(`{"duration": 9007199254740993, "note":"<b>" }`)
	receipt, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", payload, nil))
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	path := "/ui/jobs/" + receipt.ID.String()
	_, page := r.send("GET", path, nil)
	for _, bad := range []struct{ text, says string }{
		{"{\n\"duration\": oops}", "line 2, column 13"},
		{`{"duration":0.5,"note":"keep me"}`, "Duration must be at least 1 second"},
		{`{}`, "duration"},
		{"", "It is not JSON: line 1"},
		{strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "nested"},
	} {
		for _, label := range []string{"Check", "Retry with this payload"} {
			text := r.press(page, path, label, url.Values{"payload": {bad.text}, "reason": {"it was too short"}})
			if !strings.Contains(text, bad.says) {
				t.Errorf("%s of %.40q: got %s, want %q", label, bad.text, textOf(text), bad.says)
			}
			if kept := strings.NewReplacer("&#34;", `"`).Replace(text); !strings.Contains(kept, ">\n"+bad.text+"</textarea>") || !strings.Contains(kept, `value="it was too short"`) {
				t.Errorf("%s of %.40q: what was typed is lost", label, bad.text)
			}
		}
	}
	text := r.press(page, path, "Check", url.Values{"payload": {"{\r\n\"duration\": 2, \"note\":\"<b>\"}"}})
	if !strings.Contains(text, "Fits") || !strings.Contains(text, "<del>  &#34;duration&#34;: 9007199254740993,</del><ins>  &#34;duration&#34;: 2,</ins>") {
		t.Errorf("check of a payload that fits: got %s", textOf(text))
	}
	if j, err := s.client.Get(t.Context(), receipt.ID); err != nil || j.Life != 1 {
		t.Fatalf("got life %d and %v: a check has retried the job", j.Life, err)
	}
	_, page = r.send("GET", path, nil)
	if text := r.press(page, path, "Retry with this payload", url.Values{"payload": {"{\r\n  \"duration\": 2,\r\n  \"note\": \"<b>\"\r\n}"}, "reason": {"shorter"}}); !strings.Contains(text, "waits again with the new payload, in life 2") {
		t.Errorf("the retry: got %s", textOf(text))
	}
	j, err := s.client.Get(t.Context(), receipt.ID)
	original, originalErr := s.client.Original(t.Context(), receipt.ID)
	if err != nil || originalErr != nil || string(j.Payload) != `{"duration":2,"note":"<b>"}` || string(original.Payload) != string(payload) {
		t.Errorf("got the payload %s, first %s, errors %v and %v", j.Payload, original.Payload, err, originalErr)
	}
	s.run()
	_, page = r.send("GET", path, nil)
	if !strings.Contains(page, "Changed since it was enqueued") || !strings.Contains(page, "“shorter”") {
		t.Error("the page does not show the difference to the first payload, or who has retried it")
	}
	if text := r.press(page, path, "Retry with this payload", url.Values{"payload": {`{ "note":"<b>" ,"duration":2}`}}); !strings.Contains(text, "with the new payload") {
		t.Errorf("members in another order are another payload: got %s", textOf(text))
	}
}

// proves: D3
//
// Ticked rows are retried, resolved, ignored and reopened together; the page says what was done, what was
// skipped and why, and takes it back. A set of all that match is frozen, counted and asks for a reason.
func TestD3_TickedRowsAndWholeLists(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(6)
	r := s.reader("operate")
	_, page := r.send("GET", "/ui/dead", nil)
	if text := r.press(page, "/ui/dead/act", "Resolve", nil); !strings.Contains(text, "Nothing was done: No row is ticked.") {
		t.Errorf("without ticks: got %s", textOf(text))
	}
	if err := s.client.Retry(t.Context(), redrive.By{Actor: "jonas"}, 3, nil); err != nil {
		t.Fatal(err)
	}
	text := r.press(page, "/ui/dead/act", "Retry", url.Values{"id": {"1", "3"}})
	if !strings.Contains(text, "1 of 2 jobs retried. 1 skipped:") || !strings.Contains(text, "job 3 is waiting") {
		t.Errorf("ticked retry: got %s", textOf(text))
	}
	_, page = r.send("GET", "/ui/dead?status=pending", nil)
	text = r.press(page, "/ui/dead/act", "Resolve", url.Values{"id": {"2", "4"}})
	if !strings.Contains(text, "2 of 2 jobs resolved.") {
		t.Errorf("ticked resolve: got %s", textOf(text))
	}
	if text = r.press(text, "/ui/dead/act", "Undo", nil); !strings.Contains(text, "2 of 2 jobs reopened.") {
		t.Errorf("undo: got %s", textOf(text))
	}
	if text := r.press(page, "/ui/dead/act", "Ignore", url.Values{"id": {"x"}}); !strings.Contains(text, "is not the id of a job") {
		t.Errorf("a foreign id: got %s", textOf(text))
	}

	_, ask := r.send("GET", "/ui/dead/act?do=resolve&task_type=k&status=pending", nil)
	if !strings.Contains(ask, "Resolve 4 dead letters") {
		t.Fatalf("the page that asks: got %s", textOf(ask))
	}
	s.dieMany(1) // a death between the preview and the confirmation
	if text := r.press(ask, "/ui/dead/act", "Resolve 4", nil); !strings.Contains(text, "Give a reason") {
		t.Errorf("without a reason: got %s", textOf(text))
	}
	if text := r.press(ask, "/ui/dead/act", "Resolve 4", url.Values{"reason": {"customers informed"}}); !strings.Contains(text, "4 of 4 dead letters resolved.") {
		t.Errorf("the set: got %s", textOf(text))
	}
	stats, err := s.client.DeadStats(t.Context())
	n := int64(0)
	for i := range stats.Counts {
		if stats.Counts[i].Status == job.Pending {
			n += stats.Counts[i].N
		}
	}
	if err != nil || n < 1 {
		t.Errorf("got %d pending and %v: the later death is not in the frozen set", n, err)
	}
	if status, _ := r.send("POST", "/ui/dead/act", url.Values{"do": {"purge"}, "query": {""}, "count": {"1"}, "reason": {"x"}}); status != http.StatusForbidden {
		t.Errorf("a purge by an operator: got %d, want 403", status)
	}
	root := s.reader("administer")
	_, ask = root.send("GET", "/ui/dead/act?do=purge", nil)
	if text := root.press(ask, "/ui/dead/act", "Purge 4", url.Values{"reason": {"old"}}); !strings.Contains(text, "4 of 4 dead letters purged.") {
		t.Errorf("the purge: got %s", textOf(text))
	}
}

// proves: D3
//
// Live jobs are cancelled, moved and made due by ticks and by filter; a set of more than 1,000 asks for
// its number, and is changed step by step in a redrive that can be stopped half way.
func TestD3_LiveJobsAreChangedTogether(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	r := s.reader("operate")
	var specs []redrive.Spec
	for range 1_200 {
		specs = append(specs, redrive.NewRaw("later", []byte(`1`), &redrive.Options{RunAt: time.Now().Add(time.Hour), Owner: "ann"}))
	}
	if _, err := s.client.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	_, page := r.send("GET", "/ui/jobs?state=waiting", nil)
	if text := r.press(page, "/ui/jobs/act", "Cancel", url.Values{"id": {"1", "2"}}); !strings.Contains(text, "2 of 2 jobs cancelled or asked to stop.") {
		t.Errorf("ticked cancel: got %s", textOf(text))
	}
	if text := r.press(page, "/ui/jobs/act", "Run now", url.Values{"id": {"1", "3"}}); !strings.Contains(text, "1 of 2 jobs due now. 1 skipped:") {
		t.Errorf("ticked run: got %s", textOf(text))
	}
	_, ask := r.send("GET", "/ui/jobs/act?do=move&owner=ann", nil)
	if !strings.Contains(ask, "Move 1,198 jobs") || !strings.Contains(ask, "Type 1198 to confirm") {
		t.Fatalf("the page that asks: got %s", textOf(ask))
	}
	typed := url.Values{"reason": {"a faster queue"}, "queue": {"fast"}}
	if text := r.press(ask, "/ui/jobs/act", "Move 1,198", typed); !strings.Contains(text, "Type 1198 to change that many jobs.") || !strings.Contains(text, `value="fast"`) {
		t.Errorf("without the number: got %s", textOf(text))
	}
	typed.Set("typed", "1198")
	text := r.press(ask, "/ui/jobs/act", "Move 1,198", typed)
	if !strings.Contains(text, "1,198 jobs are being changed") {
		t.Fatalf("with the number: got %s", textOf(text))
	}
	if text := r.press(ask, "/ui/jobs/act", "Move 1,198", typed); !strings.Contains(text, "1,198 jobs are being changed") {
		t.Errorf("a second click: got %s", textOf(text))
	}
	list, err := s.client.Redrives(t.Context())
	if err != nil || len(list) != 1 || list[0].Total != 1_198 {
		t.Fatalf("got %d redrives and %v, want 1 for two clicks", len(list), err)
	}
	if text := r.press(text, "/ui/redrives/1", "Cancel the rest", nil); !strings.Contains(text, "Redrive 1 is cancelled.") {
		t.Errorf("stop half way: got %s", textOf(text))
	}
	_, ask = r.send("GET", "/ui/jobs/act?do=cancel&worker=nobody", nil)
	if action, _ := buttonOf(ask, "/ui/jobs/act", "Cancel 0"); action != "" || !strings.Contains(ask, "Nothing in this list can be changed so.") {
		t.Errorf("an empty set: got %s", textOf(ask))
	}
}

var exportLink = regexp.MustCompile(`href="(/api/[^"]*format=(?:csv|ndjson))"`)

// proves: D3
//
// Each list is exported as a whole, with the filter of the page, as CSV and as JSON lines.
func TestD3_EachListIsExported(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(60)
	if _, err := s.client.Enqueue(t.Context(), redrive.NewRaw("other", []byte(`1`), &redrive.Options{Owner: "=cmd()", RunAt: time.Now().Add(time.Hour)})); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Cancel(t.Context(), redrive.By{Actor: "mira", Reason: "@import"}, 61); err != nil {
		t.Fatal(err)
	}
	r := s.reader("view")
	for path, rows := range map[string]int{
		"/ui/jobs": 61, "/ui/jobs?kind=k&state=dead&limit=5": 60, "/ui/jobs?state=cancelled": 1, "/ui/dead?task_type=k": 60, "/ui/groups": 1, "/ui/groups?state=resolved": 0,
		"/ui/groups?state=all": 1, "/ui/audit?actor=mira": 1,
	} {
		_, page := r.send("GET", path, nil)
		if len(page) > 150<<10 {
			t.Errorf("%s has %d bytes, want less than 150 KiB", path, len(page))
		}
		links := exportLink.FindAllStringSubmatch(page, -1)
		if len(links) != 2 && (rows > 0 || len(links) != 0) {
			t.Errorf("%s has the links %q, want one for CSV and one for JSON lines", path, links)
		}
		for _, link := range links {
			at := strings.ReplaceAll(link[1], "&amp;", "&")
			status, text := r.send("GET", at, nil)
			lines := strings.Count(text, "\n") - 1 // the header, or the line that says complete
			if status != http.StatusOK || lines != rows || strings.HasSuffix(at, "ndjson") && !strings.Contains(text, fmt.Sprintf(`{"complete":true,"count":%d}`, rows)) {
				t.Errorf("GET %s: got %d with %d rows, want %d", at, status, lines, rows)
			}
			if strings.Contains(text, ",=cmd()") || strings.Contains(text, ",@import") {
				t.Errorf("GET %s has a cell that a spreadsheet evaluates: %s", at, text)
			}
		}
	}
	s.refused("invalid-field", "GET", "/api/jobs/export?format=xml", "", "X-Test-Caller: view")
	s.refused("forbidden", "GET", "/api/audit/export", "", "X-Test-Caller: view/ann")
}
