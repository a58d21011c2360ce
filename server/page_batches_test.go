package server_test

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
)

// stagedBatch is a site with batch 1, of members that end in part.
func stagedBatch(t *testing.T, change func(*redrive.Config, *server.Options)) (s *site, mend func(), r *reader) {
	t.Helper()
	s, fails := copies(t, change, nil, "m2", "m3")
	s.checked = false // the pages are not in the document of the API
	ctx, by := context.Background(), redrive.By{Actor: "test"}
	h, err := s.client.NewBatch(ctx, by, redrive.BatchSpec{Name: "Autumn <launch>", Owner: "ann"})
	for i := range 4 {
		if err == nil {
			key := fmt.Sprintf("m%d", i+1)
			_, err = h.Add(ctx, redrive.NewRaw("copy", []byte(`"`+key+`"`), &redrive.Options{Key: key, Owner: "ann"}))
		}
	}
	if err == nil {
		_, err = h.Publish(ctx, by)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	return s, fails.Clear, s.reader("operate,view")
}

// formOf returns the hidden fields of the form whose action ends with a path, in the given page.
func formOf(page, action string) url.Values {
	fields := url.Values{}
	_, form, _ := strings.Cut(page, `action="`+action+`"`)
	form, _, _ = strings.Cut(form, "</form>")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		fields.Set(m[1], m[2])
	}
	return fields
}

// proves: U1
//
// The list has an amber badge that leads to the batch, the batch has the warning and its dead members
// with buttons, and the job's page names its batch.
func TestU1_PagesOfBatches(t *testing.T) {
	t.Parallel()
	s, mend, r := stagedBatch(t, as)
	has := func(page string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("the page lacks %q", part)
			}
		}
	}
	_, list := r.send("GET", "/ui/batches", nil)
	has(list, "<h1 data-live id=\"finding\">1 batch ended in part</h1>", `<a href="/ui/batches/1"><span class="st partial" title="Some jobs failed. Click to review.">`, "PARTIAL",
		"Autumn &lt;launch&gt;", "1 partial</span>", "2 of 4")
	_, none := r.send("GET", "/ui/batches?state=DRAFT&name=zzz", nil)
	has(none, "No batches", "No batch matches. Remove a filter above.")
	_, page := r.send("GET", "/ui/batches/1", nil)
	has(page, "Autumn &lt;launch&gt;: 2 of 4 members completed, 2 dead", "Warning: 2 jobs failed permanently. Use the retry buttons below to re-attempt individual members.",
		`href="/ui/batches/1/ask">Retry 2 dead`, `data-topics="batch:1"`, `<li class="d" title="m2, dead">`, `<li class="ok" title="m1, completed">`, "the file is broken", "Its ends", "published")
	_, jobPage := r.send("GET", "/ui/jobs/2", nil)
	has(jobPage, `batch <a href="/ui/batches/1">Autumn &lt;launch&gt;</a>`)
	_, viewer := s.reader("view").send("GET", "/ui/batches/1", nil)
	if strings.Contains(viewer, `action="/ui/batches/1/member"`) || !strings.Contains(viewer, "Your role may look, not act") {
		t.Error("a viewer gets buttons that act")
	}

	member := formOf(page, "/ui/batches/1/member")
	mend()
	r.must("Retry queued for m2.", "/ui/batches/1/member", member)
	again := formOf(page, "/ui/batches/1/member")
	again.Set("nonce", "another-click")
	r.must("Nothing was done: Member is not in a failed state.", "/ui/batches/1/member", again)
	_, ask := r.send("GET", "/ui/batches/1/ask", nil)
	has(ask, "Retry 1 dead member of Autumn &lt;launch&gt;?", "the file is broken")
	r.must("1 member retried.", "/ui/batches/1/retry", formOf(ask, "/ui/batches/1/retry"))
	stale := formOf(ask, "/ui/batches/1/retry")
	stale.Set("nonce", "an-old-page")
	r.must("Nothing was done: Autumn &lt;launch&gt; has 0 dead members now", "/ui/batches/1/retry", stale)
	s.run()
	_, page = r.send("GET", "/ui/batches/1", nil)
	has(page, "READY", "4 of 4 members completed")
	if strings.Contains(page, "Warning:") {
		t.Error("a batch that is READY has the warning")
	}
}

// part of: U4, B1
func TestU4_ABatchIsPublishedCancelledAndSetOnItsPage(t *testing.T) {
	t.Parallel()
	s, _, r := stagedBatch(t, as)
	by := redrive.By{Actor: "test"}
	h, err := s.client.NewBatch(t.Context(), by, redrive.BatchSpec{Key: "second"})
	if err == nil {
		_, err = h.Add(t.Context(), redrive.NewRaw("copy", []byte(`1`), nil), redrive.NewRaw("copy", []byte(`2`), nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, page := r.send("GET", "/ui/batches/2", nil)
	if !strings.Contains(page, "second: 2 drafts") || !strings.Contains(page, "Discard 2 drafts") {
		t.Errorf("the page of a draft has not its finding and its buttons")
	}
	publish := formOf(page, "/ui/batches/2/publish")
	r.must("2 members published.", "/ui/batches/2/publish", publish)
	old := formOf(page, "/ui/batches/2/discard")
	r.must("Nothing was done: second is PROCESSING now", "/ui/batches/2/discard", old)
	r.must("Nothing was done", "/ui/batches/2/expire", url.Values{"form": {"expire"}, "expires_at": {"yesterday"}})
	r.must("The batch expires ", "/ui/batches/2/expire", url.Values{"form": {"expire"}, "expires_at": {"30d"}})
	r.must("The batch does not expire now.", "/ui/batches/2/expire", url.Values{"form": {"expire"}, "expires_at": {"never"}})
	r.must("are cancelled", "/ui/batches/2/cancel", url.Values{"state": {"PROCESSING"}})
	if b, err := h.Get(t.Context()); err != nil || b.Cancelled != 2 {
		t.Errorf("got %+v and %v, want both members cancelled", b, err)
	}
	if _, text := r.send("GET", "/ui/audit", nil); !strings.Contains(text, `<a href="/ui/batches/2">batch 2</a>`) {
		t.Error("the audit does not lead to the batch")
	}
	third, err := s.client.NewBatch(t.Context(), by, redrive.BatchSpec{Key: "third"})
	if err == nil {
		_, err = third.Add(t.Context(), redrive.NewRaw("copy", []byte(`1`), nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	r.must("1 draft discarded. third is gone with its last draft.", "/ui/batches/3/discard", url.Values{})
}
