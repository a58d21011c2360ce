package browser

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tabTo presses the tabulator until the element with a text or a label has the focus. It must be
// visible that it has.
func (tb *tab) tabTo(text string) {
	tb.t.Helper()
	for range 150 {
		tb.run(chromedp.KeyEvent("\t"))
		at := value[struct {
			Text string
			Seen bool
		}](tb, `(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			return { Text: (e.labels?.[0]?.innerText || e.ariaLabel || e.innerText || "").trim().split("\n")[0], Seen: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && r.width > 0 && r.bottom > 0 && r.top < innerHeight }; })()`)
		if at.Text == text {
			if !at.Seen {
				tb.t.Errorf("nobody sees that %q has the focus", text)
			}
			return
		}
	}
	tb.t.Fatalf("the tabulator does not reach %q:\n%s", text, tb.text())
}

// hit presses one key as a keyboard does it: what handles the key can keep its character back.
func (tb *tab) hit(key string) {
	tb.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		p := input.DispatchKeyEventParams{Type: kind, Key: key}
		if kind == input.DispatchKeyEventTypeKeyDown {
			p.Text = key
		}
		call(tb, input.DispatchKeyEvent, p)
	}
}

func (tb *tab) keys(keys string) { tb.t.Helper(); tb.run(chromedp.KeyEvent(keys)) }

// proves: U4
//
// By keyboard alone: from the overview to a cause, a redrive of it, and its end; a job is found, and
// retried with another payload.
func TestU4_KeyboardAlone(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *site) {
		s.outage(2)
		s.setMended(true)
		tb := s.newTab(1280, 900)
		tb.open("/")
		tb.until("2 dead jobs by 1 cause")
		tb.keys("\t")
		if at := value[string](tb, `document.activeElement.innerText`); at != "Skip to content" {
			t.Errorf("the first element is %q, want the link that skips to the content", at)
		}
		tb.keys(kb.Enter)
		tb.tabTo("videos answered 503 Service Unavailable: the bucket takes no writes")
		tb.keys(kb.Enter)
		tb.until("Redrive when the service answers again")
		tb.tabTo("Redrive 2 jobs")
		tb.keys(kb.Enter)
		tb.until("Redrive 2 dead jobs")
		tb.tabTo("Reason")
		tb.keys("the bucket takes writes again" + kb.Enter)
		tb.until("Redrive 1 has started with 2 jobs.")
		tb.until("2 of 2 retried, 2 completed")

		s.setMended(false)
		dead := s.outage(1)[0]
		s.setMended(true)
		tb.open("/jobs")
		tb.until("Live")
		tb.hit("/")
		tb.keys(dead.String() + kb.Enter)
		tb.until("render " + dead.String())
		tb.tabTo("Retry")
		tb.keys(kb.Enter)
		tb.until("waits again, in life 2")
		tb.until("Completed at")
	})
}

// proves: U4
//
// The only keys of their own are / and ?; they can be switched off, and do nothing in a field.
func TestU4_OnlyTwoKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.outage(1)
	tb := s.newTab(1280, 900)
	tb.open("/jobs")
	tb.until("Live")
	before := value[string](tb, `location.href + document.querySelector("main").innerText.replace(/[0-9:]+ UTC|[0-9hms.]+ ago|now/g, "")`)
	for c := '!'; c <= '~'; c++ {
		if c != '/' && c != '?' {
			tb.keys(string(c))
		}
	}
	if now := value[string](tb, `location.href + document.querySelector("main").innerText.replace(/[0-9:]+ UTC|[0-9hms.]+ ago|now/g, "")`); now != before || value[string](tb, `document.activeElement.tagName`) != "BODY" {
		t.Errorf("a key has changed the page from %q to %q", before, now)
	}
	tb.keys("?")
	tb.holds(`document.getElementById("keys").open`)
	tb.keys(kb.Escape)
	tb.holds(`!document.getElementById("keys").open`)
	tb.hit("/")
	tb.holds(`document.activeElement.id === "f"`)
	tb.keys("a/b?")
	tb.holds(`document.activeElement.value === "a/b?" && !document.getElementById("keys").open`)
	value[bool](tb, `document.activeElement.blur(); document.getElementById("single").click(); true`)
	tb.keys("?/")
	if value[bool](tb, `document.getElementById("keys").open || document.activeElement.id === "f"`) {
		t.Error("a key works although they are switched off")
	}
}

