package httpretry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proves: L6
func TestL6_IdempotentMethodsAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			u := serve(t, failing(4, http.StatusServiceUnavailable))
			p := strategy(t, nil)
			req := request(t, t.Context(), method, u.URL, strings.NewReader("the whole body"))
			before := req.Header.Clone()
			resp, err := client(t, p).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			bodyOf(t, resp)
			if resp.StatusCode != http.StatusOK || u.requests.Load() != 4 {
				t.Errorf("got status %d after %d requests, want status 200 after 4 requests", resp.StatusCode, u.requests.Load())
			}
			for i, h := range u.headers {
				if got, want := h.Get("X-Retry-Attempt"), fmt.Sprint(i+1); got != want {
					t.Errorf("request %d: the header has attempt number %q, want %q", i+1, got, want)
				}
				if u.bodies[i] != "the whole body" {
					t.Errorf("request %d has the body %q, want \"the whole body\"", i+1, u.bodies[i])
				}
			}
			if len(before) != len(req.Header) {
				t.Errorf("the transport changed the headers of the caller's request to %v, want no change", req.Header)
			}
			if s := p.Stats(); s.Calls != 1 || s.Sends != 4 || s.Recovered != 1 {
				t.Errorf("got the counts %+v; want 1 recovered call with 4 sends", s)
			}
		})
	}
}

// proves: L6
func TestL6_OthersAreSentAgainOnlyIfNothingWasDone(t *testing.T) {
	t.Parallel()
	t.Run("503", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, "why it failed") //nolint:errcheck // the client sees it
		})
		resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodPost, u.URL, strings.NewReader("x")))
		if err != nil {
			t.Fatal(err)
		}
		if got := bodyOf(t, resp); resp.StatusCode != 503 || got != "why it failed" || u.requests.Load() != 1 {
			t.Errorf("got status %d and body %q after %d requests, want the unchanged response after 1 request", resp.StatusCode, got, u.requests.Load())
		}
	})
	t.Run("connection broken off", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		_, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodPost, u.URL, strings.NewReader("x"))) //nolint:bodyclose // the call returns no response
		if !errors.Is(err, retry.ErrPermanent) || u.requests.Load() != 1 {
			t.Errorf("got the error %v after %d requests, want an error after 1 request", err, u.requests.Load())
		}
	})
	t.Run("429", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(3, http.StatusTooManyRequests))
		resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodPost, u.URL, strings.NewReader("x")))
		if err != nil {
			t.Fatal(err)
		}
		if bodyOf(t, resp) != "done" || !slices.Equal(u.bodies, []string{"x", "x", "x"}) {
			t.Errorf("got the request bodies %q, want the body x three times", u.bodies)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		_, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodPost, nobody(t), strings.NewReader("x"))) //nolint:bodyclose // the call returns no response
		if e, ok := errors.AsType[*retry.Error](err); !ok || e.Reason != retry.Exhausted || len(e.Attempts) != 4 {
			t.Errorf("the server refuses connections: got the error %v, want exhausted retries", err)
		}
	})
}

