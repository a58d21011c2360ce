package access_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// house is a store with its gates, which all use the same clock.
type house struct {
	*testing.T
	store store.Store
	log   bytes.Buffer
	mu    sync.Mutex
	time  time.Time
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{T: t, time: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	h.store = memory.New(memory.Options{Clock: h.now})
	return h
}

func (h *house) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.time
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.time = h.time.Add(d)
}

func (h *house) gate(mode access.Mode, change ...func(*access.Options)) *access.Gate {
	o := access.Options{Mode: mode, Now: h.now, Logger: slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&o)
	}
	return access.New(h.store, o)
}

var admin = store.By{Actor: "root"}

// key stores a new key with these roles and returns it with its text.
func (h *house) key(roles string, change ...func(*store.AccessKey)) (store.AccessKey, string) {
	h.Helper()
	id, hash, key := access.NewKey()
	k := store.AccessKey{ID: id, Name: "key of " + roles, Hash: hash, Roles: strings.Split(roles, ",")}
	for _, f := range change {
		f(&k)
	}
	return h.put(k), key.Reveal()
}

func (h *house) put(k store.AccessKey) store.AccessKey {
	h.Helper()
	stored, err := h.store.PutKey(h.Context(), admin, k)
	if err != nil {
		h.Fatal(err)
	}
	return stored
}

// request returns a request from an address, with headers "Name: value".
func request(from string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/jobs", nil)
	r.RemoteAddr = from
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// sees returns the caller that a gate finds in a request: actor, roles and owner, or a short name
// of the error.
func sees(g *access.Gate, r *http.Request) string {
	c, err := g.Identify(r)
	header, isHeader := errors.AsType[*access.Header](err)
	switch {
	case isHeader:
		return "header " + header.Name
	case errors.Is(err, access.ErrUnauthenticated):
		return "unauthenticated"
	case errors.Is(err, access.ErrForbidden):
		return "forbidden"
	case err != nil:
		return "error " + err.Error()
	}
	text := c.Actor + " " + c.Roles.String()
	if c.Owner != "" {
		text += " of " + c.Owner
	}
	return text
}

func (h *house) want(g *access.Gate, want string, from string, headers ...string) {
	h.Helper()
	if got := sees(g, request(from, headers...)); got != want {
		h.Errorf("a request from %s with %.80q: got %q, want %q", from, headers, got, want)
	}
}

const local = "local submit,work,administer"
