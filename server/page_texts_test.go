package server_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
)

// pagesWith returns the text of each page of the table of routes, by its path. Group is a
// fingerprint, "" for none.
func (r *reader) pagesWith(group string) map[string]string {
	r.t.Helper()
	texts := make(map[string]string)
	for _, route := range pageRoutes(r.t) {
		if route.Method != "GET" || route.Stream || strings.HasPrefix(route.Path, "/ui/assets/") {
			continue
		}
		path := strings.NewReplacer("{$}", "", "{fp}", url.PathEscape(group)).Replace(route.Path)
		path = pathOf(&api.Route{Path: path})
		_, texts[path] = r.send("GET", path, nil)
	}
	return texts
}

var (
	script   = regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`)
	runnable = regexp.MustCompile(`(?i)\s(on[a-z]+|style|srcdoc)\s*=\s*"`)
	block    = regexp.MustCompile(`</?(dt|dd|td|th|li|p|h[1-6]|div|section|button|summary|option)\b[^>]*>`)
	tag      = regexp.MustCompile(`(?s)<(script|style|title|desc|svg|template)\b.*?</(script|style|title|desc|svg|template)>|<[^>]*>`)
)

// part of: U4
//
// A page has no script and no style of its own, so a text of a stranger cannot end one (trap 2): its only
// script is a file.
func TestTrap2_NoDataInScripts(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	bad := `</script><script>alert(1)</script>` + "\u2028\u2029" + `<!--<script>`
	r, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", fmt.Appendf(nil, `{"text":%q}`, bad), &redrive.Options{Owner: bad, Attrs: map[string]any{"a": bad}}))
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	if _, err := s.client.AddNote(t.Context(), redrive.By{Actor: bad, Reason: bad}, redrive.Note{Job: r.ID, What: redrive.PlainNote, Text: bad}); err != nil {
		t.Fatal(err)
	}
	letter, err := s.client.DeadLetter(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range s.reader("administer").pagesWith(letter.Fingerprint) {
		for _, m := range script.FindAllStringSubmatch(text, -1) {
			if m[1] != "" || !strings.HasPrefix(m[0], `<script src="/ui/assets/`) {
				t.Errorf("%s has the script %q, want files only", path, m[0])
			}
		}
		if found := runnable.FindString(tagsOf(text)); found != "" {
			t.Errorf("%s has the attribute %q", path, found)
		}
		if strings.Contains(text, "<!--") {
			t.Errorf("%s has a comment of HTML", path)
		}
	}
}

// tagsOf returns the tags of a page without its texts.
func tagsOf(text string) string {
	return strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1), "\n")
}

var (
	oneOfMany  = regexp.MustCompile(`\b1 (jobs|causes|letters|dead letters|dead jobs|redrives|queues|workers|processes|kinds|actions|retries|runs|lives|failed runs|attempts|notes|owners|schedules|events|rows|hours|minutes|days)\b`)
	manyOfOne  = regexp.MustCompile(`\b(0|[2-9]|[1-9][0-9]+) (job|cause|dead letter|dead job|redrive|queue|worker|process|kind|action|retry|run|life|failed run|attempt|note|owner|schedule|event|row|hour|minute|day)\b([^-.:]|$)`)
	exceptions = strings.NewReplacer("default, priority 2", "")
)

