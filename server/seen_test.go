package server_test

import (
	"context"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// interposed is a store in which somebody else acts just before the next action: after the server
// has compared the job with what the caller expects.
type interposed struct {
	store.Store
	first atomic.Pointer[func()]
}

func (s *interposed) before() {
	if f := s.first.Swap(nil); f != nil {
		(*f)()
	}
}

func (s *interposed) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	s.before()
	return s.Store.Cancel(ctx, by, ids)
}

func (s *interposed) Alter(ctx context.Context, by store.By, ids []job.ID, c store.Change) ([]error, error) {
	s.before()
	return s.Store.Alter(ctx, by, ids, c)
}

func (s *interposed) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	s.before()
	return s.Store.Act(ctx, by, a)
}

// proves: Q9
//
// What a caller expects is compared in the transaction of the action, so a job that moves on after
// the server has read it is not acted on. Trap 14.
func TestQ9_ExpectIsComparedInTheTransaction(t *testing.T) {
	t.Parallel()
	other := store.By{Actor: "somebody else"}
	retry := func(s store.Store, id job.ID) {
		if _, err := s.Act(t.Context(), other, store.Action{Do: store.ActRetry, IDs: []job.ID{id}}); err != nil {
			t.Error(err)
		}
	}
	claim := func(s store.Store, _ job.ID) {
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: 1e10, Want: []store.Want{{Queue: "default", Max: 9, Kinds: []store.KindWant{{Kind: "k", Max: 9}}}}})
		if err != nil || len(x.Claims) == 0 {
			t.Errorf("got %d claims and the error %v, want a run of the job", len(x.Claims), err)
		}
	}
	payload := func(s store.Store, id job.ID) {
		if _, err := s.Alter(t.Context(), other, []job.ID{id}, store.Change{Payload: []byte(`{"a":2,"b":1}`)}); err != nil {
			t.Error(err)
		}
	}
	const match = "If-Match"
	for name, row := range map[string]struct {
		dead         bool
		method, path string
		body         string
		tag          bool // whether the request has If-Match
		moves        func(store.Store, job.ID)
		want         string
	}{
		"cancel of a waiting job that starts": {method: "POST", path: "/api/jobs/1/cancel", body: `{"expect":{"state":"waiting"}}`, moves: claim, want: "state-moved"},
		"cancel with If-Match":                {method: "POST", path: "/api/jobs/1/cancel", tag: true, moves: claim, want: "precondition-failed"},
		"cancel by an owner":                  {method: "POST", path: "/api/jobs/1/cancel", body: `{"expect":{"life":1,"state":"waiting"}}`, moves: claim, want: "state-moved"},
		"run now":                             {method: "POST", path: "/api/jobs/1/run", body: `{"expect":{"state":"waiting"}}`, moves: claim, want: "state-moved"},
		"a patch of a changed payload":        {method: "PATCH", path: "/api/jobs/1", body: `{"patch":[{"op":"replace","path":"/b","value":3}]}`, moves: payload, want: "state-moved"},
		"retry of a retried job":              {dead: true, method: "POST", path: "/api/jobs/1/retry", body: `{"expect":{"life":1}}`, moves: retry, want: "state-moved"},
		"retry of the dead letter":            {dead: true, method: "POST", path: "/api/admin/dlq/1/retry", tag: true, moves: retry, want: "precondition-failed"},
		"resolve of a retried job":            {dead: true, method: "POST", path: "/api/admin/dlq/1/resolve", body: `{"expect":{"state":"dead"}}`, moves: retry, want: "state-moved"},
		"reopen of a retried job":             {dead: true, method: "POST", path: "/api/admin/dlq/1/reopen", tag: true, moves: retry, want: "precondition-failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &interposed{Store: memory.New(memory.Options{})}
			s := newSiteOn(t, st, nil)
			s.ok("POST", "/api/jobs", `{"kind":"k","payload":{"a":1,"b":1}}`, nil)
			if row.dead {
				s.fail()
			}
			var headers []string
			if row.tag {
				headers = append(headers, match+": "+s.ok("GET", "/api/jobs/1", "", nil).header.Get("Etag"))
			}
			first := func() { row.moves(st.Store, 1) }
			st.first.Store(&first)
			p := s.refused(row.want, row.method, row.path, row.body, headers...)
			if st.first.Load() != nil {
				t.Fatal("the server refused the request before it asked the store")
			}
			now, err := st.Get(t.Context(), 1)
			if err != nil || p.Job != "1" || p.State != now.State.String() || now.CancelAt != 0 {
				t.Errorf("got the job %s in the state %q in the answer, want the state now: %s; error %v", p.Job, p.State, now.State, err)
			}
		})
	}
}

