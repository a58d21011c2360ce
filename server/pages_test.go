package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/page"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
)

// pageRoutes returns the table of pages.
func pageRoutes(t *testing.T) []api.Route {
	t.Helper()
	p, err := page.New(page.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Routes()
}

// reader is a browser without script: it keeps cookies, follows redirects and sends forms.
type reader struct {
	t      *testing.T
	url    string
	client *http.Client
	caller string // X-Test-Caller
}

func (s *site) reader(caller string) *reader {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	return &reader{t: s.T, url: s.url, client: &http.Client{Jar: jar}, caller: caller}
}

// send sends a request and returns the status and the page at which it ends.
func (r *reader) send(method, path string, fields url.Values, headers ...string) (int, string) {
	r.t.Helper()
	var body io.Reader
	if fields != nil {
		body = strings.NewReader(fields.Encode())
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	if fields != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if r.caller != "" {
		req.Header.Set("X-Test-Caller", r.caller)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	answer, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// must fails the test unless the page at which a form ends has a text.
func (r *reader) must(want, path string, fields url.Values) {
	r.t.Helper()
	if status, text := r.send("POST", path, fields); !strings.Contains(text, want) {
		r.t.Errorf("POST %s: got %d without %q", path, status, want)
	}
}

// part of: X2
//
// Each page is refused for callers without its role, and nothing of it is shown (trap 7).
func TestTrap7_EachPageHasARuleOfAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	for _, route := range pageRoutes(t) {
		path := strings.NewReplacer("{$}", "", "{act}", "retry", "{name}", "default").Replace(pathOf(&route))
		if route.Roles == 0 {
			if !strings.HasPrefix(path, "/ui/assets/") && path != "/ui/login" && path != "/ui/logout" {
				t.Errorf("%s %s is open to everybody, want a role", route.Method, route.Path)
			}
			continue
		}
		for _, name := range access.RoleNames() {
			role, _ := access.ParseRole(name)
			for _, owner := range []string{"", "/ann"} {
				status, _ := s.reader(name+owner).send(route.Method, path, nil)
				want := owner != "" || !role.Any(route.Roles)
				if got := status == http.StatusForbidden; got != want {
					t.Errorf("%s %s by %s%s: got %d, want refused %t", route.Method, path, name, owner, status, want)
				}
			}
		}
	}
}

// part of: X2
//
// Reading pages changes nothing (trap 6), and each has the headers that keep strangers out.
func TestTrap6_ReadingPagesChangesNothing(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(2)
	s.checked = false // the pages are not in the document of the API
	r := s.reader("administer")
	before := dump(t, s.store)
	for _, route := range pageRoutes(t) {
		if route.Method != "GET" || route.Stream {
			continue
		}
		path := strings.Replace(pathOf(&route), "{$}", "", 1)
		for range 2 {
			if status, text := r.send("GET", path, nil); status >= 500 {
				t.Errorf("GET %s: got %d %s", path, status, text)
			}
		}
		if a := s.do("GET", path, "", "X-Test-Caller: administer"); a.status == http.StatusOK && !strings.HasPrefix(path, "/ui/assets/") {
			policy := a.header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("GET %s: got the policy %q and Cache-Control %q", path, policy, a.header.Get("Cache-Control"))
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, s.store)); diff != "" {
		t.Errorf("reading has changed the store (-before +after):\n%s", diff)
	}
}

// part of: U3, U4
//
// Every action says what it did. An action of an older page, and one that a form repeats, does
// nothing and says so (traps 13 and 14).
func TestTrap14_FormsActOnceAndSaySo(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(2)
	ids := []job.ID{1, 2}
	r := s.reader("operate")
	letter, err := s.client.DeadLetter(t.Context(), ids[0])
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"state": {"dead"}, "life": {"1"}, "death": {fmt.Sprint(letter.Death)}}
	job0 := fmt.Sprintf("/ui/jobs/%d/", ids[0])
	r.must("The dead letter of job 1 is resolved.", job0+"resolve", form)
	r.must("The dead letter of job 1 is pending again.", job0+"reopen", form)
	r.must("Give a reason", job0+"ignore", form)
	form.Set("reason", "a test")
	r.must("The dead letter of job 1 is ignored, and pending again in ", job0+"ignore", form)
	form.Del("reason")
	r.must("Job 1 waits again, in life 2.", job0+"retry", form)
	r.must("Nothing was done: job 1 is waiting now, in life 2", job0+"retry", form)
	r.must("Nothing was done: ", job0+"cancel", form)
	r.must("Job 1 is cancelled.", job0+"cancel", nil)
	r.must("The note is added.", job0+"note", url.Values{"text": {"seen"}})
	if status, _ := r.send("POST", job0+"explode", nil); status != http.StatusNotFound {
		t.Errorf("an action that does not exist: got %d, want 404", status)
	}

	group := "/ui/groups/" + url.PathEscape(letter.Fingerprint) + "/"
	r.must("mira has this cause now.", group+"assign", url.Values{"assignee": {"mira"}})
	r.must("The name is changed.", group+"name", url.Values{"name": {"the bucket"}})
	r.must("Give a reason", group+"ignore", url.Values{"reason": {" "}})
	r.must("1 dead letter of this cause ignored.", group+"ignore", url.Values{"reason": {"known"}})
	r.must("The cause is open again.", group+"reopen", nil)
	r.must("The cause is resolved.", group+"resolve", url.Values{"state": {"open"}})
	r.must("Nothing was done: the cause is resolved now", group+"resolve", url.Values{"state": {"open"}})

	r.must("Choose the class that later failures get.", group+"reclassify", url.Values{"form": {"class"}})
	r.must("neither a built-in class nor one of the policy in force", group+"reclassify", url.Values{"form": {"class"}, "class": {"Nonsense"}})
	r.must("Later failures like these are PaymentRequired. Dead letters that are there stay as they are.", group+"reclassify", url.Values{"form": {"class"}, "class": {"PaymentRequired"}})
	if labels, err := s.client.Labels(t.Context()); err != nil || len(labels) != 1 || labels[0].Class != "PaymentRequired" {
		t.Errorf("got the labels %+v and %v, want one", labels, err)
	}
	r.shows("/ui/groups/"+url.PathEscape(letter.Fingerprint), "Later failures like these are PaymentRequired.", "Reclassify")

	start := url.Values{"query": {"group=" + url.QueryEscape(letter.Fingerprint)}, "count": {"1"}, "canary": {"0"}, "stop_share": {"20"}, "nonce": {"n-1"}}
	r.must("Give a reason", "/ui/redrives", start)
	start.Set("reason", "mended")
	start.Set("canary", "-1")
	r.must("Jobs first must be a whole number", "/ui/redrives", start)
	start.Set("canary", "0")
	r.must("Nothing was done: 1 job of the set needs something changed first.", "/ui/redrives", start)
	start.Set("ready", "1")
	r.must("Redrive 1 has started with 1 job.", "/ui/redrives", start)
	r.must("Redrive 1", "/ui/redrives", start) // a second click
	if list, err := s.client.Redrives(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("got %d redrives and %v, want 1 for two clicks", len(list), err)
	}
	r.must("Nothing was done: redrive 1 is", "/ui/redrives/1/pause", url.Values{"state": {"paused"}})
	r.must("Queue default is paused now.", "/ui/queues/default/pause", nil)
	r.must("Queue default is open now.", "/ui/queues/default/resume", nil)
	if _, text := r.send("GET", "/ui/queues", nil); strings.Contains(text, "is open now") {
		t.Error("a message is shown twice, want once")
	}
}

// part of: X2
//
// A form of another site, a forged message and a page that embeds this one do nothing (trap 5).
func TestTrap5_OtherSitesDoNothing(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.dieMany(1)
	ids := []job.ID{1}
	r := s.reader("operate")
	before := dump(t, s.store)
	for _, h := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"} {
		if status, _ := r.send("POST", fmt.Sprintf("/ui/jobs/%d/retry", ids[0]), url.Values{}, h); status != http.StatusForbidden {
			t.Errorf("a form with %s: got %d, want 403", h, status)
		}
	}
	if diff := cmp.Diff(before, dump(t, s.store)); diff != "" {
		t.Errorf("a form of another site has changed the store:\n%s", diff)
	}
	if _, text := r.send("GET", "/ui/", nil, "Cookie: redrive_done=eyJ0IjoiWW91IHdvbiJ9.AAAA"); strings.Contains(text, "You won") {
		t.Error("a forged message is shown")
	}
}

// proves: X2
//
// Who has to log in is asked for a key, comes back to the page, and is logged out again.
func TestX2_PagesAskForAKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, header := s.newKey(`{"name":"root","roles":["administer"]}`)
	key := strings.TrimPrefix(header, "Authorization: Bearer ")
	r := s.reader("")
	status, text := r.send("GET", "/ui/jobs?state=dead", nil)
	if status != http.StatusOK || !strings.Contains(text, "Log in") || !strings.Contains(text, `value="/ui/jobs?state=dead"`) {
		t.Fatalf("without a key: got %d, want the page that asks for one and leads back", status)
	}
	if status, text := r.send("POST", "/ui/login", url.Values{"key": {"rdk_wrong"}, "next": {"/ui/jobs"}}); status != http.StatusUnauthorized || !strings.Contains(text, "This key is not valid") {
		t.Errorf("with a wrong key: got %d", status)
	}
	if status, text := r.send("POST", "/ui/login", url.Values{"key": {key}, "next": {"/ui/jobs?state=dead"}}); status != http.StatusOK || !strings.Contains(text, "There is no job in this state") {
		t.Errorf("with the key: got %d, want the list of dead jobs", status)
	}
	if _, text := r.send("POST", "/ui/logout", url.Values{}); !strings.Contains(text, "Access key") {
		t.Error("after the logout the page does not ask for a key")
	}
	if _, text := r.send("GET", "/ui/", nil); !strings.Contains(text, "Access key") {
		t.Error("the login still holds after the logout")
	}
}

// The pages can be left out.
func TestServer_PagesCanBeLeftOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) { o.NoPages = true })
	if a := s.do("GET", "/ui/", ""); a.status != http.StatusNotFound {
		t.Errorf("got %d, want 404", a.status)
	}
}
