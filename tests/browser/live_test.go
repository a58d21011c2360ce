package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// untilStreams waits until so many pages listen.
func (s *site) untilStreams(want int) {
	s.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s.listen.Load() != int64(want) {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.t.Fatalf("%d pages listen, want %d", s.listen.Load(), want)
		}
	}
}

// hide tells a page that it is hidden, or visible again, as the browser does when the reader looks
// at another tab.
func (tb *tab) hide(hidden bool) {
	tb.t.Helper()
	value[bool](tb, fmt.Sprintf(`Object.defineProperty(document, "hidden", { configurable: true, get: () => %t }); document.dispatchEvent(new Event("visibilitychange")); true`, hidden))
}

// part of: U2
//
// Of eight open tabs only the visible one has a stream, so the others load although a browser opens
// six connections to a server (trap 19). A tab that becomes visible again shows what it has missed.
func TestTrap19_EightTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.enqueue(render, 1, &redrive.Options{RunAt: time.Now().Add(longWait)})[0]
	var tabs []*tab
	for range 8 {
		tb := s.newTab(1024, 800)
		tb.open("/jobs/" + id.String())
		tb.until("waiting")
		s.untilStreams(1)
		tb.hide(true)
		s.untilStreams(0)
		tabs = append(tabs, tb)
	}
	now := time.Duration(0)
	if err := s.client.Alter(t.Context(), redrive.By{Actor: "mira"}, id, redrive.Change{Delay: &now}); err != nil {
		t.Fatal(err)
	}
	s.idle()
	for _, tb := range tabs {
		tb.hide(false)
		tb.until("Attempt 1 failed")
		tb.hide(true)
		s.untilStreams(0)
	}
}

// part of: U2
//
// While 1,000 changes arrive, a reader keeps the focus, ticks, open details and selection; what is under
// the pointer does not move; new rows wait behind a count (trap 36).
func TestTrap36_AReaderKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids := s.outage(3)
	tb := s.newTab(1440, 900)
	tb.open("/jobs")
	tb.until("Live")
	row := fmt.Sprintf(`document.getElementById("job.%s")`, ids[1])
	value[bool](tb, row+`.querySelector("a").focus(); `+row+`.querySelector("details").open = true; window.was = `+row+`; window.link = document.activeElement;
		window.moved = 0; window.top0 = was.getBoundingClientRect().top; window.swaps = 0;
		new MutationObserver(() => { window.swaps++; if (was.getBoundingClientRect().top !== top0) window.moved++; }).observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true, attributes: true }); true`)
	s.setMended(true)
	if err := s.client.Retry(t.Context(), redrive.By{Actor: "mira"}, ids[1], nil); err != nil {
		t.Fatal(err)
	}
	s.idle()
	tb.holds(row + `.innerText.includes("completed")`)
	for range 10 {
		s.enqueue(render, 100, nil)
		s.idle()
	}
	tb.until("50 new")
	tb.holds(`window.swaps > 3`)
	kept := value[struct {
		Focus, Row, Open bool
		Moved, Rows      int
	}](tb, `({ Focus: document.activeElement === window.link, Row: document.contains(was), Open: was.querySelector("details")?.open ?? true, Moved: window.moved, Rows: document.querySelectorAll("[data-rows] > tr").length })`)
	if !kept.Focus || !kept.Row || kept.Moved > 0 || kept.Rows != 3 {
		t.Errorf("after 1,000 changes: %+v, want the focus and the row kept, 3 rows, and nothing moved", kept)
	}
	tb.press("50 new")
	tb.until("Jobs")
	tb.holds(`document.querySelectorAll("[data-rows] > tr").length === 50`)
}