func (s *interposed) SetGroup(ctx context.Context, by store.By, c store.GroupChange) (store.Group, error) {
	s.before()
	return s.Store.SetGroup(ctx, by, c)
}

func (s *interposed) ControlRedrive(ctx context.Context, by store.By, id int64, do store.RedriveOp) (store.Redrive, error) {
	s.before()
	return s.Store.ControlRedrive(ctx, by, id, do)
}

// proves: Q9
//
// The same for redrives and groups, over HTTP and on their pages: what moves between the look and the action is
// not acted on.
func TestQ9_ExpectOfRedrivesAndGroupsIsComparedInTheTransaction(t *testing.T) {
	t.Parallel()
	other := store.By{Actor: "somebody else"}
	cancel := func(s store.Store, _ string) error {
		_, err := s.ControlRedrive(t.Context(), other, 1, store.RedriveCancel)
		return err
	}
	set := func(change store.GroupChange) func(store.Store, string) error {
		return func(s store.Store, group string) error {
			change.Group = group
			_, err := s.SetGroup(t.Context(), other, change)
			return err
		}
	}
	for name, row := range map[string]struct {
		redrive bool // the action is on redrive 1, not on the group
		do      string
		body    string
		tag     bool
		form    url.Values // not nil: the form of the page
		moves   func(s store.Store, group string) error
		want    string // the problem, or what the page says
	}{
		"pause of a redrive":               {redrive: true, do: "pause", body: `{"expect":{"state":"ramping"}}`, moves: cancel, want: "state-moved"},
		"pause of a redrive with If-Match": {redrive: true, do: "pause", tag: true, moves: cancel, want: "precondition-failed"},
		"resolve of a group":               {do: "reopen", body: `{"expect":{"state":"open"}}`, moves: set(store.GroupChange{Resolved: new(true)}), want: "state-moved"},
		"assign of a group":                {do: "assign", body: `{"assignee":"ann"}`, tag: true, moves: set(store.GroupChange{Assignee: new("ben")}), want: "precondition-failed"},
		"ignore of a group":                {do: "ignore", body: `{"note":"known","expect":{"state":"open"}}`, moves: set(store.GroupChange{Resolved: new(true)}), want: "state-moved"},
		"pause of a redrive on its page":   {redrive: true, do: "pause", form: url.Values{"state": {"ramping"}}, moves: cancel, want: "Nothing was done: "},
		"assign of a group on its page":    {do: "assign", form: url.Values{"state": {"open"}, "assignee": {"ann"}}, moves: set(store.GroupChange{Assignee: new("ben")}), want: "Nothing was done: "},
		"ignore of a group on its page":    {do: "ignore", form: url.Values{"state": {"open"}, "reason": {"known"}}, moves: set(store.GroupChange{Resolved: new(true)}), want: "Nothing was done: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &interposed{Store: memory.New(memory.Options{})}
			s := newSiteOn(t, st, nil)
			s.submit(`{"kind":"k","payload":1}`)
			s.fail()
			var groups struct{ Items []groupView }
			s.ok("GET", "/api/groups", "", &groups)
			group := groups.Items[0].Group
			path := "/api/groups/" + group
			if row.redrive {
				s.ok("POST", "/api/redrives", `{"filter":{"all":true},"canary":0}`, nil)
				path = "/api/redrives/1"
			}
			var headers []string
			if row.tag {
				headers = append(headers, "If-Match: "+s.ok("GET", path, "", nil).header.Get("Etag"))
			}
			first := func() {
				if err := row.moves(st.Store, group); err != nil {
					t.Error(err)
				}
			}
			st.first.Store(&first)
			if row.form != nil {
				s.reader("").must(row.want, strings.Replace(path, "/api/", "/ui/", 1)+"/"+row.do, row.form)
			} else {
				s.refused(row.want, "POST", path+"/"+row.do, row.body, headers...)
			}
			if st.first.Load() != nil {
				t.Error("the server refused the request before it asked the store")
			}
		})
	}
}
