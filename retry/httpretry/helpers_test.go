package httpretry_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// clock records waits and ends them at once.
type clock struct {
	mu    sync.Mutex
	waits []time.Duration
	wake  func() // a function that is called in each wait
}

func (*clock) Now() time.Time { return time.Now() }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.waits = append(c.waits, d)
	c.mu.Unlock()
	if c.wake != nil {
		c.wake()
	}
	return ctx.Err()
}

func (c *clock) all() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.waits...)
}

// quiet returns a logger that discards its lines.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func strategy(t *testing.T, change func(*retry.Options)) *retry.Strategy {
	t.Helper()
	o := retry.Options{
		Retries: 3, Backoff: backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: 10 * time.Second, Jitter: backoff.Full},
		Logger: quiet(), Clock: &clock{}, Rand: func() float64 { return 0.5 },
	}
	if change != nil {
		change(&o)
	}
	p, err := retry.New("upstream", o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// upstream is a server whose answer depends on the number of the request, from 1.
type upstream struct {
	*httptest.Server
	requests    atomic.Int64
	connections atomic.Int64
	mu          sync.Mutex
	bodies      []string
	headers     []http.Header
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *upstream {
	t.Helper()
	return serveWith(t, func(u *upstream) { u.Start() }, answer)
}

func serveWith(t *testing.T, start func(*upstream), answer func(n int, w http.ResponseWriter, r *http.Request)) *upstream {
	t.Helper()
	u := &upstream{}
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := u.requests.Add(1)
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies, u.headers = append(u.bodies, string(body)), append(u.headers, r.Header.Clone())
		u.mu.Unlock()
		answer(int(n), w, r)
	}))
	u.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.connections.Add(1)
		}
	}
	start(u)
	t.Cleanup(u.Close)
	return u
}

// failing returns a handler that answers with a status until request n. From request n on it
// answers with 200 and "done".
func failing(n, status int, header ...string) func(int, http.ResponseWriter, *http.Request) {
	return func(i int, w http.ResponseWriter, _ *http.Request) {
		if i < n {
			for k := 0; k+1 < len(header); k += 2 {
				w.Header().Set(header[k], header[k+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, "no") //nolint:errcheck // the client sees it
			return
		}
		io.WriteString(w, "done") //nolint:errcheck // the client sees it
	}
}

// client returns an HTTP client with its own connections.
func client(t *testing.T, p *retry.Strategy) *http.Client {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: httpretry.Transport(p, base)}
}

func request(t *testing.T, ctx context.Context, method, url string, body io.Reader) *http.Request { //nolint:revive // t comes first in helpers
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func bodyOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// opaque is a reader that http.NewRequest cannot rewind.
type opaque struct{ *bytes.Reader }
