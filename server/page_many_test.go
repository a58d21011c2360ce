package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

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
	if text := r.press(page, "/ui/dead/act", "Ignore", url.Values{"id": {"2"}}); !strings.Contains(text, "Nothing was done: Give a reason") {
		t.Errorf("ignore without a reason: got %s", textOf(text))
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
	if text := r.press(text, "/ui/redrives/1", "Cancel the rest", nil); !strings.Contains(text, "Redrive 1 is cancelled: none of its 1,198 jobs had been changed.") {
		t.Errorf("stop half way: got %s", textOf(text))
	}
	_, ask = r.send("GET", "/ui/jobs/act?do=cancel&worker=nobody", nil)
	if action, _ := buttonOf(ask, "/ui/jobs/act", "Cancel 0"); action != "" || !strings.Contains(ask, "Nothing in this list can be changed so.") {
		t.Errorf("an empty set: got %s", textOf(ask))
	}
}

// part of: D3
//
// What makes many jobs run says what that costs at worst, whether they are dead, wait, or have never run;
// what runs none does not.
func TestD3_WideActionsSayTheWorstCost(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	redrive.HandleRaw(s.client, "costly", func(_ context.Context, j *redrive.Job[[]byte]) error {
		j.AddCost(0.25)
		return failure.Permanent(errors.New("the model refuses the prompt"))
	}, nil)
	add := func(n int, o *redrive.Options) {
		t.Helper()
		for range n {
			if _, err := s.client.Enqueue(t.Context(), redrive.NewRaw("costly", []byte(`1`), o)); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(3, nil)
	s.run()
	add(2, &redrive.Options{RunAt: time.Now().Add(time.Hour)})
	r := s.reader("operate")
	for _, c := range []struct{ path, want string }{
		{"/ui/redrives/new?status=pending", words.Dollars(750_000)},
		{"/ui/jobs/act?do=run&kind=costly", words.Dollars(500_000)},
		{"/ui/jobs/act?do=move&kind=costly", words.Dollars(500_000)},
		{"/ui/jobs/act?do=cancel&kind=costly", ""},
		{"/ui/dead/act?do=resolve&status=pending", ""},
	} {
		_, page := r.send("GET", c.path, nil)
		if _, worst, found := strings.Cut(page, "<dt>worst cost</dt><dd>"); found != (c.want != "") || found && !strings.HasPrefix(worst, c.want+", if each costs as much") {
			t.Errorf("%s: got %s, want the worst cost %q", c.path, textOf(page), c.want)
		}
	}
	if _, page := r.send("GET", "/ui/jobs/1", nil); !strings.Contains(page, "It has cost "+words.Dollars(250_000)+" so far") {
		t.Errorf("the form that retries a job with another payload: got %s", textOf(page))
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
	_, queues := r.send("GET", "/ui/queues", nil)
	if status, text := r.send("GET", "/api/queues", nil); !strings.Contains(queues, `<a class="btn small" href="/api/queues">As JSON</a>`) || status != http.StatusOK || !strings.HasPrefix(text, "{") {
		t.Errorf("the whole list of queues is answered with %d %.80s", status, text)
	}
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
