package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// upstream is a server on this machine with the services that the jobs of the demo call.
// Its faults are real: statuses, headers, timeouts, resets and truncated bodies are sent
// over a connection.
type upstream struct {
	now     func() time.Time
	latency time.Duration // the longest duration of a response without a fault
	wait    time.Duration // the value of Retry-After in responses with status 429
	server  *http.Server
	address string

	mu     sync.Mutex
	plan   plan
	keys   map[string]string // the valid key of each tenant
	full   bool              // whether the bucket "archive" accepts no writes
	met    map[trouble]int
	calls  int
	served map[string]bool // the keys of the jobs whose results were uploaded
}

// serve starts the upstream on a free port of the loopback interface.
func serve(ctx context.Context, u *upstream) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the upstream: %w", err)
	}
	u.address = "http://" + l.Addr().String()
	u.met, u.served = map[trouble]int{}, map[string]bool{}
	u.server = &http.Server{
		Handler: u, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // no log, because the server breaks connections on purpose
	}
	go func() { _ = u.server.Serve(l) }() // Serve returns when the server is closed
	return nil
}

func (u *upstream) close() { _ = u.server.Close() }

// mend makes the key of a tenant valid again, lets the bucket accept writes, and ends all other
// faults.
func (u *upstream) mend(tenant, key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keys[tenant] = key
	u.full = false
	u.plan = plan{}
}

// tally returns how many times each fault happened, and the number of calls.
func (u *upstream) tally() (met map[trouble]int, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.met), u.calls
}

// delivered reports whether the result of a job was uploaded.
func (u *upstream) delivered(key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.served[key]
}

// next removes the fault for a request from the plan and returns it. Without a fault it
// returns "".
func (u *upstream) next(r *http.Request, service, key string) trouble {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	t := u.troubleOf(r, service, key)
	if t != "" {
		u.met[t]++
	}
	return t
}

func (u *upstream) troubleOf(r *http.Request, service, key string) trouble {
	if tenant := r.Header.Get("X-Tenant"); tenant != "" && r.Header.Get("Authorization") != "Bearer "+u.keys[tenant] {
		return wrongKey
	}
	if u.full && r.Header.Get("X-Bucket") == "archive" {
		return readOnly
	}
	e, planned := u.plan[key]
	if !planned || e.service != service {
		return ""
	}
	switch e.times {
	case 0:
	case 1:
		delete(u.plan, key)
	default:
		e.times--
		u.plan[key] = e
	}
	return e.trouble
}

// ServeHTTP implements http.Handler.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	service, key, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	key, _, _ = strings.Cut(key, "/")
	_, _ = io.Copy(io.Discard, r.Body)
	t := u.next(r, service, key)
	pause(r.Context(), u.slowness(service, key))
	u.answer(w, r, t, service, key)
}

// slowness returns the duration of a response without fault. It depends only on the service and
// the key.
func (u *upstream) slowness(service, key string) time.Duration {
	h := 0
	for _, c := range []byte(service + key) {
		h = (h*31 + int(c)) % 1009
	}
	return u.latency/4 + u.latency*3/4*time.Duration(h)/1009
}

func (u *upstream) answer(w http.ResponseWriter, r *http.Request, t trouble, service, key string) {
	refuse := func(status int, text string) { http.Error(w, text, status) }
	switch t {
	case tooMany:
		w.Header().Set("Retry-After", fmt.Sprint(int(u.wait/time.Second)))
		refuse(http.StatusTooManyRequests, "too many requests in a short time")
	case tooManyDate:
		w.Header().Set("Retry-After", u.now().UTC().Add(u.wait).Format(http.TimeFormat))
		refuse(http.StatusTooManyRequests, "too many requests in a short time")
	case tooManyLong:
		w.Header().Set("Retry-After", "172800")
		refuse(http.StatusTooManyRequests, "too many requests in a short time")
	case unavailable:
		refuse(http.StatusServiceUnavailable, "no server is available")
	case readOnly:
		refuse(http.StatusServiceUnavailable, "the bucket takes no writes at the moment")
	case serverError:
		refuse(http.StatusInternalServerError, "something broke")
	case gateway:
		refuse(http.StatusGatewayTimeout, "a server behind this one did not answer")
	case notFound:
		refuse(http.StatusNotFound, "there is no such thing here")
	case forbidden:
		refuse(http.StatusForbidden, "this is private")
	case unprocessed:
		refuse(http.StatusUnprocessableEntity, "the order is closed already")
	case teapot:
		refuse(http.StatusTeapot, "this service makes tea")
	case wrongKey:
		refuse(http.StatusUnauthorized, "the key was revoked")
	case hang:
		<-r.Context().Done() // send no response, and wait until the client gives up
	case reset:
		breakOff(w, true)
	case cut:
		body := u.body(r, "", service, key)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body[:len(body)/2])
		breakOff(w, false)
	default:
		_, _ = w.Write(u.body(r, t, service, key)) //nolint:gosec // no browser reads it
	}
}

// body returns the body of a response. If t is the fault of a file, the body is that
// damaged file.
func (u *upstream) body(r *http.Request, t trouble, service, key string) []byte {
	if r.Method == http.MethodPut {
		u.mu.Lock()
		u.served[key] = true
		u.mu.Unlock()
		return []byte("stored\n")
	}
	switch service {
	case "videos", "sources", "images":
		return clip(key, t)
	case "models", "vision":
		if t == emptyResult {
			return []byte(`{"segments":[]}`)
		}
		return []byte(`{"segments":["what was seen and heard"],"cost":0.002}`)
	}
	return bytes.Repeat([]byte(key+"\n"), 64)
}

// breakOff ends a connection in the middle of a response: by a reset if hard is true,
// otherwise by a normal close.
func breakOff(w http.ResponseWriter, hard bool) {
	rc := http.NewResponseController(w)
	if !hard {
		_ = rc.Flush() // this sends the part of the body that was already written
	}
	conn, _, err := rc.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && hard {
		_ = tcp.SetLinger(0) // this discards unsent data, and the close then sends a TCP reset
	}
	_ = conn.Close()
}
