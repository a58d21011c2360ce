package project_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream/project"
)

// sink keeps the job ids that it got. The function says what a write answers.
type sink struct {
	got   chan []job.ID
	write func(ids []job.ID) error
}

func (*sink) Name() string              { return "test" }
func (*sink) Wants(e *event.Event) bool { return e.Type == event.JobEnqueued }

func (s *sink) Write(_ context.Context, items []project.Item) error {
	ids := make([]job.ID, len(items))
	for i := range items {
		ids[i] = items[i].Job.ID
	}
	if s.write != nil {
		if err := s.write(ids); err != nil {
			return err
		}
	}
	s.got <- ids
	return nil
}

// failing is a store that does not move the cursor.
type failing struct{ *memory.Store }

func (failing) SaveSink(context.Context, store.SinkSave) error { return store.ErrUnavailable }

type rig struct {
	client *redrive.Client
	store  *memory.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := memory.New(memory.Options{})
	client, err := redrive.New(s, &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{client, s}
}

func (r *rig) enqueue(t *testing.T, n int) (ids []job.ID) {
	t.Helper()
	for range n {
		receipt, err := r.client.Enqueue(t.Context(), redrive.NewRaw("chat", []byte("1"), nil))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, receipt.ID)
	}
	return ids
}

// start runs the sink in a process of this name until the returned function is called.
func (r *rig) start(t *testing.T, name string, s project.Store, to project.Sink, lost func(*project.Item)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- project.Run(ctx, r.client, s, to, &project.Config{Stream: "chat", Holder: name, Queue: redrive.DefaultQueue, Log: slog.New(slog.DiscardHandler), Now: time.Now,
			Lost: func(_ context.Context, _ string, item *project.Item, _ error) error { lost(item); return nil }})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func collect(t *testing.T, s *sink, n int) (all []job.ID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for len(all) < n {
		select {
		case ids := <-s.got:
			all = append(all, ids...)
		case <-ctx.Done():
			t.Fatalf("the sink got %v within 30 s, want %d jobs", all, n)
		}
	}
	return all
}

// A process that dies after a write and before its cursor has moved leads to a second write, and to
// none that is missed. A process that comes later goes on where the cursor is.
func TestKafkaTrap16_ASinkMissesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.enqueue(t, 3)
	s := &sink{got: make(chan []job.ID, 100)}
	stop := r.start(t, "first", failing{r.store}, s, nil) // it writes, and cannot move the cursor
	if got := collect(t, s, 3); !slices.Equal(got, first) {
		t.Errorf("got %v, want %v", got, first)
	}
	stop()
	expired(t, r.store)
	s = &sink{got: make(chan []job.ID, 100)}
	stop = r.start(t, "second", r.store, s, nil)
	if got := collect(t, s, 3); !slices.Equal(got, first) {
		t.Errorf("the next process got %v, want %v again", got, first)
	}
	stop()
	expired(t, r.store)
	more := r.enqueue(t, 2)
	s = &sink{got: make(chan []job.ID, 100)}
	stop = r.start(t, "third", r.store, s, nil)
	if got := collect(t, s, 2); !slices.Equal(got, more) {
		t.Errorf("the process after it got %v, want %v only", got, more)
	}
	stop()
}

// expired ends the lease of the sink: another process that waits for it to end would take ten seconds.
func expired(t *testing.T, s *memory.Store) {
	t.Helper()
	all, err := s.Sinks(t.Context(), "chat")
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v and the error %v, want one sink", all, err)
	}
	if _, err := s.LeaseSink(t.Context(), "chat", "test", all[0].Holder, time.Millisecond); err != nil {
		t.Fatal(err)
	}
}

// A job that the sink refuses is tried alone, reported, and does not hold up the others.
func TestASinkGoesOnAfterARefusedJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ids := r.enqueue(t, 5)
	bad, tries := ids[2], 0
	s := &sink{got: make(chan []job.ID, 100), write: func(batch []job.ID) error {
		if i := slices.Index(batch, bad); i >= 0 {
			if i == 0 {
				tries++
			}
			return &project.Refused{Index: i, Err: errors.New("too large")}
		}
		return nil
	}}
	lost := make(chan job.ID, 10)
	stop := r.start(t, "first", r.store, s, func(item *project.Item) { lost <- item.Job.ID })
	got := collect(t, s, 4)
	stop()
	if want := []job.ID{ids[0], ids[1], ids[3], ids[4]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if id := <-lost; id != bad || tries != 3 {
		t.Errorf("job %v was reported after %d tries, want %v after 3", id, tries, bad)
	}
}

// A record is written only for a wait that still lasts, of a job of this stream.
//
// part of: S2
func TestS2_RecordsOfWaitsThatLast(t *testing.T) {
	t.Parallel()
	topic := &project.Topic{Kind: project.Retries, Topic: "retry", Stream: "chat", StoreID: "st", MinWait: time.Second, Now: time.Now}
	now := job.Micros(time.Now().UnixMicro())
	failed := event.Event{Type: event.JobFailed, At: now, DueAt: now.Add(2 * time.Second), To: job.Retrying, Life: 1, Token: 3}
	retried := event.Event{Type: event.JobRetried, At: now, DueAt: now, To: job.Waiting, Life: 2, Token: 3}
	attrs, err := json.Marshal(map[string]any{"stream": map[string]any{"name": "chat", "topic": "tasks", "partition": 2, "offset": 5}})
	if err != nil {
		t.Fatal(err)
	}
	waiting := job.Job{ID: 7, Kind: "chat", State: job.Retrying, Life: 1, Token: 3, Counters: job.Counters{Attempts: 3}, Attrs: attrs, Payload: []byte("1"), RunAt: failed.DueAt}
	for name, c := range map[string]struct {
		event  event.Event
		change func(e *event.Event, j *job.Job)
		want   bool
	}{
		"waits":            {failed, func(*event.Event, *job.Job) {}, true},
		"runs again":       {failed, func(_ *event.Event, j *job.Job) { j.State = job.Running; j.Token = 4 }, false},
		"failed once more": {failed, func(_ *event.Event, j *job.Job) { j.Token = 4 }, false},
		"a short wait":     {failed, func(e *event.Event, _ *job.Job) { e.DueAt = e.At.Add(time.Millisecond) }, false},
		"cancelled":        {failed, func(_ *event.Event, j *job.Job) { j.State = job.Cancelled }, false},
		"another stream":   {failed, func(_ *event.Event, j *job.Job) { j.Attrs = []byte(`{"stream":{"name":"other"}}`) }, false},
		"not of a topic":   {failed, func(_ *event.Event, j *job.Job) { j.Attrs = nil }, false},
		"retried":          {retried, func(_ *event.Event, j *job.Job) { j.State, j.Life, j.Counters = job.Waiting, 2, job.Counters{} }, true},
		"retried and ran":  {retried, func(_ *event.Event, j *job.Job) { j.Life = 2 }, false},
		"not a task at all": {retried, func(_ *event.Event, j *job.Job) {
			j.State, j.Life, j.Counters = job.Waiting, 2, job.Counters{}
			j.Attrs = []byte(`{"stream":{"name":"chat","topic":"tasks","arrival":{"reason":"malformed"}}}`)
		}, false},
	} {
		e, j := c.event, waiting
		c.change(&e, &j)
		r, ok := topic.Record(&project.Item{Event: e, Job: j})
		if got := ok && topic.Wants(&e); got != c.want {
			t.Errorf("%s: a record is written: %v (%s), want %v", name, got, r.Value, c.want)
		}
	}
}
