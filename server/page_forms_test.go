package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// proves: D3, D6
//
// People say of a cause who has it, what it is called, what it is one with, and that it is gone; each can
// be taken back. When jobs die of it again, the page says since when, and in which build.
func TestD6_WhatPeopleSayOfACause(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(3)
	letter, err := s.client.DeadLetter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	path := "/ui/groups/" + url.PathEscape(letter.Fingerprint)
	r := s.reader("operate")
	_, page := r.send("GET", path, nil)
	for _, act := range []struct {
		label, says, undone string
		typed               url.Values
	}{
		{"Assign", "mira has this cause now.", "Nobody has this cause now.", url.Values{"assignee": {"mira"}}},
		{"Name", "The name is changed.", "The name is changed.", url.Values{"name": {"the bucket"}}},
		{"Merge", "belongs to the set storage now", "The cause is shown by itself again.", url.Values{"set": {"storage"}}},
		{"Ignore", "3 dead letters of this cause ignored.", "The cause is open again.", url.Values{"count": {"5"}, "reason": {"known"}}},
		{"Resolve the cause", "The cause is resolved.", "The cause is open again.", nil},
	} {
		text := r.press(page, path, act.label, act.typed)
		if !strings.Contains(text, act.says) {
			t.Errorf("%s: got %s, want %q", act.label, textOf(text), act.says)
			continue
		}
		if text = r.press(text, path, "Undo", nil); !strings.Contains(text, act.undone) {
			t.Errorf("%s, taken back: got %s, want %q", act.label, textOf(text), act.undone)
		}
		_, page = r.send("GET", path, nil)
	}
	for _, refused := range []struct {
		label, says, kept string
		typed             url.Values
	}{
		{"Ignore", "Nothing was done: ", `value="yesterday"`, url.Values{"until": {"yesterday"}, "reason": {"known"}}},
		{"Ignore", "must be a whole number", `value="many"`, url.Values{"count": {"many"}, "reason": {"known"}}},
		{"Assign", "Nothing was done: ", `name="assignee" value="` + strings.Repeat("m", 300), url.Values{"assignee": {strings.Repeat("m", 300)}}},
		{"Name", "Nothing was done: ", `name="name" value="` + strings.Repeat("n", 300), url.Values{"name": {strings.Repeat("n", 300)}}},
		{"Merge", "Nothing was done: ", `name="set" value="` + strings.Repeat("s", 300), url.Values{"set": {strings.Repeat("s", 300)}}},
		{"Add the note", "Nothing was done: ", strings.Repeat("long ", 1_000), url.Values{"text": {strings.Repeat("long ", 1_000)}}},
	} {
		if text := r.press(page, path, refused.label, refused.typed); !strings.Contains(text, refused.says) || !strings.Contains(text, refused.kept) {
			t.Errorf("%s, refused: got %s, want %q and what was typed", refused.label, textOf(text), refused.says)
		}
	}
	if text := r.press(page, path, "Add the note", url.Values{"text": {"first line\r\nsecond"}}); !strings.Contains(text, "first line\nsecond") {
		t.Errorf("a note: got %s", textOf(text))
	}
	r.press(page, path, "Resolve the cause", nil)
	s.dieMany(1)
	if _, page = r.send("GET", path, nil); !strings.Contains(page, "regressed") || !strings.Contains(page, "Came back now, after test operate had resolved it") {
		t.Errorf("after a death: got %s", textOf(page))
	}
}

