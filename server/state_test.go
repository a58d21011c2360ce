package server_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
)

// part of: Q7
func TestQ7_QueuesAreChangedOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		c.Queues = map[string]redrive.Queue{"mail": {}, "default": {}}
		o.Queues = []string{"mail", "default"}
	})
	type queue struct {
		Name, Mode, Rate string
		Workers, Limit   int
		Set              []string
		Jobs             map[string]int
	}
	var q queue
	s.ok("PATCH", "/api/queues/mail", `{"workers":3,"rate":"10/s","note":"slow relay"}`, &q)
	if q.Workers != 3 || q.Rate != "10/s" || strings.Join(q.Set, ",") != "rate,workers" {
		t.Errorf("got %+v, want the new settings", q)
	}
	q = queue{}
	s.ok("PATCH", "/api/queues/mail", `{"rate":"0","limit":2}`, &q)
	if q.Rate != "" || q.Limit != 2 {
		t.Errorf("got %+v, want no rate and limit 2", q)
	}
	for _, body := range []string{`{}`, `{"rate":"x"}`, `{"rate":"-1/s"}`, `{"workers":-1}`, `{"limit":1e9}`, `{"worker":1}`} {
		if a := s.do("PATCH", "/api/queues/mail", body); a.status != 400 {
			t.Errorf("%s: got %d %s, want 400", body, a.status, a.body)
		}
	}
	s.refused("not-found", "PATCH", "/api/queues/male", `{"workers":1}`)
	s.ok("POST", "/api/queues/mail/drain", `{"note":"moves"}`, &q)
	if q.Mode != "draining" {
		t.Errorf("got %+v, want a draining queue", q)
	}
	s.refused("queue-draining", "POST", "/api/jobs", `{"kind":"k","payload":1,"queue":"mail"}`)
	s.ok("POST", "/api/queues/mail/pause", "", &q)
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1,"queue":"mail"}`, nil)
	s.ok("POST", "/api/queues/mail/resume", "", &q)
	if q.Mode != "open" || q.Jobs["waiting"] != 1 {
		t.Errorf("got %+v, want an open queue with one waiting job", q)
	}
	var list struct{ Items []queue }
	s.ok("GET", "/api/queues", "", &list)
	if len(list.Items) != 2 || list.Items[0].Name != "default" || list.Items[1].Jobs["waiting"] != 1 {
		t.Errorf("got %+v, want both queues", list.Items)
	}
}

// part of: M4, Q9
func TestQ9_FiguresAuditAndSchedulesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		c.Cron = []redrive.Cron{{Name: "nightly", Expression: "0 3 * * *", Spec: redrive.NewRaw("k", []byte("{}"), nil)}}
		o.Kinds = map[string]server.KindOptions{"k": {}, "other": {Queue: "slow"}}
	})
	s.submit(`{"kind":"k","payload":1}`)
	s.fail()
	var o struct {
		Jobs    map[string]int
		Pending int
		Policy  string
	}
	s.ok("GET", "/api/overview", "", &o)
	if o.Jobs["dead"] != 1 || o.Pending != 1 || o.Policy == "" {
		t.Errorf("overview: got %+v, want one dead job", o)
	}
	var f struct {
		Figures []struct{ Name, Formula, Verdict string }
	}
	s.ok("GET", "/api/figures?window=2h", "", &f)
	if len(f.Figures) < 3 || f.Figures[0].Formula == "" {
		t.Errorf("figures: got %+v, want them with their formulas", f)
	}
	s.refused("invalid-field", "GET", "/api/figures?window=900d", "")
	var series struct {
		Points []struct{ Enqueued, Dead int }
	}
	s.ok("GET", "/api/series?since=10m&by=kind&step=1m", "", &series)
	enqueued, dead := 0, 0
	for _, p := range series.Points {
		enqueued, dead = enqueued+p.Enqueued, dead+p.Dead
	}
	if enqueued != 1 || dead != 1 {
		t.Errorf("series: got %+v, want one job enqueued and dead", series)
	}
	for _, query := range []string{"by=colour", "step=90s", "since=1h&until=2h", "since=300d&step=1m", "since=x"} {
		s.refused("invalid-field", "GET", "/api/series?"+query, "")
	}
	s.ok("GET", "/api/due?minutes=120", "", nil)
	s.refused("invalid-field", "GET", "/api/due?minutes=121", "")

	var schedule struct {
		Name   string
		Paused bool
	}
	s.ok("POST", "/api/schedules/nightly/resume", "", &schedule) // it was never paused
	s.ok("POST", "/api/schedules/nightly/pause", `{"note":"the archive moves"}`, &schedule)
	if !schedule.Paused {
		t.Errorf("got %+v, want a paused schedule", schedule)
	}
	s.refused("not-found", "POST", "/api/schedules/weekly/pause", "")
	s.ok("GET", "/api/schedules", "", nil)

	var audit struct {
		Items []struct{ Action, Actor, Reason string }
		Next  string
	}
	s.ok("GET", "/api/audit?limit=1", "", &audit)
	if len(audit.Items) != 1 || audit.Items[0].Action != "schedule.pause" || audit.Items[0].Reason != "the archive moves" || audit.Next == "" {
		t.Errorf("audit: got %+v, want the pause and a next page", audit)
	}
	s.ok("GET", "/api/audit?action=policy.&limit=5&cursor="+audit.Next, "", &audit)
	if len(audit.Items) != 1 || audit.Items[0].Action != "policy.publish" {
		t.Errorf("audit: got %+v, want the policy", audit)
	}
	s.refused("invalid-cursor", "GET", "/api/audit?cursor=x", "")

	var kinds struct {
		Items []struct {
			Name string
			Jobs map[string]int
		}
	}
	s.ok("GET", "/api/kinds", "", &kinds)
	if len(kinds.Items) != 2 || kinds.Items[0].Jobs["dead"] != 1 {
		t.Errorf("kinds: got %+v, want both kinds", kinds)
	}
	s.refused("not-found", "POST", "/api/processes/nobody/quiet", "")
	s.ok("GET", "/api/processes", "", nil)
}

// part of: R9
func TestR9_ThePolicyIsAskedOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.submit(`{"kind":"k","payload":1}`)
	s.fail() // the start publishes the policy
	var p struct{ Name, Hash, Source, By string }
	s.ok("GET", "/api/policy", "", &p)
	var stored struct{ Hash string }
	s.ok("GET", "/api/policies/"+p.Hash, "", &stored)
	if p.Name != "default" || p.By == "" || stored.Hash != p.Hash {
		t.Errorf("got %+v and the stored policy %+v, want the default policy", p, stored)
	}
	s.ok("GET", "/api/policies", "", nil)
	var ruling struct {
		Attempt  int
		Decision struct{ Class, Action string }
		Facts    []struct{ Name, Text string }
		Users    string `json:"user_message"`
	}
	s.ok("POST", "/api/policy/explain", `{"error":"dial tcp 10.0.0.7:443: connect: connection refused","kind":"fetch","attempt":2}`, &ruling)
	if ruling.Decision.Class != "TemporaryServiceError" || ruling.Attempt != 2 || len(ruling.Facts) == 0 || ruling.Users == "" {
		t.Errorf("explain: got %+v, want the decision in fields and in words", ruling)
	}
	s.ok("POST", "/api/policy/explain", `{"evidence":{"v":1,"message":"429 Too Many Requests","http_status":429}}`, &ruling)
	if ruling.Decision.Class != "RateLimitExceeded" {
		t.Errorf("explain of evidence: got %+v, want RateLimitExceeded", ruling.Decision)
	}
	for _, body := range []string{`{}`, `{"error":"x","attempt":0}`, `{"status":99}`, `{"error":"x","draw":1}`, `{"error":"x","attrs":[]}`, `{"error":"x","how":"slowly"}`, `{"evidence":{"v":9}}`} {
		s.refused("invalid-field", "POST", "/api/policy/explain", body)
	}
	var check struct {
		Hash     string
		Problems []struct {
			Line, Column int
			Message      string
		}
	}
	s.ok("POST", "/api/policy/check", "name: mine\nkinds:\n  fetch: {max_retrys: 3}\n", &check, "Content-Type: application/yaml")
	if len(check.Problems) != 1 || check.Problems[0].Line != 3 || !strings.Contains(check.Problems[0].Message, "max_retries") {
		t.Errorf("check: got %+v, want the misspelt key with its place", check)
	}
	s.ok("POST", "/api/policy/check", "name: mine\n", &check, "Content-Type: application/yaml")
	if len(check.Problems) != 0 || check.Hash == "" {
		t.Errorf("check: got %+v, want no mistake", check)
	}
	s.refused("unsupported-media-type", "POST", "/api/policy/check", "{}", "Content-Type: application/json")
}
