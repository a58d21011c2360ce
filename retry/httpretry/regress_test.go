package httpretry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// Bug: the response body was closed before the back-off could read the wait in it (hashicorp/go-retryablehttp#215).
// part of: L6
func TestL6_BodyIsReadBeforeTheDecision(t *testing.T) {
	t.Parallel()
	u := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 2 {
			io.WriteString(w, "done") //nolint:errcheck // the client sees it
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
		// The wait is in the body and not in a header, as in Google's APIs.
		io.WriteString(w, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"6s"}]}}`) //nolint:errcheck // as above
	})
	c := &clock{}
	var seen string
	p := strategy(t, func(o *retry.Options) {
		o.Clock = c
		o.Hooks.Retry = func(_ context.Context, e *retry.Event) {
			if s, ok := errors.AsType[*httpretry.StatusError](e.Err); ok {
				seen = s.Body
			}
		}
	})
	resp, err := client(t, p).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	bodyOf(t, resp)
	if waits := c.all(); len(waits) != 1 || waits[0] < 6*time.Second {
		t.Errorf("got the waits %v; want one wait of at least 6s, as the body asks for", waits)
	}
	if !strings.Contains(seen, "RetryInfo") {
		t.Errorf("the hook got the body %q, want a body with RetryInfo", seen)
	}
}

// Bug: responses were not drained, so each retry needed a new connection.
// part of: L6
func TestL6_RetriesUseTheConnectionAgain(t *testing.T) {
	t.Parallel()
	u := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 4 {
			w.WriteHeader(http.StatusBadGateway)
			w.Write(make([]byte, httpretry.DiscardMax)) //nolint:errcheck // the client sees it
		}
	})
	resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	bodyOf(t, resp)
	if u.requests.Load() != 4 || u.connections.Load() != 1 {
		t.Errorf("got %d requests on %d connections, want 4 requests on 1 connection", u.requests.Load(), u.connections.Load())
	}
}

// Bug: draining was not limited in bytes or time, so a retry never began.
// part of: L6
func TestL6_DrainsAreBounded(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 32<<10); ; {
				if _, err := w.Write(block); err != nil {
					return // return when the client has closed the connection
				}
			}
		},
		"hanging": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a part")           //nolint:errcheck // the client sees it
			http.NewResponseController(w).Flush() //nolint:errcheck // as above
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			u := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					w.WriteHeader(http.StatusInternalServerError)
					answer(w, r)
					close(gone)
				}
			})
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			waiting := &clock{wake: func() { <-gone }} // the wait of the retry ends when the first connection is closed
			drain := time.Hour
			if name == "hanging" {
				drain = 20 * time.Millisecond
			}
			rt := httpretry.Hasty(strategy(t, func(o *retry.Options) { o.Clock = waiting }), base, drain)
			resp, err := (&http.Client{Transport: rt}).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
			if err != nil {
				t.Fatal(err)
			}
			bodyOf(t, resp)
			if u.requests.Load() != 2 {
				t.Errorf("server whose first body does not end: got %d requests, want 2", u.requests.Load())
			}
		})
	}
}

// part of: L6
func TestL6_NothingIsLeftOpenAtTheEnd(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		w.WriteHeader(http.StatusInternalServerError)
		for block := make([]byte, 32<<10); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := client(t, strategy(t, func(o *retry.Options) { o.Retries = retry.None })).Do(request(t, t.Context(), http.MethodGet, u.URL, nil)) //nolint:bodyclose // the call returns no response
	if !errors.Is(err, retry.ErrExhausted) {
		t.Error(err)
	}
	<-gone // wait until the connection is closed
}

// Bug: log lines of retries contained credentials (CVE-2024-6104 of hashicorp/go-retryablehttp).
// proves: L6, L5
func TestL6_NoSecretsInErrorsAndLogs(t *testing.T) {
	t.Parallel()
	u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=COOKIE-SECRET")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "BODY-SECRET") //nolint:errcheck // the client sees it
	})
	address := strings.Replace(u.URL, "http://", "http://USER-SECRET:PASS-SECRET@", 1) + "/v1/files?key=QUERY-SECRET#FRAGMENT-SECRET"
	var log syncBuffer
	p := strategy(t, func(o *retry.Options) { o.Logger = slog.New(retry.LogHandler(&log, slog.LevelDebug)) })
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	get := func(to string) *http.Request {
		req := request(t, t.Context(), http.MethodPut, to, strings.NewReader("REQUEST-SECRET"))
		req.Header.Set("Authorization", "Bearer HEADER-SECRET")
		return req
	}
	_, whole := httpretry.Transport(p, base).RoundTrip(get(address))                                                     //nolint:bodyclose // the call returns no response
	_, _, read := httpretry.ReadAll(p, &http.Client{Transport: base}, get(address), 1<<10)                               //nolint:bodyclose // it is read
	_, _, refused := httpretry.ReadAll(p, &http.Client{Transport: base}, get(nobody(t)+"/v1/files?key=QUERY-SECRET"), 1) //nolint:bodyclose // as above
	for what, text := range map[string]string{"RoundTrip": whole.Error(), "ReadAll": read.Error(), "refused": refused.Error(), "log": log.String()} {
		if strings.Contains(text, "SECRET") {
			t.Errorf("%s contains the secret SECRET, want it removed: %s", what, text)
		}
	}
	if want := "PUT " + u.URL + "/v1/files: 503 Service Unavailable"; !strings.Contains(whole.Error(), want) || !strings.Contains(read.Error(), want) {
		t.Errorf("the errors %q and %q do not contain %q, want it in both", whole, read, want)
	}
	if !strings.Contains(log.String(), `"error_status":503`) {
		t.Errorf("the log has no error_status 503, want it there: %s", log.String())
	}
}

// FuzzRedactURL checks that the redacted form of any URL has no secret parts.
func FuzzRedactURL(f *testing.F) {
	f.Add("https://user:QSECRETQ@example.com/a?key=QSECRETQ#QSECRETQ")
	f.Add("mailto:QSECRETQ@example.com")
	f.Add("https://example.com/a;b=c?%51SECRET%51")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		got := httpretry.RedactURL(u)
		if strings.ContainsAny(got, "?#") && !strings.ContainsAny(u.Host, "?#") {
			t.Errorf("the redacted form of %q is %q, want no query and no fragment", text, got)
		}
		if password, _ := u.User.Password(); len(password) > 8 && strings.Contains(got, password) && !strings.Contains(u.EscapedPath()+u.Host, password) {
			t.Errorf("the redacted form of %q is %q, want no password", text, got)
		}
	})
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// part of: L6
func TestL6_TransportIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	var mu sync.Mutex
	u := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.URL.Path]++
		n := seen[r.URL.Path]
		mu.Unlock()
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, r.URL.Path) //nolint:errcheck // the client sees it
	})
	c := client(t, strategy(t, nil))
	ctx, account := retry.WithJob(t.Context(), retry.JobInfo{Resends: 1000})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i)
			resp, err := c.Do(request(t, ctx, http.MethodPut, u.URL+path, strings.NewReader(path)))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); string(got) != path {
				t.Errorf("got the body %q and the error %v, want the body %q", got, err, path)
			}
		})
	}
	wg.Wait()
	if account.Sends() != 120 {
		t.Errorf("got %d sends, want 120", account.Sends())
	}
}
