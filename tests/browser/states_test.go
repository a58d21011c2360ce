package browser

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/page"
)

// world is what the states of the pages have in common: jobs, causes and redrives with texts that
// nobody has written for a page.
type world struct {
	job, other string // ids of a dead job with hostile texts, and of one without
	group      string // a fingerprint
}

// paths are the pages, by the pattern of their route: each GET route of the table of routes is here.
// A pattern without a page (a file, a stream, a redirect) has none.
var paths = map[string]func(w *world) []string{
	"/ui/{$}":              func(*world) []string { return []string{"/"} },
	"/ui/groups":           func(*world) []string { return []string{"/groups", "/groups?state=all", "/groups?state=resolved"} },
	"/ui/groups/{fp}":      func(w *world) []string { return []string{"/groups/" + url.PathEscape(w.group)} },
	"/ui/jobs":             func(*world) []string { return []string{"/jobs", "/jobs?state=dead&owner=studio"} },
	"/ui/jobs/{id}":        func(w *world) []string { return []string{"/jobs/" + w.job, "/jobs/" + w.other} },
	"/ui/dead":             func(*world) []string { return []string{"/dead", "/dead?text=service"} },
	"/ui/redrives":         func(*world) []string { return []string{"/redrives"} },
	"/ui/redrives/new":     func(*world) []string { return []string{"/redrives/new?status=pending"} },
	"/ui/redrives/{n}":     func(*world) []string { return []string{"/redrives/1"} },
	"/ui/batches":          func(*world) []string { return []string{"/batches", "/batches?state=DRAFT"} },
	"/ui/batches/{id}":     func(*world) []string { return []string{"/batches/1", "/batches/2"} },
	"/ui/batches/{id}/ask": func(*world) []string { return []string{"/batches/1/ask"} },
	"/ui/queues":           func(*world) []string { return []string{"/queues"} },
	"/ui/workers":          func(*world) []string { return []string{"/workers"} },
	"/ui/audit":            func(*world) []string { return []string{"/audit"} },
	"/ui/login":            func(*world) []string { return []string{"/login"} },
	"/ui/queues/{name}":    func(*world) []string { return []string{"/queues/default"} },
	"/ui/jobs/act":         func(*world) []string { return []string{"/jobs/act?do=cancel&kind=render"} },
	"/ui/dead/act":         func(*world) []string { return []string{"/dead/act?do=resolve&status=pending"} },
	"/ui/find": func(w *world) []string {
		return []string{"/find?q=", "/find?q=service", "/find?q=" + url.QueryEscape(canary), "/find?q=" + url.QueryEscape(w.group)}
	},
	"/ui/schedules": func(*world) []string { return []string{"/schedules"} },
	"/ui/charts":    func(*world) []string { return []string{"/charts", "/charts?window=30d&by=class&kind=render"} },
	"/ui/policy": func(*world) []string {
		return []string{"/policy", "/policy?kind=render&error=" + url.QueryEscape("429 Too Many Requests "+canary)}
	},
	"/ui/events":         func(*world) []string { return []string{"/events", "/events?type=job.dead&kind=render"} },
	"/ui/webhooks":       func(*world) []string { return []string{"/webhooks"} },
	"/ui/new":            func(w *world) []string { return []string{"/new", "/new?from=" + w.job} },
	"/ui/live":           func(*world) []string { return nil },
	"/ui/assets/{name}":  func(*world) []string { return nil },
	"a path without one": func(*world) []string { return []string{"/nothing", "/jobs?state=bogus"} },
}

