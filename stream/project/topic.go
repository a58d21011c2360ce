package project

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/stream/wire"
)

// Writer writes records to topics and waits until they are acknowledged. An error that is a *Refused
// has the index of the record.
type Writer interface {
	Write(ctx context.Context, records []wire.Record) error
	Partitions(ctx context.Context, topic string) (int32, error)
}

// Kind says which records a topic gets.
type Kind uint8

// The kinds of topics.
const (
	Retries Kind = iota // a record for each wait of a job
	Deaths              // a record for each death
	Results             // a record for each end
)

// Topic is a sink that writes to a topic.
type Topic struct {
	Kind    Kind
	Topic   string
	Stream  string            // the name of the stream
	Group   string            // its consumer group
	StoreID string            // names the store in the headers
	MinWait time.Duration     // retries with a shorter wait are not written
	Compat  wire.Compat       // the headers of dead letters
	Types   map[string]string // the task_type of each kind, where they differ
	Writer  Writer
	Now     func() time.Time

	partitions int32
}

// Name implements Sink.
func (t *Topic) Name() string { return [...]string{"retry", "dead", "results"}[t.Kind] }

// Wants implements Sink.
func (t *Topic) Wants(e *event.Event) bool {
	switch t.Kind {
	case Retries:
		switch e.Type { //nolint:exhaustive // the others are no waits
		case event.JobFailed:
			return e.To == job.Retrying && e.DueAt.Sub(e.At) >= t.MinWait
		case event.JobDeferred:
			return e.DueAt.Sub(e.At) >= t.MinWait
		case event.JobRetried:
			return true
		}
		return false
	case Deaths:
		return e.To == job.Dead
	case Results:
	}
	return e.To == job.Completed || e.To == job.Dead || e.To == job.Cancelled
}

// Write implements Sink.
func (t *Topic) Write(ctx context.Context, items []Item) error {
	if t.partitions == 0 {
		n, err := t.Writer.Partitions(ctx, t.Topic)
		if err != nil {
			return err
		}
		t.partitions = n
	}
	records := make([]wire.Record, 0, len(items))
	of := make([]int, 0, len(items))
	for i := range items {
		if r, ok := t.Record(&items[i]); ok {
			records = append(records, r)
			of = append(of, i)
		}
	}
	if len(records) == 0 {
		return nil
	}
	err := t.Writer.Write(ctx, records)
	if refused, ok := err.(*Refused); ok { //nolint:errorlint // the writer's own answer
		return &Refused{of[refused.Index], refused.Err}
	}
	if err != nil {
		t.partitions = 0 // the topic may have changed
		return fmt.Errorf("topic %q: %w", t.Topic, err)
	}
	return nil
}

// originOf returns where the job of a stream comes from, or nil for a job of others. A completed job has lost its attributes,
// unless its handler has HandlerOptions.KeepPayload; it counts as one of the stream of its queue.
func originOf(stream string, types map[string]string, j *job.Job) *wire.Origin {
	var attrs struct {
		Stream *wire.Origin `json:"stream"`
	}
	if j.State == job.Completed && len(j.Attrs) == 0 {
		return &wire.Origin{Stream: stream, TaskType: types[j.Kind]}
	}
	if json.Unmarshal(j.Attrs, &attrs) != nil || attrs.Stream == nil || attrs.Stream.Stream != stream {
		return nil
	}
	return attrs.Stream
}

// Record returns the record of an event; ok is false without one: the job is of another stream,
// or has moved on since.
func (t *Topic) Record(item *Item) (r wire.Record, ok bool) {
	e, j := &item.Event, &item.Job
	origin := originOf(t.Stream, t.Types, j)
	if origin == nil {
		return r, false
	}
	ran := j.Counters.Attempts+j.Counters.Crashes+j.Counters.Deferrals > 0
	if j.Life != e.Life || e.Token != 0 && j.Token != e.Token || e.Type == event.JobRetried && ran {
		return r, false
	}
	out := wire.OutOf(wire.Wait{Store: t.StoreID, Job: j.ID, Life: j.Life, Run: j.Token}, j, origin, item.Failure)
	out.Event, out.Group = e.Cursor.String(), t.Group
	switch t.Kind {
	case Retries:
		if j.State != job.Waiting && j.State != job.Retrying || origin.Arrival != nil {
			return r, false
		}
		out.Reason = map[event.Type]string{event.JobFailed: "failed", event.JobDeferred: "deferred", event.JobRetried: "retried"}[e.Type]
		return out.Retry(t.Topic, t.partitions, t.Now()), true
	case Deaths:
		return out.Dead(t.Topic, t.partitions, t.Compat), j.State == job.Dead
	case Results:
	}
	return out.Result(t.Topic, t.partitions, j.State, j.Result), j.State == e.To
}
