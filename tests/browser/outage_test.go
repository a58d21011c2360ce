package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive/internal/testing/outage"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/faultstore"
)

// outageLoads is the largest number of pages that an operator reads to bring back what can be brought back.
const outageLoads = 15

// proves: U3, D6
//
// In the hour after an outage the pages alone name the three causes, and the one of which a person has to change
// something first. The jobs of the two others are brought back, in 15 page loads at most.
func TestU3_D6_TheHourAfterAnOutage(t *testing.T) {
	t.Parallel()
	client, st, err := outage.Play(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	s := (&site{t: t, client: client, store: faultstore.New(st, nil), profile: new(profile)}).serve(func(o *server.Options) { o.Environment = "production" })
	tb := s.newTab(1440, 900)
	loads := 0
	see := func(texts ...string) {
		t.Helper()
		loads++
		for _, text := range texts {
			tb.until(text)
		}
	}
	tb.open("/")
	see(" dead jobs by 3 causes", "503 Service Unavailable: the bucket takes no writes", "insufficient_quota", "connect to mail.internal:587: i/o timeout", "Renew the quota first, then redrive")
	if n := value[int](tb, `document.querySelectorAll("#needs b.amber").length`); n != 1 {
		t.Errorf("the overview says of %d causes that a person comes first, want 1", n)
	}
	tb.themes("outage-overview")
	tb.window("readme-overview")
	for i, cause := range []string{"put rendered/v-", "connect to mail.internal"} {
		tb.follow("#needs a.cause", cause)
		see("Redrive when the service answers again", "jobs of kind "+[]string{"video.render", "receipt.send"}[i]+" have completed")
		if i == 0 {
			tb.themes("outage-cause")
		}
		tb.follow("a.main", "Redrive")
		see("Jobs first (canary)")
		tb.run(chromedp.SetValue(chromedp.CSS(`[name=reason]`), "it works again"))
		tb.follow("button.main", "Redrive")
		see("has started with")
		tb.press("Overview")
		see("What to do")
	}
	tb.until("120 dead jobs by 1 cause")
	tb.follow("#needs a.cause", "429 insufficient_quota")
	see("Renew the quota first, then redrive", "The owner of the account")
	if loads > outageLoads {
		t.Errorf("it took %d page loads, want at most %d", loads, outageLoads)
	}
	if text := tb.text(); !strings.Contains(text, "Redrive 120 jobs") {
		t.Errorf("the page of the last cause: got %s", text)
	}
	if *shots != "" {
		tb.follow("#rows a.cause", "")
		tb.until("Next:")
		tb.window("readme-job")
	}
}

// window writes screenshots of what a window shows without scrolling, in both themes.
func (tb *tab) window(name string) {
	tb.t.Helper()
	if *shots == "" {
		return
	}
	tb.run(chromedp.EmulateViewport(1280, 700))
	for _, theme := range []string{"light", "dark"} {
		call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		image, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			tb.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*shots, name+"-"+theme+".png"), image, 0o644); err != nil {
			tb.t.Fatal(err)
		}
	}
	tb.run(chromedp.EmulateViewport(1440, 900))
}

// follow clicks the first visible element that a selector finds and that begins with a text.
func (tb *tab) follow(selector, text string) {
	tb.t.Helper()
	if !value[bool](tb, fmt.Sprintf(`(() => { const e = [...document.querySelectorAll(%q)].find((e) => e.innerText.trim().startsWith(%q) && e.offsetParent); e?.click(); return !!e; })()`, selector, text)) {
		tb.t.Fatalf("%s: nothing begins with %q:\n%s", selector, text, tb.text())
	}
}
