package httpretry_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// inParts returns a handler that answers with a status and the first half of a body. It sends
// the second half when a value arrives on the channel.
func inParts(status int, second <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, whole[:10])         //nolint:errcheck // the client sees it
		http.NewResponseController(w).Flush() //nolint:errcheck // as above
		select {
		case <-second:
			io.WriteString(w, whole[10:]) //nolint:errcheck // as above
		case <-r.Context().Done():
		}
	}
}

// Bug: a returned response had lost the part of its body that came after DiscardTime. Bug: the
// call waited for the whole bodies of 400 and 403, even if this took long.
// part of: L6
func TestL6_ASlowBodyComesBackWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		status int
	}{
		{http.MethodPost, http.StatusInternalServerError},
		{http.MethodGet, http.StatusBadRequest},
		{http.MethodGet, http.StatusForbidden},
		{http.MethodGet, http.StatusNotImplemented},
	} {
		t.Run(c.method+" "+http.StatusText(c.status), func(t *testing.T) {
			t.Parallel()
			second := make(chan struct{})
			u := serve(t, inParts(c.status, second))
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			p := strategy(t, func(o *retry.Options) { o.AttemptTimeout = time.Minute })
			hc := &http.Client{Transport: httpretry.Hasty(p, base, 20*time.Millisecond)}
			resp, err := hc.Do(request(t, t.Context(), c.method, u.URL, nil)) // Do returns before the second part is sent
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			first := make([]byte, 10)
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != whole[:10] {
				t.Fatalf("the first part of the body: got %q and the error %v, want %q and no error", first, err, whole[:10])
			}
			close(second)
			if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != whole[10:] || resp.StatusCode != c.status {
				t.Errorf("status %d, second part of the body: got %q and the error %v; want status %d and %q", resp.StatusCode, rest, err, c.status, whole[10:])
			}
			if u.requests.Load() != 1 {
				t.Errorf("request with a slow response: got %d requests, want 1", u.requests.Load())
			}
		})
	}
}

// The part of a body that arrives within DiscardTime is used for the classification.
// part of: L6
func TestL6_TheBeginningOfASlowBodyCounts(t *testing.T) {
	t.Parallel()
	u := serve(t, inParts(http.StatusServiceUnavailable, nil))
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	p := strategy(t, func(o *retry.Options) {
		o.Retries = retry.None
		o.Statuses = map[int]failure.Verdict{http.StatusServiceUnavailable: failure.VerdictRetry}
	})
	_, err := (&http.Client{Transport: httpretry.Hasty(p, base, 50*time.Millisecond)}).Do(request(t, t.Context(), http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	if e, ok := errors.AsType[*httpretry.StatusError](err); !ok || e.Body != whole[:10] {
		t.Errorf("got the error %v with the details %+v, want a *StatusError with the first part of the body", err, e)
	}
}

// Bug: a concurrent Close and Read had a data race.
// part of: L6
func TestL6_ABodyMayBeClosedWhileItIsRead(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		u := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if long {
				w.WriteHeader(http.StatusForbidden)
				io.WriteString(w, strings.Repeat("x", 2*httpretry.DiscardMax)) //nolint:errcheck // the client sees it
				return
			}
			inParts(http.StatusForbidden, nil)(n, w, r)
		})
		base := &http.Transport{}
		resp, err := (&http.Client{Transport: httpretry.Hasty(strategy(t, nil), base, 20*time.Millisecond)}).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			block := make([]byte, 1)
			_, err := resp.Body.Read(block)
			close(begun)
			for err == nil {
				_, err = resp.Body.Read(block)
			}
		})
		<-begun
		resp.Body.Close()
		wg.Wait()
		if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("Read of a closed body returned %d bytes, want 0", n)
		}
		base.CloseIdleConnections()
	}
}
