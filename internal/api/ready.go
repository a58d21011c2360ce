package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
)

// Times of the check whether a server is ready.
const (
	// readyTime is how long the store has to answer. A load balancer asks every few seconds.
	readyTime = 3 * time.Second
	// refusedFor is how long a write that the store has refused counts. A reader cannot see that a
	// disk is full, so the next write has to show whether it still is.
	refusedFor = 15 * time.Second
)

// writes remembers the last write that the store has refused because it is full or read-only.
type writes struct {
	mu   sync.Mutex
	at   time.Time
	kind *Kind
}

// Note remembers what became of a request that writes. The problem is nil if it has succeeded: who
// has made it sees what it has changed.
func (a *API) Note(p *Problem) {
	if p == nil {
		a.standings.forget()
		a.hours.forget()
		a.queues.forget()
	}
	a.writes.mu.Lock()
	defer a.writes.mu.Unlock()
	switch {
	case p == nil:
		a.writes.kind = nil
	case p.kind == StoreFull || p.kind == StoreReadOnly:
		a.writes.at, a.writes.kind = a.o.Now(), p.kind
	}
}

// refusedWrite returns the problem of the last write, or nil.
func (a *API) refusedWrite() *Kind {
	a.writes.mu.Lock()
	defer a.writes.mu.Unlock()
	if age := a.o.Now().Sub(a.writes.at); age < 0 || age >= refusedFor {
		return nil
	}
	return a.writes.kind
}

func (a *API) ready(c *Call) error {
	checks := []Check{a.serverCheck(), a.storeCheck(c.Context()), a.writesCheck()}
	answer, status := Ready{Status: "ready"}, http.StatusOK
	for _, check := range checks {
		if !check.OK {
			answer.Status, status = "not-ready", http.StatusServiceUnavailable
		}
	}
	if c.Caller.Roles.Any(access.View) && c.Caller.Owner == "" {
		answer.Checks = checks
	}
	c.W.Header().Set("Cache-Control", "no-store")
	return c.JSON(status, answer)
}

func (a *API) serverCheck() Check {
	select {
	case <-a.stopping:
		return Check{Name: "server", Detail: "the server is stopping"}
	default:
		return Check{Name: "server", OK: true}
	}
}

// storeCheck asks the store for something small.
func (a *API) storeCheck(ctx context.Context) Check {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	_, err := a.client.Queues(ctx)
	switch kind := wire.KindOf(err); {
	case err == nil:
		return Check{Name: "store", OK: true}
	case errors.Is(err, store.ErrSchema):
		return Check{Name: "schema", Detail: "the database has another schema than this program: " + err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return Check{Name: "store", Detail: "the store has not answered within " + readyTime.String()}
	case kind == wire.StoreUnavailable:
		return Check{Name: "store", Detail: "the store does not answer: " + err.Error()}
	case kind == wire.StoreFull:
		return Check{Name: "store", Detail: "the store is full: " + err.Error()}
	case kind == wire.StoreReadOnly:
		return Check{Name: "store", Detail: "the store is read-only: " + err.Error()}
	default:
		return Check{Name: "store", Detail: "the store answers with an error: " + err.Error()}
	}
}

// writesCheck says whether the store has refused to write lately.
func (a *API) writesCheck() Check {
	switch a.refusedWrite() {
	case nil:
		return Check{Name: "writes", OK: true}
	case StoreFull:
		return Check{Name: "writes", Detail: "the store is full: it has refused to write within the last 15 s; make room"}
	default:
		return Check{Name: "writes", Detail: "the store is read-only: it has refused to write within the last 15 s; make it writable"}
	}
}