// proves: U2
//
// A page pauses by its button, while text is selected, while a field has the focus and while a
// dialog is open; then it shows what it has missed, at once.
func TestU2_APageWaitsForItsReader(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.outage(1)
	tb := s.newTab(1440, 900)
	tb.open("/jobs")
	tb.until("Live")
	total := 1
	for _, c := range []struct{ name, begin, says, end string }{
		{"the button", `document.querySelector("[data-pause]").click()`, "Paused since", `document.querySelector("[data-pause]").click()`},
		{"a selection", `getSelection().selectAllChildren(document.querySelector("h1"))`, "Paused while text is selected", `getSelection().removeAllRanges()`},
		{"a field", `document.getElementById("f").focus()`, "Paused while you type", `document.getElementById("f").blur()`},
		{"a dialog", `document.getElementById("keys").showModal(); document.dispatchEvent(new Event("focusin"))`, "Paused: a dialog is open", `document.getElementById("keys").close()`},
	} {
		value[bool](tb, c.begin+"; true")
		tb.until(c.says)
		s.outage(1)
		if n := value[string](tb, `document.querySelector("[data-new] a").textContent`); n == fmt.Sprintf("%d new", total) {
			t.Errorf("%s: the page has changed while it was paused", c.name)
		}
		value[bool](tb, c.end+"; true")
		tb.until(fmt.Sprintf("%d new", total))
		tb.until("Live")
		total++
	}
}

// part of: U2
//
// The store goes away while pages are open: what they show is called old with its time, no
// button can be pressed, and none pretends that it could; a page that is loaded says so, too. When
// the store is back, all of them are up to date again by themselves (trap 37).
func TestTrap37_TheStoreIsAwayAndBack(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *site) {
		id := s.outage(2)[0]
		tb := s.newTab(1440, 900)
		tb.open("/jobs/" + id.String())
		tb.until("Live")
		late := s.newTab(390, 900)
		s.setAway(true)
		tb.expectErrors()
		late.expectErrors()
		tb.until("The store does not answer. What you see is from")
		if n := value[int](tb, `document.querySelectorAll("main form[method=post] button:not([aria-disabled=true])").length`); n > 0 {
			t.Errorf("%d buttons can be pressed while the store is away", n)
		}
		tb.press("Retry")
		value[bool](tb, `document.querySelector("main form[method=post]").requestSubmit?.(); true`)
		late.open("/")
		late.until("The page asks again in")
		tb.shot("flow-away")
		s.setAway(false)
		late.until("2 dead jobs by 1 cause")
		tb.holds(`document.getElementById("old").hidden && document.querySelectorAll("main button[data-off]").length === 0`)
		tb.until("Live")
		if j, err := s.client.Get(t.Context(), id); err != nil || j.State != job.Dead || j.Life != 1 {
			t.Errorf("got %s in life %d and %v, want dead in life 1: a press while the store is away does nothing", j.State, j.Life, err)
		}
		tb.press("Retry")
		tb.until("waits again, in life 2")
	})
}

// proves: U2
//
// A server that is stopped and started again, and frames that are lost with it, lose nothing: the page
// shows what has happened meanwhile.
func TestU2_LostFramesLoseNothing(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *site) {
		ids := s.enqueue(held, 1, nil)
		tb := s.newTab(1440, 900)
		tb.open("/jobs/" + ids[0].String())
		tb.until("running")
		tb.until("Live")
		tb.expectErrors()
		for round := range 3 {
			s.cut() // all connections, in the middle of whatever they do
			if round == 1 {
				close(s.holds)
				s.idle()
			}
		}
		tb.until("Completed at")
		tb.until("Live")
	})
}

// part of: U2
//
// The page of somebody whose key was revoked in another tab says so within 5 s, shows nothing new, and
// asks for a key when it is read again (trap 20).
func TestTrap20_ARevokedKeyStopsThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := s.ask("POST", "/api/keys", "", `{"name":"root","roles":["administer"]}`)["secret"].(string)
	made := s.ask("POST", "/api/keys", root, `{"name":"mira","roles":["operate","view"]}`)
	tb := s.newTab(1024, 800)
	tb.open("/")
	tb.run(chromedp.SetValue(chromedp.CSS(`[name=key]`), made["secret"].(string)))
	tb.press("Log in")
	tb.until("Overview")
	tb.until("Live")
	tb.expectErrors()
	s.ask("DELETE", "/api/keys/"+made["key"].(map[string]any)["id"].(string), root, "")
	tb.until("Your login has ended.")
	s.untilStreams(0)
	tb.press("Ask now")
	tb.until("Access key")
}

