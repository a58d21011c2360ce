package server_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// rowOf returns the row of a job in the table of a page, as text and as HTML.
func rowOf(t *testing.T, page string, id job.ID) (text, html string) {
	t.Helper()
	html = regexp.MustCompile(`(?s)<tr[^>]* id="job.` + id.String() + `".*?</tr>`).FindString(page)
	if html == "" {
		t.Fatalf("the page has no row of job %d:\n%s", id, textOf(page))
	}
	return textOf(html), html
}

// proves: U1
//
// The row of a job has a badge of its state; from the first retry on one of its attempts, never above the limit;
// its last error, which unfolds; and, when it is dead, a button that retries it.
func TestU1_TheTableOfJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	works := false
	redrive.Handle(s.client, redrive.Kind[int]("copy"), func(_ context.Context, j *redrive.Job[int]) error {
		switch {
		case j.Args == 0 || works:
			return nil
		case j.Args == 1:
			return failure.Permanent(errors.New("the file is broken\nand the whole text of it"))
		}
		return errors.New("503 Service Unavailable")
	}, nil)
	var ids []job.ID
	enqueue := func(n int, o *redrive.Options) {
		t.Helper()
		receipt, err := s.client.Enqueue(t.Context(), redrive.Kind[int]("copy").New(n, o))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.ID)
	}
	r := s.reader("operate,view")
	want := func(id job.ID, state, tries string, retry bool) {
		t.Helper()
		_, page := r.send("GET", "/ui/jobs", nil)
		text, html := rowOf(t, page, id)
		badge, got := regexp.MustCompile(`(?s)<span class="st `+state+`[ "]`).MatchString(html), ""
		if m := regexp.MustCompile(`<span class="tries">([^<]*)</span>`).FindStringSubmatch(html); m != nil {
			got = m[1]
		}
		if !badge || got != tries || strings.Contains(html, "/retry\"") != retry {
			t.Errorf("job %d: got the row %q, want the state %s, the attempts %q and a button that retries: %t", id, text, state, tries, retry)
		}
	}
	two := 2
	enqueue(0, nil)
	enqueue(1, nil)
	enqueue(2, &redrive.Options{Override: &policy.Override{MaxRetries: &two, Waits: []time.Duration{time.Millisecond}}})
	for _, id := range ids {
		want(id, "waiting", "", false)
	}
	s.run()
	want(ids[0], "completed", "", false)
	want(ids[1], "dead", "", true) // a permanent failure was not retried
	want(ids[2], "dead", "3/3", true)
	enqueue(3, &redrive.Options{Override: &policy.Override{MaxRetries: &two}})
	if err := s.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(ids[3], "retrying", "2/3", false)
	_, page := r.send("GET", "/ui/jobs", nil)
	if _, html := rowOf(t, page, ids[1]); !strings.Contains(html, "<details><summary class=\"err\">the file is broken") || !strings.Contains(html, "and the whole text of it</pre></details>") {
		t.Errorf("the error of the dead job does not unfold: %s", html)
	}
	works = true
	status, end := r.send("POST", "/ui/jobs/"+ids[1].String()+"/retry", formOf(page, "/ui/jobs/"+ids[1].String()+"/retry"))
	if err := s.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(ids[1], "completed", "", false)
	if status != 200 || !strings.Contains(textOf(end), "waits again, in life 2") {
		t.Errorf("after the press of retry: got %d %s", status, textOf(end))
	}
}
