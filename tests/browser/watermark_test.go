package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
)

// newWatermark builds and starts examples/watermark, on a clock that is 60 times as fast.
func newWatermark(t *testing.T) *site {
	t.Helper()
	for _, name := range []string{"ffmpeg", "ffprobe", "chromium"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s is installed; make servers installs it", name)
		}
	}
	program := filepath.Join(t.TempDir(), "watermark")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/watermark")
	build.Dir = "../.." // the modules that the example needs are those of the root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", "-dir", t.TempDir(), "-addr", "127.0.0.1:0", "-faster", "60")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the end of the example: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("the example has printed %q, error %v; want its address", line, err)
	}
	return &site{t: t, url: url, profile: &profile{}}
}

// A campaign is published in the browser, four of fifty fail, their file is replaced, and a click later
// the badge is READY: the page that shows it was not loaded again. Of two clicks at once one is taken.
//
// part of: Y4, U1, U2, B5
func TestY4_FromTheClickToReady_U2(t *testing.T) {
	t.Parallel()
	s := newWatermark(t)
	tb := s.newTab(1280, 900)
	tb.run(chromedp.Navigate(s.url))
	tb.until("Password")
	value[bool](tb, `document.querySelector("[name=password]").value = "ann"; true`)
	tb.press("Log in")
	tb.until("Summer premiere")
	tb.press("Summer premiere")
	tb.until("Not published yet: 50.")
	tb.press("Publish")
	tb.until("PROCESSING")
	tb.mark()
	tb.state("PARTIAL")
	tb.until("Warning: 4 watermarking job(s) failed permanently. Use the retry buttons below to re-attempt individual tokens.")
	tb.holds(`document.querySelectorAll(".status-failed").length === 4 && document.querySelectorAll(".retry-form").length === 4`)
	tb.holds(`[...document.querySelectorAll(".error-details details")].every((e) => e.textContent === "ErrorThe file is damaged or is not a video. Please upload it again.")`)
	tb.press("Error")
	tb.until("The file is damaged")
	tb.marked()
	tb.shot("watermark-partial")

	tb.press("Campaigns")
	tb.holds(`document.querySelector("a.state-partial")?.title === "Some watermarking jobs failed. Click to review."`)
	tb.shot("watermark-campaigns")
	value[bool](tb, `[...document.querySelectorAll("tr")].find((r) => r.cells[0].textContent === "cut-off.mp4").querySelectorAll("button")[1].click(); true`)
	tb.until("premiere.mp4 is stored.")
	tb.press("PARTIAL")
	tb.until("Warning: 4")
	const click = `fetch(document.querySelector(".retry-form").action, { method: "POST", redirect: "manual" }).then(async (r) => r.status + " " + (await r.text()).trim())`
	value[int](tb, fmt.Sprintf(`Promise.all([%s, %s]).then((a) => { window.clicks = a.sort().join(", "); }); 0`, click, click))
	tb.holds(`window.clicks === "0 , 400 Token is not in a failed state."`) // a redirect that is not followed has the status 0
	for left := 3; left > 0; left-- {
		tb.holds(fmt.Sprintf(`document.querySelectorAll(".retry-form").length === %d`, left))
		tb.press("Retry")
		tb.until("Retry queued for Recipient")
	}
	tb.mark()
	tb.state("READY")
	tb.holds(`document.querySelectorAll(".status-ACTIVE").length === 50 && !document.querySelector(".retry-form") && document.getElementById("banner").hidden`)
	tb.marked()
	tb.shot("watermark-ready")
}

// state waits for a state of the campaign: making 50 copies may take longer than a page.
func (tb *tab) state(want string) {
	tb.t.Helper()
	expression := fmt.Sprintf(`document.getElementById("state").textContent === %q`, want)
	for range 2 {
		if tb.wait(expression) == nil {
			return
		}
	}
	tb.holds(expression)
}

// mark marks the page that is open, and marked fails if it was loaded again since.
func (tb *tab) mark() { tb.t.Helper(); value[bool](tb, `window.marked = true`) }

func (tb *tab) marked() {
	tb.t.Helper()
	if !value[bool](tb, `window.marked === true`) {
		tb.t.Error("the page was loaded again, want it to change by itself")
	}
}
