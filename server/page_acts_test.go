package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
)

// stage is a site with a job in a given state.
type stage struct {
	*deadSite
	r  *reader
	id job.ID
}

func newStage(t *testing.T, state job.State, held bool) *stage {
	t.Helper()
	change := as
	if held {
		change = withPreset(t, "transcribe")
	}
	s := &stage{deadSite: newDeadSite(t, change)}
	s.checked = false // the pages are not in the document of the API
	s.r = s.reader("operate")
	options := &redrive.Options{}
	if held {
		options.Attrs = map[string]any{"duration_seconds": 30_000}
	}
	if state == job.Waiting {
		options.RunAt = time.Now().Add(time.Hour)
	}
	kind := "k"
	if state == job.Retrying {
		kind = "flaky"
		redrive.HandleRaw(s.client, kind, func(context.Context, *redrive.Job[[]byte]) error {
			return errors.New("dial tcp 10.0.0.7:443: connect: connection refused")
		}, nil)
	}
	receipt, err := s.client.Enqueue(t.Context(), redrive.NewRaw(kind, []byte(`{"n":1}`), options))
	if err != nil {
		t.Fatal(err)
	}
	s.id = receipt.ID
	switch state {
	case job.Dead:
		s.run()
	case job.Completed:
		s.broken.Store(false)
		s.run()
	case job.Cancelled:
		if err := s.client.Cancel(t.Context(), redrive.By{Actor: "test"}, s.id); err != nil {
			t.Fatal(err)
		}
	case job.Retrying:
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.client.Run(ctx) }()
		for e, err := range s.client.Events(ctx, event.Cursor{}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if j, err := s.client.Get(t.Context(), e.Job); err == nil && j.State == job.Retrying {
				break
			}
		}
		stop()
		<-ended
	case job.Waiting, job.Running, job.None:
	}
	if j, err := s.client.Get(t.Context(), s.id); err != nil || j.State != state {
		t.Fatalf("got a job that is %s and %v, want %s", j.State, err, state)
	}
	return s
}

func (s *stage) path() string { return "/ui/jobs/" + s.id.String() }

func (s *stage) page() string {
	s.Helper()
	status, text := s.r.send("GET", s.path(), nil)
	if status != http.StatusOK {
		s.Fatalf("GET %s: got %d", s.path(), status)
	}
	return text
}

// proves: U4
//
// Each button of a job in each state does what it says, and does nothing when the job has moved on
// since the page was loaded: a second operator's click and a second click of the same form make no
// second action (traps 13 and 14). Buttons that the state does not allow say why.
func TestU4_EachButtonOfEachState(t *testing.T) {
	t.Parallel()
	states := []struct {
		state   job.State
		held    bool
		buttons map[string]string // label: what the page says then
		why     []string          // of those that cannot be pressed
	}{
		{job.Waiting, false, map[string]string{"Run now": "is due now", "Cancel": "is cancelled"}, []string{"Only a dead job is retried; this one is waiting."}},
		{job.Retrying, false, map[string]string{"Run now": "is due now", "Cancel": "is cancelled"}, []string{"Only a dead job is retried; this one is retrying."}},
		{job.Dead, false, map[string]string{"Retry": "waits again, in life 2", "Resolve": "is resolved", "Ignore": "is ignored"},
			[]string{"Only a job that waits can run now; this one is dead.", "A job that is dead has nothing to cancel."}},
		{job.Dead, true, map[string]string{"Release": "waits again, in life 2", "Refuse": "is refused"}, nil},
		{job.Completed, false, nil, []string{"Only a dead job is retried; this one is completed.", "A job that is completed has nothing to cancel."}},
		{job.Cancelled, false, nil, []string{"Only a dead job is retried; this one is cancelled.", "Only a job that waits can run now; this one is cancelled."}},
	}
	for _, st := range states {
		for label, says := range st.buttons {
			t.Run(fmt.Sprintf("%s/held %t/%s", st.state, st.held, label), func(t *testing.T) {
				t.Parallel()
				s := newStage(t, st.state, st.held)
				page := s.page()
				action, fields := buttonOf(page, s.path(), label)
				if action == "" {
					t.Fatalf("no button %q on the page of a job that is %s:\n%s", label, st.state, textOf(page))
				}
				if label == "Ignore" {
					fields.Set("reason", "known")
				}
				_, first := s.r.send("POST", action, fields)
				if !strings.Contains(first, says) {
					t.Fatalf("%s: got %s, want %q", label, textOf(first), says)
				}
				before := dump(t, s.store)
				if _, again := s.r.send("POST", action, fields); !strings.Contains(again, says) {
					t.Errorf("%s twice: got %s, want the answer of the first", label, textOf(again))
				}
				other := s.reader("operate,view") // a second operator with a page of the same time
				fields.Set("nonce", "")
				if _, late := other.send("POST", action, fields); label != "Run now" && label != "Refuse" && label != "Resolve" && label != "Ignore" && !strings.Contains(late, "Nothing was done: ") {
					t.Errorf("%s by a second operator: got %s, want a refusal", label, textOf(late))
				}
				if after := dump(t, s.store); len(after.Audit) != len(before.Audit) {
					t.Errorf("%s: got %d actions in the audit log, want %d: a click that is repeated does nothing", label, len(after.Audit), len(before.Audit))
				}
			})
		}
		t.Run(fmt.Sprintf("%s/held %t/refusals", st.state, st.held), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, st.state, st.held)
			page := s.page()
			for _, why := range st.why {
				if !strings.Contains(page, why) {
					t.Errorf("the page of a job that is %s does not say %q", st.state, why)
				}
			}
			_, seen := s.reader("view").send("GET", s.path(), nil)
			if action, _ := buttonOf(seen, s.path(), "Retry"); action != "" || !strings.Contains(seen, "it needs the role operate") {
				t.Error("a viewer gets a button that it may not press")
			}
		})
	}
}

