package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

// themes writes a screenshot of the page in both themes and at two widths.
func (tb *tab) themes(name string) {
	tb.t.Helper()
	if *shots == "" {
		return
	}
	for _, width := range []int64{1440, 390} {
		tb.run(chromedp.EmulateViewport(width, 900))
		for _, theme := range []string{"light", "dark"} {
			call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
			tb.shot(fmt.Sprintf("%s-%d-%s", name, width, theme))
		}
	}
	tb.run(chromedp.EmulateViewport(1440, 900))
}

// proves: D5
//
// An operator edits the payload of a dead job: a mistake is named and what was typed stays, the
// difference is shown, and the job completes with the new payload.
func TestD5_APayloadIsEditedAndRetried(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + id.String())
	tb.until("Edit and retry")
	tb.themes("act-job-dead")
	set := func(text string) {
		t.Helper()
		tb.run(chromedp.SetValue(chromedp.CSS(`textarea[name=payload]`), text))
	}
	set(`{"video": v-0}`)
	tb.press("Check")
	tb.until("It is not JSON: line 1, column 11")
	if typed := value[string](tb, `document.querySelector("textarea[name=payload]").value`); typed != `{"video": v-0}` {
		t.Errorf("got %q in the field, want what was typed", typed)
	}
	tb.themes("act-edit-refused")
	set(`{"video": "v-0", "bucket": "second"}`)
	tb.press("Check")
	tb.until("What changes")
	tb.until(`"bucket": "second"`)
	tb.themes("act-edit-fits")
	s.setMended(true)
	tb.press("Retry with this payload")
	tb.until("waits again with the new payload, in life 2")
	tb.until("Completed at")
	tb.themes("act-job-completed")
}

// proves: D3
//
// Ticked rows are retried together, and the page says which were skipped and why; ticked rows that were
// resolved are brought back by one button. A whole list asks first, with its numbers.
func TestD3_TickedRowsAndUndo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.outage(5)
	tb := s.newTab(1440, 900)
	tb.open("/dead")
	tick := func(ids ...job.ID) {
		t.Helper()
		for _, id := range ids {
			tb.run(chromedp.Click(chromedp.CSS(fmt.Sprintf(`input[name=id][value="%d"]`, id))))
		}
	}
	tick(ids[0], ids[1])
	tb.themes("act-ticked")
	tb.press("Resolve")
	tb.until("2 of 2 jobs resolved.")
	tb.themes("act-resolved-undo")
	tb.press("Undo")
	tb.until("2 of 2 jobs reopened.")
	if err := s.client.Cancel(t.Context(), redrive.By{Actor: "jonas"}, ids[2]); err == nil {
		t.Fatal("a dead job was cancelled")
	}
	tick(ids[3], ids[4])
	s.setMended(true)
	if err := s.client.Retry(t.Context(), redrive.By{Actor: "jonas"}, ids[4], nil); err != nil {
		t.Fatal(err)
	}
	if err := s.client.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	tb.run(chromedp.Click(chromedp.CSS(`#many button[value=retry]`)))
	tb.until("1 of 2 jobs retried. 1 skipped:")
	tb.until("is completed")
	tb.themes("act-skipped")
	tb.open("/dead/act?do=ignore&status=pending")
	tb.until("Ignore 3 dead letters")
	tb.themes("act-set")
	tb.run(chromedp.SetValue(chromedp.CSS(`[name=reason]`), "known to the other team"))
	tb.press("Ignore 3")
	tb.until("3 of 3 dead letters ignored.")
}

// proves: R5
//
// A job that a rule holds is released by one operator and refused for good by another.
func TestR5_AHeldJobOnItsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text, _ := preset.Text("transcribe")
	f, err := policyfile.Parse("transcribe", text)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.SetPolicy(t.Context(), redrive.By{Actor: "mira"}, f.Policy); err != nil {
		t.Fatal(err)
	}
	s.setMended(true)
	var ids []job.ID
	for range 2 {
		r, err := s.client.Enqueue(t.Context(), render.New(map[string]any{"video": "long"}, &redrive.Options{Owner: "ann", Attrs: map[string]any{"duration_seconds": 30_000}}))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if err := s.client.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + ids[0].String())
	tb.until("a rule holds it until a person decides")
	tb.until("Please contact support for videos over 8 hours")
	tb.until("Held by a rule before it ran")
	tb.themes("act-held")
	tb.press("Release")
	tb.until("waits again, in life 2")
	tb.until("Completed at")
	tb.open("/jobs/" + ids[1].String())
	tb.press("Refuse")
	tb.until(fmt.Sprintf("Job %s is refused", ids[1]))
	letter, err := s.client.DeadLetter(t.Context(), ids[1])
	if err != nil || letter.Status != job.Resolved {
		t.Errorf("got the dead letter %s and %v, want resolved", letter.Status, err)
	}
}

// proves: Q7
//
// A queue is paused on its page, its waiting job says who has paused it and why, and a wide cancel of
// waiting jobs is stopped half way.
func TestQ7_APausedQueueAndAWideCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tb := s.newTab(1440, 900)
	var specs []redrive.Spec
	for range 1_500 {
		specs = append(specs, render.New(map[string]any{"video": "v"}, &redrive.Options{Queue: "later", Owner: "studio", RunAt: time.Now().Add(longWait)}))
	}
	receipts, err := s.client.EnqueueMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	tb.open("/queues/later")
	tb.until("It takes jobs and runs them.")
	tb.run(chromedp.SetValue(chromedp.CSS(`[name=limit]`), "4"))
	tb.press("Set")
	tb.until("The settings of queue later are changed.")
	tb.press("Pause")
	tb.until("Queue later is paused now.")
	tb.themes("act-queue")
	now := time.Duration(0)
	if err := s.client.Alter(t.Context(), redrive.By{Actor: "mira"}, receipts[0].ID, redrive.Change{Delay: &now}); err != nil {
		t.Fatal(err)
	}
	tb.open("/jobs/" + receipts[0].ID.String())
	tb.until("It waits because queue later is paused by")
	tb.themes("act-job-waits")
	tb.open("/jobs/act?do=cancel&queue=later")
	tb.until("Cancel 1,500 jobs")
	tb.run(chromedp.SetValue(chromedp.CSS(`[name=reason]`), "enqueued twice"), chromedp.SetValue(chromedp.CSS(`[name=typed]`), "1,500"))
	tb.press("Cancel 1,500")
	tb.until("1,500 jobs are being changed")
	r, err := s.client.GetRedrive(t.Context(), 1)
	if err != nil || r.Live == nil || r.Reason != "enqueued twice" {
		t.Errorf("got %+v and %v, want a bulk action on live jobs with the reason", r, err)
	}
	tb.until("cancelled")
	if !strings.Contains(tb.text(), "1,500") {
		t.Errorf("the page does not show the size of the set:\n%s", tb.text())
	}
}
