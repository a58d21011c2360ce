package httpretry_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

const whole = "the whole of a long body"

// cutting returns a handler that breaks off its first n responses in the middle of the body.
func cutting(n int) func(int, http.ResponseWriter, *http.Request) {
	return func(i int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		if i <= n {
			io.WriteString(w, whole[:10]) //nolint:errcheck // the client sees it
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, whole) //nolint:errcheck // as above
	}
}

// proves: L6
func TestL6_ABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	t.Run("is returned to the caller", func(t *testing.T) {
		t.Parallel()
		u := serve(t, cutting(1))
		resp, err := client(t, strategy(t, nil)).Do(request(t, t.Context(), http.MethodGet, u.URL, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || u.requests.Load() != 1 {
			t.Errorf("got the body %q and the error %v after %d requests, want a part of the body after 1 request", got, err, u.requests.Load())
		}
	})
	for name, below := range map[string]bool{"is retried by ReadAll": false, "is retried by ReadAll above another Transport": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, p := serve(t, cutting(2)), strategy(t, nil)
			c := client(t, p)
			if !below {
				c.Transport = http.DefaultTransport.(*http.Transport).Clone()
				defer c.CloseIdleConnections()
			}
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{})
			got, resp, err := httpretry.ReadAll(p, c, request(t, ctx, http.MethodGet, u.URL, nil), int64(len(whole)))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if attempt := u.headers[2].Get("X-Retry-Attempt"); attempt != "3" {
				t.Errorf("the third request has attempt number %q in its header, want 3", attempt)
			}
			if string(got) != whole || u.requests.Load() != 3 || account.Sends() != 3 || account.Resends() != 2 {
				t.Errorf("got the body %q after %d requests; %d sends and %d resends were counted; want the whole body after 3 requests, 3 sends and 2 resends", got, u.requests.Load(), account.Sends(), account.Resends())
			}
		})
	}
}

// proves: L6
func TestL6_WhatReadAllRefuses(t *testing.T) {
	t.Parallel()
	p := strategy(t, nil)
	t.Run("too long", func(t *testing.T) {
		t.Parallel()
		u, p := serve(t, cutting(0)), strategy(t, func(o *retry.Options) { o.RetryUnknown = true })
		_, _, err := httpretry.ReadAll(p, client(t, p), request(t, t.Context(), http.MethodGet, u.URL, nil), 9) //nolint:bodyclose // it is read
		if err == nil || !strings.Contains(err.Error(), "longer than 9 bytes") || u.requests.Load() != 1 {
			t.Errorf("got the error %v after %d requests, want an error about the limit after 1 request", err, u.requests.Load())
		}
	})
	t.Run("a status", func(t *testing.T) {
		t.Parallel()
		u := serve(t, failing(9, http.StatusUnauthorized))
		_, _, err := httpretry.ReadAll(p, client(t, p), request(t, t.Context(), http.MethodGet, u.URL, nil), 9) //nolint:bodyclose // it is read
		if e, ok := errors.AsType[*httpretry.StatusError](err); !ok || e.StatusCode != 401 || u.requests.Load() != 1 {
			t.Errorf("got the error %v after %d requests, want a *StatusError with status 401 after 1 request", err, u.requests.Load())
		}
	})
	t.Run("a method that may not be sent twice", func(t *testing.T) {
		t.Parallel()
		u := serve(t, cutting(1))
		_, _, err := httpretry.ReadAll(p, client(t, p), request(t, t.Context(), http.MethodPost, u.URL, strings.NewReader("x")), 99) //nolint:bodyclose // it is read
		if !errors.Is(err, retry.ErrPermanent) || u.requests.Load() != 1 {
			t.Errorf("got the error %v after %d requests, want an error after 1 request", err, u.requests.Load())
		}
	})
	t.Run("a body that cannot be rewound", func(t *testing.T) {
		t.Parallel()
		_, _, err := httpretry.ReadAll(p, nil, request(t, t.Context(), http.MethodPut, "http://127.0.0.1:1", opaque{bytes.NewReader([]byte("x"))}), 99) //nolint:bodyclose // it is read
		if _, ok := errors.AsType[*httpretry.BodyError](err); !ok {
			t.Error(err)
		}
	})
	t.Run("a method that may not be sent twice, with a key", func(t *testing.T) {
		t.Parallel()
		u, keyed := serve(t, cutting(1)), strategy(t, func(o *retry.Options) { o.Keyed = true })
		got, resp, err := httpretry.ReadAll(keyed, client(t, keyed), request(t, t.Context(), http.MethodPost, u.URL, strings.NewReader("x")), 99)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		a, b := u.headers[0].Get("Idempotency-Key"), u.headers[1].Get("Idempotency-Key")
		if string(got) != whole || a == "" || a != b || u.bodies[1] != "x" {
			t.Errorf("got the body %q, the idempotency keys %q and %q and the request bodies %q; want the whole body, one key for both requests, and equal request bodies", got, a, b, u.bodies)
		}
	})
}

