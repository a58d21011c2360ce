package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/own"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// unread returns a loop without a broker, for what it does with records.
func unread(t *testing.T, s store.Store) *loop {
	t.Helper()
	config := &Config{Name: "chat", Brokers: []string{"none:1"}, Topic: "tasks", Kinds: map[string]string{"chat": "chat"}, Log: slog.New(slog.DiscardHandler)}
	c, err := config.filled()
	if err != nil {
		t.Fatal(err)
	}
	client, err := redrive.New(s, &redrive.Config{Logger: c.Log})
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{Config: c, client: client, core: intake.New(c.Now(), int64(c.Backlog)), topic: kafka.Topic{Name: "tasks", ID: "t1"}, process: "p"}
	if _, err := client.BeginPositions(t.Context(), c.Name, []store.Position{{Place: l.topic.Place(0), Topic: "tasks"}}); err != nil {
		t.Fatal(err)
	}
	return l
}

// values returns what the loop makes of records with these values, from an offset on.
func (l *loop) values(from int64, values ...string) []intake.Part {
	read := kafka.Part{From: from, Next: from + int64(len(values))}
	for i, value := range values {
		read.Records = append(read.Records, wire.Record{Topic: "tasks", Offset: from + int64(i), Value: []byte(value)})
	}
	return l.polled([]kafka.Part{read}).Parts
}

func (l *loop) counts(t *testing.T) store.FateCounts {
	t.Helper()
	positions, err := l.client.Positions(t.Context(), l.Name)
	if err != nil || len(positions) != 1 {
		t.Fatalf("got %d positions (%v), want one", len(positions), err)
	}
	return positions[0].Counts
}

// Trap: after a rebalance two processes have the same partition, and each record becomes two jobs where keys do not prevent
// it. Here no job has a key, and eight owners read everything, in batches that do not agree.
//
// part of: S4
func TestS4_KafkaTrap2_OwnersOfOnePartition(t *testing.T) {
	t.Parallel()
	const all = 500
	s := memory.New(memory.Options{})
	l := unread(t, s)
	var owners sync.WaitGroup
	for size := 1; size <= 8; size++ {
		owners.Go(func() {
			for from := 0; from < all; from += size * 10 {
				part := redrive.RecordPart{Place: l.topic.Place(0), From: int64(from), Next: int64(min(all, from+size*10))}
				for at := part.From; at < part.Next; at++ {
					part.Records = append(part.Records, redrive.Record{Offset: at, Fate: store.FateTaken, Spec: redrive.NewRaw("chat", []byte("1"), nil)})
				}
				if _, err := l.client.Take(t.Context(), l.Name, []redrive.RecordPart{part}); err != nil && !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				} else if err != nil { // it was ahead of the others
					from -= size * 10
				}
			}
		})
	}
	owners.Wait()
	if got := l.counts(t); got.Taken != all || got.Read != all {
		t.Errorf("the records are %+v, want %d jobs", got, all)
	}
}

// Trap: names in records become kinds, and a million of them fill the store. All that are not declared are one kind.
//
// part of: F2, S6
func TestF2_KafkaTrap8_TenThousandNames(t *testing.T) {
	t.Parallel()
	const all = 10_000
	l := unread(t, memory.New(memory.Options{}))
	for from := 0; from < all; from += 1_000 {
		values := make([]string, 1_000)
		for i := range values {
			values[i] = fmt.Sprintf(`{"job_id":"j%d","task_type":"name-%d"}`, from+i, from+i)
		}
		done, err := l.do(t.Context(), intake.Take{Parts: l.values(int64(from), values...)})
		if taken, ok := done.(intake.Taken); err != nil || !ok || taken.Err != nil {
			t.Fatalf("got %+v (%v), want that they are taken", done, err)
		}
	}
	counts, err := l.client.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.N > 0 && (c.Kind != RecordKind || c.State != job.Dead || c.N != all) {
			t.Errorf("there are %d jobs of the kind %s in the state %s, want %d dead records only", c.N, c.Kind, c.State, all)
		}
	}
}

