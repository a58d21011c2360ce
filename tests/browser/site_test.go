package browser

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// parallel is the number of tests that run at once: they wait most of the time.
const parallel = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallel); err != nil { // the command line goes before it
		panic(err)
	}
	pgtest.Main(m)
}

// site is a server with a worker on a database of its own.
type site struct {
	t      *testing.T
	client *redrive.Client
	store  *faultstore.Store
	url    string
	web    *httptest.Server
	listen *atomic.Int64 // streams of open pages

	profile *profile

	mu    *sync.Mutex
	mend  *bool         // the jobs of an outage succeed
	holds chan struct{} // if not nil, the jobs of the kind held wait until it is closed
}

// mended says whether the jobs of an outage succeed.
func (s *site) mended() bool { s.mu.Lock(); defer s.mu.Unlock(); return *s.mend }

func (s *site) setMended(v bool) { s.mu.Lock(); defer s.mu.Unlock(); *s.mend = v }

// setAway makes every call of the store fail, as if it did not answer, or ends this.
func (s *site) setAway(away bool) {
	plan := faultstore.Plan(faultstore.None)
	if away {
		plan = func(faultstore.Call) faultstore.Fault {
			return faultstore.Fault{Before: fmt.Errorf("connect: %w", store.ErrUnavailable)}
		}
	}
	s.store.Set(plan)
}

// newSite starts a server on a new SQLite file, with a worker in the same process.
func newSite(t *testing.T) *site {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return newSiteOn(t, st)
}

// onStores runs a test on a new SQLite file and in a new schema of PostgreSQL.
func onStores(t *testing.T, test func(t *testing.T, s *site)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, newSite(t)) })
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgtest.Schema(t)
		st, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		test(t, newSiteOn(t, st))
	})
}

func newSiteOn(t *testing.T, st store.Store) *site {
	t.Helper()
	s := &site{t: t, store: faultstore.New(st, nil), mu: new(sync.Mutex), mend: new(bool), holds: make(chan struct{}), profile: new(profile)}
	client, err := redrive.New(s.store, &redrive.Config{Build: "4.19.0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	redrive.Handle(client, render, func(_ context.Context, _ *redrive.Job[map[string]any]) error {
		if s.mended() {
			return nil
		}
		return failure.Permanent(errors.New("videos answered 503 Service Unavailable: the bucket takes no writes"))
	}, nil)
	redrive.Handle(client, loud, func(_ context.Context, j *redrive.Job[map[string]any]) error {
		text, _ := j.Args["text"].(string)
		return failure.Permanent(fmt.Errorf("%s: %s\x00\n%s", text, text, strings.Repeat(text, 1+10_000/max(1, len(text)))))
	}, nil)
	redrive.Handle(client, held, func(ctx context.Context, _ *redrive.Job[map[string]any]) error {
		select {
		case <-s.holds:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, nil)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	t.Cleanup(func() {
		s.setAway(false)
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.serve(nil)
}

// serve starts one more server of the same client, and returns the site by which it is reached. The
// given function changes its options; it may be nil.
func (s *site) serve(change func(*server.Options)) *site {
	s.t.Helper()
	o := server.Options{Environment: "test", Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	h, err := server.New(s.client, o)
	if err != nil {
		s.t.Fatal(err)
	}
	listen := new(atomic.Int64)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/live" {
			listen.Add(1)
			defer listen.Add(-1)
		}
		h.ServeHTTP(w, r)
	}))
	s.t.Cleanup(func() {
		h.Stop()
		web.CloseClientConnections()
		web.Close()
	})
	other := *s
	other.url, other.web, other.listen = web.URL, web, listen
	return &other
}

// cut cuts all connections, in the middle of whatever they do.
func (s *site) cut() { s.web.CloseClientConnections() }

// ask sends a request to the API and returns the JSON of the answer.
func (s *site) ask(method, path, key, body string) map[string]any {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil && !errors.Is(err, io.EOF) || answer.StatusCode >= 300 {
		s.t.Fatalf("%s %s: got %d %v and %v", method, path, answer.StatusCode, out, err)
	}
	return out
}

// viewer starts one more server of the same client, whose callers may only look.
func (s *site) viewer() *site {
	return s.serve(func(o *server.Options) {
		o.Identify = func(*http.Request) (access.Caller, error) {
			return access.Caller{Actor: "vera", Roles: access.View, Via: "test"}, nil
		}
	})
}

// The kinds of the jobs: of an outage, of those whose error has the text of their payload, and of those that run until the test ends them.
const (
	loud   = redrive.Kind[map[string]any]("loud")
	render = redrive.Kind[map[string]any]("render")
	held   = redrive.Kind[map[string]any]("held")
)

// enqueue enqueues jobs of a kind and returns their ids.
func (s *site) enqueue(kind redrive.Kind[map[string]any], n int, o *redrive.Options) []job.ID {
	s.t.Helper()
	specs := make([]redrive.Spec, n)
	for i := range specs {
		specs[i] = kind.New(map[string]any{"video": fmt.Sprintf("v-%d", i), "bucket": "archive"}, o)
	}
	receipts, err := s.client.EnqueueMany(s.t.Context(), specs)
	if err != nil {
		s.t.Fatal(err)
	}
	ids := make([]job.ID, n)
	for i, r := range receipts {
		ids[i] = r.ID
	}
	return ids
}

// outage enqueues jobs that die, and waits until they are dead.
func (s *site) outage(n int) []job.ID {
	s.t.Helper()
	ids := s.enqueue(render, n, &redrive.Options{Owner: "studio"})
	s.idle()
	return ids
}

// outage1 enqueues a job that dies, and does not wait.
func (s *site) outage1() { s.t.Helper(); s.enqueue(render, 1, nil) }

// idle waits until nothing is left to do.
func (s *site) idle() {
	s.t.Helper()
	if err := s.client.WaitIdle(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}
