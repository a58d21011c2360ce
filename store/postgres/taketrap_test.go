package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// counted counts the statements and batches of all connections.
type counted struct{ n atomic.Int64 }

func (c *counted) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (*counted) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *counted) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (c *counted) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { c.n.Add(1) }
func (*counted) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)       {}

// Trap: one repeat among a thousand records sends all of them through one statement for each job. Repeats are normal in topics, and
// cost no more statements.
//
// part of: I1
func TestI1_KafkaTrap29_ARepeatAmongAThousandRecords(t *testing.T) {
	t.Parallel()
	var c counted
	s := fresh(t, &Options{BeforeConnect: func(_ context.Context, o *pgx.ConnConfig) error { o.Tracer = &c; return nil }})
	place := store.Place{TopicID: "t"}
	if _, err := s.BeginPositions(t.Context(), "chat", []store.Position{{Place: place, Topic: "tasks"}}); err != nil {
		t.Fatal(err)
	}
	const all, most = 1_000, 60
	model := newJob(t, s)
	at := int64(0)
	take := func(first int) (existing int, statements int64) {
		t.Helper()
		id, err := s.ReserveIDs(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		part := store.TakingPart{Place: place, From: at, Next: at + all}
		for i := range all {
			n := model
			n.ID, n.Key, n.Digest = id+job.ID(i), fmt.Sprint("k", first+i), []byte("d")
			part.Records = append(part.Records, store.Record{Offset: at + int64(i), Fate: store.FateTaken, Job: n})
		}
		before := c.n.Load()
		answer, err := s.Take(t.Context(), store.Taking{Stream: "chat", Parts: []store.TakingPart{part}})
		if err != nil {
			t.Fatal(err)
		}
		at += all
		for _, a := range answer {
			if a.Fate == store.FateExisting {
				existing++
			}
		}
		return existing, c.n.Load() - before
	}
	take(0) // the lane is made
	for first, want := range map[int]int{all * 10: 0, all*20 - 1: 0} {
		if existing, n := take(first); existing != want || n > most {
			t.Errorf("without repeats: %d existing jobs and %d statements, want at most %d", existing, n, most)
		}
	}
	if existing, n := take(all - 1); existing != 1 || n > most { // the key of the last record of the first call
		t.Errorf("with a repeat: %d existing jobs and %d statements, want one and at most %d", existing, n, most)
	}
}
