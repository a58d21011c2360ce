package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/metrics"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// part of: M1
//
// The metrics have the figures of the store and of the requests, by route pattern and never by path.
func TestMetrics_TheBasics(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.ok("GET", "/metrics", "", nil)
	s.ok("POST", "/api/jobs", `[{"kind":"k","payload":1},{"kind":"k","payload":2},{"kind":"late","payload":3,"delay_ms":3600000}]`, nil)
	s.fail()
	s.ok("GET", "/api/jobs/1", "", nil)
	s.refused("not-found", "GET", "/canary-path", "")
	text := string(s.ok("GET", "/metrics", "", nil).body)
	for _, want := range []string{
		"\nredrive_store_up 1\n", "\nredrive_jobs{queue=\"default\",state=\"dead\"} 2\n", "\nredrive_jobs{queue=\"default\",state=\"waiting\"} 1\n",
		"\nredrive_dead_letters 2\n", "\nredrive_jobs_enqueued_total 3\n", "\nredrive_jobs_dead_total 2\n", "permanent=\"true\"} 2\n",
		"\nredrive_jobs_completed_total 0\n", "\nredrive_retries_total 0\n", "\nredrive_oldest_due_seconds{queue=\"default\"} 0\n",
		"\nredrive_processes{state=\"alive\"} ", "\nredrive_event_listeners 0\n", "\nredrive_held_answers 0\n", "\nredrive_build_info{version=\"test\"} 1\n",
		"\nredrive_http_requests_total{method=\"POST\",route=\"/api/jobs\",status=\"201\"} 1\n",
		"\nredrive_http_requests_total{method=\"GET\",route=\"/api/jobs/{id}\",status=\"200\"} 1\n",
		"\nredrive_http_requests_total{method=\"GET\",route=\"-\",status=\"404\"} 1\n",
		"\nredrive_http_request_duration_seconds_count{method=\"GET\",route=\"/api/jobs/{id}\"} 1\n", "\ngo_goroutines ", "\nprocess_open_fds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have no %q:\n%s", strings.TrimSpace(want), grep(text, "redrive_"))
		}
	}
	if strings.Contains(text, "canary") {
		t.Errorf("the metrics have a path of a client")
	}
}

func grep(text, part string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, part) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// part of: M1
//
// However many queues and failing paths clients make, the number of series stays bounded.
func TestMetrics_TheNumberOfSeriesIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for at := range 10 {
		var jobs []string
		for i := range 100 {
			jobs = append(jobs, fmt.Sprintf(`{"kind":"k","payload":1,"queue":"q%d"}`, at*100+i))
		}
		s.ok("POST", "/api/jobs", "["+strings.Join(jobs, ",")+"]", nil)
		s.do("GET", fmt.Sprintf("/nothing/%d", at), "")
	}
	text := string(s.ok("GET", "/metrics", "", nil).body)
	if n := strings.Count(text, "\nredrive_jobs{"); n > 7*(metrics.QueuesMax+1) || !strings.Contains(text, "queue=\"other\"") {
		t.Errorf("1,000 queues give %d series of jobs, want at most %d and one queue with the name other", n, 7*(metrics.QueuesMax+1))
	}
	if n := strings.Count(text, "\nredrive_http_requests_total{"); n > 4 {
		t.Errorf("two routes and ten unknown paths give %d series of requests, want at most 4", n)
	}
}

