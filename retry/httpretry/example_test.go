package httpretry_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// The service answers 503 once. The client does not see it.
func ExampleTransport() {
	calls := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer service.Close()
	strategy, err := retry.New("images", retry.Options{
		Logger:  slog.New(slog.DiscardHandler),
		Retries: 2, Backoff: backoff.Backoff{Formula: backoff.Exponential, First: time.Millisecond, Cap: time.Second},
	})
	if err != nil {
		panic(err)
	}
	client := &http.Client{Transport: httpretry.Transport(strategy, nil)}
	resp, err := client.Get(service.URL)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode, "after", calls, "calls")
	// Output:
	// 200 after 2 calls
}
