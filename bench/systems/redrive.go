package systems

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// redriveSystem is redrive with its defaults on either store. It keeps all records
// of a job: history, events, counters, failures and dead letters.
type redriveSystem struct {
	store  store.Store
	client *redrive.Client
	work   *agent.Work
	cancel context.CancelFunc
	ended  chan error

	rows       func(context.Context) (agent.Counts, error) // counts the rows of the tables, without the use of redrive's counters
	durability func(context.Context) (string, error)
	closeRows  func() error
}

const redriveKind redrive.Kind[agent.Args] = "bench"

// redriveRows counts the rows of live, finished and dead jobs.
const redriveRows = `SELECT (SELECT count(*) FROM redrive_jobs), (SELECT count(*) FROM redrive_done),
	(SELECT count(*) FROM redrive_dead WHERE status = 0)`

func newRedrive(s store.Store, c agent.Config, w *agent.Work) (*redriveSystem, error) {
	client, err := redrive.New(s, &redrive.Config{
		Queues:   map[string]redrive.Queue{redrive.DefaultQueue: {Workers: c.Workers}},
		Schedule: &policy.Schedule{MaxRetries: policy.NoRetry},
		TempDir:  filepath.Join(c.Dir, "tmp"),
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	redrive.Handle(client, redriveKind, func(_ context.Context, j *redrive.Job[agent.Args]) error {
		return w.Do(j.Args.N)
	}, nil)
	return &redriveSystem{store: s, client: client, work: w, ended: make(chan error, 1)}, nil
}

func (r *redriveSystem) spec(n int) redrive.Spec { return redriveKind.New(r.work.Args(n), nil) }

func (r *redriveSystem) Bulk(ctx context.Context, first, n int) error {
	specs := make([]redrive.Spec, 0, agent.BulkStep)
	return agent.Steps(first, n, func(first, n int) error {
		specs = specs[:0]
		for i := range n {
			specs = append(specs, r.spec(first+i))
		}
		_, err := r.client.EnqueueMany(ctx, specs)
		return err
	})
}

func (r *redriveSystem) Enqueue(ctx context.Context, n int) (string, error) {
	receipt, err := r.client.Enqueue(ctx, r.spec(n))
	return receipt.ID.String(), err
}

func (r *redriveSystem) Start(ctx context.Context) error {
	ctx, r.cancel = context.WithCancel(ctx)
	go func() { r.ended <- r.client.Run(ctx) }()
	return nil
}

func (r *redriveSystem) Stop(context.Context) error {
	r.cancel()
	return <-r.ended
}

// Unfinished reads redrive's counters, which are written with each change.
func (r *redriveSystem) Unfinished(ctx context.Context) (n int, err error) {
	rows, err := r.store.Counts(ctx)
	for _, row := range rows {
		if !row.State.Terminal() {
			n += int(row.N)
		}
	}
	return n, err
}

func (r *redriveSystem) Counts(ctx context.Context) (agent.Counts, error) { return r.rows(ctx) }

func (r *redriveSystem) Known(ctx context.Context, ids []string) ([]byte, error) {
	found := make([]byte, len(ids))
	for i, id := range ids {
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the job id %q: %w", id, err)
		}
		j, err := r.client.Get(ctx, job.ID(number))
		switch {
		case errors.Is(err, store.ErrNotFound):
			found[i] = agent.Unknown
		case err != nil:
			return nil, err
		default:
			found[i] = agent.StateOf(j.State.Terminal())
		}
	}
	return found, nil
}

func (r *redriveSystem) Durability(ctx context.Context) (string, error) { return r.durability(ctx) }

func (r *redriveSystem) Close() error { return errors.Join(r.closeRows(), r.store.Close()) }