// part of: M1, X2
//
// With keys, the metrics need the role view, except on the machine of the server. While the store is
// away, they say so.
func TestMetrics_NeedARoleOrThisMachine(t *testing.T) {
	t.Parallel()
	faults := faultstore.New(memory.New(memory.Options{}), nil)
	s := newSiteOn(t, faults, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	_, shop := s.newKey(`{"name":"shop","roles":["submit"]}`, root)
	s.ok("GET", "/metrics", "", nil)
	for _, passed := range []string{"X-Forwarded-For: 192.0.2.1", "Host: evil.example"} {
		if a := s.do("GET", "/metrics", "", passed); a.status != http.StatusUnauthorized && a.status != http.StatusMisdirectedRequest {
			t.Errorf("%s: got %d, want no metrics", passed, a.status)
		}
	}
	s.refused("forbidden", "GET", "/metrics", "", shop, "X-Forwarded-For: 192.0.2.1")
	s.ok("GET", "/metrics", "", nil, root, "X-Forwarded-For: 192.0.2.1")
	faults.Set(faultstore.From("Counts", 1, faultstore.Fault{Before: store.ErrUnavailable}))
	if text := string(s.ok("GET", "/metrics", "", nil).body); !strings.Contains(text, "\nredrive_store_up 0\n") || strings.Contains(text, "\nredrive_jobs{") {
		t.Errorf("the store cannot be reached, got:\n%s", grep(text, "redrive_"))
	}
}

// part of: X3
//
// /readyz names what is wrong, for those who may view; writes that the store refuses are answered
// with Retry-After and change nothing.
func TestReadyz_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		err    error
		status int    // of the submit
		want   string // in the answer of /readyz
		is     string // the problem of the submit
	}{
		"away":      {"Queues", fmt.Errorf("connect: %w", store.ErrUnavailable), 201, "the store does not answer", ""},
		"schema":    {"Queues", fmt.Errorf("version 7: %w", store.ErrSchema), 201, "the database has another schema", ""},
		"broken":    {"Queues", fmt.Errorf("odd"), 201, "the store answers with an error: odd", ""},
		"full":      {"Enqueue", store.ErrFull, 507, "the store is full", "store-full"},
		"read-only": {"Enqueue", store.ErrReadOnly, 503, "the store is read-only", "store-read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := faultstore.New(memory.New(memory.Options{}), nil)
			s := newSiteOn(t, faults, func(_ *redrive.Config, o *server.Options) { as(nil, o) })
			const view, submit = "X-Test-Caller: view", "X-Test-Caller: submit"
			s.ok("GET", "/readyz", "", nil)
			faults.Set(faultstore.From(c.method, 1, faultstore.Fault{Before: c.err}))
			a := s.do("POST", "/api/jobs", `{"kind":"k","payload":1}`, submit)
			if a.status != c.status || c.is != "" && a.header.Get("Retry-After") == "" {
				t.Errorf("submit: got %d %s with Retry-After %q, want %d", a.status, a.body, a.header.Get("Retry-After"), c.status)
			}
			var ready struct {
				Status string
				Checks []struct {
					Name, Detail string
					OK           bool
				}
			}
			a = s.do("GET", "/readyz", "", view)
			a.into(t, &ready)
			if a.status != 503 || ready.Status != "not-ready" || !strings.Contains(string(a.body), c.want) {
				t.Errorf("readyz: got %d %s, want 503 with %q", a.status, a.body, c.want)
			}
			if a := s.do("GET", "/readyz", ""); a.status != 503 || strings.Contains(string(a.body), "checks") {
				t.Errorf("readyz of a stranger: got %d %s, want 503 without checks", a.status, a.body)
			}
			faults.Set(nil)
			if c.is != "" {
				if list, err := s.client.Counts(t.Context()); err != nil || len(list) != 0 {
					t.Errorf("the refused submit has left %v, error %v", list, err)
				}
				s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, nil, submit)
			}
			s.ok("GET", "/readyz", "", nil)
		})
	}
}

// part of: Q8
//
// A server that stops refuses new work with 503 and Retry-After, and says so.
func TestStop_RefusesNewWork(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.server.Stop()
	if p := s.do("POST", "/api/jobs", `{"kind":"k","payload":1}`); p.status != 503 || p.header.Get("Retry-After") == "" || !strings.Contains(string(p.body), "/problems#stopping") {
		t.Errorf("got %d %s, want 503, stopping, with Retry-After", p.status, p.body)
	}
	if a := s.do("GET", "/readyz", ""); a.status != 503 || !strings.Contains(string(a.body), "the server is stopping") {
		t.Errorf("readyz: got %d %s, want 503 with the reason", a.status, a.body)
	}
	s.ok("GET", "/healthz", "", nil)
	s.ok("GET", "/metrics", "", nil)
}
