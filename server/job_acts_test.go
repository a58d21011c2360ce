package server_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
)

// jobView is the part of a job that the tests read.
type jobView struct {
	Job struct {
		ID, State, Queue string
		Priority, Life   int
		Payload          any
	}
	Failures    []struct{ Class, Message string }
	DeadLetter  *struct{ Death int } `json:"dead_letter"`
	LastFailure *struct{ Class string }
	Notes       []struct{ What, Text, By string }
}

// submit enqueues a job and returns its id.
func (s *site) submit(body string) string {
	s.Helper()
	var r receipt
	s.ok("POST", "/api/jobs", body, &r)
	return r.ID
}

// fail makes the kind "k" fail for good, and runs its jobs until all have ended.
func (s *site) fail() {
	s.Helper()
	redrive.HandleRaw(s.client, "k", func(context.Context, *redrive.Job[[]byte]) error {
		return failure.Permanent(errors.New("the file /srv/secret/a.mp4 is broken"))
	}, nil)
	if err := s.client.RunUntilEmpty(s.Context()); err != nil {
		s.Fatal(err)
	}
}

func (s *site) job(id string, headers ...string) (v jobView) {
	s.Helper()
	s.ok("GET", "/api/jobs/"+id, "", &v, headers...)
	return v
}

// part of: D5, Q9
func TestD5_ADeadJobIsRetriedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.submit(`{"kind":"k","payload":{"a": 1, "b":[1, 2]}}`)
	s.refused("not-dead", "POST", "/api/jobs/"+id+"/retry", "")
	s.fail()
	var why struct {
		Standing, Next string
		Runs           []struct{ Class string }
	}
	s.ok("GET", "/api/jobs/"+id+"/explain", "", &why)
	if !strings.HasPrefix(why.Standing, "Dead since ") || !strings.Contains(why.Next, "POST /api/jobs/"+id+"/retry") || len(why.Runs) != 1 {
		t.Errorf("explain: got %+v, want why the job is dead and the route that retries it", why)
	}
	v := s.job(id)
	if v.Job.State != "dead" || v.DeadLetter == nil || len(v.Failures) != 1 {
		t.Fatalf("got %+v, want a dead job with its failure and its dead letter", v)
	}
	p := s.refused("state-moved", "POST", "/api/jobs/"+id+"/retry", `{"expect":{"life":2}}`)
	if p.State != "dead" || p.Job != id {
		t.Errorf("another life is expected: got %+v, want the state of the job", p)
	}
	var now struct {
		ID, State string
		Life      int
	}
	s.ok("POST", "/api/jobs/"+id+"/retry", `{"patch":[{"op":"replace","path":"/b/0","value":7}],"queue":"slow","priority":4,"note":"mended","expect":{"life":1,"state":"dead"}}`, &now)
	if now.ID != id || now.State != "waiting" || now.Life != 2 {
		t.Errorf("retry: got %+v, want the job waiting in life 2", now)
	}
	if a := s.do("GET", "/api/jobs/"+id+"/payload", ""); string(a.body) != `{"a": 1, "b":[7, 2]}` || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("payload: got %s of the type %s, want only the patched place changed", a.body, a.header.Get("Content-Type"))
	}
	if a := s.do("GET", "/api/jobs/"+id+"/original", ""); !strings.Contains(compact(t, a.body), `"payload":{"a":1,"b":[1,2]}`) {
		t.Errorf("original: got %d %s, want the first payload", a.status, a.body)
	}
	if p := s.refused("not-dead", "POST", "/api/jobs/"+id+"/retry", ""); p.State != "waiting" {
		t.Errorf("second click: got %+v, want the state waiting", p)
	}
}

