package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// world are the three services that the handlers call: a model server, a vector store and a mailer.
// Each fails as the request orders, and writes down every request that it gets.
type world struct {
	url string

	mu    sync.Mutex
	calls map[string]int  // requests by job_id
	keys  map[string]bool // idempotency keys that were seen
	twice map[string]int  // requests whose idempotency key was seen before, by job_id
	began chan string     // job_ids of requests that hang
}

// order is what a task says about the service that it calls.
type order struct {
	JobID  string `json:"job_id"`
	Text   string `json:"text"`
	Status int    `json:"status,omitempty"` // the status of the answer; 0 means 200
	First  int    `json:"first,omitempty"`  // only so many requests fail; 0 means all
	Hang   bool   `json:"hang,omitempty"`   // the first request is not answered
}

func newWorld(ctx context.Context) (*world, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("world: %w", err)
	}
	w := &world{url: "http://" + listener.Addr().String(), calls: map[string]int{}, keys: map[string]bool{}, twice: map[string]int{}, began: make(chan string, 100)}
	mux := http.NewServeMux()
	for path, answer := range map[string]string{"/model": "the answer to %s", "/vectors": "the vector of %s", "/mail": "sent: %s"} {
		mux.HandleFunc("POST "+path, func(out http.ResponseWriter, in *http.Request) { w.serve(out, in, answer) })
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return w, nil
}

func (w *world) serve(out http.ResponseWriter, in *http.Request, answer string) {
	var o order
	if err := json.NewDecoder(in.Body).Decode(&o); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	key := in.Header.Get("Idempotency-Key")
	w.mu.Lock()
	w.calls[o.JobID]++
	n := w.calls[o.JobID]
	if w.keys[key] {
		w.twice[o.JobID]++
	}
	w.keys[key] = true
	w.mu.Unlock()
	switch {
	case o.Hang && n == 1:
		w.began <- o.JobID
		<-in.Context().Done() // until the worker is killed
	case o.Status != 0 && (o.First == 0 || n <= o.First):
		http.Error(out, "as ordered", o.Status)
	default:
		fmt.Fprintf(out, answer, o.Text)
	}
}

// count returns how many requests the services got for a task, and how many of them had an
// idempotency key that they knew.
func (w *world) count(jobID string) (calls, twice int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[jobID], w.twice[jobID]
}
