package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/mark"
	"github.com/redrive/redrive/stream/project"
)

// pictures keeps documents in memory, by the rule of project.DocumentStore.
type pictures struct {
	mu  sync.Mutex
	all map[string]project.Document
}

func (p *pictures) Put(_ context.Context, all []project.Document) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range all {
		doc := all[i]
		if old, ok := p.all[doc.ID]; ok && old.Rev >= doc.Rev {
			continue
		} else if doc.Task == nil {
			doc.Task, doc.JobID, doc.Source = old.Task, old.JobID, old.Source
		}
		if p.all[doc.ID] = doc; doc.Gone {
			delete(p.all, doc.ID)
		}
	}
	return nil
}

func (p *pictures) Prune(_ context.Context, from string, rev int64) (n int64, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.all {
		if p.all[id].From == from && p.all[id].Rev < rev {
			delete(p.all, id)
			n++
		}
	}
	return n, nil
}

// of returns the document of a task.
func (p *pictures) of(jobID string) (doc project.Document, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, doc := range p.all {
		if doc.JobID == jobID {
			return doc, true
		}
	}
	return doc, false
}

// A task whose key has a mark of others in Redis is skipped, and a completed one gets its mark. Each dead letter has a
// document, which follows what people do. Both can be made anew. Without Redis, records are taken on.
//
// proves: I1
// part of: S7, I2
func TestI1_S7_MarksAndDocuments(t *testing.T) {
	t.Parallel()
	server, err := servers.StartRedis(t.Context(), &servers.RedisOptions{})
	if errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	settings, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	theirs := redis.NewClient(settings)
	t.Cleanup(func() { _ = theirs.Close() })
	if err := theirs.Set(t.Context(), "processed:job:j0", "j0", 0).Err(); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	marks, err := mark.Open(&mark.Options{URL: server.URL(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = marks.Close() })

	address, name := broker(t), "marked_tasks"
	topic(t, address, name, 1)
	s := memory.New(memory.Options{})
	client, err := redrive.New(s, &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	redrive.HandleRaw(client, "chat", func(_ context.Context, j *redrive.Job[[]byte]) error {
		if strings.Contains(string(j.Args), `"n": 0`) {
			t.Error("the task that others have processed ran")
		}
		if strings.Contains(string(j.Args), `"n": 1}`) {
			return failure.Permanent(errors.New("no such model"))
		}
		return nil
	}, nil)
	docs := &pictures{all: map[string]project.Document{}}
	config := &stream.Config{Name: name, Brokers: []string{address}, Topic: name, Store: s, Kinds: map[string]string{"chat_completion": "chat"}, Log: log,
		Processed: []stream.Processed{marks}, Marks: map[string]project.Marker{"marks": marks}, Documents: docs}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- client.Run(ctx) }()
	go func() { ended <- stream.Run(ctx, client, config) }()
	produce(t, address, name, tasks(0, 5))

	eventually(t, "the completed tasks have marks", func() bool {
		return theirs.Exists(t.Context(), "processed:job:j2", "processed:job:j3", "processed:job:j4").Val() == 3
	})
	counts := func() (sum store.FateCounts) {
		positions, err := client.Positions(t.Context(), name)
		if err != nil {
			t.Error(err)
		}
		for i := range positions {
			sum.Add(&positions[i].Counts)
		}
		return sum
	}
	if got, want := counts(), (store.FateCounts{Read: 5, Taken: 4, Processed: 1}); got != want {
		t.Errorf("the records are %+v, want %+v", got, want)
	}
	status := func(want job.Status) func() bool {
		return func() bool { doc, ok := docs.of("j1"); return ok && doc.Status == want }
	}
	eventually(t, "the dead letter has a document", status(job.Pending))
	doc, _ := docs.of("j1")
	var task struct {
		TaskType string `json:"task_type"`
		Payload  struct{ N int }
		Metadata struct {
			Key string `json:"idempotency_key"`
		}
	}
	if err := json.Unmarshal(doc.Task, &task); err != nil || task.TaskType != "chat_completion" || task.Payload.N != 1 || task.Metadata.Key != "job:j1" || doc.Reason != job.NonRetriable || !strings.HasPrefix(doc.Source, name+"/0/") {
		t.Errorf("the document is %+v with the task %s (%v)", doc, doc.Task, err)
	}
	if _, err := client.Act(t.Context(), redrive.By{Actor: "ann"}, redrive.Action{Do: redrive.ActResolve, IDs: []redrive.JobID{doc.Job}, Note: "known"}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the document is resolved", status(job.Resolved))
	if doc, _ := docs.of("j1"); doc.ResolvedBy != "ann" || doc.Notes != "known" || len(doc.Task) == 0 {
		t.Errorf("the document is %+v, want who resolved it, and the task", doc)
	}

	if err := theirs.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	docs.mu.Lock()
	docs.all = map[string]project.Document{"gone": {ID: "gone", From: doc.From, JobID: "gone"}}
	docs.mu.Unlock()
	if r, err := stream.Rebuild(t.Context(), client, config, "documents"); err != nil || r.Written != 1 || r.Removed != 1 {
		t.Errorf("documents made anew: %+v (%v), want one written and one removed", r, err)
	}
	if !status(job.Resolved)() {
		t.Error("the document that was made anew is not as it was")
	}
	if r, err := stream.Rebuild(t.Context(), client, config, "marks"); err != nil || r.Written != 3 || theirs.Exists(t.Context(), "processed:job:j2").Val() != 1 {
		t.Errorf("marks made anew: %+v (%v), want three", r, err)
	}
	if _, err := stream.Rebuild(t.Context(), client, config, "retry"); err == nil || !strings.Contains(err.Error(), "those of the stream are documents, marks") {
		t.Errorf("a topic made anew: %v, want what can be made anew", err)
	}

	server.Kill()
	produce(t, address, name, tasks(5, 10))
	eventually(t, "records are taken without Redis", func() bool { return counts().Taken == 9 })
	if _, err := client.Act(t.Context(), redrive.By{Actor: "ann"}, redrive.Action{Do: redrive.ActPurge, IDs: []redrive.JobID{doc.Job}}, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the document has gone with its dead letter", func() bool { _, ok := docs.of("j1"); return !ok })
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// While it is not known what others have processed, records wait, and nothing is lost.
//
// part of: I1
func TestI1_RecordsWaitForMarks(t *testing.T) {
	t.Parallel()
	address, name := broker(t), "waiting_for_marks"
	topic(t, address, name, 1)
	s := memory.New(memory.Options{})
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	away := &awayOnce{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- stream.Run(ctx, client, &stream.Config{Name: name, Brokers: []string{address}, Topic: name, Kinds: map[string]string{"chat_completion": "chat"},
			Processed: []stream.Processed{away}, Log: slog.New(slog.DiscardHandler)})
	}()
	produce(t, address, name, tasks(0, 3))
	eventually(t, "all are taken", func() bool {
		positions, err := client.Positions(t.Context(), name)
		return err == nil && len(positions) == 1 && positions[0].Counts.Taken == 3
	})
	cancel()
	if err := <-ended; err != nil || away.asked < 3 {
		t.Errorf("it ended with %v after %d questions, want three or more", err, away.asked)
	}
}

// awayOnce fails twice.
type awayOnce struct{ asked int }

func (a *awayOnce) Processed(_ context.Context, keys []string) ([]bool, error) {
	if a.asked++; a.asked < 3 {
		return nil, errors.New("no server could be reached")
	}
	return make([]bool, len(keys)), nil
}

// stuck is a store of documents that hangs until it is released.
type stuck struct {
	pictures
	began, release chan struct{}
	once           sync.Once
}

func (s *stuck) Put(ctx context.Context, all []project.Document) error {
	s.once.Do(func() { close(s.began) })
	select {
	case <-s.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.pictures.Put(ctx, all)
}

// Trap: a bulk retry floods what is written outwards, and new tasks wait behind it. A sink that does not come to its end holds up
// nothing: while 100 retries wait to be written, new records are taken and their jobs end.
//
// part of: S3, S7
func TestS3_KafkaTrap15_ABulkRetryHoldsUpNoNewTask(t *testing.T) {
	t.Parallel()
	address, name := broker(t), "flood_tasks"
	topic(t, address, name, 1)
	s := memory.New(memory.Options{})
	client, err := redrive.New(s, &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	redrive.HandleRaw(client, "chat", func(_ context.Context, j *redrive.Job[[]byte]) error {
		if j.Life == 1 && !strings.Contains(string(j.Args), `"n": 100}`) {
			return failure.Permanent(errors.New("no such model"))
		}
		return nil
	}, nil)
	docs := &stuck{pictures: pictures{all: map[string]project.Document{}}, began: make(chan struct{}), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- client.Run(ctx) }()
	go func() {
		ended <- stream.Run(ctx, client, &stream.Config{Name: name, Brokers: []string{address}, Topic: name, Store: s, Kinds: map[string]string{"chat_completion": "chat"},
			Documents: docs, Log: slog.New(slog.DiscardHandler)})
	}()
	count := func(state job.State) (n int64) {
		counts, err := client.Counts(t.Context())
		if err != nil {
			t.Error(err)
		}
		for _, c := range counts {
			if c.State == state {
				n += c.N
			}
		}
		return n
	}
	produce(t, address, name, tasks(0, 100))
	eventually(t, "all are dead", func() bool { return count(job.Dead) == 100 })
	<-docs.began
	if _, err := client.Act(t.Context(), redrive.By{Actor: "ann"}, redrive.Action{Do: redrive.ActRetry, Filter: &redrive.DeadFilter{}, Limit: 1_000}, nil); err != nil {
		t.Fatal(err)
	}
	produce(t, address, name, tasks(100, 101))
	eventually(t, "the new task and all that were retried have completed", func() bool { return count(job.Completed) == 101 })
	close(docs.release)
	eventually(t, "each dead letter has its document", func() bool {
		docs.mu.Lock()
		defer docs.mu.Unlock()
		return len(docs.all) == 100
	})
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
