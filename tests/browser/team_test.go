package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// proves: D7
//
// A redrive that is started too early stops by itself and says why; when the cause is mended, a person resumes
// it, it ends, and nothing is pending any more.
func TestD7_ARedriveStopsAndIsResumed(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *site) {
		s.outage(12)
		tb := s.newTab(1440, 900)
		tb.open("/redrives/new?status=pending")
		tb.until("Redrive 12 dead jobs")
		tb.run(chromedp.SetValue(chromedp.CSS(`[name=canary]`), "4"), chromedp.SetValue(chromedp.CSS(`[name=reason]`), "it seems to work again"))
		tb.press("Redrive 12 jobs")
		tb.until("Redrive 1 has started with 12 jobs.")
		tb.holds(`document.getElementById("state").innerText.startsWith("stopped")`)
		tb.until("above the limit")
		tb.themes("flow-redrive-stopped")
		s.setMended(true)
		tb.press("Resume")
		tb.until("Redrive 1 goes on.")
		tb.until("12 of 12 retried")
		tb.holds(`/^(completed|ended)/.test(document.getElementById("state").innerText)`)
		r, err := s.client.GetRedrive(t.Context(), 1)
		if err != nil || r.Released != 12 || r.Completed != 8 {
			t.Errorf("got %+v and %v, want 12 released jobs of which the 8 after the canary completed", r, err)
		}
		tb.open("/dead?status=pending")
		tb.until("4 dead letters pending") // the canary died again
	})
}

// proves: D6
//
// What a team does in the browser: one has a cause, writes a note, ignores it and takes this back; a process is
// made quiet and goes on. Somebody who may only look sees the buttons switched off, with the reason.
func TestD6_ATeamAtWork(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(2)[0]
	letter, err := s.client.DeadLetter(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	tb := s.newTab(1440, 900)
	tb.open("/groups/" + letter.Fingerprint)
	set := func(field, text string) { tb.run(chromedp.SetValue(chromedp.CSS(field), text)) }
	set(`[name=assignee]`, "mira")
	tb.press("Assign")
	tb.until("mira has this cause now.")
	tb.until("Wait for mira, then redrive")
	set(`textarea[name=text]`, "the provider works on it")
	tb.press("Add the note")
	tb.until("the provider works on it")
	tb.press("Ignore it for a time, or resolve or reopen it with a reason")
	set(`[name=reason]`, "the provider works on it")
	set(`[name=until]`, "the day after")
	tb.press("Ignore")
	tb.until("Nothing was done: ")
	if typed := value[string](tb, `document.querySelector("[name=until]").value`); typed != "the day after" {
		t.Errorf("got %q in the field, want what was typed", typed)
	}
	s.outage(1) // a page that answers a form is live, too
	tb.until("3 deaths by this cause")
	set(`[name=until]`, "2d")
	tb.press("Ignore")
	tb.until("3 dead letters of this cause ignored.")
	tb.press("Undo")
	tb.until("The cause is open again.")
	tb.open("/workers")
	tb.follow("#rows button", "Quiet")
	tb.until("claims no more jobs, and finishes those it has.")
	tb.follow("#said button", "Undo")
	tb.until("claims jobs again.")
	look := s.viewer().newTab(1440, 900)
	look.open("/jobs/" + id.String())
	look.until("Live")
	look.press("Retry")
	if why := value[string](look, `document.getElementById(document.querySelector("#acts button").getAttribute("aria-describedby")).textContent`); why != "Your role may look, not act; it needs the role operate." {
		t.Errorf("the button says %q to a viewer", why)
	}
	if j, err := s.client.Get(t.Context(), id); err != nil || j.Life != 1 {
		t.Errorf("got life %d and %v, want that a viewer has done nothing", j.Life, err)
	}
}
