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

// A claim is made before the deadline of its job, but its transaction waits for a lock until after
// the deadline. The handler does not begin, and the job expires.
//
// part of: D1
func TestD1_NothingBeginsAfterItsDeadline(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	st, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, StatementTimeout: time.Minute, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	client, err := redrive.New(st, &redrive.Config{TempDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var begun atomic.Int32
	redrive.HandleRaw(client, "late", func(context.Context, *redrive.Job[[]byte]) error { begun.Add(1); return nil }, nil)
	now := time.Now()
	deadline := now.Add(6 * time.Second) // the claim must be made before it, also on a busy machine
	receipt, err := client.Enqueue(t.Context(), redrive.NewRaw("late", nil, &redrive.Options{RunAt: now.Add(2 * time.Second), Deadline: deadline}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var ended error
	running := make(chan struct{})
	go func() { ended = client.Run(ctx); close(running) }()
	t.Cleanup(func() { stop(); <-running })
	admin, look := users(t, dsn), users(t, dsn)
	soon := time.NewTicker(10 * time.Millisecond)
	defer soon.Stop()
	for here := 0; here == 0; <-soon.C { // until the process has written that it is here, which needs the lock, too
		processes, err := client.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		here = len(processes)
	}
	admin.exec(fmt.Sprintf(`BEGIN; LOCK TABLE %s.redrive_events IN ACCESS EXCLUSIVE MODE`, schema))
	for locked := false; !locked; <-soon.C { // until the claim holds the row of the job, and waits for the lock
		locked = look.number(fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s.redrive_jobs WHERE id = %d FOR UPDATE SKIP LOCKED) j`,
			schema, receipt.ID)) == 0
		if time.Now().After(deadline) {
			t.Skip("this machine is too slow: the job was not claimed before its deadline")
		}
	}
	look.exec(fmt.Sprintf(`SELECT pg_sleep_until(to_timestamp(%d))`, deadline.Unix()+1))
	admin.exec(`COMMIT`)
	for j := (job.Job{}); j.State != job.Dead; <-soon.C {
		if j, err = client.Get(t.Context(), receipt.ID); err != nil {
			t.Fatal(err)
		}
		if begun.Load() > 0 {
			t.Fatal("the handler has begun after the deadline of its job")
		}
	}
	stop()
	if <-running; ended != nil {
		t.Error(ended)
	}
}
