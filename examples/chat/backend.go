package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/sqlite"
)

// message is a task as the backend of the chat system produces it.
type message struct {
	JobID    string   `json:"job_id"`
	TaskType string   `json:"task_type"`
	Payload  any      `json:"payload"`
	Metadata metadata `json:"metadata"`
}

type metadata struct {
	CreatedAt      string  `json:"created_at"` // in UTC, without a zone, as utcnow().isoformat() writes it
	RetryCount     int     `json:"retry_count"`
	MaxRetry       int     `json:"max_retry"`
	LastError      any     `json:"last_error"`
	LastRetryAt    any     `json:"last_retry_at"`
	IdempotencyKey *string `json:"idempotency_key"`
}

func newMessage(jobID, taskType string, payload any, key string) *message {
	m := &message{JobID: jobID, TaskType: taskType, Payload: payload,
		Metadata: metadata{CreatedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000000"), MaxRetry: 5}}
	if key != "" {
		m.Metadata.IdempotencyKey = &key
	}
	return m
}

// backend takes questions over HTTP, produces their tasks, and streams the answers. It also has the
// routes of the chat system for dead letters, and redrive's pages.
type backend struct {
	producer *kgo.Client
	client   *redrive.Client
}

// openBackend returns the backend's handler. It works until the context ends, and keeps the store.
func openBackend(ctx context.Context, s *settings) (*backend, http.Handler, error) {
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.DefaultProduceTopic(primaryTopic))
	if err != nil {
		return nil, nil, err
	}
	db, err := sqlite.Open(ctx, s.Database, nil)
	if err != nil {
		producer.Close()
		return nil, nil, err
	}
	p, err := chatPolicy(s.Faster)
	if err != nil {
		return nil, nil, err
	}
	client, err := redrive.New(db, &redrive.Config{Name: "backend", Policy: p})
	if err != nil {
		return nil, nil, err
	}
	admin, err := server.New(client, server.Options{})
	if err != nil {
		return nil, nil, err
	}
	go func() {
		_ = client.Keep(ctx) // it ends with the context
		producer.Close()
		_ = db.Close()
	}()
	b := &backend{producer, client}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chat", b.ask)
	mux.HandleFunc("GET /chat/{job_id}", b.stream)
	mux.Handle("/", admin)
	return b, mux, nil
}

// produce writes a task and waits until the broker has acknowledged it.
func (b *backend) produce(ctx context.Context, m *message) error {
	value, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return b.producer.ProduceSync(ctx, &kgo.Record{Key: []byte(m.JobID), Value: value}).FirstErr()
}

// ask takes a question, as in: curl -d '{"text": "why is the sky blue?"}' localhost:8080/chat
func (b *backend) ask(out http.ResponseWriter, in *http.Request) {
	var o order
	if err := json.NewDecoder(http.MaxBytesReader(out, in.Body, 1<<20)).Decode(&o); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	id := uuid()
	if err := b.produce(in.Context(), newMessage(id, "chat_completion", o, "")); err != nil {
		http.Error(out, err.Error(), http.StatusServiceUnavailable)
		return
	}
	out.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(out, "{\"job_id\": %q, \"events\": \"/chat/%s\"}\n", id, id)
}

// stream sends what happens to a task as server-sent events, until it has ended.
func (b *backend) stream(out http.ResponseWriter, in *http.Request) {
	ctx := in.Context()
	out.Header().Set("Content-Type", "text/event-stream")
	send := func(name string, value any) bool {
		text, err := json.Marshal(value)
		if err != nil {
			return false
		}
		_, err = fmt.Fprintf(out, "event: %s\ndata: %s\n\n", name, text)
		return err == nil && http.NewResponseController(out).Flush() == nil
	}
	_, from, err := b.client.EventSpan(ctx)
	if err != nil {
		return
	}
	id, err := b.find(ctx, in.PathValue("job_id"))
	if err != nil {
		send("error", map[string]string{"message": err.Error()})
		return
	}
	if j, err := b.client.Get(ctx, id); err != nil || b.ended(send, &j) {
		return
	}
	for e, err := range b.client.Events(ctx, from, nil) {
		switch {
		case err != nil:
			return
		case e.Job != id:
			continue
		case e.Type == event.JobFailed && e.To == job.Retrying:
			if !send("retrying", map[string]any{"attempt": e.Attempt, "class": e.Class, "due_at": e.DueAt}) {
				return
			}
		}
		if j, err := b.client.Get(ctx, id); err != nil || b.ended(send, &j) {
			return
		}
	}
}

// ended sends the answer of a task that has ended.
func (b *backend) ended(send func(string, any) bool, j *job.Job) bool {
	switch j.State {
	case job.Completed:
		send("answer", json.RawMessage(j.Result))
	case job.Dead, job.Cancelled:
		send("failed", map[string]string{"state": j.State.String(), "reason": string(j.Reason)})
	case job.None, job.Waiting, job.Running, job.Retrying:
		return false
	}
	return true
}

// find waits until the task with a job_id is taken.
func (b *backend) find(ctx context.Context, jobID string) (job.ID, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		page, err := b.client.List(ctx, redrive.JobFilter{Correlation: jobID})
		if err == nil && len(page.Jobs) > 0 {
			return page.Jobs[0].ID, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return 0, errors.Join(err, fmt.Errorf("no task %q has arrived", jobID))
		}
	}
}

// uuid returns a UUID of version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