// nobody returns an address at which no server listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// proves: L6
func TestL6_TheKeyIsTheSameInAllAttempts(t *testing.T) {
	t.Parallel()
	keys := func(u *upstream) (keys []string) {
		for _, h := range u.headers {
			keys = append(keys, h.Get("Idempotency-Key"))
		}
		return keys
	}
	post := func(t *testing.T, ctx context.Context, p *retry.Strategy, key string) []string {
		t.Helper()
		u := serve(t, failing(3, http.StatusBadGateway))
		req := request(t, ctx, http.MethodPost, u.URL, strings.NewReader("x"))
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := client(t, p).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		bodyOf(t, resp)
		if got := keys(u); len(got) != 3 || got[0] == "" || got[1] != got[0] || got[2] != got[0] {
			t.Errorf("got the idempotency keys %q, want the same key in three requests", got)
		}
		return keys(u)
	}
	t.Run("of the caller", func(t *testing.T) {
		t.Parallel()
		if got := post(t, t.Context(), strategy(t, nil), "mine"); got[0] != "mine" {
			t.Errorf("got the keys %q, want the caller's key mine", got)
		}
	})
	t.Run("of a strategy", func(t *testing.T) {
		t.Parallel()
		p := strategy(t, func(o *retry.Options) { o.Keyed = true })
		if a, b := post(t, t.Context(), p, ""), post(t, t.Context(), p, ""); a[0] == b[0] {
			t.Errorf("two calls have the same key %q, want different keys", a[0])
		}
	})
	t.Run("of the context", func(t *testing.T) {
		t.Parallel()
		p := strategy(t, func(o *retry.Options) { o.Keyed = true })
		if got := post(t, retry.WithKey(t.Context(), "step-7"), p, ""); got[0] != "step-7" {
			t.Errorf("got the idempotency keys %q, want the key step-7 of the context", got)
		}
	})
	t.Run("of the call around", func(t *testing.T) {
		t.Parallel()
		p, u := strategy(t, func(o *retry.Options) { o.Keyed = true }), serve(t, failing(3, http.StatusBadGateway))
		c := client(t, p)
		_, err := retry.Do(t.Context(), p, func(ctx context.Context) (string, error) {
			resp, err := c.Do(request(t, ctx, http.MethodPost, u.URL, strings.NewReader("x")))
			if err != nil {
				return "", err
			}
			return bodyOf(t, resp), nil
		})
		if got := keys(u); err != nil || len(got) != 3 || got[0] == "" || got[1] != got[0] || got[2] != got[0] {
			t.Errorf("got the keys %q and the error %v, want the key of the outer call", got, err)
		}
	})
}

// Bug: a body that cannot be rewound was sent again as an empty body. See net/http, Request.GetBody.
// proves: L6
func TestL6_ABodyThatCannotBeRewoundIsRefused(t *testing.T) {
	t.Parallel()
	body := func() io.Reader { return opaque{bytes.NewReader([]byte("once"))} }
	t.Run("sent once, and the error names the remedy", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(2, http.StatusServiceUnavailable))
		ctx, _ := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
		_, err := client(t, strategy(t, nil)).Do(request(t, ctx, http.MethodPut, u.URL, body())) //nolint:bodyclose // the call returns no response
		e, ok := errors.AsType[*httpretry.BodyError](err)
		if !ok || u.requests.Load() != 1 {
			t.Fatalf("got the error %v after %d requests, want a *BodyError after 1 request", err, u.requests.Load())
		}
		for _, part := range []string{"PUT " + u.URL, "GetBody", "Rewindable", "503"} {
			if !strings.Contains(e.Error(), part) {
				t.Errorf("got the error %q, want an error that contains %q", e, part)
			}
		}
		if failure.Of(err).HandOver == 0 {
			t.Error("the error has no hand-over of the job, want one")
		}
	})
	t.Run("a response without an error is returned", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(2, http.StatusNotFound))
		resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodPut, u.URL, body()))
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
	t.Run("rewindable", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(3, http.StatusServiceUnavailable))
		req := request(t, t.Context(), http.MethodPut, u.URL, body())
		if err := httpretry.Rewindable(req, 4); err != nil {
			t.Fatal(err)
		}
		resp, err := client(t, strategy(t, nil)).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if bodyOf(t, resp) != "done" || !slices.Equal(u.bodies, []string{"once", "once", "once"}) {
			t.Errorf("got the request bodies %q, want the body \"once\" three times", u.bodies)
		}
		if err := httpretry.Rewindable(request(t, t.Context(), http.MethodPut, u.URL, body()), 3); err == nil || !strings.Contains(err.Error(), "3 bytes") {
			t.Errorf("a body of 4 bytes with a limit of 3: got the error %v, want an error about 3 bytes", err)
		}
	})
}