// A row that the pointer is on does not lose or change its links and buttons.
func TestTrap36_NothingMovesUnderThePointer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1440, 900)
	tb.open("/jobs/" + id.String())
	tb.until("Live")
	at := value[struct{ X, Y float64 }](tb, `(() => { const r = document.querySelector("#acts button").getBoundingClientRect(); return { X: r.x + r.width / 2, Y: r.y + r.height / 2 }; })()`)
	call(tb, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: at.X, Y: at.Y})
	before := value[string](tb, `document.getElementById("acts").innerText`)
	s.setMended(true)
	if err := s.client.Retry(t.Context(), redrive.By{Actor: "jonas"}, id, nil); err != nil {
		t.Fatal(err)
	}
	s.idle()
	tb.until("Completed at")
	if now := value[string](tb, `document.getElementById("acts").innerText`); now != before || !strings.Contains(now, "Retry") {
		t.Errorf("the buttons under the pointer have changed from %q to %q", before, now)
	}
	call(tb, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: 2, Y: 2})
	tb.holds(`document.getElementById("acts").innerText.includes("Only a dead job is retried")`)
}

// slowRead keeps the first answer that the script gets until window.go is called; from then on no notice is heard. The read
// of every 30 s is switched off, and window.asked counts the moments at which a notice was followed.
const slowRead = `(() => {
	const ask = window.fetch, later = window.setTimeout, Source = window.EventSource;
	window.EventSource = class extends Source { set onmessage(f) { this.addEventListener("message", (e) => window.deaf || f(e)); } };
	window.reads = 0; window.asked = 0;
	window.setInterval = () => 0;
	window.setTimeout = (f, t) => later(t === 50 ? () => { f(); window.asked++; } : f, t);
	window.fetch = async (...o) => {
		const answer = await ask(...o);
		if (++window.reads === 1) await new Promise((go) => { window.go = () => { window.deaf = true; go(); }; });
		return answer;
	};
})()`

// before runs a script before those of the pages that are opened from now on.
func (tb *tab) before(script string) {
	tb.t.Helper()
	call(tb, page.Enable, page.EnableParams{})
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// proves: U2
//
// A notice that comes while the page is read is followed as soon as the answer is there, also when the pointer is on
// the page: the reader need not wait for the next read of every 30 s.
func TestU2_ANoticeDuringARead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.enqueue(render, 1, &redrive.Options{RunAt: time.Now().Add(longWait)})[0]
	tb := s.newTab(1024, 800)
	tb.before(slowRead)
	tb.open("/jobs/" + id.String())
	tb.until("Live")
	call(tb, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: 600, Y: 300})
	tb.holds(`!!document.querySelector("main :hover")`)
	later := 2 * longWait
	if err := s.client.Alter(t.Context(), redrive.By{Actor: "mira"}, id, redrive.Change{Delay: &later}); err != nil {
		t.Fatal(err)
	}
	tb.holds(`!!window.go`)
	if err := s.client.Cancel(t.Context(), redrive.By{Actor: "mira"}, id); err != nil {
		t.Fatal(err)
	}
	tb.holds(`window.asked >= 2`)
	value[bool](tb, `window.go(); true`)
	tb.holds(`document.getElementById("state").innerText.startsWith("cancelled")`)
}

// proves: U2
//
// Numbers that the server keeps because they take long to read are old in an answer. It says so, and the page asks
// again until they are new.
func TestU2_OldNumbersAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.enqueue(held, 1, nil)
	tb := s.newTab(1024, 800)
	tb.before(`(() => { // five answers change nothing; more than there are notices
		const ask = window.fetch, later = window.setTimeout;
		let reads = 0;
		window.setInterval = () => 0;
		window.setTimeout = (f, t) => later(f, t > 1000 ? t / 20 : t);
		window.fetch = async (...o) => ++reads > 5 ? ask(...o) : new Response("<!doctype html><html data-stale>" + document.body.outerHTML);
	})()`)
	tb.open("/")
	tb.until("Live")
	s.outage1()
	tb.until("1 dead job by 1 cause")
	close(s.holds)
}
