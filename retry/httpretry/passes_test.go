package httpretry_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// proves: L6
func TestL6_WhatIsNotRetriedComesBackAsItIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 200<<10/16)
	for name, c := range map[string]struct {
		status int
		body   string
		method string
	}{
		"wrong key":       {http.StatusUnauthorized, `{"error":{"code":"invalid_api_key"}}`, http.MethodGet},
		"bad request":     {http.StatusBadRequest, `{"error":{"type":"invalid_request_error"}}`, http.MethodGet},
		"not found":       {http.StatusNotFound, "no such thing", http.MethodGet},
		"not implemented": {http.StatusNotImplemented, "never", http.MethodGet},
		"quota":           {http.StatusTooManyRequests, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, http.MethodGet},
		"long":            {http.StatusInternalServerError, long, http.MethodPost},
		"long not found":  {http.StatusNotFound, long, http.MethodGet},
		"long forbidden":  {http.StatusForbidden, long, http.MethodGet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body) //nolint:errcheck // the client sees it
			})
			resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), c.method, u.URL, nil))
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, resp); got != c.body || resp.StatusCode != c.status || u.requests.Load() != 1 {
				t.Errorf("got status %d with %d bytes after %d requests, want status %d with %d bytes after 1 request", resp.StatusCode, len(got), u.requests.Load(), c.status, len(c.body))
			}
		})
	}
}

func TestTransport_RedirectsUpgradesAndHTTP2(t *testing.T) {
	t.Parallel()
	t.Run("redirect", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(n int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusFound)
				return
			}
			failing(4, http.StatusBadGateway)(n, w, r)
		})
		ctx, account := retry.WithJob(t.Context(), retry.JobInfo{})
		resp, err := client(t, strategy(t, nil)).Do(request(t, ctx, http.MethodGet, u.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		if bodyOf(t, resp) != "done" || account.Sends() != 4 {
			t.Errorf("calls until the server answers with 200: got %d sends, want 4", account.Sends())
		}
	})
	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		u := serve(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n") //nolint:errcheck // the client sees it
			line, _ := rw.ReadString('\n')
			io.WriteString(conn, line) //nolint:errcheck // as above
		})
		req := request(t, t.Context(), http.MethodGet, u.URL, nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := client(t, strategy(t, func(o *retry.Options) { o.AttemptTimeout = time.Minute })).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("the body of the response with status 101 is a %T, want a body that can be written to", resp.Body)
		}
		io.WriteString(conn, "hello\n") //nolint:errcheck // the answer shows whether it was sent
		if got, err := io.ReadAll(conn); string(got) != "hello\n" {
			t.Errorf("got the answer %q and the error %v, want \"hello\\n\"", got, err)
		}
	})
	t.Run("HTTP/2", func(t *testing.T) {
		t.Parallel()
		u := serveWith(t, func(u *upstream) { u.EnableHTTP2 = true; u.StartTLS() }, failing(3, http.StatusServiceUnavailable))
		c := u.Client()
		base := c.Transport
		c.Transport = httpretry.Transport(strategy(t, func(o *retry.Options) { o.AttemptTimeout = time.Minute }), base)
		defer c.CloseIdleConnections()
		ctx, account := retry.WithJob(t.Context(), retry.JobInfo{})
		resp, err := c.Do(request(t, ctx, http.MethodPut, u.URL, strings.NewReader("x")))
		if err != nil {
			t.Fatal(err)
		}
		if bodyOf(t, resp) != "done" || resp.ProtoMajor != 2 || account.Sends() != 3 {
			t.Errorf("got the protocol %s and %d sends, want HTTP/2 and 3 sends", resp.Proto, account.Sends())
		}
	})
}