// checkTree fails the test unless a screen reader gets of the page that is open one main part and one first heading, a named
// navigation, and a name for each link, button, field, table and picture.
func (tb *tab) checkTree(path string) {
	tb.t.Helper()
	n := make(map[string]int)
	for _, node := range tb.tree() {
		role, name := textOf(node.Role), textOf(node.Name)
		n[role]++
		switch role {
		case "link", "button", "textbox", "searchbox", "spinbutton", "checkbox", "combobox", "navigation", "region", "image", "dialog", "progressbar":
			if strings.TrimSpace(name) == "" {
				tb.t.Errorf("%s: a %s has no name", path, role)
			}
		case "heading":
			if levelOf(node) == "1" {
				n["h1"]++
			}
		}
	}
	if n["main"] != 1 || n["h1"] != 1 || n["navigation"] == 0 && path != "/login" && path != "/nothing" {
		tb.t.Errorf("%s: got %d main parts, %d first headings, %d navigations; want 1, 1 and some", path, n["main"], n["h1"], n["navigation"])
	}
	if strings.HasPrefix(path, "/jobs?state=dead&owner") && n["row"] < 2 {
		tb.t.Errorf("%s: got %d rows, want a table", path, n["row"])
	}
}

// tree returns what a screen reader gets of the page that is open.
func (tb *tab) tree() (nodes []*accessibility.Node) {
	tb.t.Helper()
	tree, err := chromedp.Call(tb.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		tb.t.Fatal(err)
	}
	for _, node := range tree.Nodes {
		if !node.Ignored {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// proves: U4
//
// The state of a job is a word, which a screen reader reads.
func TestU4_WhatAScreenReaderGets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.outage(1)[0]
	tb := s.newTab(1280, 900)
	tb.open("/jobs/" + id.String())
	tb.checkTree("/jobs/" + id.String())
	var read []string
	for _, node := range tb.tree() {
		if textOf(node.Role) == "StaticText" {
			read = append(read, textOf(node.Name))
		}
	}
	if text := strings.Join(read, " "); !strings.Contains(text, "dead life 1") && !strings.Contains(text, "dead 1/") && !strings.Contains(text, " dead ") {
		t.Errorf("the state of the job is not read: %s", text)
	}
}

// textOf returns the text of a value of the tree.
func textOf(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text string
	_ = json.Unmarshal(v.Value, &text) // other values are no texts
	return text
}

// levelOf returns the level of a heading.
func levelOf(node *accessibility.Node) string {
	for _, p := range node.Properties {
		if p.Name == "level" {
			return string(p.Value.Value)
		}
	}
	return ""
}

// part of: U4
//
// Nothing moves for readers who have asked for that, and without colours each state is still a word
// with a shape of its own.
func TestU4_ReducedMotionAndNoColour(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.outage(1)
	s.enqueue(render, 1, nil)
	tb := s.newTab(1280, 900)
	tb.media("prefers-reduced-motion", "reduce")
	tb.open("/jobs")
	tb.until("Live")
	if n := value[int](tb, `document.getAnimations().length + [...document.querySelectorAll("*")].filter((e) => { const s = getComputedStyle(e); return s.animationName !== "none" || parseFloat(s.transitionDuration) > 0; }).length`); n > 0 {
		t.Errorf("%d elements move", n)
	}
	bare := value[[]string](tb, `[...document.querySelectorAll(".st")].filter((e) => !e.innerText.trim() || !e.querySelector("use")).map((e) => e.outerHTML)`)
	if len(bare) > 0 {
		t.Errorf("states without a word or a shape: %q", bare)
	}
}
