package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/testing/apicheck"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

var newChecker = sync.OnceValues(func() (*apicheck.Checker, error) { return apicheck.New(api.OpenAPI()) })

// checker compares all requests and answers of the tests with the document of the API (trap 43).
func checker(t *testing.T) *apicheck.Checker {
	t.Helper()
	c, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// site is a server with real HTTP on a store in memory.
type site struct {
	*testing.T
	doc    *apicheck.Checker // the document of this server, if it has another one
	url    string
	store  store.Store
	client *redrive.Client
	server *server.Server
	// checked means that requests and answers are compared with the document of the API.
	checked bool
}

// newSite starts a site. The given function changes its options; it may be nil.
func newSite(t *testing.T, change func(*redrive.Config, *server.Options)) *site {
	t.Helper()
	return newSiteOn(t, memory.New(memory.Options{}), change)
}

func newSiteOn(t *testing.T, st store.Store, change func(*redrive.Config, *server.Options)) *site {
	t.Helper()
	config := redrive.Config{Logger: slog.New(slog.DiscardHandler)}
	options := server.Options{Logger: slog.New(slog.DiscardHandler), Version: "test"}
	if change != nil {
		change(&config, &options)
	}
	client, err := redrive.New(st, &config)
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.New(client, options)
	if err != nil {
		t.Fatal(err)
	}
	s := serveHandler(t, h)
	t.Cleanup(h.Stop)
	s.store, s.client, s.server, s.checked = st, client, h, true
	return s
}

// serveHandler starts a site with any handler, whose answers are not compared with the document.
func serveHandler(t *testing.T, h http.Handler) *site {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return &site{T: t, url: web.URL}
}

// answer is an answer of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
	// trailer has the headers that follow the body.
	trailer http.Header
}

// into reads the JSON body.
func (a *answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("read the answer %d %s: %v", a.status, a.body, err)
	}
}

// problem is the part of a problem that the tests read.
type problem struct {
	Type, Title, Detail, Message, Error string
	Status, StatusCode                  int
	Errors                              []struct {
		Pointer, Parameter, Header, Detail string
		Bound                              any
	}
	Job   string
	State string
	// DeadLetter is the status of the dead letter.
	DeadLetter string `json:"dead_letter_status"`
	// Redrive is the state of the redrive.
	Redrive string `json:"redrive_state"`
	IDs     []string
	Next    string
}

// do sends a request. Headers are "Name: value".
func (s *site) do(method, path, body string, headers ...string) *answer {
	s.Helper()
	return s.send(s.Context(), method, path, strings.NewReader(body), headers...)
}

func (s *site) send(ctx context.Context, method, path string, body io.Reader, headers ...string) *answer {
	s.Helper()
	var sent bytes.Buffer
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, io.TeeReader(body, &sent))
	if err != nil {
		s.Fatal(err)
	}
	if method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Host":
			r.Host = value
			continue
		case "Content-Type":
			r.Header.Del(name)
		}
		r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.Fatal(err)
	}
	if s.checked {
		c := s.doc
		if c == nil {
			c = checker(s.T)
		}
		if err := c.Check(r, sent.Bytes(), got.StatusCode, got.Header, text); err != nil {
			s.Errorf("%s %s: %v", method, path, err)
		}
	}
	return &answer{got.StatusCode, got.Header, text, got.Trailer}
}

// ok sends a request that must be answered with a status below 300, and reads the answer.
func (s *site) ok(method, path, body string, v any, headers ...string) *answer {
	s.Helper()
	a := s.do(method, path, body, headers...)
	if a.status >= 300 {
		s.Fatalf("%s %s: got %d %s, want a success", method, path, a.status, a.body)
	}
	if v != nil {
		a.into(s.T, v)
	}
	return a
}

// refused sends a request that must be answered with a problem of this type.
func (s *site) refused(kind, method, path, body string, headers ...string) problem {
	s.Helper()
	a := s.do(method, path, body, headers...)
	var p problem
	if media := a.header.Get("Content-Type"); media != "application/problem+json" {
		s.Fatalf("%s %s: got %d %s of the type %q, want the problem %s", method, path, a.status, a.body, media, kind)
	}
	a.into(s.T, &p)
	if p.Type != "/problems#"+kind || p.Status != a.status || p.StatusCode != a.status || p.Message == "" || p.Error == "" || p.Title == "" {
		s.Fatalf("%s %s: got %d %s, want the problem %s with all its fields", method, path, a.status, a.body, kind)
	}
	return p
}

// as returns a server whose callers are named by the header X-Test-Caller: their roles, and their
// owner after a slash.
func as(_ *redrive.Config, o *server.Options) {
	o.Identify = func(r *http.Request) (access.Caller, error) {
		name := r.Header.Get("X-Test-Caller")
		if name == "" {
			return access.Caller{}, access.ErrUnauthenticated
		}
		roles, owner, _ := strings.Cut(name, "/")
		c := access.Caller{Actor: "test " + name, Owner: owner, Via: "test"}
		for role := range strings.SplitSeq(roles, ",") {
			r, ok := access.ParseRole(role)
			if !ok {
				return c, access.ErrForbidden
			}
			c.Roles |= r
		}
		return c, nil
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// completedKept sets for how long completed jobs are kept.
func completedKept(d time.Duration) func(*redrive.Config, *server.Options) {
	return func(_ *redrive.Config, o *server.Options) { o.CompletedKept = d }
}

// payloadMax sets the largest size of a payload.
func payloadMax(n int) func(*redrive.Config, *server.Options) {
	return func(c *redrive.Config, o *server.Options) { c.PayloadMax, o.PayloadMax = n, n }
}

// fastClock is a clock whose timers end at once.
type fastClock struct{}

func (fastClock) Now() time.Time { return time.Now() }

func (fastClock) AfterFunc(_ time.Duration, f func()) redrive.Timer { return time.AfterFunc(0, f) }