// part of: Q9
func TestQ9_AWaitingJobIsChangedAndCancelled(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.submit(`{"kind":"k","payload":{"a":1},"delay_ms":3600000}`)
	path := "/api/jobs/" + id
	s.ok("PATCH", path, `{"queue":"other","priority":1,"payload":{"a":2},"note":"urgent"}`, nil)
	if v := s.job(id); v.Job.Queue != "other" || v.Job.Priority != 1 || v.Job.Payload.(map[string]any)["a"] != 2.0 {
		t.Errorf("got %+v, want the changed job", v.Job)
	}
	s.ok("POST", path+"/run", "", nil)
	j, err := s.client.Get(t.Context(), 1)
	if err != nil || j.RunAt.Time().After(time.Now().Add(time.Minute)) {
		t.Errorf("run: the job is due at %s with error %v, want now", j.RunAt.Time(), err)
	}
	for body, pointer := range map[string]string{
		`{}`: "", `{"payload":1,"patch":[]}`: "/patch", `{"priority":9}`: "/priority", `{"delay_ms":-1}`: "/delay_ms", `{"patch":[{"op":"remove","path":"/x"}]}`: "/patch",
	} {
		if p := s.refused("invalid-field", "PATCH", path, body); p.Errors[0].Pointer != pointer {
			t.Errorf("%s: got %+v, want a mistake at %q", body, p.Errors, pointer)
		}
	}
	s.ok("POST", path+"/cancel", `{"note":"wrong"}`, nil)
	if p := s.refused("state-moved", "PATCH", path, `{"priority":2}`); p.State != "cancelled" {
		t.Errorf("change of a cancelled job: got %+v, want its state", p)
	}
	audit, err := s.client.Audit(t.Context(), redrive.AuditFilter{})
	if err != nil || len(audit.Entries) != 3 || audit.Entries[0].Actor != "local" || !strings.HasPrefix(audit.Entries[0].Via, "from 127.0.0.1, request ") {
		t.Errorf("got the audit %+v and error %v, want three actions of local with their requests", audit, err)
	}
}

// part of: Q9
func TestTrap14_AnOldPageChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.submit(`{"kind":"k","payload":1}`)
	path := "/api/jobs/" + id
	tag := s.ok("GET", path, "", nil).header.Get("Etag")
	if a := s.do("GET", path, "", "If-None-Match: "+tag); a.status != http.StatusNotModified || len(a.body) > 0 {
		t.Errorf("the same version: got %d %s, want 304", a.status, a.body)
	}
	s.ok("POST", path+"/notes", `{"text":"seen"}`, nil)
	if a := s.do("GET", path, "", "If-None-Match: "+tag); a.status != http.StatusOK {
		t.Errorf("after a note: got %d, want 200", a.status)
	}
	for _, act := range []string{"cancel", "run", "retry"} {
		s.refused("precondition-failed", "POST", path+"/"+act, "", "If-Match: "+tag)
		s.refused("state-moved", "POST", path+"/"+act, `{"expect":{"state":"dead"}}`)
	}
	s.refused("precondition-failed", "PATCH", path, `{"priority":1}`, "If-Match: "+tag)
	tag = s.ok("GET", path, "", nil).header.Get("Etag")
	s.ok("POST", path+"/cancel", "", nil, "If-Match: "+tag)
}