// part of: U4
//
// With nothing, one and many of everything, no page has a wrong plural, such as "1 jobs".
func TestU4_PluralsAreRight(t *testing.T) {
	t.Parallel()
	for _, found := range []string{"1 jobs", "1 dead letters"} {
		if !oneOfMany.MatchString(found) {
			t.Errorf("the pattern does not find %q", found)
		}
	}
	for _, n := range []int{0, 1, 2, 11} {
		s := newDeadSite(t, as)
		group := ""
		if n > 0 {
			s.dieMany(n)
			letter, err := s.client.DeadLetter(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			group = letter.Fingerprint
		}
		r := s.reader("administer")
		texts := r.pagesWith(group)
		for name, q := range map[string]string{"new": "/ui/redrives/new?status=pending", "dead": "/ui/dead?status=pending", "jobs": "/ui/jobs?state=dead"} {
			_, texts[name] = r.send("GET", q, nil)
		}
		if n > 0 {
			start := url.Values{"query": {"group=" + url.QueryEscape(group)}, "count": {fmt.Sprint(n)}, "canary": {"0"}, "stop_share": {"20"}, "nonce": {"n-1"}, "reason": {"mended"}}
			_, texts["started"] = r.send("POST", "/ui/redrives", start)
			_, texts["redrives"] = r.send("GET", "/ui/redrives", nil)
		}
		for path, text := range texts {
			text = exceptions.Replace(html.UnescapeString(tag.ReplaceAllString(block.ReplaceAllString(text, " | "), " ")))
			text = strings.Join(strings.Fields(text), " ")
			for _, m := range append(oneOfMany.FindAllStringIndex(text, -1), manyOfOne.FindAllStringIndex(text, -1)...) {
				t.Errorf("%s with %d: wrong plural in %q", path, n, text[max(0, m[0]-30):min(len(text), m[1]+30)])
			}
		}
	}
}

// part of: X2
//
// After a login, a form or a problem the browser is led to a path of this server only (trap 38).
func TestTrap38_NobodyIsLedElsewhere(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(1)
	r := s.reader("operate")
	for _, next := range []string{"https://evil.example/", "//evil.example/ui/", `/\evil.example/ui/`, "/ui/../../evil", "javascript:alert(1)", "/ui/\r\nSet-Cookie: a=b", "http:/ui/", "", "/elsewhere"} {
		status, text := r.send("POST", "/ui/jobs/1/note", url.Values{"text": {"seen"}, "back": {next}})
		if status != 200 || !strings.Contains(text, "The note is added") {
			t.Errorf("back to %q: got %d, want a page of this server that says what was done", next, status)
		}
		_, text = r.send("GET", "/ui/login?next="+url.QueryEscape(next), nil)
		if strings.Contains(text, "evil.example") || strings.Contains(text, "javascript:") {
			t.Errorf("the login keeps %q", next)
		}
	}
}

// part of: U4
//
// Times on a page are in UTC unless the reader asks for others, with the whole time beside each. Times
// that a filter cannot mean are refused with the reason; odd ones are read as they are written (trap 34).
func TestTrap34_TimesAreReadAndShownAsTheyAre(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 25, 0, 59, 59, 999_999_000, time.UTC) // a second before clocks are set back in Berlin
	s := newDeadSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Now = func() time.Time { return at }
	})
	s.dieMany(1)
	r := s.reader("view")
	if _, text := r.send("GET", "/ui/", nil); !strings.Contains(text, `datetime="2026-10-25T00:59:59Z"`) || !strings.Contains(text, "00:59:59") {
		t.Error("the page does not have its time in UTC")
	}
	for text, want := range map[string]int{
		"2026-10-25": 200, "2026-10-25T02:30:00": 200, "2026-10-25T02:30:00+02:00": 200, "9999-12-31T23:59:59Z": 200, "0001-01-01": 200, "1h": 200, "1969-12-31": 200,
		"2016-12-31T23:59:60Z": 400, "2026-02-30": 400, "2026-13-01": 400, "25/10/2026": 400, "yesterday": 400, "10000-01-01": 400, "99999999999999999999": 400, "\x00": 400,
	} {
		for _, path := range []string{"/ui/dead?from_date=", "/ui/jobs?since="} {
			status, page := r.send("GET", path+url.QueryEscape(text), nil)
			explained := status == 400 && strings.Contains(page, "must") // one of the two filters may not have this form
			if status != want && !explained {
				t.Errorf("%s%q: got %d, want %d", path, text, status, want)
			}
		}
	}
}

// part of: U4
//
// While jobs die, the rail, the tabs and the heading of a page have the same number: they come from
// one reading (trap 35).
func TestTrap35_NumbersOfAPageAgree(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	rail, tab, heading := regexp.MustCompile(`<span class="n red">.*?</svg>([0-9,]+)</span>`), regexp.MustCompile(`Pending <span class="n">([0-9,]+)</span>`), regexp.MustCompile(`id="finding">([0-9,]+) `)
	r := s.reader("view")
	for n := 1; n <= 40; n++ {
		s.dieMany(n)
		_, text := r.send("GET", "/ui/dead", nil)
		var numbers []string
		for _, p := range []*regexp.Regexp{rail, tab, heading} {
			if m := p.FindStringSubmatch(text); m != nil {
				numbers = append(numbers, m[1])
			}
		}
		if len(numbers) != 3 || numbers[0] != numbers[1] || numbers[1] != numbers[2] {
			t.Fatalf("the rail, the tab and the heading have the numbers %q, want the same three times", numbers)
		}
	}
}

// part of: U4
//
// Jobs that die after the preview of a redrive are not in its set (trap 15).
func TestTrap15_DeathsAfterThePreviewAreNotRetried(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(3)
	r := s.reader("operate")
	_, text := r.send("GET", "/ui/redrives/new?status=pending", nil)
	fields := url.Values{"canary": {"0"}, "stop_share": {"100"}, "reason": {"mended"}, "ready": {"1"}}
	for _, name := range []string{"query", "through", "count", "nonce"} {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the preview has no field %s", name)
		}
		fields.Set(name, html.UnescapeString(m[1]))
	}
	s.dieMany(4)
	r.must("Redrive 1 has started with 3 jobs.", "/ui/redrives", fields)
	redrives, err := s.client.Redrives(t.Context())
	if err != nil || len(redrives) != 1 || redrives[0].Total != 3 {
		t.Errorf("got %+v and %v, want one redrive of the 3 jobs of the preview", redrives, err)
	}
	if j, err := s.client.DeadLetter(t.Context(), job.ID(7)); err != nil || j.Status != job.Pending {
		t.Errorf("got %v and %v, want the job that died later still pending", j, err)
	}
}
