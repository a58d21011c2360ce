package httpretry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// around makes one request inside a call of retry.Do with the given strategy. The call of
// retry.Do may repeat the request.
func around(t *testing.T, ctx context.Context, outer *retry.Strategy, c *http.Client, method, url string) (status int, err error) { //nolint:revive // t comes first in helpers
	t.Helper()
	return retry.Do(ctx, outer, func(ctx context.Context) (int, error) {
		resp, err := c.Do(request(t, ctx, method, url, strings.NewReader("x")))
		if err != nil {
			return 0, err
		}
		bodyOf(t, resp)
		return resp.StatusCode, nil
	})
}

// Bug: within a call of the same dependency, a 503 was returned as a response, so the
// outer call counted as a success.
// part of: L6
func TestL6_WithinACallARetriableStatusIsAnError(t *testing.T) {
	t.Parallel()
	for name, keyed := range map[string]bool{http.MethodGet: false, http.MethodPost: true} {
		p, u := strategy(t, func(o *retry.Options) { o.Keyed = keyed }), serve(t, failing(9, http.StatusServiceUnavailable))
		ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
		status, err := around(t, ctx, p, client(t, p), name, u.URL)
		e, ok := errors.AsType[*httpretry.StatusError](err)
		if !ok || e.StatusCode != http.StatusServiceUnavailable || !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
			t.Errorf("%s: got status %d and the error %v; want ErrExhausted with a StatusError 503 and with HandOver set", name, status, err)
		}
		if u.requests.Load() != 4 || account.Sends() != 4 {
			t.Errorf("%s: got %d requests and %d counted sends, want 4 of both", name, u.requests.Load(), account.Sends())
		}
		for i, h := range u.headers {
			if key := h.Get(httpretry.KeyHeader); key != u.headers[0].Get(httpretry.KeyHeader) || (key != "") != keyed {
				t.Errorf("%s: request %d has the key %q; want the key of the first request, or no key if the strategy is not Keyed", name, i+1, key)
			}
		}
	}
}

// part of: L6
func TestL6_WithinACallOtherResponsesComeBack(t *testing.T) {
	t.Parallel()
	p, u := strategy(t, func(o *retry.Options) { o.Keyed = true }), serve(t, failing(9, http.StatusNotFound))
	if status, err := around(t, t.Context(), p, client(t, p), http.MethodGet, u.URL); status != http.StatusNotFound || err != nil || u.requests.Load() != 1 {
		t.Errorf("got status %d and the error %v after %d requests, want status 404 and no error after 1 request", status, err, u.requests.Load())
	}
}

// Bug: the transport made its own key, which differed in each attempt of the outer call.
// part of: L6
func TestL6_WithinACallWithoutAKeyAPostIsSentOnce(t *testing.T) {
	t.Parallel()
	keyed := strategy(t, func(o *retry.Options) { o.Keyed = true })
	outer := strategy(t, nil)
	// Outside a job, a call without Keyed has no idempotency key. Its first attempt makes no
	// frame (the value that the context of an attempt carries); later attempts do.
	fails := func(u *upstream) (int, error) {
		first := true
		return retry.Do(t.Context(), outer, func(ctx context.Context) (int, error) {
			if first {
				first = false
				return 0, failure.WithClass(failure.TemporaryServiceError, errors.New("something else"))
			}
			resp, err := client(t, keyed).Do(request(t, ctx, http.MethodPost, u.URL, strings.NewReader("x")))
			if err != nil {
				return 0, err
			}
			bodyOf(t, resp)
			return resp.StatusCode, nil
		})
	}
	u := serve(t, failing(9, http.StatusServiceUnavailable))
	if status, err := fails(u); status != http.StatusServiceUnavailable || err != nil || u.requests.Load() != 1 {
		t.Errorf("got status %d and the error %v after %d requests, want the response 503 and no error after 1 request", status, err, u.requests.Load())
	}
	u = serve(t, func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := fails(u); err == nil || u.requests.Load() != 1 {
		t.Errorf("the connection broke off: got the error %v after %d requests, want an error after 1 request", err, u.requests.Load())
	}
}

// part of: L6
func TestL6_TheKeyOfTheCallThatRetries(t *testing.T) {
	t.Parallel()
	p, u := strategy(t, func(o *retry.Options) { o.Keyed = true }), serve(t, failing(3, http.StatusBadGateway))
	between, err := retry.New("other", retry.Options{Keyed: true, Logger: quiet(), Clock: &clock{}})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, p)
	want := ""
	_, err = retry.Do(t.Context(), p, func(ctx context.Context) (int, error) {
		want = retry.From(ctx).Key
		return around(t, ctx, between, c, http.MethodPost, u.URL)
	})
	if err != nil {
		t.Error(err)
	}
	for i, h := range u.headers {
		if key := h.Get(httpretry.KeyHeader); key == "" || key != want {
			t.Errorf("request %d has the key %q, want the key %q of the call that retries", i+1, key, want)
		}
	}
	own := serve(t, failing(3, http.StatusBadGateway))
	if _, err := around(t, retry.WithKey(t.Context(), "step-7"), p, c, http.MethodPost, own.URL); err != nil || own.headers[own.requests.Load()-1].Get(httpretry.KeyHeader) != "step-7" {
		t.Errorf("got the error %v and the headers of the requests %q, want no error and the idempotency key step-7 in the last request", err, own.headers)
	}
}
