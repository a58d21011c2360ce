package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// part of: U4
//
// Texts of strangers that come into an open page by an update are texts there, too, and so are the
// message that a form leaves and the fields that keep what was typed.
func TestTrap1_UpdatesShowTextsAsTexts(t *testing.T) {
	s := newSite(t)
	ids := s.enqueue(held, 1, &redrive.Options{Owner: "studio"})
	tb := s.newTab(1024, 800)
	tb.open("/")
	tb.until("Live")
	elements := value[int](tb, `document.querySelectorAll("script, img, iframe, style").length`)
	for _, text := range hostile {
		if _, err := s.client.Enqueue(t.Context(), redrive.NewRaw(string(loud), fmt.Appendf(nil, `{"text":%q}`, text), nil)); err != nil {
			t.Fatal(err)
		}
	}
	close(s.holds)
	s.idle()
	tb.until(fmt.Sprintf("%d dead jobs by ", len(hostile)))
	tb.until("javascript:alert(4)")
	if now := value[int](tb, `document.querySelectorAll("script, img, iframe, style, [onerror], [onload]").length`); now != elements {
		t.Errorf("the page has %d scripts, pictures and frames, had %d before the update", now, elements)
	}
	tb.open("/jobs/" + ids[0].String())
	tb.run(chromedp.SetValue(chromedp.CSS(`textarea[name=text]`), canary))
	tb.press("Add the note")
	tb.until("The note is added.")
	tb.until(`"'><script>alert(1)`)
}

// part of: X2
//
// A page of another site that sends forms and requests, loads pictures and navigates changes nothing.
func TestTrap5_OtherSitesChangeNothing(t *testing.T) {
	s := newSite(t)
	id := s.outage(1)[0]
	retry := s.url + "/ui/jobs/" + id.String() + "/retry"
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/form" {
			fmt.Fprintf(w, `<form method=post action=%q><input name=state value=dead><input name=life value=1></form><script>document.forms[0].submit()</script>`, retry)
			return
		}
		fmt.Fprintf(w, `<p>evil</p><img src=%[1]q><iframe src="%[2]s/ui/"></iframe><script>
			Promise.allSettled([fetch(%[1]q, {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({state: "dead", life: "1"})}), fetch("%[2]s/ui/queues/default/pause", {method: "POST", mode: "no-cors"}),
				fetch("%[2]s/api/jobs/%[3]s/retry", {method: "POST", mode: "no-cors"}), fetch("%[2]s/ui/live?topic=all&after=0.0", {mode: "no-cors", signal: AbortSignal.timeout(500)}), fetch("%[2]s/ui/").then((a) => a.text()).then((t) => document.body.append("read " + t.length))]).then(() => document.body.append("all tried"))</script>`, retry, s.url, id)
	}))
	t.Cleanup(evil.Close)
	for _, host := range []string{"127.0.0.1", "localhost"} { // another port, and another site
		at := strings.Replace(evil.URL, "127.0.0.1", host, 1)
		tb := s.newTab(1024, 800)
		tb.stranger = true
		tb.run(chromedp.Navigate(at + "/"))
		tb.until("all tried")
		if text := tb.text(); strings.Contains(text, "read ") {
			t.Errorf("from %s, a page of another site has read a page: %s", host, text)
		}
		tb.run(chromedp.Navigate(at + "/form"))
		tb.until("The request comes from a page of another site")
	}
	j, err := s.client.Get(t.Context(), id)
	queues, queuesErr := s.client.Queues(t.Context())
	if err != nil || queuesErr != nil || j.State != job.Dead || j.Life != 1 {
		t.Errorf("got %s in life %d, errors %v and %v: want the job dead in life 1", j.State, j.Life, err, queuesErr)
	}
	for i := range queues {
		if queues[i].Mode != redrive.QueueOpen {
			t.Errorf("queue %s is %s, want it open", queues[i].Name, queues[i].Mode)
		}
	}
}

// part of: U3
//
// A double click, a refresh of the page that follows, and a second operator make one action; the second
// operator reads why nothing was done.
func TestTrap13_TwoClicksAreOneAction(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		id := s.outage(1)[0]
		s.setMended(true)
		first, second := s.newTab(1024, 800), s.newTab(1024, 800)
		for _, tb := range []*tab{first, second} {
			tb.open("/jobs/" + id.String())
			tb.until("Live")
		}
		second.press("Pause")
		second.until("Paused since")
		first.run(chromedp.DoubleClick(chromedp.CSS(`#acts form[action$=retry] button`)))
		first.until("waits again, in life 2")
		first.until("Completed at")
		first.run(chromedp.Reload())
		first.until("Completed at")
		second.press("Retry")
		second.until("Nothing was done: job " + id.String())
		j, err := s.client.Get(t.Context(), id)
		audit, auditErr := s.client.Audit(t.Context(), redrive.AuditFilter{Actions: []string{"job.retry", "dead_letter."}})
		if err != nil || auditErr != nil || j.Life != 2 || len(audit.Entries) != 1 {
			t.Errorf("got life %d, %d rows of audit, errors %v and %v: want life 2 and 1 row", j.Life, len(audit.Entries), err, auditErr)
		}
	})
}

// proves: U4
//
// The first start: a page with nothing says how to send the first job; the job appears, fails and
// is named as a cause, without a reload.
func TestU4_FromNothingToTheFirstFailure(t *testing.T) {
	onStores(t, func(t *testing.T, s *site) {
		tb := s.newTab(390, 900)
		tb.open("/")
		tb.until("Send the first job")
		s.enqueue(held, 1, nil)
		tb.run(chromedp.Reload())
		tb.until("held")
		tb.until("Live")
		s.outage1()
		tb.until("1 dead job by 1 cause")
		tb.until("videos answered 503 Service Unavailable")
		tb.shot("flow-first-failure")
		close(s.holds)
	})
}

// part of: U4
//
// The times of a page are those that the server wrote, whatever zone the browser is in: each has the
// whole time, in UTC, beside it.
func TestTrap34_TheZoneOfTheBrowserChangesNothing(t *testing.T) {
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1024, 800)
	call(tb, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/St_Johns"})
	tb.open("/jobs/" + id.String())
	wrong := value[[]string](tb, `[...document.querySelectorAll("main time[datetime]")].filter((e) => !/Z$|[+-]\d\d:\d\d$/.test(e.dateTime) || !e.title || isNaN(new Date(e.dateTime))).map((e) => e.outerHTML)`)
	if len(wrong) > 0 {
		t.Errorf("times without the whole time beside them: %q", wrong)
	}
	asOf := value[string](tb, `document.getElementById("as-of").dateTime`)
	if at, err := time.Parse(time.RFC3339, asOf); err != nil || time.Since(at).Abs() > limit {
		t.Errorf("the page is from %s (%v), want about now", asOf, err)
	}
}