// proves: Q7
//
// A queue is paused, drained and resumed, and gets workers, a limit and a rate. A form of an older page
// changes nothing, and what was typed stays.
func TestQ7_AQueueIsSetOnItsPage(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(1)
	const path = "/ui/queues/default"
	r := s.reader("operate")
	_, page := r.send("GET", path, nil)
	text := r.press(page, path, "Set", url.Values{"workers": {"8"}, "limit": {"20"}, "rate": {"10/s"}, "reason": {"a slow bucket"}})
	if !strings.Contains(text, "The settings of queue default are changed.") || !strings.Contains(text, `name="rate" maxlength="20" placeholder="no limit; such as 10/s" value="10/s"`) {
		t.Fatalf("set: got %s", textOf(text))
	}
	for _, label := range []string{"Set", "Pause"} {
		old := r.press(page, path, label, url.Values{"workers": {"2"}, "reason": {"old page"}})
		if !strings.Contains(old, "the queue has changed since the page was loaded; it is now: open, 8 workers, limit 20, rate 10/s") {
			t.Errorf("%s of an older page: got %s", label, textOf(old))
		}
		if label == "Set" && !strings.Contains(old, `value="2"`) {
			t.Error("what was typed is lost")
		}
	}
	for typed, says := range map[string]string{"rate=ten": "must be a number of starts", "workers=-1": "The number of workers must be a whole number", "limit=many": "The limit must be"} {
		fields, _ := url.ParseQuery(typed)
		if text := r.press(text, path, "Set", fields); !strings.Contains(text, says) {
			t.Errorf("%s: got %s, want %q", typed, textOf(text), says)
		}
	}
	if text = r.press(text, path, "Undo", nil); !strings.Contains(text, `name="rate" maxlength="20" placeholder="no limit; such as 10/s" value=""`) {
		t.Errorf("taken back: got %s", textOf(text))
	}
	for _, step := range []struct{ label, mode string }{{"Pause", "paused"}, {"Drain", "draining"}, {"Resume", "open"}} {
		_, page = r.send("GET", path, nil)
		if text := r.press(page, path, step.label, nil); !strings.Contains(text, "Queue default is "+step.mode+" now.") || !strings.Contains(text, `<button class="btn small" type="submit">Undo</button>`) {
			t.Errorf("%s: got %s", step.label, textOf(text))
		}
	}
	if status, text := r.send("GET", "/ui/queues/nowhere", nil); status != http.StatusNotFound || !strings.Contains(text, "There is no queue") {
		t.Errorf("an unknown queue: got %d %s", status, textOf(text))
	}
}

