package server_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/redrive/redrive"
)

// proves: D7
//
// The form of a redrive acts on the set that the page has shown. If nothing is left of the set, nothing is started. If a part
// of it is gone, the redrive takes the rest and says so, and its page says why it has fewer jobs.
func TestD7_ARedriveSaysThatItsSetHasChanged(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(3)
	s.broken.Store(false)
	const path = "/ui/redrives"
	r := s.reader("operate")
	typed := func() url.Values {
		return url.Values{"canary": {"0"}, "reason": {"mended"}, "ready": {"1"}}
	}
	_, page := r.send("GET", path+"/new?status=pending", nil)
	r.must("Job 3 waits again", "/ui/jobs/3/retry", nil)
	text := r.press(page, path, "Redrive 3 jobs", typed())
	if want := "Redrive 1 has started with 2 jobs. The page had shown 3: 1 has been retried, resolved or ignored since."; !strings.Contains(text, want) {
		t.Errorf("one job less: got %s, want %q", textOf(text), want)
	}
	if strings.Contains(text, ">Undo<") {
		t.Error("the start of a redrive offers Undo, which cannot take a retry back")
	}
	if _, err := s.client.AdvanceRedrive(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	s.run()
	if _, err := s.client.AdvanceRedrive(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, text = r.send("GET", path+"/1", nil); !strings.Contains(text, "Redrive 1: 2 of 2 jobs completed") {
		t.Errorf("the heading: got %s", textOf(text))
	}

	// The same form once more, and the form of an older page whose set is empty by now.
	if text = r.press(page, path, "Redrive 3 jobs", typed()); !strings.Contains(text, "Nothing was done: this form has started redrive 1 already, which is completed.") {
		t.Errorf("the form of a redrive that has ended: got %s", textOf(text))
	}
	again := typed()
	again.Set("nonce", "another")
	if text = r.press(page, path, "Redrive 3 jobs", again); !strings.Contains(text, "Nothing was done: none of the 3 jobs that the page had shown can be retried any more.") || !strings.Contains(text, `value="mended"`) {
		t.Errorf("a set that is empty by now: got %s", textOf(text))
	}
	if list, err := s.client.Redrives(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("got %d redrives and %v, want 1", len(list), err)
	}
}

// proves: D7
//
// Jobs can leave the set of a redrive before their turn. The bar, the heading and the text then count the rest.
func TestD7_JobsThatLeaveTheSetOfARedrive(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(4)
	s.broken.Store(false)
	r := s.reader("operate")
	_, page := r.send("GET", "/ui/redrives/new?status=pending", nil)
	r.press(page, "/ui/redrives", "Redrive 4 jobs", url.Values{"canary": {"0"}, "reason": {"mended"}, "ready": {"1"}})
	r.must("Job 2 waits again", "/ui/jobs/2/retry", nil)
	for range 2 {
		if _, err := s.client.AdvanceRedrive(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		s.run()
	}
	_, text := r.send("GET", "/ui/redrives/1", nil)
	for _, want := range []string{
		"Redrive 1: 3 of 3 jobs completed, 1 had left the set", "3 of 3 retried, 3 completed",
		"1 job had left the set before its turn: it was retried, resolved or ignored otherwise.",
		`<rect class="c-good" width="100%"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %q", textOf(text), want)
		}
	}
	if strings.Contains(text, "It stops by itself") || strings.Contains(text, "What stops it") {
		t.Error("a redrive that has ended says what stops it")
	}
}

// proves: D7
//
// Two redrives of the same dead letters run side by side only if a person has seen the first one: the preview, the answer to
// a form that was loaded before it, and the page of each name the other.
func TestD7_ASecondRedriveOfTheSameSet(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(4)
	r := s.reader("operate")
	const path = "/ui/redrives"
	typed := url.Values{"canary": {"1"}, "reason": {"mended"}, "ready": {"1"}}
	_, first := r.send("GET", path+"/new?status=pending", nil)
	_, second := r.send("GET", path+"/new?status=pending&task_type=k", nil)
	if _, other := r.send("GET", path+"/new?status=pending&task_type=other", nil); strings.Contains(other, "under way") {
		t.Errorf("before the first redrive: got %s", textOf(other))
	}
	r.press(first, path, "Redrive 4 jobs", typed)
	text := r.press(second, path, "Redrive 4 jobs", typed)
	if !strings.Contains(text, "Nothing was done: redrive 1 has been started since the page was read, and may take jobs of the same set.") {
		t.Fatalf("a form from before the first redrive: got %s", textOf(text))
	}
	if !strings.Contains(text, `href="/ui/redrives/1"`) || !strings.Contains(text, "Redrive 1 is under way and may take jobs of this set, too") {
		t.Errorf("the preview does not name the redrive that is under way: %s", textOf(text))
	}
	if text = r.press(text, path, "Redrive 4 jobs", typed); !strings.Contains(text, "Redrive 2 has started with 4 jobs.") {
		t.Fatalf("a person who has seen the first redrive: got %s", textOf(text))
	}
	if !strings.Contains(text, "Redrive 1 is under way and may take jobs of this set, too") {
		t.Errorf("the page of the second redrive does not name the first: %s", textOf(text))
	}
	if text = r.press(text, path+"/2/cancel", "Cancel the rest", nil); !strings.Contains(text, "Redrive 2 is cancelled: none of its 4 jobs had been retried.") {
		t.Errorf("cancelled: got %s", textOf(text))
	}
	if list, err := s.client.Redrives(t.Context()); err != nil || len(list) != 2 || list[1].State != redrive.RedriveCanary {
		t.Errorf("got %v and %v, want the first redrive unchanged", list, err)
	}
}

// proves: D6
//
// The preview of any set names its causes, each with its number of jobs and its next step. If a person has to change
// something first for some of them, nothing is started before that is ticked, and the button is not the main one.
func TestD6_ThePreviewOfARedriveNamesTheCauses(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(2)
	if _, err := s.client.EnqueueMany(t.Context(), []redrive.Spec{redrive.NewRaw("other", []byte("1"), nil)}); err != nil {
		t.Fatal(err)
	}
	s.run()
	r := s.reader("operate")
	_, text := r.send("GET", "/ui/redrives/new?from_date=1h", nil)
	for _, want := range []string{
		"Its causes 2 the file /srv/secret/a.mp4 is not a valid video in k Correct the input, or resolve", "1 the file /srv/secret/a.mp4 is not a valid video in other Correct the input, or resolve",
		"What 3 jobs of the set need first is changed",
	} {
		if !strings.Contains(textOf(text), want) {
			t.Errorf("got %s, want %q", textOf(text), want)
		}
	}
	if strings.Contains(text, `<button class="btn main" type="submit">Redrive`) {
		t.Error("the button of a set that a person has to see to first looks like that of any other set")
	}
	if _, fields := buttonOf(text, "/ui/redrives", "Redrive 3 jobs"); !strings.Contains(fields.Get("query"), "from_date=20") {
		t.Errorf("the set of the form moves on with the time: %s", fields.Get("query"))
	}
	if text = r.press(text, "/ui/redrives", "Redrive 3 jobs", url.Values{"reason": {"mended"}}); !strings.Contains(text, "Nothing was done: 3 jobs of the set need something changed first.") {
		t.Errorf("without the tick: got %s", textOf(text))
	}
}
