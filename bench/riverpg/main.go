// Command riverpg is an agent that runs River on PostgreSQL. It is a separate module, because
// River's SQLite driver in the other agent needs an older River than the PostgreSQL driver.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/redrive/redrive/bench/agent"
)

func main() {
	programs := map[string]agent.Program{"river-postgres": {
		Open: open,
		Modules: []string{
			"github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5", "github.com/jackc/pgx/v5",
		},
	}}
	if err := agent.Serve(context.Background(), programs, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type args agent.Args

// Kind implements river.JobArgs.
func (args) Kind() string { return "bench" }

type system struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	work   *agent.Work
}

// poolTuned is the size of the connection pool with which River was fastest in this benchmark.
const poolTuned = 20

func open(ctx context.Context, c agent.Config, w *agent.Work) (agent.System, error) {
	poolConfig, err := pgxpool.ParseConfig(c.Address)
	if err != nil {
		return nil, err
	}
	config := river.Config{Logger: slog.New(slog.DiscardHandler), MaxAttempts: 1}
	if c.Tuned { // with the same intervals as River's own benchmark
		poolConfig.MaxConns = poolTuned
		config.FetchCooldown = 2 * time.Millisecond
		config.FetchPollInterval = 20 * time.Millisecond
	}
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, err
	}
	s := &system{pool: pool, work: w}
	if err := s.set(ctx, c, config); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *system) set(ctx context.Context, c agent.Config, config river.Config) (err error) {
	driver := riverpgxv5.New(s.pool)
	if c.Create {
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: config.Logger})
		if err != nil {
			return fmt.Errorf("set up River's migrations: %w", err)
		}
		if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("migrate River's tables: %w", err)
		}
	}
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.Workers}}
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, river.WorkFunc(func(_ context.Context, j *river.Job[args]) error {
		return s.work.Do(j.Args.N)
	}))
	if s.client, err = river.NewClient(driver, &config); err != nil {
		return fmt.Errorf("make River's client: %w", err)
	}
	return nil
}

// Bulk stores jobs with COPY.
func (s *system) Bulk(ctx context.Context, first, n int) error {
	return agent.Steps(first, n, func(first, n int) error {
		batch := make([]river.InsertManyParams, n)
		for i := range batch {
			batch[i].Args = args(s.work.Args(first + i))
		}
		_, err := s.client.InsertManyFast(ctx, batch)
		return err
	})
}

func (s *system) Enqueue(ctx context.Context, n int) (string, error) {
	result, err := s.client.Insert(ctx, args(s.work.Args(n)), nil)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(result.Job.ID, 10), nil
}

func (s *system) Start(ctx context.Context) error { return s.client.Start(ctx) }

func (s *system) Stop(ctx context.Context) error { return s.client.Stop(ctx) }

// Unfinished names the states in its query, so that PostgreSQL uses the index on state.
func (s *system) Unfinished(ctx context.Context) (n int, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FROM river_job
		WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending')`).Scan(&n)
	return n, err
}

func (s *system) Counts(ctx context.Context) (n agent.Counts, err error) {
	err = s.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state NOT IN ('completed', 'discarded', 'cancelled')),
		count(*) FILTER (WHERE state = 'completed'), count(*) FILTER (WHERE state IN ('discarded', 'cancelled'))
		FROM river_job`).Scan(&n.Unfinished, &n.Finished, &n.Dead)
	return n, err
}

func (s *system) Known(ctx context.Context, ids []string) ([]byte, error) {
	rows, err := s.pool.Query(ctx, `SELECT id::text, state IN ('completed', 'discarded', 'cancelled') FROM river_job`)
	if err != nil {
		return nil, err
	}
	states := make(map[string]byte)
	var id string
	var finished bool
	_, err = pgx.ForEachRow(rows, []any{&id, &finished}, func() error {
		states[id] = agent.StateOf(finished)
		return nil
	})
	return agent.LookUp(states, ids), err
}

func (s *system) Durability(ctx context.Context) (string, error) {
	var fsync, commit string
	err := s.pool.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&fsync, &commit)
	return fmt.Sprintf("fsync=%s synchronous_commit=%s", fsync, commit), err
}

func (s *system) Close() error {
	s.pool.Close()
	return nil
}
