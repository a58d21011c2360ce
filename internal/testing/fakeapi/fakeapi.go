// Package fakeapi is an HTTP API that fails, for tests of how an SDK's client is retried.
package fakeapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// Answer is what the API answers to every request.
type Answer struct {
	Status int
	Body   string
	Header []string // names and values by turns
}

// API is a running server and the number of requests that it has got.
type API struct {
	URL      string
	Requests atomic.Int64
}

// New starts an API that gives one answer until the test ends.
func New(t *testing.T, a Answer) *API {
	t.Helper()
	var api API
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.Requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(a.Header); i += 2 {
			w.Header().Set(a.Header[i], a.Header[i+1])
		}
		w.WriteHeader(a.Status)
		io.WriteString(w, a.Body) //nolint:errcheck // a client that has gone away fails its own test
	}))
	t.Cleanup(s.Close)
	api.URL = s.URL
	return &api
}

// clock is a clock whose waits end at once.
type clock struct{}

func (clock) Now() time.Time                                   { return time.Now() }
func (clock) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// Retries is the number of retries of the strategy of Strategy.
const Retries = 2

// Strategy returns a strategy that retries at once.
func Strategy(dependency string) (*retry.Strategy, error) {
	return retry.New(dependency, retry.Options{Retries: Retries, Immediate: true, Clock: clock{}, Logger: slog.New(slog.DiscardHandler)})
}

// Multiplied checks, for a client whose call is the given function, how many requests an
// overloaded API gets from one call with retries, and how many of them the ledger of the job
// counts.
func Multiplied(t *testing.T, overloaded Answer, ask func(ctx context.Context, url string) error, requests, sends int) {
	t.Helper()
	api := New(t, overloaded)
	ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
	err := ask(ctx, api.URL)
	if !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
		t.Errorf("got the error %v, want exhausted retries and a hand-over of the job to its queue", err)
	}
	if got := int(api.Requests.Load()); got != requests || account.Sends() != sends {
		t.Errorf("got %d requests and %d counted sends, want %d requests and %d sends", got, account.Sends(), requests, sends)
	}
}

// Reading is how an error of a client must be read: its class, the wait that the API asked
// for, and the sentinel error that it matches.
type Reading struct {
	Class failure.Class
	Hint  time.Duration
	Is    error
}

// Read checks that an answer is read as it must be, and that the call is made once.
func Read(t *testing.T, a Answer, ask func(ctx context.Context, url string) error, want Reading) {
	t.Helper()
	api := New(t, a)
	err := ask(t.Context(), api.URL)
	e, ok := errors.AsType[*retry.Error](err)
	if !ok || !errors.Is(err, want.Is) || e.Class.Class != want.Class || e.Hint != want.Hint || api.Requests.Load() != 1 {
		t.Errorf("got the error %v with the details %+v after %d requests; want class %s and the hint %v after 1 request",
			err, e, api.Requests.Load(), want.Class, want.Hint)
	}
}
