// Package browser drives the pages for operators in a real browser, against a real server. It is a
// module of its own, so that programs that use redrive do not get the driver of the browser.
package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "folder into which screenshots of all pages are written")

// limit is how long a flow may wait for what it wants to see.
const limit = 40 * time.Second

// longWait is longer than a test runs.
const longWait = time.Hour

// canary is a text that would run, load or close something if a page did not escape it.
const canary = `"'><script>alert(1)</script><img src=http://canary.invalid/x onerror=alert(2)>` + "</pre></textarea>\u202e\u2028{{.}}`;alert(3)//"

// tabLimit is how long a tab may be open.
const tabLimit = 9 * time.Minute

// tab is a tab of the browser with what it complained about.
type tab struct {
	t    *testing.T
	ctx  context.Context
	site *site

	mu   sync.Mutex
	away bool // answers with an error are expected: the store or the server is away
	// stranger means that the tab shows pages of another site, whose requests and complaints are its own.
	stranger bool
	wrong    []string // messages of the console and of the content security policy
	asked    []string // URLs of other hosts that the page asked for
}

// browser is the one browser of the tests. It is started by the first test that needs it.
var browser = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true))
	ctx, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx)
	return ctx, chromedp.Do(ctx)
})

// profile is what the tabs of a site share and those of others do not, such as cookies: cookies of an address are
// the same on all its ports, and tests run side by side.
type profile struct {
	mu    sync.Mutex
	first context.Context // of the first tab; nil if none is open
}

// newContext returns the context of a new tab.
func (p *profile) newContext(root context.Context) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first != nil && p.first.Err() == nil {
		return chromedp.NewContext(p.first)
	}
	ctx, cancel := chromedp.NewContext(root, chromedp.WithNewBrowserContext())
	p.first = ctx
	return ctx, cancel
}

// newTab opens a tab in a window of a size.
func (s *site) newTab(width, height int64) *tab {
	s.t.Helper()
	root, err := browser()
	if errors.Is(err, exec.ErrNotFound) {
		s.t.Skip("no Chromium is installed; make servers installs it")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := s.profile.newContext(root)
	ctx, stop := context.WithTimeout(ctx, tabLimit)
	tb := &tab{t: s.t, ctx: ctx, site: s}
	s.t.Cleanup(func() {
		tb.check()
		stop()
		cancel()
	})
	listen := func(e any) {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		switch e := e.(type) {
		case log.EventEntryAdded:
			expected := tb.away && e.Entry.Source == log.EntrySourceNetwork || strings.Contains(e.Entry.Text, "status of 4")
			if e.Entry.Level == log.EntryLevelError && !expected {
				tb.wrong = append(tb.wrong, e.Entry.Text+" "+e.Entry.URL)
			}
		case network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, s.url) && !strings.HasPrefix(e.Request.URL, "about:") && !strings.HasPrefix(e.Request.URL, "data:") {
				tb.asked = append(tb.asked, e.Request.URL)
			}
		case page.EventJavascriptDialogOpening:
			tb.wrong = append(tb.wrong, "a dialog: "+e.Message)
		}
	}
	tb.run(chromedp.EmulateViewport(width, height))
	if err := chromedp.Listen(ctx, listen); err != nil {
		s.t.Fatal(err)
	}
	call(tb, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // several tabs have the focus
	call(tb, log.Enable, cdp.Empty{})
	call(tb, network.Enable, network.EnableParams{})
	return tb
}

// expectErrors says that the server answers with errors from now on: the browser reports them.
func (tb *tab) expectErrors() { tb.mu.Lock(); defer tb.mu.Unlock(); tb.away = true }

// check fails the test if the page complained or asked other hosts.
func (tb *tab) check() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.stranger {
		return
	}
	for _, text := range tb.wrong {
		tb.t.Errorf("the browser says: %s", text)
	}
	for _, url := range tb.asked {
		tb.t.Errorf("the page has asked another host: %s", url)
	}
}

// call sends a command to the browser.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) {
	tb.t.Helper()
	if _, err := chromedp.Call(tb.ctx, command, params); err != nil {
		tb.t.Fatal(err)
	}
}

// value returns what an expression gives in the page.
func value[T any](tb *tab, expression string) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// media sets a preference of the reader.
func (tb *tab) media(name, preference string) {
	tb.t.Helper()
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: preference}}})
}

// run runs actions and fails the test if one fails.
func (tb *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.t.Fatal(err)
	}
}

// open opens a page below /ui.
func (tb *tab) open(path string) {
	tb.t.Helper()
	tb.run(chromedp.Navigate(tb.site.url+"/ui"+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// text returns the text of the page.
func (tb *tab) text() string {
	tb.t.Helper()
	return value[string](tb, `document.body.innerText`)
}

// until waits until the page shows a text.
func (tb *tab) until(text string) {
	tb.t.Helper()
	if err := tb.wait(fmt.Sprintf("document.body.innerText.includes(%q)", text)); err != nil {
		tb.t.Fatalf("the page does not show %q: %v\n%s", text, err, tb.text())
	}
}

// holds waits until an expression is true in the page.
func (tb *tab) holds(expression string) {
	tb.t.Helper()
	if err := tb.wait(expression); err != nil {
		tb.t.Fatalf("%s does not become true: %v\n%s", expression, err, tb.text())
	}
}

// wait polls an expression until it is true. A page that is left for the next one ends a poll with an error, or
// the poll never learns of it. So each poll is short, and after an error the next page is asked.
func (tb *tab) wait(expression string) error {
	ctx, cancel := context.WithTimeout(tb.ctx, limit)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(time.Second)))
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// press clicks the first button or link with a text.
func (tb *tab) press(text string) {
	tb.t.Helper()
	found := value[bool](tb, fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("button, a, summary")].find((e) => e.innerText.trim() === %q && e.offsetParent);
		if (b) b.click(); return !!b; })()`, text))
	if !found {
		tb.t.Fatalf("the page has no button or link %q:\n%s", text, tb.text())
	}
}

// shot writes a screenshot if the flag asks for it.
func (tb *tab) shot(name string) {
	tb.t.Helper()
	if *shots == "" {
		return
	}
	image, err := chromedp.Run(tb.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		tb.t.Fatal(err)
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		tb.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), image, 0o644); err != nil {
		tb.t.Fatal(err)
	}
}
