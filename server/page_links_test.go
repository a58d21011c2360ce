package server_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

var (
	numberLink  = regexp.MustCompile(`<a(?: class="num")? href="([^"]*)">([0-9,]+)</a>`)
	headingText = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>`)
)

// proves: U3
//
// Each number of the first page leads to the list that it counts: the heading of that list has the same number, although the
// list has more rows than its page shows.
func TestU3_NumbersLeadToTheListThatTheyCount(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(70)
	s.broken.Store(false)
	var specs []redrive.Spec
	for i := range 65 {
		specs = append(specs, redrive.NewRaw("k", []byte("1"), nil))
		if i < 55 {
			specs = append(specs, redrive.NewRaw("other", []byte("1"), &redrive.Options{RunAt: time.Now().Add(time.Duration(i+1) * time.Minute)}))
		}
	}
	if _, err := s.client.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	if err := s.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := s.reader("operate")
	_, page := r.send("GET", "/ui/", nil)
	found := 0
	for _, m := range numberLink.FindAllStringSubmatch(page, -1) {
		found++
		_, list := r.send("GET", strings.ReplaceAll(m[1], "&amp;", "&"), nil)
		heading := headingText.FindStringSubmatch(list)
		if heading == nil || !regexp.MustCompile(`(^|[^0-9,])`+m[2]+`([^0-9,]|$)`).MatchString(heading[1]) && (m[2] != "0" || !strings.HasPrefix(heading[1], "No ")) {
			t.Errorf("%s leads to %s with the heading %q", m[2], m[1], heading)
		}
	}
	for _, want := range []string{">65<", ">70<", ">55<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page has no number %s", want)
		}
	}
	if found < 7 {
		t.Errorf("got %d numbers with links, want those of both hours and of the kinds", found)
	}
}

// proves: D2, D6
//
// The heading of a list is the finding of what its filter selects, not of everything.
func TestD6_HeadingsFollowTheFilter(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(3)
	r := s.reader("operate")
	r.must("is resolved", "/ui/jobs/1/resolve", nil)
	letter, err := s.client.DeadLetter(t.Context(), job.ID(2))
	if err != nil {
		t.Fatal(err)
	}
	group := "/ui/groups/" + letter.Fingerprint
	for _, c := range []struct{ path, want string }{
		{"/ui/dead", "2 dead letters pending, the oldest died now"},
		{"/ui/dead?status=pending", "2 dead letters pending, the oldest died now"},
		{"/ui/dead?status=resolved", "1 resolved dead letter"},
		{"/ui/dead?status=retried", "No retried dead letter is in this list"},
		{"/ui/dead?status=retried&group=" + letter.Fingerprint, "No retried dead letter is in this list"},
		{"/ui/dead?group=" + letter.Fingerprint, "3 dead letters, 2 pending"},
		{"/ui/dead?from_date=1h", "3 dead letters, 2 pending"},
		{"/ui/groups", "2 dead jobs, 1 cause"},
		{"/ui/groups?state=resolved", "No resolved cause is in this list"},
		{"/ui/groups?state=all", "1 cause"},
		{"/ui/groups?class=Nothing", "No cause with pending dead jobs is in this list"},
		{"/ui/audit?actor=nobody", "No action matches"},
		{"/ui/events?type=job.failed&since=1h", "3 events in the last 1h"},
		{"/ui/events?type=job.failed,job.crashed&to=retrying&since=1h", "No event matches"},
	} {
		_, text := r.send("GET", c.path, nil)
		if m := headingText.FindStringSubmatch(text); m == nil || words.Clean(m[1]) != c.want {
			t.Errorf("%s: got the heading %q, want %q", c.path, m, c.want)
		}
	}
	if _, text := r.send("GET", "/ui/dead?from_date=1h", nil); !strings.Contains(textOf(text), "died since 1h ago") {
		t.Errorf("the chip of a time: got %s", textOf(text))
	}
	if _, text := r.send("GET", group, nil); !strings.Contains(text, "2 pending") {
		t.Errorf("the cause: got %s", textOf(text))
	}
}
