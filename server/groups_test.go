package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store"
)

type groupView struct {
	Group, Kind, State, Assignee string
	Pending, Deaths, Helped      int
	DeadLetters                  int `json:"dead_letters"`
	Muted                        bool
	Trend                        []int
}

type groupAnswer struct {
	Group    groupView
	Done     int
	Standing string
	Notes    []struct{ Text, By string }
	Redrives []redriveView
}

type redriveView struct {
	ID                               int
	State, Standing, Why             string
	Total, Released, Completed, Dead int
	Canary                           int
	Next                             []struct{ Command string }
	By                               string
}

// proves: D6
//
// Dead letters by root cause: listed, assigned, noted, resolved, regressed, ignored and reopened.
func TestD6_GroupsAreWorkedOnOverHTTP(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"other","payload":1}`)
	s.dieMany(3)
	var list struct {
		Items []groupView
		Next  string
		Total int
	}
	s.ok("GET", "/api/groups?limit=1", "", &list)
	if list.Total != 2 || len(list.Items) != 1 || list.Items[0].Kind != "k" || list.Items[0].Pending != 3 || list.Items[0].State != "open" || len(list.Items[0].Trend) != 24 {
		t.Fatalf("the list: got %+v, want the group of the kind k first", list)
	}
	fp := list.Items[0].Group
	path := "/api/groups/" + fp
	next := list.Next
	s.ok("GET", "/api/groups?limit=1&cursor="+next, "", &list)
	if len(list.Items) != 1 || list.Items[0].Kind != "other" {
		t.Errorf("the second page: got %+v, want the group of the other kind", list)
	}
	s.refused("invalid-cursor", "GET", "/api/groups?kind=k&cursor="+next, "")
	s.refused("invalid-field", "GET", "/api/groups?state=done&order=oldest", "")
	s.ok("GET", "/api/groups?kind=other&order=largest&pending=true", "", &list)
	if list.Total != 1 {
		t.Errorf("the list by kind: got %+v, want 1 group", list)
	}

	var g groupAnswer
	s.ok("POST", path+"/assign", `{"assignee":"ben","note":"on call"}`, &g)
	s.ok("POST", path+"/notes", `{"text":"the supplier knows"}`, nil)
	tag := s.ok("GET", path, "", &g).header.Get("Etag")
	if g.Group.Assignee != "ben" || len(g.Notes) != 1 || g.Notes[0].Text != "the supplier knows" || g.Standing == "" {
		t.Errorf("the group: got %+v, want the assignee and the note", g)
	}
	s.ok("POST", path+"/resolve", `{"expect":{"state":"open"}}`, &g, "If-Match: "+tag)
	if g.Group.State != "resolved" || g.Group.Pending != 3 {
		t.Errorf("resolve: got %+v, want it resolved, and its dead letters as they were", g)
	}
	for _, act := range []string{"resolve", "ignore", "reopen"} {
		s.refused("state-moved", "POST", path+"/"+act, `{"expect":{"state":"open"}}`)
		s.refused("precondition-failed", "POST", path+"/"+act, "", "If-Match: "+tag)
	}
	s.dieMany(1)
	if s.ok("GET", path, "", &g); g.Group.State != "regressed" {
		t.Errorf("after a death: got %+v, want it regressed", g)
	}
	s.ok("POST", path+"/ignore", `{"count":2,"note":"they mend it"}`, &g)
	if g.Done != 4 || !g.Group.Muted || g.Group.Pending != 0 {
		t.Errorf("ignore: got %+v, want all 4 ignored and the group muted", g)
	}
	s.dieMany(1)
	if s.ok("GET", path, "", &g); g.Group.Pending != 0 || g.Group.DeadLetters != 5 {
		t.Errorf("a death of an ignored group: got %+v, want it ignored", g)
	}
	g = groupAnswer{}
	s.ok("POST", path+"/reopen", "", &g)
	if g.Done != 5 || g.Group.Muted || g.Group.State != "open" {
		t.Errorf("reopen: got %+v, want all 5 pending", g)
	}
	for _, c := range []struct{ kind, path, body string }{
		{"invalid-field", path + "/assign", `{}`}, {"too-large", path + "/assign", `{"assignee":"` + strings.Repeat("a", 257) + `"}`},
		{"invalid-field", path + "/notes", `{"text":""}`}, {"too-large", path + "/notes", `{"text":"` + strings.Repeat("a", 4097) + `"}`},
		{"invalid-field", path + "/ignore", `{"note":"a","until":"1990-01-01"}`}, {"invalid-field", path + "/ignore", `{"note":"a","count":-1}`},
		{"invalid-field", path + "/ignore", ""},
		{"not-found", "/api/groups/2:none/resolve", ""}, {"unknown-field", path + "/resolve", `{"resolved":true}`},
	} {
		s.refused(c.kind, "POST", c.path, c.body)
	}
	s.refused("not-found", "GET", "/api/groups/"+strings.Repeat("a", 300), "")
}

// proves: D7
//
// A redrive over HTTP: a canary first, paused and resumed, and the same key starts it once.
func TestD7_ARedriveIsStartedAndControlledOverHTTP(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.dieMany(30)
	var groups struct{ Items []groupView }
	s.ok("GET", "/api/groups", "", &groups)
	fp := groups.Items[0].Group
	var seen struct{ Count, Through int }
	s.ok("POST", dlq+"/preview", `{"do":"retry","filter":{"group":"`+fp+`"}}`, &seen)
	s.dieMany(2)
	body := fmt.Sprintf(`{"filter":{"group":"%s"},"through":%d,"canary":5,"note":"mended"}`, fp, seen.Through)
	var r, again redriveView
	a := s.ok("POST", "/api/redrives", body, &r, "Idempotency-Key: mend-1")
	if a.status != 201 || a.header.Get("Location") != "/api/redrives/1" || r.Total != 30 || r.State != "canary" || r.Canary != 5 || r.By != "local" || len(r.Next) == 0 {
		t.Fatalf("start: got %d %s, want a redrive of the 30 jobs of the preview", a.status, a.body)
	}
	if a = s.ok("POST", "/api/redrives", body, &again, "Idempotency-Key: mend-1"); a.status != 200 || again.ID != r.ID || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeat: got %d %s, want the same redrive", a.status, a.body)
	}
	s.refused("key-reused", "POST", "/api/redrives", strings.Replace(body, "mended", "other", 1), "Idempotency-Key: mend-1")
	tag := s.ok("GET", "/api/redrives/1", "", nil).header.Get("Etag")
	if a = s.do("GET", "/api/redrives/1", "", "If-None-Match: "+tag); a.status != 304 {
		t.Errorf("If-None-Match: got %d, want 304", a.status)
	}
	s.ok("POST", "/api/redrives/1/pause", `{"expect":{"state":"canary"},"note":"wait"}`, &r, "If-Match: "+tag)
	if r.State != "paused" {
		t.Errorf("pause: got %+v", r)
	}
	if p := s.refused("redrive-state", "POST", "/api/redrives/1/proceed", ""); p.Redrive != "paused" {
		t.Errorf("proceed of a paused redrive: got %+v, want its state", p)
	}
	s.refused("precondition-failed", "POST", "/api/redrives/1/cancel", "", "If-Match: "+tag)
	if p := s.refused("state-moved", "POST", "/api/redrives/1/cancel", `{"expect":{"state":"ramping"}}`); p.Redrive != "paused" {
		t.Errorf("cancel that expects another state: got %+v, want its state", p)
	}
	s.ok("POST", "/api/redrives/1/resume", "", &r)
	s.broken.Store(false)
	s.run()
	if _, err := s.client.WaitRedrive(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.ok("GET", "/api/redrives/1", "", &r)
	if r.State != "completed" || r.Completed != 30 || r.Standing == "" {
		t.Errorf("at its end: got %+v, want 30 completed", r)
	}
	if p := s.refused("redrive-state", "POST", "/api/redrives/1/pause", ""); p.Redrive != "completed" {
		t.Errorf("pause of a completed redrive: got %+v, want its state", p)
	}
	var list struct{ Items []redriveView }
	s.ok("GET", "/api/redrives", "", &list)
	var g groupAnswer
	s.ok("GET", "/api/groups/"+fp, "", &g)
	if len(list.Items) != 1 || len(g.Redrives) != 1 || g.Group.Helped != 30 || g.Group.Pending != 2 {
		t.Errorf("got the redrives %+v and the group %+v, want the redrive in both, and 2 pending", list, g)
	}
	s.refused("not-found", "POST", "/api/redrives", body)
	s.refused("not-found", "POST", "/api/redrives", `{"filter":{"group":"2:none"}}`)
}

// part of: D7, X3
func TestX3_BoundsOfARedrive(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, func(_ *redrive.Config, o *server.Options) { o.Queues = []string{"default"} })
	s.dieMany(2)
	for want, body := range map[string]string{
		"/canary 1000|/rate 1000000|/stop_share 1|": `{"filter":{"all":true},"canary":1001,"rate":1000001,"stop_share":1.5}`,
		"/canary 1000|": `{"filter":{"all":true},"canary":-1}`, "/stop_share 1|": `{"filter":{"all":true},"stop_share":0}`, "/filter|": `{"canary":1}`,
		"/change/queue|": `{"filter":{"all":true},"change":{"queue":"gpu"}}`, "/change/payload|": `{"filter":{"all":true},"change":{"payload":1}}`,
		"/change/patch|": `{"filter":{"all":true},"change":{"patch":{}}}`, "/change/delay_ms|": `{"filter":{"all":true},"change":{"delay_ms":5}}`,
		"/filter/status|": `{"filter":{"status":["dead"]}}`,
	} {
		p := s.refused("invalid-field", "POST", "/api/redrives", body)
		got := ""
		for _, m := range p.Errors {
			got += m.Pointer
			if m.Bound != nil {
				got += fmt.Sprintf(" %v", m.Bound)
			}
			got += "|"
		}
		if got = strings.ReplaceAll(got, "1e+06", "1000000"); got != want {
			t.Errorf("%s: got the mistakes %s, want %s", body, got, want)
		}
	}
	for _, path := range []string{"/api/redrives/0", "/api/redrives/9", "/api/redrives/99999999999999999999", "/api/redrives/a"} {
		s.refused("not-found", "GET", path, "")
	}
	s.ok("POST", "/api/redrives", fmt.Sprintf(`{"filter":{"all":true},"canary":%d,"rate":%d,"stop_share":1}`, store.CanaryMax, store.RedriveRateMax), nil)
}