// part of: Q9
//
// An action on many jobs changes what its preview has counted, and nothing that came later.
func TestTrap15_AWideActionKeepsToItsPreview(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.submit(`{"kind":"k","payload":1}`)
	s.submit(`{"kind":"k","payload":1}`)
	other := s.submit(`{"kind":"other","payload":1}`)
	var seen struct {
		Count   int
		Through string
	}
	s.ok("POST", "/api/jobs/cancel?preview=true", `{"filter":{"kind":"k"}}`, &seen)
	if seen.Count != 2 || seen.Through == "" {
		t.Fatalf("preview: got %+v, want 2 jobs and their end", seen)
	}
	late := s.submit(`{"kind":"k","payload":1}`)
	s.refused("invalid-field", "POST", "/api/jobs/cancel", `{"filter":{"kind":"k"}}`)
	s.refused("invalid-field", "POST", "/api/jobs/cancel", `{"filter":{},"through":"`+seen.Through+`"}`)
	s.refused("invalid-field", "POST", "/api/jobs/cancel", `{}`)
	s.refused("invalid-field", "POST", "/api/jobs/cancel", `{"ids":[]}`)
	var done struct {
		Done int
		More bool
	}
	s.ok("POST", "/api/jobs/cancel", `{"filter":{"kind":"k"},"through":"`+seen.Through+`","note":"wrong"}`, &done)
	if done.Done != 2 || done.More || s.job(late).Job.State != "waiting" || s.job(other).Job.State != "waiting" {
		t.Errorf("got %+v, want the two jobs of the preview cancelled and no other", done)
	}
	var answers struct {
		Results []struct {
			ID, State string
			Code      string `json:"error_code"`
		}
	}
	s.ok("POST", "/api/jobs/alter", `{"ids":["1","`+other+`","999"],"priority":1}`, &answers)
	if r := answers.Results; len(r) != 3 || r[0].Code != "state-moved" || r[1].Code != "" || r[2].Code != "not-found" {
		t.Errorf("alter: got %+v, want an answer for each id", r)
	}
	s.refused("invalid-field", "POST", "/api/jobs/alter", `{"ids":["1"],"payload":{}}`)
	s.refused("too-large", "POST", "/api/jobs/cancel", `{"ids":["1"`+strings.Repeat(`,"1"`, api.IDsMax)+`]}`)
}

// proves: D8
//
// Retries of operators are not counted together with those of the owner.
func TestD8_OnlyTheOwnersRetriesCount(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Kinds = map[string]server.KindOptions{"k": {Owner: server.OwnerRules{Retry: true, MaxRetries: 2}}}
	})
	const ann, ops = "X-Test-Caller: submit/ann", "X-Test-Caller: operate"
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":{}}`, nil, ann)
	s.fail()
	for i, row := range []struct {
		by    string
		retry bool // whether the owner may retry then
	}{{ops, true}, {ops, true}, {ann, true}, {ops, true}, {ann, false}, {ops, false}} {
		s.ok("POST", "/api/jobs/1/retry", "", nil, row.by)
		if err := s.client.RunUntilEmpty(s.Context()); err != nil {
			t.Fatal(err)
		}
		var v struct{ Can []string }
		if s.ok("GET", "/api/jobs/1", "", &v, ann); slices.Contains(v.Can, "retry") != row.retry {
			t.Errorf("after retry %d: the owner can %q, want a retry: %t", i+1, v.Can, row.retry)
		}
		if !row.retry {
			s.refused("owner-may-not", "POST", "/api/jobs/1/retry", "", ann)
			s.refused("owner-may-not", "POST", "/api/admin/dlq/1/retry", "", ann)
		}
	}
	var log struct {
		Items []struct{ Actor, Owner string }
	}
	s.ok("GET", "/api/audit?target=1&action=job.retry", "", &log, ops)
	owners := []string{}
	for _, row := range log.Items {
		owners = append(owners, row.Owner)
	}
	if want := []string{"", "ann", "", "ann", "", ""}; !slices.Equal(owners, want) {
		t.Errorf("the audit log has the retries of the owners %q, want %q", owners, want)
	}
}

