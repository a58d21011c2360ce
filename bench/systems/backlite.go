package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mikestefanello/backlite"

	"github.com/redrive/redrive/bench/agent"
)

func backliteProgram() agent.Program {
	return agent.Program{Modules: []string{"github.com/mikestefanello/backlite", "modernc.org/sqlite"}, Open: openBacklite}
}

// backliteTask keeps a row of each completed task, as in the README's example.
type backliteTask agent.Args

// Config implements backlite.Task.
func (backliteTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{
		Name: "bench", MaxAttempts: 1, Backoff: 5 * time.Second, Timeout: 10 * time.Second,
		Retention: &backlite.Retention{Duration: 6 * time.Hour},
	}
}

type backliteSystem struct {
	db     *sql.DB
	client *backlite.Client
	work   *agent.Work
}

// openBacklite sets backlite up with one connection, because it drops the completion of a task when
// the database is busy.
func openBacklite(_ context.Context, c agent.Config, w *agent.Work) (_ agent.System, err error) {
	db, err := openSQLite(c.Dir, "jobs.db", "_journal_mode=WAL&_synchronous=FULL&_pragma=busy_timeout(5000)"+
		"&_pragma=cache_size(-65536)&_pragma=temp_store(memory)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(1)
	client, err := backlite.NewClient(backlite.ClientConfig{
		DB: db, Logger: slog.New(slog.DiscardHandler), NumWorkers: c.Workers,
		ReleaseAfter: 10 * time.Minute, CleanupInterval: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("make backlite's client: %w", err)
	}
	client.Register(backlite.NewQueue(func(_ context.Context, t backliteTask) error { return w.Do(t.N) }))
	if c.Create {
		if err = client.Install(); err != nil {
			return nil, fmt.Errorf("install backlite's tables: %w", err)
		}
	}
	return &backliteSystem{db, client, w}, nil
}

func (b *backliteSystem) Bulk(ctx context.Context, first, n int) error {
	return agent.Steps(first, n, func(first, n int) error {
		batch := make([]backlite.Task, n)
		for i := range batch {
			batch[i] = backliteTask(b.work.Args(first + i))
		}
		_, err := b.client.Add(batch...).Ctx(ctx).Save()
		return err
	})
}

func (b *backliteSystem) Enqueue(ctx context.Context, n int) (string, error) {
	ids, err := b.client.Add(backliteTask(b.work.Args(n))).Ctx(ctx).Save()
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// Start gives the dispatcher a context that outlives ctx. Stop ends it normally.
func (b *backliteSystem) Start(ctx context.Context) error {
	b.client.Start(context.WithoutCancel(ctx))
	return nil
}

func (b *backliteSystem) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if !b.client.Stop(ctx) {
		return fmt.Errorf("stop backlite: workers still busy: %w", context.Cause(ctx))
	}
	return nil
}

// stopLimit is the time limit of Stop.
const stopLimit = 10 * time.Second

func (b *backliteSystem) Unfinished(ctx context.Context) (n int, err error) {
	return n, scan(ctx, b.db, "SELECT count(*) FROM backlite_tasks", &n)
}

func (b *backliteSystem) Counts(ctx context.Context) (n agent.Counts, err error) {
	return n, scan(ctx, b.db, `SELECT (SELECT count(*) FROM backlite_tasks),
		(SELECT count(*) FROM backlite_tasks_completed WHERE succeeded),
		(SELECT count(*) FROM backlite_tasks_completed WHERE NOT succeeded)`, &n.Unfinished, &n.Finished, &n.Dead)
}

func (b *backliteSystem) Known(ctx context.Context, ids []string) ([]byte, error) {
	return known(ctx, b.db, `SELECT id, 0 FROM backlite_tasks UNION ALL SELECT id, 1 FROM backlite_tasks_completed`, ids)
}

func (b *backliteSystem) Durability(ctx context.Context) (string, error) { return pragmas(ctx, b.db) }

func (b *backliteSystem) Close() error { return b.db.Close() }
