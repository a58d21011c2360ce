package browser

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/redrive/redrive"
)

const longWait = time.Hour

// canary is a text that would run, load or close something if a page did not escape it.
const canary = `"'><script>alert(1)</script><img src=http://canary.invalid/x onerror=alert(2)>` + "</pre></textarea>\u202e\u2028{{.}}`;alert(3)//"

// part of: U4
//
// Each page, with nothing and after an outage, in both themes, at 390 and 1440 pixels: no text is
// carried out as HTML (trap 1), nothing is asked of another host, no page scrolls sideways (trap
// 39), no id is there twice, and the content security policy complains of nothing.
func TestTrap1_PagesShowTextsAsTexts(t *testing.T) {
	for _, full := range []bool{false, true} {
		s := newSite(t)
		paths := []string{"/", "/groups", "/jobs", "/dead", "/redrives", "/queues", "/workers", "/audit", "/login", "/jobs/77777", "/nothing"}
		if full {
			ids := s.outage(12)
			r, err := s.client.Enqueue(t.Context(), redrive.NewRaw("render", []byte(`{"text":"`+strings.Repeat("w", 3000)+`"}`), &redrive.Options{Owner: canary, Correlation: canary, Attrs: map[string]any{"name": canary}}))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.client.WaitIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			by := redrive.By{Actor: canary, Reason: canary}
			if _, err := s.client.AddNote(t.Context(), by, redrive.Note{Job: r.ID, What: redrive.PlainNote, Text: canary}); err != nil {
				t.Fatal(err)
			}
			groups, err := s.client.Groups(t.Context(), redrive.GroupFilter{})
			if err != nil || len(groups.Groups) == 0 {
				t.Fatal("no group", err)
			}
			fp, name := groups.Groups[0].Fingerprint, canary+strings.Repeat("long", 30)
			if _, err := s.client.SetGroup(t.Context(), by, redrive.GroupChange{Group: fp, Name: &name, Assignee: &by.Actor}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.client.Redrive(t.Context(), by, redrive.RedriveSpec{Filter: redrive.DeadFilter{Group: fp}, Canary: 2}); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, "/groups/"+url.PathEscape(fp), "/jobs/"+r.ID.String(), "/jobs/"+ids[0].String(), "/redrives/1", "/redrives/new?status=pending", "/dead?text=service", "/jobs?state=dead&owner=studio")
		}
		for _, width := range []int64{390, 1440} {
			tb := s.newTab(width, 900)
			for _, theme := range []string{"light", "dark"} {
				call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
				for _, path := range paths {
					tb.open(path)
					found := value[struct {
						Wide    float64
						Twice   []string
						Scripts int
						Title   string
					}](tb, `(() => { const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
						return { Wide: document.documentElement.scrollWidth - innerWidth, Twice: ids.filter((id, i) => ids.indexOf(id) !== i),
							Scripts: document.querySelectorAll("main script, main img, main iframe, [onerror], [style]").length, Title: document.title }; })()`)
					if found.Wide > 0 || len(found.Twice) > 0 || found.Scripts > 0 || !strings.HasSuffix(found.Title, "· redrive") {
						t.Errorf("%s at %d, %s: scrolls sideways by %.0f, ids twice %q, foreign elements %d, title %q", path, width, theme, found.Wide, found.Twice, found.Scripts, found.Title)
					}
					state := map[bool]string{true: "outage", false: "nothing"}[full]
					tb.shot(fmt.Sprintf("%s-%s-%d-%s", state, strings.Trim(strings.NewReplacer("/", "-", "?", "-", "%3A", "-").Replace(path), "-"), width, theme))
				}
			}
		}
	}
}