// proves: D8
//
// An owner does with its own jobs what the configuration of the kind allows, and nothing else.
func TestD8_WhatAnOwnerMayDo(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Kinds = map[string]server.KindOptions{
			"k":    {Owner: server.OwnerRules{Retry: true, MaxRetries: 1, Change: []string{"/quality"}, Cancel: true}},
			"mute": {Owner: server.OwnerRules{NoFeedback: true}},
		}
	})
	const ann, bob, ops = "X-Test-Caller: submit/ann", "X-Test-Caller: submit/bob", "X-Test-Caller: operate"
	var k, mute receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":{"quality":1,"path":"a"}}`, &k, ann)
	s.ok("POST", "/api/jobs", `{"kind":"mute","payload":{}}`, &mute, ann)
	s.fail()
	path := "/api/jobs/" + k.ID
	var v struct {
		Status, Message string
		Can             []string
	}
	a := s.ok("GET", path, "", &v, ann)
	if v.Status != "dead" || v.Message == "" || strings.Contains(string(a.body), "secret") || strings.Join(v.Can, ",") != "retry,feedback" {
		t.Errorf("the dead job from outside: got %s, want the text for users and what ann can do", a.body)
	}
	s.refused("not-found", "POST", path+"/retry", "", bob)
	for _, body := range []string{
		`{"payload":{}}`, `{"queue":"x"}`, `{"priority":1}`, `{"delay_ms":0}`, `{"policy":{}}`, `{"patch":[{"op":"replace","path":"/path","value":"b"}]}`,
		`{"patch":[{"op":"remove","path":"/quality"}]}`, `{"patch":[{"op":"move","from":"/path","path":"/quality"}]}`,
	} {
		s.refused("owner-may-not", "POST", path+"/retry", body, ann)
	}
	s.ok("POST", path+"/retry", `{"patch":[{"op":"replace","path":"/quality","value":2}]}`, nil, ann)
	s.ok("POST", path+"/cancel", "", nil, ann)
	s.refused("ended", "POST", path+"/cancel", "", ann)
	s.refused("owner-may-not", "POST", "/api/jobs/"+mute.ID+"/cancel", "", ann)
	s.refused("owner-may-not", "POST", "/api/jobs/"+mute.ID+"/feedback", `{"text":"x"}`, ann)
	s.refused("forbidden", "POST", path+"/run", "", ann)
	for range api.FeedbacksMax {
		s.ok("POST", path+"/feedback", `{"text":"`+strings.Repeat("é", api.FeedbackMax)+`","expected":"works"}`, nil, ann)
	}
	s.refused("too-large", "POST", path+"/feedback", `{"text":"one more"}`, ann)
	s.refused("too-large", "POST", path+"/feedback", `{"text":"`+strings.Repeat("é", api.FeedbackMax+1)+`"}`, ann)
	var list struct {
		Items []struct{ What, Text, By string }
	}
	s.ok("GET", path+"/notes", "", &list, ops)
	if len(list.Items) != api.FeedbacksMax || list.Items[0].What != "feedback" || list.Items[0].By != "test submit/ann" {
		t.Errorf("got %d notes, want the feedbacks of ann", len(list.Items))
	}
}

// part of: Q11
//
// A waiting request is answered as soon as the job has ended. Afterwards the server reads no
// events.
func TestQ11_AnAnswerIsHeldUntilTheJobHasEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	id := s.submit(`{"kind":"k","payload":1,"delay_ms":200}`)
	s.refused("invalid-field", "GET", "/api/jobs/"+id+"?wait=31s", "")
	var v jobView
	s.ok("GET", "/api/jobs/"+id+"?wait=1ms", "", &v)
	if v.Job.State != "waiting" {
		t.Errorf("after 1 ms: got %s, want waiting", v.Job.State)
	}
	held := make(chan string)
	go func() {
		a := s.do("GET", "/api/jobs/"+id+"?wait=30s&until=ended", "")
		var v jobView
		a.into(t, &v)
		held <- v.Job.State
	}()
	s.fail()
	if state := <-held; state != "dead" {
		t.Errorf("the answer of the waiting request has the state %s, want dead", state)
	}
	late := s.submit(`{"kind":"k","payload":1,"delay_ms":3600000}`)
	go func() {
		a := s.do("GET", "/api/jobs/"+late+"?wait=30s", "")
		var v jobView
		if a.status == http.StatusOK {
			a.into(t, &v)
		}
		held <- v.Job.State
	}()
	for !strings.Contains(string(s.do("GET", "/metrics", "").body), "\nredrive_held_answers 1\n") {
		if t.Context().Err() != nil {
			return
		}
	}
	s.server.Stop()
	if state := <-held; state != "waiting" {
		t.Errorf("when the server stopped, the waiting request was answered with the state %s, want waiting", state)
	}
}
