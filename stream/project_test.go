package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/wire"
)

// written is a record as kcat reads it.
type written struct {
	Partition int32
	Offset    int64
	Key       string
	Headers   []string // names and values
	Payload   string

	task struct {
		JobID    string          `json:"job_id"`
		TaskType string          `json:"task_type"`
		Payload  json.RawMessage `json:"payload"`
		Status   string          `json:"status"`
		Extra    json.RawMessage `json:"extra"`
		Metadata struct {
			RetryCount int     `json:"retry_count"`
			MaxRetry   int     `json:"max_retry"`
			Scheduled  float64 `json:"scheduled_retry_at"`
			LastError  *struct{ Type, Message string }
		} `json:"metadata"`
	}
}

func (w *written) header(name string) (value string) {
	for i := 0; i+1 < len(w.Headers); i += 2 {
		if w.Headers[i] == name {
			value = w.Headers[i+1]
		}
	}
	return value
}

// read reads all records of a topic, with kcat: a program that is not ours.
func read(t *testing.T, address, topic string) (all []written) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "kcat", "-C", "-b", address, "-t", topic, "-o", "beginning", "-e", "-q", "-J").Output()
	if err != nil {
		t.Fatalf("kcat: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		var w written
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := json.Unmarshal([]byte(w.Payload), &w.task); err != nil {
			t.Fatalf("%s: %v", w.Payload, err)
		}
		all = append(all, w)
	}
	return all
}

// of returns the records of a task.
func of(all []written, jobID string) (some []written) {
	for i := range all {
		if all[i].task.JobID == jobID {
			some = append(some, all[i])
		}
	}
	return some
}

