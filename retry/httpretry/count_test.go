package httpretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// naive is an SDK that retries on its own and does not know about other retries.
type naive struct {
	base  http.RoundTripper
	tries int
}

func (n *naive) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	for range n.tries {
		if resp != nil {
			resp.Body.Close()
		}
		if resp, err = n.base.RoundTrip(req); err == nil && resp.StatusCode < http.StatusInternalServerError {
			return resp, nil
		}
	}
	return resp, err
}

// get returns a call of an SDK, with errors like the errors of SDKs.
func get(t *testing.T, c *http.Client, url string) func(context.Context) (string, error) {
	t.Helper()
	return func(ctx context.Context) (string, error) {
		resp, err := c.Do(request(t, ctx, http.MethodGet, url, nil))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return "", &httpretry.StatusError{Method: http.MethodGet, URL: url, StatusCode: resp.StatusCode, Header: resp.Header}
		}
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
}

// proves: L4
func TestL4_SendsAreCountedAndDoNotMultiply(t *testing.T) {
	t.Parallel()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	same := strategy(t, nil)
	other := strategy(t, func(o *retry.Options) { o.Dependency, o.Operation = "other", "other" })
	for name, c := range map[string]struct {
		transport         http.RoundTripper
		sends, suppressed int
	}{
		"nothing below":                       {httpretry.Count(base), 4, 0},
		"an SDK that retries, counted":        {&naive{httpretry.Count(base), 3}, 12, 0},
		"our transport":                       {httpretry.Transport(same, base), 4, 4},
		"our transport twice":                 {httpretry.Transport(same, httpretry.Transport(same, base)), 4, 8},
		"counted twice":                       {httpretry.Count(httpretry.Count(base)), 4, 0},
		"counted below our transport":         {httpretry.Transport(same, httpretry.Count(base)), 4, 4},
		"counted above our transport":         {httpretry.Count(httpretry.Transport(same, base)), 4, 4},
		"a transport for another dependency":  {httpretry.Transport(other, base), 4, 0},
		"an SDK that retries, not counted":    {&naive{base, 3}, 4, 0}, // Do counts only its own attempts, not those of the SDK
		"counted, and our transport below it": {httpretry.Count(&naive{httpretry.Transport(same, base), 1}), 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, failing(99, http.StatusServiceUnavailable))
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
			_, err := retry.Do(ctx, same, get(t, &http.Client{Transport: c.transport}, u.URL))
			e, ok := errors.AsType[*retry.Error](err)
			if !ok || e.Reason != retry.Exhausted {
				t.Fatal(err)
			}
			if account.Sends() != c.sends || account.Suppressed() != c.suppressed {
				t.Errorf("counted %d sends and %d suppressed calls, want %d sends and %d suppressed calls", account.Sends(), account.Suppressed(), c.sends, c.suppressed)
			}
			for i, h := range u.headers {
				if got := h.Get("X-Retry-Attempt"); c.sends == 4 && c.suppressed > 0 && got != fmt.Sprint(i+1) {
					t.Errorf("request %d: the header has attempt number %s, want %d", i+1, got, i+1)
				}
			}
			if n := u.requests.Load(); name != "an SDK that retries, not counted" && n != int64(c.sends) {
				t.Errorf("the server got %d requests, but %d sends were counted; want equal numbers", n, c.sends)
			}
		})
	}
}

// proves: L4
func TestL4_ReplaysOfNetHTTPAreSeen(t *testing.T) {
	t.Parallel()
	p := strategy(t, nil)
	for name, make := range map[string]func(http.RoundTripper) http.RoundTripper{
		"Count":     httpretry.Count,
		"Transport": func(base http.RoundTripper) http.RoundTripper { return httpretry.Transport(p, base) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
				if n != 2 {
					io.WriteString(w, "done") //nolint:errcheck // the client sees it
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close() // the connection was idle, so net/http sends the request again by itself
			})
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{})
			c := &http.Client{Transport: make(base)}
			for range 2 {
				if _, err := get(t, c, u.URL)(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if name == "Transport" { // outside a job the sends are in the counts of the strategy
				u.requests.Store(0)
				before := p.Stats().Sends
				for range 2 {
					if _, err := get(t, c, u.URL)(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if got := p.Stats().Sends - before; got != 3 {
					t.Errorf("outside a job: %d sends were counted, want 3", got)
				}
			}
			if u.requests.Load() != 3 || account.Sends() != 3 {
				t.Errorf("the server got %d requests and %d sends were counted, want 3 of both", u.requests.Load(), account.Sends())
			}
		})
	}
}

// part of: L4
func TestL4_AttemptsWithoutAConnectionCount(t *testing.T) {
	t.Parallel()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	ctx, account := retry.WithJob(t.Context(), retry.JobInfo{})
	_, err := get(t, &http.Client{Transport: httpretry.Transport(strategy(t, nil), httpretry.Count(base))}, nobody(t))(ctx)
	if err == nil || account.Sends() != 4 {
		t.Errorf("without a connection: got %d sends and the error %v, want 4 sends and an error", account.Sends(), err)
	}
	ctx, account = retry.WithJob(t.Context(), retry.JobInfo{})
	_, err = get(t, &http.Client{Transport: httpretry.Count(base)}, nobody(t))(ctx)
	if err == nil || account.Sends() != 1 {
		t.Errorf("outside a call: got %d sends and the error %v, want 1 send and an error", account.Sends(), err)
	}
}
