package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/memory"
)

const (
	ann = "X-Test-Caller: submit/ann"
	bob = "X-Test-Caller: submit/bob"
	ops = "X-Test-Caller: operate,view"
)

// owned is a site whose owners may retry their jobs of the kind "copy" once, and no others.
func owned(c *redrive.Config, o *server.Options) {
	as(c, o)
	o.Kinds = map[string]server.KindOptions{"copy": {Owner: server.OwnerRules{Retry: true, MaxRetries: 1}}, "locked": {}}
}

// part of: D8, B4
//
// Owners reach their own batches only, and retry what the settings of the kinds allow.
func TestD8_OwnersSeeAndRetryTheirOwnBatches(t *testing.T) {
	t.Parallel()
	s, fails := copies(t, owned, nil, "m1", "m2")
	s.ok("POST", "/api/batches", `{"key":"k","name":"Ann's"}`, nil, ann)
	s.refused("forbidden", "POST", "/api/batches", `{"owner":"ann"}`, bob)
	s.ok("POST", "/api/batches/1/members", strings.Replace(members(3), `"kind":"copy","key":"m2"`, `"kind":"locked","key":"m2"`, 1), nil, ann)
	s.ok("POST", "/api/batches/1/publish", "", nil, ann)
	for _, r := range api.Routes() {
		if r.Group != "Batches" || !strings.Contains(r.Path, "{id}") {
			continue
		}
		path, body := pathOf(&r), ""
		switch r.Name {
		case "addMembers":
			body = members(1)
		case "changeBatch":
			body = `{"expires_at":"never"}`
		}
		kind := "not-found"
		if r.Owner == api.NoOwner {
			kind = "forbidden"
		}
		p := s.refused(kind, r.Method, path, body, bob)
		if kind == "forbidden" {
			continue
		}
		q := s.refused("not-found", r.Method, strings.Replace(path, "/1", "/999", 1), body, bob)
		if p.Detail != strings.Replace(q.Detail, "999", "1", 1) {
			t.Errorf("%s %s: another's batch is answered with %q, one that is not there with %q", r.Method, r.Path, p.Detail, q.Detail)
		}
	}
	for _, id := range []string{"1", "999"} { // nor do jobs of bob join a batch of ann
		p := s.refused("invalid-field", "POST", "/api/jobs", `[{"kind":"copy","payload":1,"batch":`+id+`}]`, bob)
		if p.Errors[0].Pointer != "/0/batch" || p.Errors[0].Detail != "batch "+id+": there is no such batch" {
			t.Errorf("a job of bob that names batch %s: got %+v", id, p.Errors)
		}
	}
	s.failLocked()
	s.run()
	var list struct{ Items []batchView }
	if s.ok("GET", "/api/batches", "", &list, "X-Test-Caller: submit/bob"); len(list.Items) != 0 {
		t.Errorf("bob's list has %+v, want nothing", list.Items)
	}
	if s.ok("GET", "/api/batches", "", &list, ann); len(list.Items) != 1 || list.Items[0].State != "PARTIAL" || list.Items[0].Dead != 2 {
		t.Errorf("ann's list has %+v, want her batch", list.Items)
	}
	a := s.ok("GET", "/api/batches/1/members?state=dead", "", nil, ann)
	if text := string(a.body); !strings.Contains(text, `"key":"m1"`) || !strings.Contains(text, `"can":["retry","feedback"]`) || strings.Contains(text, "holder") {
		t.Errorf("members: got %s, want the outside view", text)
	}
	if p := s.refused("owner-may-not", "POST", "/api/batches/1/publish", "", ann); !strings.Contains(p.Detail, "/retry") {
		t.Errorf("publish of dead members: got %q, want the other route named", p.Detail)
	}
	s.refused("owner-may-not", "POST", "/api/batches/1/members/m2/retry", "", ann)
	v := s.batch("POST", "/api/batches/1/retry", "", ann)
	if v.Retried != 1 {
		t.Errorf("retry: got %+v, want the one whose kind allows it", v)
	}
	s.run()
	if p := s.refused("owner-may-not", "POST", "/api/batches/1/members/m1/retry", "", ann); !strings.Contains(p.Detail, "1 times") {
		t.Errorf("second retry by the owner: got %q, want the bound", p.Detail)
	}
	fails.Clear()
	if v := s.batch("POST", "/api/batches/1/retry", "", ops); v.Retried != 2 {
		t.Errorf("retry by an operator: got %+v, want both", v)
	}
	s.ok("POST", "/api/batches/1/members", `{"kind":"copy","key":"m9","payload":"m9"}`, nil, ann)
}