// Trap: a record that redrive has written on the retry topic is taken for a task. It is known by the id of the store, also when its
// job is gone; one of another store is left alone; one without an id is a task that asks for the next life of a dead one.
//
// part of: S2
func TestS2_KafkaTrap14_OwnRecords(t *testing.T) {
	t.Parallel()
	l := unread(t, memory.New(memory.Options{}))
	l.storeID = "mine"
	read := func(header string) intake.Item {
		r := &wire.Record{Topic: "retry", Value: []byte(`{"job_id":"j","task_type":"chat"}`)}
		if header != "" {
			r.Headers = []wire.Header{{Name: wire.JobHeader, Value: []byte(header)}}
		}
		return l.item(r)
	}
	for header, want := range map[string]store.Fate{"mine/99/1/1": store.FateOwn, "theirs/99/1/1": store.FateForeign, "": store.FateReplayed, "mine": store.FateReplayed} {
		if got := read(header); got.Fate != want || got.Revive != (want == store.FateReplayed) {
			t.Errorf("with the header %q the record is %+v, want the fate %s", header, got, want)
		}
	}
	l.storeID = "" // the primary topic
	if got := read("mine/99/1/1"); got.Fate != store.FateReplayed || got.Revive {
		t.Errorf("a forged header on the primary topic makes the record %+v, want a task", got)
	}
}

// Trap: jobs that wait for a retry count as backlog, and an outage of the model stops the intake.
//
// part of: S4
func TestS4_KafkaTrap20_RetryingJobsAreNoBacklog(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Options{})
	l := unread(t, s)
	const retrying = 200
	failed := make(chan struct{}, retrying)
	redrive.HandleRaw(l.client, "chat", func(context.Context, *redrive.Job[[]byte]) error {
		failed <- struct{}{}
		return errors.New("connection refused")
	}, nil)
	for range retrying {
		if _, err := l.client.Enqueue(t.Context(), redrive.NewRaw("chat", []byte("1"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.client.Run(ctx) }()
	for range retrying {
		<-failed
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	l.Backlog = 10
	counted, err := l.do(t.Context(), intake.Count{})
	if got, ok := counted.(intake.Counted); err != nil || !ok || got.Err != nil || got.Waiting >= 10 {
		t.Errorf("the backlog is %+v (%v), want none of the %d retrying jobs in it", counted, err, retrying)
	}
	l.paused = true
	counted, err = l.do(t.Context(), intake.Count{})
	if got, ok := counted.(intake.Counted); err != nil || !ok || got.Waiting != math.MaxInt64 {
		t.Errorf("of a paused stream the backlog is %+v (%v), want that nothing is read", counted, err)
	}
}

// Trap: the heartbeat of the client lives on while the intake hangs in the store. A take has a limit, after which it is tried
// again, and the records are taken once.
//
// part of: S4
func TestS4_KafkaTrap22_TheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(memory.New(memory.Options{}), nil)
		l := unread(t, faults)
		take := intake.Take{Parts: l.values(0, `{"job_id":"j","task_type":"chat"}`)}
		faults.Set(faultstore.Nth("Take", 1, faultstore.Fault{Hang: true}))
		begun := time.Now()
		done, err := l.do(own.Kinds(t.Context()), take)
		taken, ok := done.(intake.Taken)
		if took := time.Since(begun); err != nil || !ok || !errors.Is(taken.Err, context.DeadlineExceeded) || took != stopMax {
			t.Fatalf("after %s: %+v (%v), want the end of the limit of %s", took, done, err, stopMax)
		}
		for range 2 {
			if done, err = l.do(t.Context(), take); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.counts(t); got.Taken != 1 || got.Replayed != 1 {
			t.Errorf("the records are %+v (%+v), want one job", got, done)
		}
	})
}
