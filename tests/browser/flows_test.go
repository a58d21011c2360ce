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
)

// proves: U2
//
// An operator goes from the cause to a redrive of its jobs and sees it end, without a reload.
func TestU2_ACauseIsRedriven(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.outage(30)
	tb := s.newTab(1440, 900)
	tb.open("/")
	tb.until("30 dead jobs by 1 cause")
	tb.press("Failures\n1")
	tb.until("30 dead jobs, 1 cause")
	tb.shot("flow-1-failures")
	tb.press("videos answered 503 Service Unavailable: the bucket takes no writes")
	tb.until("Redrive when the service answers again")
	s.setMended(true)
	tb.press("Redrive 30 jobs")
	tb.until("Redrive 30 dead jobs")
	tb.run(chromedp.SetValue(chromedp.CSS(`[name=canary]`), "3"), chromedp.SetValue(chromedp.CSS(`[name=reason]`), "the bucket takes writes again"))
	tb.shot("flow-2-preview")
	tb.press("Redrive 30 jobs")
	tb.until("Redrive 1 has started with 30 jobs.")
	tb.until("30 of 30 retried, 30 completed")
	tb.until("completed")
	tb.shot("flow-3-redriven")
	tb.open("/groups")
	tb.until("No dead job needs a person")
	r, err := s.client.GetRedrive(t.Context(), 1)
	if err != nil || r.Completed != 30 || r.Reason != "the bucket takes writes again" {
		t.Errorf("got the redrive %+v and %v, want 30 completed jobs and the reason", r, err)
	}
}

// proves: U2
//
// The page of a job that was healthy when it was loaded shows its death, and its new life after a
// retry, without a reload.
func TestU2_TheBadgeOfAJobChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r, err := s.client.Enqueue(t.Context(), render.New(map[string]any{"video": "v-1"}, &redrive.Options{RunAt: time.Now().Add(longWait)}))
	if err != nil {
		t.Fatal(err)
	}
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + r.ID.String())
	tb.until("Live")
	tb.until("waiting")
	tb.press("Run now")
	tb.until(fmt.Sprintf("Job %s is due now.", r.ID))
	tb.until("dead")
	tb.until("Attempt 1 failed")
	tb.shot("flow-job-dead")
	s.setMended(true)
	tb.press("Retry")
	tb.until("waits again, in life 2")
	tb.until("Completed at")
	j, err := s.client.Get(t.Context(), r.ID)
	if err != nil || j.State != job.Completed || j.Life != 2 {
		t.Errorf("got %s in life %d and %v, want completed in life 2", j.State, j.Life, err)
	}
}

// proves: U4
//
// Without a script, a job is found, its payload is edited and retried.
func TestU4_EverythingWorksWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	s.setMended(true)
	tb := s.newTab(1024, 800)
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.open("/dead")
	tb.run(chromedp.Click(chromedp.CSS(fmt.Sprintf(`a[href$="/ui/jobs/%s"]`, id))), chromedp.WaitVisible(chromedp.CSS(`textarea[name=payload]`)),
		chromedp.SetValue(chromedp.CSS(`textarea[name=payload]`), `{"video":"v-0","bucket":"other"}`), chromedp.Submit(chromedp.CSS(`textarea[name=payload]`)),
		chromedp.WaitVisible(chromedp.CSS(`.banner.green`)))
	if err := s.client.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := s.client.Get(t.Context(), id)
	original, originalErr := s.client.Original(t.Context(), id)
	if err != nil || originalErr != nil || j.State != job.Completed || !strings.Contains(string(original.Payload), "archive") {
		t.Errorf("got %s, original %s, errors %v and %v: want completed with the first payload kept", j.State, original.Payload, err, originalErr)
	}
}

// part of: U4
//
// A second click on a button, and the button of a page that was loaded before the job moved on, do
// nothing and say so (trap 13, trap 14).
func TestTrap13_AnOldButtonDoesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + id.String())
	tb.press("Pause") // the page does not hear what happens
	if err := s.client.Retry(t.Context(), redrive.By{Actor: "jonas"}, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.client.WaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	tb.press("Retry")
	tb.until("Nothing was done: job " + id.String())
	tb.shot("flow-refused")
	j, err := s.client.Get(t.Context(), id)
	if err != nil || j.Life != 2 {
		t.Errorf("got life %d and %v, want 2: the second retry must do nothing", j.Life, err)
	}
}

// proves: U4
//
// The commands and the JSON of a job are copied by a button. Where the browser refuses, the commands are selected, so
// that a person can copy them.
func TestU4_CommandsAreCopied(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + id.String())
	value[bool](tb, `window.copied = []; Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t) => { if (window.refused) throw new DOMException("no"); copied.push(t); } } }); true`)
	tb.press("Copy as cURL")
	tb.holds(`copied.length === 1`)
	tb.press("Copy as JSON")
	tb.holds(`copied.length === 2`)
	if got := value[[]string](tb, `copied`); !strings.Contains(got[0], "curl -H") || !strings.Contains(got[0], "/api/jobs/"+id.String()+"/retry") || !strings.HasPrefix(got[1], "{") || !strings.Contains(got[1], `"render"`) {
		t.Errorf("got %q, want the commands and the JSON of the job", got)
	}
	tb.open("/jobs/" + id.String())
	value[bool](tb, `Object.defineProperty(navigator, "clipboard", { value: undefined }); true`) // as on a plain address of another machine
	tb.press("Copy as cURL")
	tb.holds(`String(getSelection()).includes("curl -H")`)
}