// failLocked makes the kind "locked" fail for good once for each member.
func (s *site) failLocked() {
	s.Helper()
	failed := &sync.Map{}
	redrive.HandleRaw(s.client, "locked", func(_ context.Context, j *redrive.Job[[]byte]) error {
		if _, again := failed.LoadOrStore(j.ID, true); again {
			return nil
		}
		return errBroken
	}, nil)
}

var errBroken = failure.Permanent(errors.New("the file is broken"))

// handleCopies handles the kind "copy" by its payload: fine, broken, or slow, which ends when the channel is closed.
func handleCopies(s *site, end <-chan struct{}) {
	redrive.HandleRaw(s.client, "copy", func(ctx context.Context, j *redrive.Job[[]byte]) error {
		switch string(j.Args) {
		case `"broken"`:
			return errBroken
		case `"slow"`:
			select {
			case <-end:
			case <-ctx.Done():
			}
		}
		return nil
	}, nil)
}

// work runs jobs until the function that it returns is called.
func (s *site) work() (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.client.Run(ctx) }()
	return func() {
		if cancel(); ended != nil {
			<-ended
			ended = nil
		}
	}
}

// untilBatch reads a batch until it is as wanted.
func (s *site) untilBatch(path string, want func(*batchView) bool, headers ...string) {
	s.Helper()
	for {
		v := s.batch("GET", path, "", headers...)
		if want(&v) {
			return
		}
		if s.Context().Err() != nil {
			s.Fatalf("%s is %+v", path, v)
		}
	}
}

// part of: B5, B4
//
// The answers to a retry of one member, for each state of the batch and of the member.
func TestB5_RetryOfOneMember(t *testing.T) {
	t.Parallel()
	began, later := time.Now(), atomic.Int64{}
	clock := func() time.Time { return began.Add(time.Duration(later.Load())) }
	s := newSiteOn(t, memory.New(memory.Options{Clock: clock}), func(c *redrive.Config, o *server.Options) {
		owned(c, o)
		o.Now, o.Member = clock, "Token"
	})
	end := make(chan struct{})
	handleCopies(s, end)
	const refusedText = "Token is not in a failed state."
	create := func(id, owner, body string) {
		s.ok("POST", "/api/batches", `{"key":"`+id+`","expires_at":"1h"}`, nil, "X-Test-Caller: submit/"+owner)
		s.ok("POST", "/api/batches/"+id+"/members", body, nil, "X-Test-Caller: submit/"+owner)
	}
	publish := func(id string) { s.ok("POST", "/api/batches/"+id+"/publish", "", nil, ops) }
	create("1", "ann", members(2))                                                                                                                                                        // stays DRAFT
	create("2", "ann", `[{"kind":"copy","key":"done","payload":"fine"},{"kind":"copy","key":"dead","payload":"broken"}]`)                                                                 // PARTIAL
	create("3", "ann", `[{"kind":"copy","key":"run","payload":"slow"},{"kind":"copy","key":"wait","payload":"fine","delay_ms":1000000},{"kind":"copy","key":"dead","payload":"broken"}]`) // PROCESSING
	create("4", "bob", `[{"kind":"copy","key":"theirs","payload":"broken"}]`)
	create("5", "ann", `[{"kind":"copy","key":"dead","payload":"broken"},{"kind":"copy","key":"done","payload":"fine"}]`) // EXPIRED
	for _, id := range []string{"2", "4", "5"} {
		publish(id)
	}
	s.run()
	publish("3")
	stop := s.work()
	s.untilBatch("/api/batches/3", func(v *batchView) bool { return v.Running == 1 && v.Dead == 1 }, ops)
	if v := s.ok("PATCH", "/api/batches/5", `{"expires_at":"1s"}`, nil, ops); v.status != 200 {
		t.Fatal(v.status)
	}
	later.Store(int64(2 * time.Second))

	for _, row := range []struct {
		batch, member string
		status        int
		text          string
	}{
		{"9", "dead", 404, "batch 9: there is no such batch"},
		{"4", "theirs", 404, "batch 4: there is no such batch"},
		{"1", "unknown", 404, `batch 1: it has no member with the key "unknown"`},
		{"1", "m1", 400, refusedText},
		{"1", "dead", 404, `batch 1: it has no member with the key "dead"`}, // of another batch
		{"3", "unknown", 404, `batch 3: it has no member with the key "unknown"`},
		{"3", "theirs", 404, `batch 3: it has no member with the key "theirs"`},
		{"3", "wait", 400, refusedText},
		{"3", "run", 400, refusedText},
		{"3", "dead", 200, "PROCESSING"},
		{"3", "dead", 400, refusedText}, // the second click
		{"2", "unknown", 404, `batch 2: it has no member with the key "unknown"`},
		{"2", "done", 400, refusedText},
		{"2", "dead", 200, "PROCESSING"},
		{"2", "dead", 400, refusedText},
		{"5", "unknown", 404, `batch 5: it has no member with the key "unknown"`},
		{"5", "done", 400, refusedText},
		{"5", "dead", 409, "batch 5: it has expired, which is final; create a new batch"},
	} {
		if row.batch == "3" && row.status == 200 {
			close(end)
			stop() // the retried members stay waiting
		}
		path := "/api/batches/" + row.batch + "/members/" + row.member + "/retry"
		a := s.do("POST", path, "", ann)
		var v struct {
			Message string
			Batch   any
		}
		a.into(t, &v)
		got := v.Message
		if b, ok := v.Batch.(map[string]any); ok && a.status == 200 {
			got = b["state"].(string)
		}
		if a.status != row.status || got != row.text {
			t.Errorf("POST %s: got %d %q, want %d %q", path, a.status, got, row.status, row.text)
		}
	}
	if v := s.batch("GET", "/api/batches/5", "", ann); v.Dead != 1 {
		t.Errorf("expired: got %+v, want its dead member as it was", v)
	}
}