// Bug: limit + 1 overflowed to a negative number, and the body was lost without an error.
// part of: L6
func TestL6_TheGreatestLimitIsALimit(t *testing.T) {
	t.Parallel()
	u, p := serve(t, cutting(0)), strategy(t, nil)
	c := client(t, p)
	got, resp, err := httpretry.ReadAll(p, c, request(t, t.Context(), http.MethodGet, u.URL, nil), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if string(got) != whole {
		t.Errorf("got the body %q, want the whole body", got)
	}
	req := request(t, t.Context(), http.MethodPut, u.URL, opaque{bytes.NewReader([]byte("once"))})
	if err := httpretry.Rewindable(req, math.MaxInt64); err != nil || req.ContentLength != 4 {
		t.Errorf("Rewindable: got the error %v and a body of %d bytes, want no error and 4 bytes", err, req.ContentLength)
	}
	if body, err := io.ReadAll(req.Body); string(body) != "once" || err != nil {
		t.Errorf("got the body %q and the error %v, want \"once\" and no error", body, err)
	}
}

// part of: L6
func TestL6_ANegativeLimitIsRefused(t *testing.T) {
	t.Parallel()
	u, p := serve(t, cutting(0)), strategy(t, nil)
	_, _, err := httpretry.ReadAll(p, client(t, p), request(t, t.Context(), http.MethodGet, u.URL, nil), -1) //nolint:bodyclose // the call returns no response
	if err == nil || !strings.Contains(err.Error(), "-1 bytes") || u.requests.Load() != 0 {
		t.Errorf("got the error %v after %d requests, want an error about the limit and no request", err, u.requests.Load())
	}
	req := request(t, t.Context(), http.MethodPut, u.URL, opaque{bytes.NewReader([]byte("once"))})
	if err := httpretry.Rewindable(req, -1); err == nil || !strings.Contains(err.Error(), "-1 bytes") {
		t.Error(err)
	}
	if body, err := io.ReadAll(req.Body); string(body) != "once" || err != nil {
		t.Errorf("the body of the refused request: got %q and the error %v, want \"once\" and no error", body, err)
	}
}

// Bug: with GetBody, the original body of the request was never closed.
// part of: L6
func TestL6_ReadAllClosesEveryBodyOfTheRequest(t *testing.T) {
	t.Parallel()
	u, p := serve(t, cutting(1)), strategy(t, nil)
	bodies := []*closing{{Reader: strings.NewReader("x")}}
	req := request(t, t.Context(), http.MethodPut, u.URL, nil)
	req.Body, req.ContentLength = bodies[0], 1
	req.GetBody = func() (io.ReadCloser, error) {
		bodies = append(bodies, &closing{Reader: strings.NewReader("x")})
		return bodies[len(bodies)-1], nil
	}
	base := &http.Transport{}
	_, resp, err := httpretry.ReadAll(p, &http.Client{Transport: base}, req, 99)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	base.CloseIdleConnections()
	if !bodies[0].closed || len(bodies) != 3 {
		t.Errorf("original body closed: got %v, want true; got %d bodies, want the original body and two more", bodies[0].closed, len(bodies))
	}
}
