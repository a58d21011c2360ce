package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/stream"
)

// services are the kinds of tasks, and the path of the service that each calls.
var services = map[string]string{"chat_completion": "/model", "embed_document": "/vectors", "send_mail": "/mail"}

// The names of the chat system.
const (
	queue        = "chat"
	primaryTopic = "alice_tasks"
	retryTopic   = "alice_retry_queue"
)

// settings are what the processes of the example share.
type settings struct {
	Database string
	Brokers  []string
	World    string  // the address of the services
	Faster   float64 // the waits of the policy are divided by this
	Name     string  // the name of the process
	Verbose  bool    // write the logs of the programs
}

// chatPolicy is the preset chat with shorter waits: 2, 4, 8, 16 and 32 s, divided.
func chatPolicy(faster float64) (*policy.Policy, error) {
	part := func(seconds float64) time.Duration { return time.Duration(seconds / faster * float64(time.Second)) }
	file, err := policyfile.Parse("chat", fmt.Appendf(nil, "version: 1\nname: chat-example\nextends: chat\n"+
		"default:\n  backoff: {first: %s, factor: 2, cap: %s, jitter: {add: %s}}\n", part(2), part(300), part(1)))
	if err != nil {
		return nil, err
	}
	return file.Policy, nil
}

func (s *settings) stream() *stream.Config {
	kinds := map[string]string{}
	for kind := range services {
		kinds[kind] = kind
	}
	return &stream.Config{Name: "chat", Brokers: s.Brokers, Topic: primaryTopic, Queue: queue, Kinds: kinds, Instance: s.Name}
}

// orchestrate takes tasks from the topic and runs them, until the context ends. Any number of
// processes do so together.
func orchestrate(ctx context.Context, s *settings) (err error) {
	db, err := sqlite.Open(ctx, s.Database, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := chatPolicy(s.Faster)
	if err != nil {
		return err
	}
	client, err := redrive.New(db, &redrive.Config{Name: s.Name, Policy: p, Queues: map[string]redrive.Queue{queue: {Workers: 8}},
		Lease: 6 * time.Second, RescueInterval: time.Second, Grace: 5 * time.Second, Logger: slog.Default()})
	if err != nil {
		return err
	}
	for kind, path := range services {
		redrive.Handle(client, redrive.Kind[order](kind), s.handler(path), nil)
	}
	if err := stream.Handle(client, s.stream()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked := make(chan error, 1)
	go func() {
		defer cancel()
		worked <- client.Run(ctx)
	}()
	err = stream.Run(ctx, client, s.stream())
	cancel()
	return errors.Join(err, <-worked)
}

// handler calls a service. The key of the request is the same in all attempts of the job, so the
// service can tell a repeat.
func (s *settings) handler(path string) func(context.Context, *redrive.Job[order]) error {
	return func(ctx context.Context, j *redrive.Job[order]) error {
		o := j.Args
		o.JobID = cmp.Or(j.Correlation, o.JobID)
		body, err := json.Marshal(o)
		if err != nil {
			return err
		}
		ask, err := http.NewRequestWithContext(ctx, http.MethodPost, s.World+path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		ask.Header.Set("Idempotency-Key", j.StepKey(path))
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		switch {
		case err != nil:
			return err
		case answer.StatusCode != http.StatusOK:
			return &refusal{path, answer.StatusCode, string(bytes.TrimSpace(text))}
		}
		return j.SetResult(map[string]string{"answer": string(text)})
	}
}

// refusal is an answer of a service that is no success. The policy reads its status.
type refusal struct {
	path   string
	status int
	text   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s", r.path, r.status, http.StatusText(r.status), r.text)
}

// StatusCode tells the policy the status of the answer.
func (r *refusal) StatusCode() int { return r.status }