// part of: B5
//
// Twenty clients retry one member at the same moment: one life, and nineteen times the same text.
func TestB5_TwentyClicksAreOneLife(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, nil, nil, "m1")
	s.ok("POST", "/api/batches", `{}`, nil)
	s.ok("POST", "/api/batches/1/members", members(2), nil)
	s.ok("POST", "/api/batches/1/publish", "", nil)
	s.run()
	var wg sync.WaitGroup
	answers := make([]*answer, 20)
	for i := range answers {
		wg.Go(func() { answers[i] = s.do("POST", "/api/batches/1/members/m1/retry", "") })
	}
	wg.Wait()
	retried := 0
	for _, a := range answers {
		var p problem
		if a.into(t, &p); a.status == http.StatusOK {
			retried++
		} else if a.status != http.StatusBadRequest || p.Message != "Member is not in a failed state." || p.State != "waiting" {
			t.Errorf("got %d %+v, want 400 with the text", a.status, p)
		}
	}
	if v := s.batch("GET", "/api/batches/1", ""); retried != 1 || v.State != "PROCESSING" || v.Dead != 0 {
		t.Errorf("%d retried, and the batch is %+v, want one retry", retried, v)
	}
}

// part of: B3, Q7
//
// A member's explanation names its batch, and the explanation of a batch says for which members it
// waits, and why they wait.
func TestB3_ABatchIsExplained(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, nil, nil, "m2")
	var why struct {
		Standing string
		Waits    []struct{ Job, Key, State, Standing, Waits string }
		Next     []struct{ Command string }
	}
	explained := func(standing string, waits, next int) {
		t.Helper()
		if s.ok("GET", "/api/batches/1/explain", "", &why); !strings.HasPrefix(why.Standing, standing) || len(why.Waits) != waits || len(why.Next) != next {
			t.Errorf("got %+v, want %q, %d members that wait and %d steps", why, standing, waits, next)
		}
	}
	s.ok("POST", "/api/batches", `{"name":"Autumn"}`, nil)
	explained("Not published: it has no members that count; add some first", 0, 1)
	s.ok("POST", "/api/batches/1/members", members(9), nil)
	explained("Not published: 9 drafts wait", 0, 1)
	s.ok("POST", "/api/batches/1/publish", "", nil)
	explained("Under way: 9 members wait to run", 5, 1)
	if w := why.Waits[0]; w.Key != "m1" || w.State != "waiting" || !strings.Contains(w.Waits, "no living process works on queue default") {
		t.Errorf("got %+v, want the member and why it waits", w)
	}
	s.run()
	explained("Partial, ended now: 1 dead of 9 members; a retry of the dead ones reopens it", 0, 2)
	var member struct {
		Batch struct {
			ID                    int64
			Name, State, Standing string
		}
	}
	if s.ok("GET", "/api/jobs/2/explain", "", &member); member.Batch.Name != "Autumn" || member.Batch.State != "PARTIAL" || member.Batch.Standing != why.Standing {
		t.Errorf("got %+v, want the batch of the member", member.Batch)
	}
}
