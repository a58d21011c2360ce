package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/postgres"
)

// Somebody's open transaction holds the row of a job that has ended: psql, or a
// program that has called CompleteTx and hangs. The process goes on with all others.
//
// part of: Q10
func TestQ10_AHeldRowStopsNoClaims(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	st, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	psql := users(t, dsn)
	client, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const kind = redrive.Kind[int]("work")
	const others = 20
	var ended atomic.Int32
	all := make(chan struct{})
	redrive.Handle(client, kind, func(ctx context.Context, j *redrive.Job[int]) error {
		switch {
		case j.Args == 0:
			if _, err := psql.conn.Exec(ctx, fmt.Sprintf(`BEGIN; SELECT 1 FROM %s.redrive_jobs WHERE id = %d FOR UPDATE`, schema, j.ID)); err != nil {
				return err
			}
			for i := range others { // claimed when the outcome of this one is known to be late
				if _, err := client.Enqueue(ctx, kind.New(i+1, &redrive.Options{Priority: job.PriorityMin})); err != nil {
					return err
				}
			}
		case ended.Add(1) == others:
			close(all)
		}
		return nil
	}, &redrive.HandlerOptions{Workers: 1})
	receipt, err := client.Enqueue(t.Context(), kind.New(0, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- client.Run(ctx) }()
	limited, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-all:
	case <-limited.Done():
		t.Fatalf("%d of %d other jobs have run", ended.Load(), others)
	}
	if held, err := client.Get(t.Context(), receipt.ID); err != nil || held.State != job.Running {
		t.Errorf("the job whose row is held is %s, %v", held.State, err)
	}
	psql.exec(`COMMIT`)
	if err := client.WaitIdle(limited); err != nil {
		t.Error(err)
	}
	if held, err := client.Get(t.Context(), receipt.ID); err != nil || held.State != job.Completed {
		t.Errorf("the job whose row was held is %s, %v", held.State, err)
	}
	stop()
	if err := <-running; err != nil {
		t.Error(err)
	}
}
