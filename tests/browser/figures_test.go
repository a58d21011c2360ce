package browser

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
)

var figures = flag.Bool("figures", false, "measure the figures of open pages; on a quiet machine")

// The targets of open pages.
const (
	badgeMost = 200 * time.Millisecond // p95 from the commit of a state to its badge
	swaps     = 10_000                 // updates of a page
	heapMost  = 5 << 20                // by which the heap may have grown after them, in bytes
)

// proves: U2
//
// From the commit of a state to the changed badge, when idle: p95 below 200 ms, on both stores.
func TestU2_FigureOfTheBadge(t *testing.T) {
	if !*figures {
		t.Skip("a figure: run it with -figures")
	}
	onStores(t, func(t *testing.T, s *site) {
		tb := s.newTab(1024, 800)
		var took []time.Duration
		for range 40 {
			id := s.enqueue(render, 1, &redrive.Options{RunAt: time.Now().Add(longWait)})[0]
			tb.open("/jobs/" + id.String())
			tb.holds(`document.querySelector("[data-standing]").textContent === "Live"`)
			value[bool](tb, `new MutationObserver(() => { if (!window.at && document.getElementById("state").innerText.startsWith("cancelled")) window.at = Date.now(); }).observe(document.getElementById("state"), { subtree: true, childList: true, characterData: true, attributes: true }); true`)
			if err := s.client.Cancel(t.Context(), redrive.By{Actor: "mira"}, id); err != nil {
				t.Fatal(err)
			}
			committed := time.Now()
			tb.holds(`window.at > 0`)
			took = append(took, time.UnixMilli(value[int64](tb, `window.at`)).Sub(committed))
		}
		slices.Sort(took)
		p95 := took[len(took)*95/100]
		t.Logf("from the commit to the badge: p50 %s, p95 %s", took[len(took)/2], p95)
		if p95 > badgeMost {
			t.Errorf("p95 is %s, want at most %s", p95, badgeMost)
		}
	})
}

// proves: U2
//
// After 10,000 updates a page has as many nodes and listeners as after 100, its heap has grown by at
// most 5 MB, and a row that has changed each time keeps its focus.
func TestU2_FigureOfTheMemory(t *testing.T) {
	n := swaps
	if !*figures {
		n = 200
		t.Parallel()
	}
	s := newSite(t)
	ids := s.enqueue(render, 40, &redrive.Options{RunAt: time.Now().Add(longWait)})
	tb := s.newTab(1024, 800)
	tb.open("/jobs")
	tb.holds(`document.querySelector("[data-standing]").textContent === "Live"`)
	// The answers of the server change with each reading: the word of the state, and its time.
	value[bool](tb, fmt.Sprintf(`window.link = document.getElementById("job.%s").querySelector("a"); link.focus(); window.n = 0; window.page = null;
		const ask = window.fetch, later = window.setTimeout;
		window.setTimeout = (f, t) => later(f, t === 50 ? 0 : t);
		window.fetch = async (...o) => { n++; page ??= await (await ask(...o)).text(); return new Response(page.replaceAll("waiting</span>", (n %% 2 ? "running" : "waiting") + "</span>").replaceAll('data-h="When">', 'data-h="When">' + n + " ")); }; true`, ids[20]))
	counts := func() (nodes, listeners, heap int64) {
		call(tb, heapprofiler.CollectGarbage, cdp.Empty{})
		call(tb, heapprofiler.CollectGarbage, cdp.Empty{})
		dom, err := chromedp.Call(tb.ctx, memory.GetDOMCounters, cdp.Empty{})
		used, heapErr := chromedp.Call(tb.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil || heapErr != nil {
			t.Fatal(err, heapErr)
		}
		return dom.Nodes, dom.JsEventListeners, int64(used.UsedSize)
	}
	update := func(to int) {
		_, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(async () => { while (n < %d) { const was = n; document.dispatchEvent(new Event("visibilitychange")); while (n === was) await new Promise((r) => setTimeout(r, 1)); await new Promise((r) => setTimeout(r, 1)); } return true; })()`, to), chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
	}
	update(100)
	nodes, listeners, heap := counts()
	update(n)
	nodesAfter, listenersAfter, heapAfter := counts()
	t.Logf("after 100 updates %d nodes, %d listeners, %d bytes; after %d updates %d, %d, %d", nodes, listeners, heap, n, nodesAfter, listenersAfter, heapAfter)
	if nodesAfter > nodes+nodes/50 || listenersAfter > listeners || heapAfter > heap+heapMost {
		t.Error("the page grows with its updates")
	}
	if !value[bool](tb, `document.activeElement === window.link && document.body.contains(link)`) {
		t.Error("the row has lost the focus")
	}
}