// Each wait has its record on the retry topic, with the time of its next attempt; a death has one on
// the topic of dead letters, an end one on that of results. Redrive's own records make no second job,
// those of others wait until they are due, and a dead task that is published again is retried. A
// manual retry has its record, too.
//
// proves: S2, S3
// part of: S1, N6
func TestS2_S3_KafkaTrap30_KafkaTrap32_WaitsAndDeathsAreOnTopics(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("no kcat")
	}
	address := broker(t)
	admin := topic(t, address, "alice_tasks", 3)
	if _, err := admin.CreateTopics(t.Context(), 2, 1, nil, "alice_retry_queue", "alice_dead", "alice_results"); err != nil {
		t.Fatal(err)
	}
	s := memory.New(memory.Options{})
	p, err := policy.Default().WithSchedule("chat", &policy.Schedule{First: 1500 * time.Millisecond, Factor: 1, MaxRetries: 2})
	if err != nil {
		t.Fatal(err)
	}
	client, err := redrive.New(s, &redrive.Config{Policy: p, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	redrive.HandleRaw(client, "chat", func(_ context.Context, j *redrive.Job[[]byte]) error {
		var what string
		_ = json.Unmarshal(j.Args, &what) // other payloads succeed
		switch {
		case what == "permanent" && j.Life == 1:
			return failure.Permanent(errors.New("no such model <x>"))
		case what == "once" && j.Attempt == 1:
			return errors.New("connection refused")
		}
		return j.SetResult("done")
	}, nil)
	config := &stream.Config{Name: "waits", Brokers: []string{address}, Topic: "alice_tasks", Retry: "alice_retry_queue", Dead: "alice_dead",
		Compat: wire.CompatConnect, Results: "alice_results", Store: s, Kinds: map[string]string{"chat_completion": "chat"}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if err := stream.Handle(client, config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	go func() { ended <- client.Run(ctx) }()
	for range 2 { // two processes: one of them writes
		go func() {
			err := stream.Run(ctx, client, config)
			if err != nil {
				t.Error(err)
			}
			ended <- err
		}()
	}
	task := func(id, payload, more string) string {
		return fmt.Sprintf(`{"job_id":%q,"task_type":"chat_completion","payload":%s,"extra":{"n":12345678901234567890},"metadata":{"retry_count":0,"max_retry":2%s}}`, id, payload, more)
	}
	due := time.Now().Add(2 * time.Second)
	produce(t, address, "alice_tasks", []string{task("a", `"once"`, ""), task("b", `"permanent"`, ""), task("c", `"fine"`, "")}, "-H", "traceparent=00-1")
	produce(t, address, "alice_retry_queue", []string{task("d", `"fine"`, fmt.Sprintf(`,"scheduled_retry_at":%d.5`, due.Unix()))})

	results := func(id, status string) func() bool {
		return func() bool {
			some := of(read(t, address, "alice_results"), id)
			return len(some) > 0 && some[len(some)-1].task.Status == status
		}
	}
	for id, status := range map[string]string{"a": "completed", "b": "dead", "c": "completed", "d": "completed"} {
		eventually(t, id+" is "+status, results(id, status))
	}
	retries := of(read(t, address, "alice_retry_queue"), "a")
	if len(retries) != 1 {
		t.Fatalf("there are %d records of the retry of a, want one", len(retries))
	}
	r := &retries[0]
	if m := r.task.Metadata; m.RetryCount != 1 || m.MaxRetry != 2 || m.Scheduled == 0 || r.header("delay_seconds") == "" || r.header("redrive-reason") != "failed" ||
		r.header("redrive-class") == "" || r.header("traceparent") != "00-1" || string(r.task.Extra) != `{"n":12345678901234567890}` || !strings.HasPrefix(r.header("redrive-source"), "alice_tasks/") {
		t.Errorf("the record of the retry is %+v", r)
	}
	page, err := client.List(t.Context(), redrive.JobFilter{Correlation: "a"})
	if err != nil || len(page.Jobs) != 1 {
		t.Errorf("a is %d jobs (%v), want one: the record of its retry is redrive's own", len(page.Jobs), err)
	}
	page, err = client.List(t.Context(), redrive.JobFilter{Correlation: "d"})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ClaimedAt.Time().Before(due.Truncate(time.Second).Add(500*time.Millisecond)) {
		t.Errorf("d began at %v (%v), want it not before %v", page.Jobs, err, due)
	}
	dead := of(read(t, address, "alice_dead"), "b")
	if len(dead) != 1 || dead[0].header("redrive-reason") != "non_retriable_error" || dead[0].header("redrive-error") != "no such model <x>" ||
		dead[0].header("__connect.errors.topic") != "alice_tasks" || dead[0].task.Metadata.RetryCount != 0 {
		t.Errorf("the dead letter of b is %+v", dead)
	}
	again, err := client.List(t.Context(), redrive.JobFilter{Correlation: "b"})
	if err != nil || len(again.Jobs) != 1 {
		t.Fatal(err)
	}
	if err := client.Retry(t.Context(), redrive.By{Actor: "ann"}, again.Jobs[0].ID, &redrive.Change{Delay: new(2 * time.Second)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the retried b is completed", results("b", "completed"))
	retries = of(read(t, address, "alice_retry_queue"), "b")
	if len(retries) != 1 || retries[0].header("redrive-reason") != "retried" || retries[0].task.Metadata.RetryCount != 0 {
		t.Errorf("the records of the manual retry are %+v", retries)
	}

	produce(t, address, "alice_tasks", []string{task("e", `"permanent"`, "")})
	eventually(t, "e is dead", results("e", "dead"))
	produce(t, address, "alice_retry_queue", []string{task("e", `"permanent"`, "")}) // as a tool does that publishes dead letters again
	eventually(t, "e has completed in its next life", results("e", "completed"))
	page, err = client.List(t.Context(), redrive.JobFilter{Correlation: "e"})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].Life != 2 || page.Jobs[0].State != job.Completed {
		t.Errorf("e is %+v (%v), want one job in its second life", page.Jobs, err)
	}
	cancel()
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