// proves: D7
//
// A redrive changes each payload by a JSON Patch: the page shows what it does, and which jobs it does not
// fit, before anything is changed.
func TestD7_ARedriveWithAPatch(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(3)
	r := s.reader("operate")
	const path = "/ui/redrives"
	_, page := r.send("GET", "/ui/redrives/new?status=pending", nil)
	text := r.press(page, path, "Show what it does", url.Values{"patch": {`[{"op":"test","path":"/n","value":1},{"op":"add","path":"/quality","value":"low"}]`}, "reason": {"smaller"}})
	if !strings.Contains(text, "1 job would get a new payload, 2 would stay dead.") || !strings.Contains(text, "<ins>  &#34;quality&#34;: &#34;low&#34;</ins>") || !strings.Contains(text, `value="smaller"`) {
		t.Fatalf("what the patch does: got %s", textOf(text))
	}
	if text := r.press(page, path, "Show what it does", url.Values{"patch": {`{"op":1}`}}); !strings.Contains(text, "The patch cannot be used: ") {
		t.Errorf("no patch: got %s", textOf(text))
	}
	if text := r.press(page, path, "Redrive 3 jobs", url.Values{"patch": {`nonsense`}, "reason": {"x"}}); !strings.Contains(text, "nonsense</textarea>") || strings.Contains(text, "has started") {
		t.Errorf("a redrive with no patch: got %s", textOf(text))
	}
	text = r.press(page, path, "Redrive 3 jobs", url.Values{"patch": {`[{"op":"add","path":"/quality","value":"low"}]`}, "queue": {"slow"}, "canary": {"0"}, "reason": {"smaller"}, "ready": {"1"}})
	if !strings.Contains(text, "Redrive 1 has started with 3 jobs.") {
		t.Fatalf("the redrive: got %s", textOf(text))
	}
	if _, err := s.client.AdvanceRedrive(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	j, err := s.client.Get(t.Context(), 2)
	if err != nil || string(j.Payload) != `{"n":1,"quality":"low"}` || j.Queue != "slow" || j.Life != 2 {
		t.Errorf("got job 2 with %s in queue %s, life %d and %v", j.Payload, j.Queue, j.Life, err)
	}
}

// proves: X2
//
// A login that is over in the middle of an edit loses nothing: after the login the form is shown and sent
// as it was typed.
func TestX2_WhatWasTypedSurvivesALostLogin(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.dieMany(1) // enqueued by the client itself
	_, header := s.newKey(`{"name":"root","roles":["administer"]}`)
	key := url.Values{"key": {header[len("Authorization: Bearer "):]}, "next": {"/ui/jobs/1"}}
	r := s.reader("")
	_, page := r.send("POST", "/ui/login", key)
	before := dump(t, s.store)
	lost := s.reader("") // a browser whose cookie has expired
	const typed = "{\"n\": 2, \"text\": \"<half> an hour of work\"}"
	login := lost.press(page, "/ui/jobs/1/retry", "Retry with this payload", url.Values{"payload": {typed}, "reason": {"a smaller n"}})
	if !strings.Contains(login, "what you typed is kept") {
		t.Fatalf("without a login: got %s", textOf(login))
	}
	if login = lost.press(login, "/ui/login", "Log in", url.Values{"key": {"rdk_wrong"}}); !strings.Contains(login, "This key is not valid") {
		t.Fatalf("with a wrong key: got %s", textOf(login))
	}
	again := lost.press(login, "/ui/login", "Log in", key)
	if !strings.Contains(again, "Send what you typed?") || !strings.Contains(again, "&lt;half&gt; an hour of work") || !strings.Contains(again, "a smaller n") {
		t.Fatalf("after the login: got %s", textOf(again))
	}
	if after := dump(t, s.store); len(after.Audit) != len(before.Audit) {
		t.Fatal("the login itself has sent the form")
	}
	if text := lost.press(again, "/ui/jobs/1/retry", "Send", nil); !strings.Contains(text, "waits again with the new payload, in life 2") {
		t.Errorf("sent again: got %s", textOf(text))
	}
	if j, err := s.client.Get(t.Context(), 1); err != nil || !strings.Contains(string(j.Payload), "<half> an hour of work") {
		t.Errorf("got the payload %s and %v", j.Payload, err)
	}
	for _, kept := range []string{"https://evil.example/?a=b", "//evil.example/ui/?a", "/ui/../api/keys?x=1", "/ui/\\evil?x", "%zz"} {
		if _, text := s.reader("").send("POST", "/ui/login", url.Values{"key": key["key"], "kept": {kept}}); strings.Contains(text, "evil") || strings.Contains(text, "Send what you typed") {
			t.Errorf("a kept form for %q is shown", kept)
		}
	}
}

// proves: U4
//
// Forms and addresses that no page has made are answered by a page that says what is wrong and what to do,
// and change nothing.
func TestU4_BadFormsAreAnsweredByAPage(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	s.checked = false
	s.dieMany(1)
	big, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", []byte(`"`+strings.Repeat("x", 250<<10)+`"`), nil))
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := s.client.Enqueue(t.Context(), redrive.NewRaw("k", []byte("\xff\x00\x01"), nil))
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	r := s.reader("administer")
	before := dump(t, s.store)
	huge := strings.Repeat("x", 5<<20)
	for _, tt := range []struct {
		method, path string
		fields       url.Values
		header       string
		status       int
		says         string
	}{
		{"GET", "/ui/jobs/99999", nil, "", 404, "job 99999"},
		{"GET", "/ui/jobs/abc", nil, "", 404, "there is no such job"},
		{"GET", "/ui/jobs/9223372036854775808", nil, "", 404, "there is no such job"},
		{"GET", "/ui/groups/2:ffffffffffffffff", nil, "", 404, "2:ffffffffffffffff"},
		{"GET", "/ui/redrives/77", nil, "", 404, "77"},
		{"GET", "/ui/jobs?state=undead", nil, "", 400, "undead"},
		{"GET", "/ui/jobs?cursor=AAAA", nil, "", 400, "cursor"},
		{"GET", "/ui/dead?cursor=%00", nil, "", 400, "cursor"},
		{"GET", "/ui/jobs?colour=red", nil, "", 400, "colour"},
		{"GET", "/ui/jobs?attr=nothing", nil, "", 400, "NAME=VALUE"},
		{"GET", "/ui/jobs?since=soon", nil, "", 400, "soon"},
		{"GET", "/ui/dead/act?do=explode", nil, "", 404, "explode"},
		{"GET", "/ui/jobs/act?do=cancel&order=newest&key=x", nil, "", 400, "key"},
		{"POST", "/ui/jobs/1/retry", url.Values{"state": {"completed"}}, "", 200, "Nothing was done: job 1 is dead now, in life 1"},
		{"POST", "/ui/jobs/1/retry", url.Values{"life": {"7"}}, "", 200, "Nothing was done: job 1 is dead now, in life 1"},
		{"POST", "/ui/jobs/1/explode", url.Values{}, "", 404, "explode"},
		{"POST", "/ui/jobs/1/retry", url.Values{"reason": {strings.Repeat("r", 5_000)}}, "", 200, "has 5000 bytes: at most 4096 are allowed"},
		{"POST", "/ui/jobs/1/retry", url.Values{"priority": {"9"}}, "", 200, "The priority must be 1 to 4."},
		{"POST", "/ui/jobs/1/retry", url.Values{"delay": {"soon"}}, "", 200, "a duration such as"},
		{"POST", "/ui/jobs/1/retry", url.Values{"payload": {`{"a":` + "\x00" + `}`}}, "", 400, "NUL"},
		{"POST", "/ui/jobs/1/retry", url.Values{"payload": {"\xff\xfe"}}, "", 400, "not text in UTF-8"},
		{"POST", "/ui/jobs/1/retry", url.Values{"payload": {huge}}, "", 413, "4.0 MiB"},
		{"POST", "/ui/jobs/1/retry", url.Values{"form": {"edit"}, "payload": {`"` + strings.Repeat("x", 300<<10) + `"`}}, "", 400, "Config.PayloadMax"},
		{"POST", "/ui/jobs/1/retry", url.Values{"a": {"b"}}, "Content-Type: application/json", 415, "This page takes a form"},
		{"POST", "/ui/jobs/1/retry", url.Values{"a": {"b"}}, "Content-Type: multipart/form-data; boundary=x", 415, "This page takes a form"},
		{"POST", "/ui/jobs/1/ignore", url.Values{"until": {"2001-01-01"}, "reason": {"x"}}, "", 200, "must be in the future"},
		{"POST", "/ui/dead/act", url.Values{"do": {"resolve"}, "query": {"%zz"}}, "", 400, "cannot be read"},
		{"POST", "/ui/dead/act", url.Values{"do": {"resolve"}, "query": {"status=undead"}, "count": {"1"}, "reason": {"x"}}, "", 400, "undead"},
		{"POST", "/ui/dead/act", url.Values{"do": {"resolve"}, "query": {""}, "count": {"-1"}, "reason": {"x"}}, "", 400, "The set of the form cannot be read."},
		{"POST", "/ui/dead/act", url.Values{"do": {"cancel"}, "query": {""}, "count": {"1"}, "reason": {"x"}}, "", 404, "cannot"},
		{"POST", "/ui/queues/default/explode", url.Values{}, "", 404, "explode"},
		{"POST", "/ui/queues/nowhere/pause", url.Values{}, "", 404, "There is no queue"},
	} {
		var headers []string
		if tt.header != "" {
			headers = append(headers, tt.header)
		}
		status, text := r.send(tt.method, tt.path, tt.fields, headers...)
		if status != tt.status || !strings.Contains(strings.ReplaceAll(text, "&#34;", `"`), tt.says) || !strings.Contains(text, "<h1") {
			t.Errorf("%s %s: got %d %.900s, want %d and %q on a page", tt.method, tt.path, status, textOf(text), tt.status, tt.says)
		}
		if len(text) > 150<<10 && !strings.Contains(tt.fields.Get("payload"), "xxx") {
			t.Errorf("%s %s: the page has %d bytes", tt.method, tt.path, len(text))
		}
	}
	after := dump(t, s.store)
	if len(after.Audit) != len(before.Audit) {
		t.Errorf("got %d actions, want none: a bad form has changed something", len(after.Audit)-len(before.Audit))
	}
	for id, says := range map[job.ID]string{big.ID: "this page edits up to 64.0 KiB", bytes.ID: "It has bytes that a text field cannot hold."} {
		status, text := r.send("GET", "/ui/jobs/"+id.String(), nil)
		if status != http.StatusOK || !strings.Contains(text, says) || !strings.Contains(text, "/payload") || len(text) > 150<<10 {
			t.Errorf("job %d: got %d, %d bytes and %.300s, want %q and a link to the payload", id, status, len(text), textOf(text), says)
		}
	}
}