// proves: D5
//
// A payload is edited on the page of its job: a mistake is named with its line, a payload that does not
// fit the schema is refused with each mistake, and what was typed stays in the form. The difference is
// shown before the retry. The first payload and the bytes of an unchanged payload are kept.
func TestD5_APayloadIsEditedAndChecked(t *testing.T) {
	t.Parallel()
	check, err := schema.Compile("k.json", []byte(`{"type":"object","required":["duration"],"properties":{"duration":{"type":"number","minimum":1,"x-unit":"second"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newDeadSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.PayloadChecks = map[string]redrive.PayloadCheck{"k": check}
	})
	s.checked = false
	r := s.reader("operate")
	payload := []byte(`{"duration": 9007199254740993, "note":"<b>" }`)
	receipt, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", payload, nil))
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	path := "/ui/jobs/" + receipt.ID.String()
	_, page := r.send("GET", path, nil)
	for _, bad := range []struct{ text, says string }{
		{"{\n\"duration\": oops}", "line 2, column 13"},
		{`{"duration":0.5,"note":"keep me"}`, "Duration must be at least 1 second"},
		{`{}`, "duration"},
		{"", "It is not JSON: line 1"},
		{strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "nested"},
	} {
		for _, label := range []string{"Check", "Retry with this payload"} {
			text := r.press(page, path, label, url.Values{"payload": {bad.text}, "reason": {"it was too short"}})
			if !strings.Contains(text, bad.says) {
				t.Errorf("%s of %.40q: got %s, want %q", label, bad.text, textOf(text), bad.says)
			}
			if kept := strings.NewReplacer("&#34;", `"`).Replace(text); !strings.Contains(kept, ">\n"+bad.text+"</textarea>") || !strings.Contains(kept, `value="it was too short"`) {
				t.Errorf("%s of %.40q: what was typed is lost", label, bad.text)
			}
		}
	}
	text := r.press(page, path, "Check", url.Values{"payload": {"{\r\n\"duration\": 2, \"note\":\"<b>\"}"}})
	if !strings.Contains(text, "Fits") || !strings.Contains(text, "<del>  &#34;duration&#34;: 9007199254740993,</del><ins>  &#34;duration&#34;: 2,</ins>") {
		t.Errorf("check of a payload that fits: got %s", textOf(text))
	}
	if j, err := s.client.Get(t.Context(), receipt.ID); err != nil || j.Life != 1 {
		t.Fatalf("got life %d and %v: a check has retried the job", j.Life, err)
	}
	_, page = r.send("GET", path, nil)
	if text := r.press(page, path, "Retry with this payload", url.Values{"payload": {"{\r\n  \"duration\": 2,\r\n  \"note\": \"<b>\"\r\n}"}, "reason": {"shorter"}}); !strings.Contains(text, "waits again with the new payload, in life 2") {
		t.Errorf("the retry: got %s", textOf(text))
	}
	j, err := s.client.Get(t.Context(), receipt.ID)
	original, originalErr := s.client.Original(t.Context(), receipt.ID)
	if err != nil || originalErr != nil || string(j.Payload) != `{"duration":2,"note":"<b>"}` || string(original.Payload) != string(payload) {
		t.Errorf("got the payload %s, first %s, errors %v and %v", j.Payload, original.Payload, err, originalErr)
	}
	s.run()
	_, page = r.send("GET", path, nil)
	if !strings.Contains(page, "Changed since it was enqueued") || !strings.Contains(page, "“shorter”") {
		t.Error("the page does not show the difference to the first payload, or who has retried it")
	}
	if text := r.press(page, path, "Retry with this payload", url.Values{"payload": {`{ "note":"<b>" ,"duration":2}`}}); !strings.Contains(text, "with the new payload") {
		t.Errorf("members in another order are another payload: got %s", textOf(text))
	}
}

// part of: U3
//
// The page of a job that has completed after a retry does not say of its old failure that it is how the job stands: it is
// dated and folded. What the user saw then is not what the user sees now.
func TestU3_TheFailureOfACompletedJobIsPast(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(1)
	r := s.reader("operate")
	_, text := r.send("GET", "/ui/jobs/1", nil)
	if !strings.Contains(text, "What the user sees") || !strings.Contains(text, "Who acts: ") || strings.Contains(text, `id="past"`) {
		t.Errorf("dead: got %s", textOf(text))
	}
	s.broken.Store(false)
	r.must("Job 1 waits again, in life 2.", "/ui/jobs/1/retry", nil)
	s.run()
	_, text = r.send("GET", "/ui/jobs/1", nil)
	if !strings.Contains(text, `<details class="lives" id="past"><summary>Its last failure: attempt 1 of life 1, `) || !strings.Contains(text, "What the user saw") {
		t.Errorf("completed: got %s", textOf(text))
	}
	if strings.Contains(text, "What the user sees") || strings.Contains(text, "Who acts: ") || strings.Contains(text, `id="more"`) {
		t.Errorf("completed: the page says what is over: %s", textOf(text))
	}
}
