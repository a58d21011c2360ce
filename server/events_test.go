package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/memory"
)

func (s *site) enqueue(kind, owner string) redrive.JobID {
	s.Helper()
	r, err := s.client.Enqueue(s.Context(), redrive.NewRaw(kind, []byte(`{}`), &redrive.Options{Owner: owner}))
	if err != nil {
		s.Fatal(err)
	}
	return r.ID
}

// proves: N1
func TestN1_AStreamHasTheEventsOfItsTopics(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	redrive.HandleRaw(s.client, "render", func(_ context.Context, j *redrive.Job[[]byte]) error {
		j.Progress(1, 2, "half")
		return failure.Permanent(errors.New("no such image"))
	}, nil)
	redrive.HandleRaw(s.client, "mail", func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil)
	all, mails, dead := s.listen(""), s.listen("?topic=kind:mail"), s.listen("?topic=dead&topic=queues")
	render, mail := s.enqueue("render", ""), s.enqueue("mail", "")
	one := s.listen("?topic=job:"+mail.String(), "Last-Event-ID: 0.0")
	if err := s.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(mails.names("job.succeeded"), " "); names != "job.enqueued job.claimed job.succeeded" {
		t.Errorf("topic kind:mail: got %s", names)
	}
	if names := strings.Join(one.names("job.succeeded"), " "); names != "job.enqueued job.claimed job.succeeded" {
		t.Errorf("topic job:%d from the beginning: got %s", mail, names)
	}
	f := dead.next()
	var e struct {
		ID, Type, Job, Kind, To, Message string
	}
	if err := json.Unmarshal([]byte(f.data), &e); err != nil || f.name != "job.failed" || e.ID != f.id || e.Job != render.String() || e.To != "dead" || e.Message != "no such image" {
		t.Errorf("topic dead: got %+v, error %v; want the failure of job %d with its text", f, err, render)
	}
	seen := map[string]bool{}
	for range 6 {
		f := all.next()
		if seen[f.id] {
			t.Errorf("event %s came twice", f.id)
		}
		seen[f.id] = true
	}
}

// A listener that comes back has each event once: from the memory of the same server, and from the
// log through a server that has just started.
//
// part of: N1
func TestTrap17_NothingIsLostWhenServersAndConnectionsEnd(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Options{})
	s := newSiteOn(t, st, nil)
	const jobs, rounds = 5, 100
	var got []string
	last := "0.0"
	for round := range rounds {
		if round%3 == 2 { // the server is killed, and another one takes its place
			s.server.Stop()
			s = newSiteOn(t, st, nil)
		}
		l := s.listen("", "Last-Event-ID: "+last)
		for range jobs {
			s.enqueue("render", "")
		}
		for range 1 + (round*7)%jobs { // the connection is cut at any event
			f := l.next()
			if f.name == "reset" {
				t.Fatalf("round %d: got a reset after %s, want the events", round, last)
			}
			got, last = append(got, f.id), f.id
		}
		l.stop()
	}
	for l := s.listen("", "Last-Event-ID: "+last); len(got) < jobs*rounds; {
		f := l.next()
		got = append(got, f.id)
	}
	i := 0
	for e, err := range s.client.Events(t.Context(), event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(got) || got[i] != e.Cursor.String() {
			t.Fatalf("event %d of the log is %s, and it is not the listener's event of this number", i, e.Cursor)
		}
		i++
	}
	if i != len(got) {
		t.Errorf("the listener has %d events, want the %d of the log", len(got), i)
	}
}

// part of: N1
func TestTrap17_AListenerThatMissedTooMuchIsReset(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for range 3 {
		s.enqueue("render", "")
	}
	_, last, err := s.client.EventSpan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := s.listen("", "Last-Event-ID: 999999.0").next() // a cursor of another database
	if f.name != "reset" || f.id != last.String() {
		t.Errorf("with a cursor after the newest event: got %+v, want a reset to %s", f, last)
	}
	for range 11 {
		specs := make([]redrive.Spec, 1000)
		for i := range specs {
			specs[i] = redrive.NewRaw("render", []byte(`{}`), nil)
		}
		if _, err := s.client.EnqueueMany(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
	}
	fresh := newSiteOn(t, s.store, nil)
	l := fresh.listen("", "Last-Event-ID: 0.0")
	if f := l.next(); f.name != "reset" {
		t.Errorf("11,000 events missed: got %+v, want a reset", f)
	}
	fresh.enqueue("render", "")
	if f := l.next(); f.name != "job.enqueued" {
		t.Errorf("after the reset: got %+v, want the next event", f)
	}
}

// A stream without events has frames that move the cursor of the listener.
//
// part of: N1
func TestN1_HeartbeatsMoveTheCursor(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) { o.Heartbeat = 10 * time.Millisecond })
	l := s.listen("?topic=kind:mail")
	s.enqueue("render", "")
	_, last, err := s.client.EventSpan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for f := l.next(); f.id != last.String(); f = l.next() {
		if f.name != "" || f.data != "" {
			t.Fatalf("got %+v, want frames with an id only", f)
		}
	}
}

