package httpproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redrive/redrive/internal/testing/httpproxy"
)

// Each fault does what its name says: how often the server gets the request, and whether the client
// gets the whole answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			got.Add(1)
			_, _ = w.Write(append(body, strings.Repeat("x", 5_000)...)) // the client may have gone
		}
	}))
	defer web.Close()
	p, err := httpproxy.Start()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(fault httpproxy.Fault) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), strings.NewReader(strings.Repeat("y", 5_000)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpproxy.Header, string(fault))
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil && len(body) != 10_000 {
			t.Errorf("%s: the answer has %d bytes without an error, want 10,000", fault, len(body))
		}
		return err
	}
	if err := post(httpproxy.None); err == nil {
		t.Error("a proxy without a target has answered, want a reset")
	}
	target := strings.TrimPrefix(web.URL, "http://")
	p.Forward(target)
	for _, c := range []struct {
		fault    httpproxy.Fault
		requests int64
		answered bool
	}{
		{httpproxy.None, 1, true},
		{httpproxy.CutRequest, 0, false},
		{httpproxy.LoseAnswer, 1, false},
		{httpproxy.CutAnswer, 1, false},
		{httpproxy.Delay, 1, true},
		{httpproxy.Double, 2, true},
	} {
		got.Store(0)
		if err := post(c.fault); (err == nil) != c.answered {
			t.Errorf("fault %q: got the error %v, want an answer: %t", c.fault, err, c.answered)
		}
		if c.fault == httpproxy.Double { // the second request is on its way until the proxy is idle
			for got.Load() < c.requests && t.Context().Err() == nil {
				_ = post(httpproxy.CutRequest) // it gives the second one time
			}
		}
		if n := got.Load(); n != c.requests {
			t.Errorf("fault %q: the server has got the request %d times, want %d", c.fault, n, c.requests)
		}
		if p.Counts()[c.fault] < 1 {
			t.Errorf("fault %q is not counted", c.fault)
		}
	}
	p.Forget("another")
	if err := post(httpproxy.None); err != nil {
		t.Errorf("the target was forgotten for another one: %v", err)
	}
	p.Forget(target)
	if err := post(httpproxy.None); err == nil {
		t.Error("a proxy that has forgotten its target has answered, want a reset")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// CutAll ends answers that are on their way.
func TestCutAll(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the client may have gone
		<-r.Context().Done()
	}))
	defer web.Close()
	p, err := httpproxy.Start()
	if err != nil {
		t.Fatal(err)
	}
	p.Forward(strings.TrimPrefix(web.URL, "http://"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p.CutAll()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the answer has ended without an error, want a reset")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
