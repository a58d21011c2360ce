// Package browser drives the pages for operators in a real browser, against a real server. It is a
// module of its own, so that programs that use redrive do not get the driver of the browser.
package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/sqlite"
)

var shots = flag.String("shots", "", "folder into which screenshots of all pages are written")

// limit is how long a flow may wait for what it wants to see.
const limit = 40 * time.Second

// site is a server with a worker on a database of its own.
type site struct {
	t      *testing.T
	client *redrive.Client
	url    string

	mu   sync.Mutex
	mend bool // the jobs of the kind mended succeed
}

// Mended says whether the jobs of the outage succeed.
func (s *site) mended() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.mend }

func (s *site) setMended(v bool) { s.mu.Lock(); defer s.mu.Unlock(); s.mend = v }

// newSite starts a server on a new SQLite file, with a worker in the same process.
func newSite(t *testing.T) *site {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t}
	client, err := redrive.New(st, &redrive.Config{Build: "4.19.0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	upload := redrive.Kind[map[string]any]("render")
	redrive.Handle(client, upload, func(_ context.Context, _ *redrive.Job[map[string]any]) error {
		if s.mended() {
			return nil
		}
		return failure.Permanent(errors.New("videos answered 503 Service Unavailable: the bucket takes no writes"))
	}, nil)
	h, err := server.New(client, server.Options{Environment: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	s.url = web.URL
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		h.Stop()
		web.Close()
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// render is the kind of the jobs of an outage.
const render = redrive.Kind[map[string]any]("render")

// outage enqueues jobs that die, and waits until they are dead.
func (s *site) outage(n int) []job.ID {
	s.t.Helper()
	var ids []job.ID
	specs := make([]redrive.Spec, n)
	for i := range specs {
		specs[i] = render.New(map[string]any{"video": fmt.Sprintf("v-%d", i), "bucket": "archive"}, &redrive.Options{Owner: "studio"})
	}
	receipts, err := s.client.EnqueueMany(s.t.Context(), specs)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range receipts {
		ids = append(ids, r.ID)
	}
	if err := s.client.WaitIdle(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// tab is a tab of the browser with what it complained about.
type tab struct {
	t    *testing.T
	ctx  context.Context
	site *site

	mu    sync.Mutex
	wrong []string // messages of the console and of the content security policy
	asked []string // URLs of other hosts that the page asked for
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
	ctx, cancel := chromedp.NewContext(root)
	ctx, stop := context.WithTimeout(ctx, 2*limit)
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
			if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "status of 4") {
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
	call(tb, log.Enable, cdp.Empty{})
	call(tb, network.Enable, network.EnableParams{})
	return tb
}

// check fails the test if the page complained or asked other hosts.
func (tb *tab) check() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
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
	ctx, cancel := context.WithTimeout(tb.ctx, limit)
	defer cancel()
	expr := fmt.Sprintf("document.body.innerText.includes(%q)", text)
	for {
		// A poll may not notice that the page was left for the next one, so each is short.
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expr, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(time.Second)))
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			tb.t.Fatalf("the page does not show %q: %v\n%s", text, err, tb.text())
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
