package httpretry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// spy records the contexts of the requests.
type spy struct {
	http.RoundTripper
	mu       sync.Mutex
	contexts []context.Context
}

func (s *spy) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.contexts = append(s.contexts, req.Context())
	s.mu.Unlock()
	return s.RoundTripper.RoundTrip(req)
}

// Bug: contexts of attempts were cancelled too early or never (failsafe-go/failsafe-go#123, #134, #136).
// proves: L6
func TestL6_TheContextOfAnAttemptLastsAsLongAsItsBody(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // answers arrive at once; only the request without an answer reaches the limit
	release := make(chan struct{})
	u := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 1:
			<-r.Context().Done() // this waits until the client's time limit
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			http.NewResponseController(w).Flush() //nolint:errcheck // as above
			<-release
			io.WriteString(w, "done") //nolint:errcheck // the client sees it
		}
	})
	base := &http.Transport{DisableKeepAlives: true} // on a kept connection net/http would send a broken request again by itself
	defer base.CloseIdleConnections()
	contexts := &spy{RoundTripper: base}
	p := strategy(t, func(o *retry.Options) { o.AttemptTimeout = limit })
	resp, err := (&http.Client{Transport: httpretry.Transport(p, contexts)}).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	late := time.NewTimer(2 * limit)
	defer late.Stop()
	select {
	case <-contexts.contexts[3].Done():
		t.Errorf("the context ended before the body was read (cause: %v), want it open until then", context.Cause(contexts.contexts[3]))
	case <-late.C:
	}
	close(release)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); string(got) != "done" {
		t.Errorf("got the body %q and the error %v, want \"done\"", got, err)
	}
	for i, ctx := range contexts.contexts {
		if ctx.Err() == nil {
			t.Errorf("the context of attempt %d is still open after the call, want it ended", i+1)
		}
	}
	if len(contexts.contexts) != 4 {
		t.Errorf("the transport used %d contexts, want 4, one for each attempt", len(contexts.contexts))
	}
}

// Bug: timers leaked, and a timeout of zero ended attempts at once (projectdiscovery/retryablehttp-go#554).
// part of: L6
func TestL6_AttemptsAtTheirLimitAreTimeouts(t *testing.T) {
	t.Parallel()
	u := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := strategy(t, func(o *retry.Options) { o.AttemptTimeout, o.Retries = 20*time.Millisecond, 2 })
	_, err := client(t, p).Do(request(t, t.Context(), http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	e, ok := errors.AsType[*retry.Error](err)
	if !ok || e.Reason != retry.Exhausted || len(e.Attempts) != 3 {
		t.Fatalf("got the error %v, want a *retry.Error about exhausted retries after 3 attempts", err)
	}
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Last); !ok || !timeout.Timeout() || !strings.Contains(e.Error(), "no response within 20ms") {
		t.Errorf("the last error is %v, want a timeout", e.Last)
	}
	if errors.Is(err, context.Canceled) {
		t.Errorf("the timeout is reported as a cancellation, want a timeout: %v", err)
	}
}

// Bug: a cancellation was reported as a timeout, and retried (NVIDIA/aicr#2850, ferro-labs/ai-gateway#137).
// proves: L6
func TestL6_CallersContextEndsTheCall(t *testing.T) {
	t.Parallel()
	reason := errors.New("the user left")
	t.Run("while it waits", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(9, http.StatusServiceUnavailable))
		ctx, cancel := context.WithCancelCause(t.Context())
		p := strategy(t, func(o *retry.Options) { o.Clock = &clock{wake: func() { cancel(reason) }} })
		_, err := client(t, p).Do(request(t, ctx, http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
		if !errors.Is(err, reason) || !errors.Is(err, retry.ErrCancelled) || u.requests.Load() != 1 {
			t.Errorf("cancelled during the wait: got the error %v after %d requests, want a cancellation with its cause after 1 request", err, u.requests.Load())
		}
	})
	t.Run("while it is under way", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		u := serve(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			cancel(reason)
			<-r.Context().Done()
		})
		_, err := client(t, strategy(t, func(o *retry.Options) { o.AttemptTimeout = time.Minute })).Do(request(t, ctx, http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
		if !errors.Is(err, reason) || !errors.Is(err, retry.ErrCancelled) || u.requests.Load() != 1 {
			t.Errorf("cancelled during the request: got the error %v after %d requests, want a cancellation with its cause after 1 request", err, u.requests.Load())
		}
	})
	t.Run("before it begins", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := &closing{Reader: strings.NewReader("x")}
		_, err := httpretry.Transport(strategy(t, nil), nil).RoundTrip(request(t, ctx, http.MethodPut, "http://127.0.0.1:1", body)) //nolint:bodyclose // the call returns no response
		if !errors.Is(err, context.Canceled) || !body.closed {
			t.Errorf("cancelled before the call: got the error %v, want context.Canceled; the request body is closed: %v, want true", err, body.closed)
		}
	})
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// Bug: the call slept until the deadline although no time was left for another
// attempt (hashicorp/go-retryablehttp#272).
// proves: L6
func TestL6_NoSleepBeyondTheClientsTimeout(t *testing.T) {
	t.Parallel()
	u, c := serve(t, failing(2, http.StatusServiceUnavailable, "Retry-After", "9")), &clock{}
	hc := client(t, strategy(t, func(o *retry.Options) { o.Clock = c }))
	hc.Timeout = 8 * time.Second
	_, err := hc.Do(request(t, t.Context(), http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	if !errors.Is(err, retry.ErrDeadline) || len(c.all()) != 0 || u.requests.Load() != 1 {
		t.Errorf("got the error %v after the waits %v, want ErrDeadline and no wait", err, c.all())
	}
}