// Bug: Retry-After was ignored (googleapis/python-genai#1875), reduced
// (openai/openai-node#1841) and read as milliseconds (Azure/azure-sdk-for-net#5268).
// proves: L6, R3
func TestL6_RetryAfterIsAFloor(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	for name, header := range map[string][]string{
		"seconds":      {"Retry-After", "7"},
		"date":         {"Retry-After", now.Add(7 * time.Second).Format(http.TimeFormat), "Date", now.Format(http.TimeFormat)},
		"skewed clock": {"Retry-After", now.Add(-time.Hour).Add(7 * time.Second).Format(http.TimeFormat), "Date", now.Add(-time.Hour).Format(http.TimeFormat)},
		"milliseconds": {"Retry-After-Ms", "7000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, c := serve(t, failing(3, http.StatusTooManyRequests, header...)), &clock{}
			resp, err := client(t, strategy(t, func(o *retry.Options) { o.Clock = c })).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
			if err != nil {
				t.Fatal(err)
			}
			bodyOf(t, resp)
			for _, wait := range c.all() {
				if wait < 7*time.Second || wait > 8*time.Second {
					t.Errorf("the call waited for %v; want 7s to 8s, because Retry-After asked for 7s", wait)
				}
			}
			if len(c.all()) != 2 {
				t.Errorf("got the waits %v, want 2 waits", c.all())
			}
		})
	}
}

// proves: L6, R3
func TestL6_ALongRetryAfterIsNotSlept(t *testing.T) {
	t.Parallel()
	u, c := serve(t, failing(2, http.StatusTooManyRequests, "Retry-After", "120")), &clock{}
	ctx, _ := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
	p := strategy(t, func(o *retry.Options) { o.Clock = c; o.HandOver = time.Minute })
	_, err := client(t, p).Do(request(t, ctx, http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	if !errors.Is(err, retry.ErrHint) || u.requests.Load() != 1 || len(c.all()) != 0 {
		t.Errorf("got the error %v after %d requests and the waits %v, want 1 request and no wait", err, u.requests.Load(), c.all())
	}
	if after := failure.Of(err).HandOver; after < 2*time.Minute || after > 3*time.Minute {
		t.Errorf("the job is due again after %v, want at least the time in Retry-After", after)
	}
}

// proves: L6
func TestL6_ExhaustedHandsTheJobOver(t *testing.T) {
	t.Parallel()
	u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"error":{"code":"overloaded"}}`) //nolint:errcheck // the client sees it
	})
	ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
	_, err := client(t, strategy(t, nil)).Do(request(t, ctx, http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	e, ok := errors.AsType[*httpretry.StatusError](err)
	if !ok || e.StatusCode != 503 || e.Body != `{"error":{"code":"overloaded"}}` || !errors.Is(err, retry.ErrExhausted) {
		t.Fatalf("got the error %v, want a *StatusError with status 503", err)
	}
	ev := failure.Of(err)
	if ev.HandOver < retry.HandOverDefault || ev.HTTPStatus != 503 || ev.ServiceCode != "overloaded" {
		t.Errorf("got the evidence %+v; want status 503, the code overloaded and a hand-over", ev)
	}
	if account.Sends() != 4 || account.Calls() != 1 {
		t.Errorf("got %d sends in %d calls, want 4 sends in 1 call", account.Sends(), account.Calls())
	}
}

// proves: L6
func TestL6_TheOtherSideSaysWhetherToRetry(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int64{"": 4, "true": 4, "false": 1} {
		u := serve(t, failing(9, http.StatusServiceUnavailable, "X-Should-Retry", said))
		resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
		if err == nil {
			resp.Body.Close()
		}
		if u.requests.Load() != want {
			t.Errorf("X-Should-Retry %q: got %d requests, want %d", said, u.requests.Load(), want)
		}
	}
	u := serve(t, failing(3, http.StatusConflict, "X-Should-Retry", "true"))
	resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	if bodyOf(t, resp) != "done" {
		t.Error("the request was not sent again after status 409 with X-Should-Retry, want a retry")
	}
}

// proves: L6
func TestL6_ParametersOfAPolicyCount(t *testing.T) {
	t.Parallel()
	u := serve(t, failing(3, http.StatusNotFound))
	p := strategy(t, func(o *retry.Options) {
		o.Statuses = map[int]failure.Verdict{http.StatusNotFound: failure.VerdictRetry}
	})
	resp, err := client(t, p).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	if bodyOf(t, resp) != "done" || u.requests.Load() != 3 || u.connections.Load() != 1 {
		t.Errorf("got %d requests on %d connections, want 3 requests on 1 connection", u.requests.Load(), u.connections.Load())
	}
}