// A listener that loses its server before the first event misses nothing: it has got an id to come
// back with.
//
// part of: N1
func TestTrap17_AListenerHasACursorBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	l := s.listen("?topic=kind:mail")
	l.stop()
	s.enqueue("mail", "")
	if f := s.listen("?topic=kind:mail", "Last-Event-ID: "+l.from).next(); f.name != "job.enqueued" {
		t.Errorf("got the frame %+v, want the event that happened while nobody listened", f)
	}
}

// An owner gets events of its own jobs only, with the texts for users.
//
// part of: N1, D8
func TestN1_OwnersHearOfTheirOwnJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	redrive.HandleRaw(s.client, "render", func(context.Context, *redrive.Job[[]byte]) error {
		return failure.Permanent(errors.New("no such image at 10.1.2.3"))
	}, nil)
	l := s.listen("?topic=all", "X-Test-Caller: submit/ann")
	s.enqueue("render", "bob")
	ann := s.enqueue("render", "ann")
	if err := s.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for f := l.next(); ; f = l.next() {
		var e heard
		if err := json.Unmarshal([]byte(f.data), &e); err != nil || e.ID != ann.String() || e.Event != f.name {
			t.Fatalf("got %+v, error %v; want events of job %d only", f, err, ann)
		}
		if strings.Contains(f.data, "10.1.2.3") || strings.Contains(f.data, "no such image") {
			t.Errorf("the frame %+v has the text of the failure, want the text for users", f)
		}
		if e.Event != "dead" {
			continue
		}
		if e.Message == "" || e.Status == "" {
			t.Errorf("got the death %+v, want a message and a status", e)
		}
		break
	}
	var page heardPage
	s.ok("GET", "/api/events?topic=all", "", &page, "X-Test-Caller: submit/ann")
	for _, e := range page.Items {
		if e.ID != ann.String() {
			t.Errorf("the page has an event of job %s, want only those of job %d", e.ID, ann)
		}
	}
	if len(page.Items) != 3 || !page.End {
		t.Errorf("the page has %d events, want the enqueue, the claim and the death", len(page.Items))
	}
}

// A listener whose key is revoked gets no more events.
//
// part of: X2
func TestTrap20_ARevokedKeyEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	id, view := s.newKey(`{"name":"watcher","roles":["view"]}`, root)
	l := s.listen("", view)
	s.enqueue("render", "")
	l.next()
	s.ok("DELETE", "/api/keys/"+id, "", nil, root)
	began := time.Now()
	for range l.frames {
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stream ended after %s, want 5 s at most", took)
	}
}

// part of: N1
func TestN1_BadStreamsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.refused("not-acceptable", "GET", "/api/events", "", "Accept: image/png")
	s.refused("method-not-allowed", "POST", "/api/events", "")
	for query, want := range map[string]string{
		"?topic=kinds:a":  `did you mean "kind"?`,
		"?topic=job:x":    "job id",
		"?topic=kind:":    "write a colon and a value",
		"?topic=all:1":    "takes no value",
		"?after=1":        "such as 120.3",
		"?limit=501":      "500",
		"?topics=all":     `did you mean "topic"?`,
		"?topic=batch:-1": "not the number of a batch",
	} {
		if p := s.refused("invalid-field", "GET", "/api/events"+query, ""); !strings.Contains(p.Message, want) {
			t.Errorf("%s: got %q, want %q in it", query, p.Message, want)
		}
	}
	s.refused("too-large", "GET", "/api/events?topic=dead"+strings.Repeat("&topic=dead", 200), "")
	for range api.CallerStreamsMax {
		s.listen("")
	}
	if p := s.refused("rate-limited", "GET", "/api/events", "", "Accept: text/event-stream"); !strings.Contains(p.Message, "20 streams") {
		t.Errorf("got %q, want the limit", p.Message)
	}
}

// part of: N1
func TestN1_PastEventsAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var ids []string
	for range 5 {
		ids = append(ids, s.enqueue("render", "").String())
	}
	var page heardPage
	var got []string
	for next := ""; ; {
		s.ok("GET", "/api/events?limit=2&topic=kind:render&after="+next, "", &page)
		for _, e := range page.Items {
			got = append(got, e.Job)
		}
		if page.End {
			break
		}
		next = page.Next
	}
	if !slices.Equal(got, ids) {
		t.Errorf("got the jobs %v, want %v", got, ids)
	}
}