// pagesOf returns all pages, from the table of routes: a route of it that has no row in paths fails.
func pagesOf(t *testing.T, w *world) []string {
	t.Helper()
	p, err := page.New(page.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := paths["a path without one"](w)
	for _, r := range p.Routes() {
		if r.Method != "GET" {
			continue
		}
		of := paths[r.Path]
		if of == nil {
			t.Errorf("the route %s is not in the list of pages that are checked: add it to paths", r.Path)
			continue
		}
		list = append(list, of(w)...)
	}
	slices.Sort(list)
	return list
}

// hostile are texts of strangers: what would run, load or close something if a page did not escape
// it, directions of writing, long words, pictures and bytes that are no text.
var hostile = map[string]string{
	"markup":    canary,
	"script":    `javascript:alert(4)`,
	"svg":       `<svg onload=alert(5)><style>*{background:url(http://canary.invalid/css)}</style>`,
	"template":  `{{.Version}} {{template "head" .}} ${7*7}`,
	"rightward": "\u202eמסמך לא נמצא \u200fالعربية\u200f\u2066 left",
	"pictures":  "👩\u200d👩\u200d👧\u200d👦🏳\ufe0f\u200d🌈 e\u0301 \U0001F4A5",
	"long":      strings.Repeat("Donaudampfschiff", 60),
}

// rowsOfOutage is the number of dead jobs of the world that are alike: the checks of a row take long.
func rowsOfOutage() int {
	if *shots != "" {
		return 12
	}
	return 3
}

// fill makes the world of an outage. Every field that anybody can set has a hostile text.
func (s *site) fill() *world {
	s.t.Helper()
	ids := s.outage(rowsOfOutage())
	s.campaign(3)
	draft, err := s.client.NewBatch(s.t.Context(), redrive.By{}, redrive.BatchSpec{Key: canary})
	if err == nil {
		_, err = draft.Add(s.t.Context(), render.New(nil, nil))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	hook := redrive.Endpoint{Name: "shop", URL: "https://shop.example.com/" + strings.Repeat("hooks", 60), Secret: make([]byte, 32)}
	if _, err := s.client.PutEndpoint(s.t.Context(), redrive.By{Actor: "mira"}, hook); err != nil {
		s.t.Fatal(err)
	}
	w := &world{other: ids[0].String()}
	for _, name := range slices.Sorted(maps.Keys(hostile)) { // in each world the same, so that pages are the same
		text := hostile[name]
		o := &redrive.Options{Owner: text[:min(len(text), 200)], Correlation: text[:min(len(text), 200)], Attrs: map[string]any{"name": text, "what": name}}
		o.Owner, o.Correlation = strings.ToValidUTF8(o.Owner, ""), strings.ToValidUTF8(o.Correlation, "")
		r, err := s.client.Enqueue(s.t.Context(), redrive.NewRaw(string(loud), fmt.Appendf(nil, `{"text":%q}`, strings.Repeat(text, 3)), o))
		if err != nil {
			s.t.Fatal(err)
		}
		w.job = r.ID.String()
		s.idle()
		by := redrive.By{Actor: text[:min(len(text), 60)], Reason: text}
		by.Actor = strings.ToValidUTF8(by.Actor, "")
		if _, err := s.client.AddNote(s.t.Context(), by, redrive.Note{Job: r.ID, What: redrive.PlainNote, Text: text}); err != nil {
			s.t.Fatal(err)
		}
		letter, err := s.client.DeadLetter(s.t.Context(), r.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		w.group = letter.Fingerprint
		title := strings.ToValidUTF8((text + strings.Repeat("long", 30))[:min(len(text)+120, 250)], "")
		if _, err := s.client.SetGroup(s.t.Context(), by, redrive.GroupChange{Group: w.group, Name: &title, Assignee: &by.Actor}); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.client.Redrive(s.t.Context(), redrive.By{Actor: "mira", Reason: canary}, redrive.RedriveSpec{Filter: redrive.DeadFilter{Group: w.group}, Canary: 2}); err != nil {
		s.t.Fatal(err)
	}
	s.idle()
	return w
}

// axe is the source of axe-core, and why it is not there.
var axe = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("sh", "../../scripts/axe.sh").Output()
	if err != nil {
		return "", fmt.Errorf("axe-core: %s", strings.TrimSpace(string(out)))
	}
	text, err := os.ReadFile(strings.TrimSpace(string(out)))
	return string(text), err
})

// look is what a page must not have.
type look struct {
	Wide    float64  // how far the page scrolls sideways
	Twice   []string // ids that are there twice
	Foreign int      // elements and attributes that only a text of a stranger would bring
	Title   string
	Axe     []string // what axe-core finds
}

const lookAt = `(async (of, rules) => {
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	const found = !of ? [] : (await axe.run(of, { resultTypes: ["violations"], preload: false, ...(rules && { runOnly: { type: "rule", values: rules } }) })).violations;
	return { Wide: document.documentElement.scrollWidth - innerWidth, Twice: ids.filter((id, i) => ids.indexOf(id) !== i),
		Foreign: document.querySelectorAll("main script, main img, main iframe, main style, [onerror], [onload], [style], [href^='javascript:' i]").length, Title: document.title,
		Axe: found.flatMap((v) => v.nodes.slice(0, 2).map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary.slice(0, 300))) };
})(%s)`

// rendering is what axe-core checks of a page, without what tells two pages apart that look alike: numbers, times and
// ids, and which page the navigation marks.
type rendering struct{ Main, Around string }

const rendered = `(() => {
	const main = document.querySelector("main"), bare = (e) => e.outerHTML.replace(/[\w.:+-]*\d[\w.:+-]*|(?<=name="nonce" value=")[^"]*| aria-current="page"/g, "");
	return { Main: bare(main), Around: [...document.body.children].filter((e) => e !== main).map(bare).join("") };
})()`

// checked are the parts of pages that axe-core has checked, in all states: of those that say the same, such as those
// of a store that does not answer, the first is enough.
var checked sync.Map

// part returns the part of the page that axe-core has to check, as an expression: "null" if it has seen all of it.
func (r rendering) part(theme string, width int64) string {
	if _, err := axe(); err != nil || width == zoomed {
		return "null"
	}
	look := fmt.Sprint(theme, width)
	_, main := checked.LoadOrStore(look+r.Main, true)
	_, around := checked.LoadOrStore(look+r.Around, true)
	switch {
	case main && around:
		return "null"
	case around && theme == "dark":
		return `"main"`
	}
	return "document" // some of the other rules are about the whole page
}

// check looks at the page that is open and fails the test for what it must not have. It looks at
// the given sizes, in both themes. All rules of axe-core are asked in the light theme, those about
// colours in both.
func (tb *tab) checkLooks(name string, widths ...int64) {
	tb.t.Helper()
	source, _ := axe()
	of := value[rendering](tb, rendered)
	for _, width := range widths {
		tb.run(chromedp.EmulateViewport(width, 900))
		for _, theme := range []string{"light", "dark"} {
			part := of.part(theme, width)
			if theme == "dark" && part == "null" && width != narrow && *shots == "" {
				continue // the themes differ in colours only, which axe-core has seen
			}
			call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
			ask := fmt.Sprintf(lookAt, part+", null")
			if theme == "dark" {
				ask = fmt.Sprintf(lookAt, part+`, ["color-contrast"]`)
			}
			if part != "null" && !value[bool](tb, "!!window.axe") {
				ask = source + ";" + ask
			}
			got, err := chromedp.Run(tb.ctx, chromedp.Evaluate[look](ask, chromedp.EvalAwaitPromise))
			for range 3 { // a page that asks again while the store is away is read anew in between
				if err != nil {
					tb.run(chromedp.WaitReady(chromedp.CSS("main")))
					got, err = chromedp.Run(tb.ctx, chromedp.Evaluate[look](source+";"+ask, chromedp.EvalAwaitPromise))
				}
			}
			if err != nil {
				tb.t.Fatal(err)
			}
			if got.Wide > 0 || len(got.Twice) > 0 || got.Foreign > 0 || !strings.HasSuffix(got.Title, "· redrive") {
				tb.t.Errorf("%s at %d, %s: scrolls sideways by %.0f, ids twice %q, foreign elements %d, title %q", name, width, theme, got.Wide, got.Twice, got.Foreign, got.Title)
			}
			for _, text := range got.Axe {
				tb.t.Errorf("%s at %d, %s: axe finds %s", name, width, theme, text)
			}
			if width != zoomed {
				tb.shot(fmt.Sprintf("%s-%d-%s", fileName(name), width, theme))
			}
		}
	}
}

// unfit matches what the name of a file is better without.
var unfit = regexp.MustCompile(`[^a-zA-Z0-9._]+`)

// fileName returns the beginning of the path of a page as the name of a file.
func fileName(path string) string {
	const most = 60
	path = strings.Trim(unfit.ReplaceAllString(path, "-"), "-")
	return path[:min(len(path), most)]
}

const (
	zoomed = 320 // the width of a page of 1280 pixels at a zoom of 400 %
	narrow = 390 // the width of a phone
)

// part of: U4
//
// The checks of accessibility need axe-core, and find what is wrong.
func TestU4_AxeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	source, err := axe()
	if err != nil {
		t.Skip(err)
	}
	tb := newSite(t).newTab(1440, 900)
	tb.open("/")
	value[bool](tb, source+`; document.querySelector("main").insertAdjacentHTML("beforeend", '<input id="bare"><p id="main">pale</p>'); document.getElementById("main").lastChild.style.color = "#eee"; true`)
	got, err := chromedp.Run(tb.ctx, chromedp.Evaluate[look](fmt.Sprintf(lookAt, "document, null"), chromedp.EvalAwaitPromise))
	found := strings.Join(got.Axe, "\n")
	if err != nil || !strings.Contains(found, "label: ") || !strings.Contains(found, "color-contrast: ") || !slices.Contains(got.Twice, "main") {
		t.Errorf("got %q, ids twice %q and %v, want the input without a label, the pale text and the id", found, got.Twice, err)
	}
}

// part of: U4
//
// Each page of the table of routes × {nothing, an outage, the store away, a viewer}, in both themes,
// at 390 and 1440 pixels and at a zoom of 400 %: axe-core finds nothing, a screen reader gets a name of each part, no text of a stranger
// is carried out as HTML (trap 1), nothing is asked of another host, no page scrolls sideways
// however long a word is (trap 39), no id is there twice, and the content security policy complains of nothing.
func TestTrap39_EachPageInEachState(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"nothing", "outage", "away", "viewer"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			w := &world{job: "77777", other: "77778", group: "v1:none"}
			if state != "nothing" {
				w = s.fill()
			}
			at := s
			if state == "viewer" {
				at = s.viewer()
			}
			tb := at.newTab(1440, 900)
			pages := pagesOf(t, w)
			if state == "away" {
				s.setAway(true)
				tb.expectErrors()
			}
			for _, path := range pages {
				tb.open(path)
				if state == "viewer" && value[int](tb, `document.querySelectorAll("main form[method=post]:not([action*='/ui/policy']) button:not([aria-disabled=true])").length`) > 0 && path != "/login" {
					t.Errorf("%s has a button that a viewer may press", path)
				}
				tb.checkLooks(state+" "+path, zoomed, narrow, 1440)
				if state == "outage" {
					tb.checkTree(path)
				}
			}
		})
	}
}
