package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/redrive/redrive/bench/agent"
)

func riverSQLite() agent.Program {
	return agent.Program{Modules: []string{"github.com/riverqueue/river", "modernc.org/sqlite"}, Open: openRiver}
}

type riverArgs agent.Args

func (riverArgs) Kind() string { return "bench" }

type riverSystem struct {
	db     *sql.DB
	client *river.Client[*sql.Tx]
	work   *agent.Work
}

// openRiver sets River up with one connection, as its driver's documentation requires.
func openRiver(ctx context.Context, c agent.Config, w *agent.Work) (_ agent.System, err error) {
	parameters := "_journal_mode=WAL&_synchronous=FULL&_pragma=busy_timeout(5000)"
	config := river.Config{Logger: slog.New(slog.DiscardHandler), MaxAttempts: 1}
	if c.Tuned { // with the same intervals as River's own benchmark
		parameters += "&_pragma=cache_size(-65536)&_pragma=temp_store(memory)"
		config.FetchCooldown = 2 * time.Millisecond
		config.FetchPollInterval = 20 * time.Millisecond
	}
	db, err := openSQLite(c.Dir, "jobs.db", parameters)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(1)
	driver := riversqlite.New(db)
	if c.Create {
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: config.Logger})
		if err != nil {
			return nil, fmt.Errorf("set up River's migrations: %w", err)
		}
		if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return nil, fmt.Errorf("migrate River's tables: %w", err)
		}
	}
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.Workers}}
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, river.WorkFunc(func(_ context.Context, j *river.Job[riverArgs]) error {
		return w.Do(j.Args.N)
	}))
	client, err := river.NewClient(driver, &config)
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return &riverSystem{db, client, w}, nil
}

func (r *riverSystem) Bulk(ctx context.Context, first, n int) error {
	return agent.Steps(first, n, func(first, n int) error {
		batch := make([]river.InsertManyParams, n)
		for i := range batch {
			batch[i].Args = riverArgs(r.work.Args(first + i))
		}
		_, err := r.client.InsertManyFast(ctx, batch)
		return err
	})
}

func (r *riverSystem) Enqueue(ctx context.Context, n int) (string, error) {
	result, err := r.client.Insert(ctx, riverArgs(r.work.Args(n)), nil)
	if err != nil {
		return "", err
	}
	return decimal(result.Job.ID), nil
}

func (r *riverSystem) Start(ctx context.Context) error { return r.client.Start(ctx) }

func (r *riverSystem) Stop(ctx context.Context) error { return r.client.Stop(ctx) }

// Unfinished names the states in its query, so that SQLite uses the index on state.
func (r *riverSystem) Unfinished(ctx context.Context) (n int, err error) {
	return n, scan(ctx, r.db, `SELECT count(*) FROM river_job WHERE state IN
		('available', 'running', 'retryable', 'scheduled', 'pending')`, &n)
}

func (r *riverSystem) Counts(ctx context.Context) (n agent.Counts, err error) {
	return n, scan(ctx, r.db, `SELECT coalesce(sum(state NOT IN ('completed', 'discarded', 'cancelled')), 0),
		coalesce(sum(state = 'completed'), 0), coalesce(sum(state IN ('discarded', 'cancelled')), 0) FROM river_job`,
		&n.Unfinished, &n.Finished, &n.Dead)
}

func (r *riverSystem) Known(ctx context.Context, ids []string) ([]byte, error) {
	return known(ctx, r.db, `SELECT CAST(id AS TEXT), state IN ('completed', 'discarded', 'cancelled') FROM river_job`, ids)
}

func (r *riverSystem) Durability(ctx context.Context) (string, error) { return pragmas(ctx, r.db) }

func (r *riverSystem) Close() error { return r.db.Close() }
