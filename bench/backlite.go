package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mikestefanello/backlite"
)

// backliteSettings: backlite takes any driver, so it runs on the same pure Go
// one as the others.
func backliteSettings() []setting {
	modules := []string{"github.com/mikestefanello/backlite", "modernc.org/sqlite"}
	return []setting{
		{
			// One connection, because a busy database makes backlite drop the
			// completion of a task.
			peer: "backlite", name: "full", modules: modules,
			open: func(_ context.Context, dir string, l load) (peer, error) {
				return openBacklite[bareTask](dir, walFull+"&"+largeCache, 1, l)
			},
		},
		{
			// The README's data source, client and task. The driver of that
			// README commits with synchronous=NORMAL once the journal is a WAL.
			peer: "backlite", name: "readme", modules: modules,
			open: func(_ context.Context, dir string, l load) (peer, error) {
				return openBacklite[keptTask](dir, "_journal=WAL&_timeout=5000&_synchronous=NORMAL", 0, l)
			},
		},
	}
}

// backliteTask is a type whose values can be made from a payload.
type backliteTask interface {
	~struct{ Payload string }
	backlite.Task
}

// bareTask keeps nothing of a completed task, which is backlite's default.
type bareTask struct{ Payload string }

func (bareTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{
		Name: "bench", MaxAttempts: 5, Backoff: 5 * time.Second, Timeout: 10 * time.Second,
	}
}

// keptTask keeps a row of each completed task, as the README's example does.
type keptTask struct{ Payload string }

func (keptTask) Config() backlite.QueueConfig {
	config := bareTask{}.Config()
	config.Retention = &backlite.Retention{
		Duration: 6 * time.Hour,
		Data:     &backlite.RetainData{OnlyFailed: true},
	}
	return config
}

type backlitePeer struct {
	db     *sql.DB
	client *backlite.Client
	task   backlite.Task
}

// openBacklite sets backlite up for tasks of type T on at most conns
// connections, 0 for no limit.
func openBacklite[T backliteTask](dir, parameters string, conns int, l load) (_ peer, err error) {
	db, err := openSQLite(dir, parameters)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db.SetMaxOpenConns(conns)
	client, err := backlite.NewClient(backlite.ClientConfig{
		DB: db, Logger: l.log, NumWorkers: l.workers,
		ReleaseAfter: 10 * time.Minute, CleanupInterval: time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("make backlite's client: %w", err)
	}
	client.Register(backlite.NewQueue(func(context.Context, T) error {
		l.handled()
		return nil
	}))
	if err = client.Install(); err != nil {
		return nil, fmt.Errorf("install backlite's tables: %w", err)
	}
	return &backlitePeer{db: db, client: client, task: T{Payload: l.payload}}, nil
}

func (p *backlitePeer) Preload(ctx context.Context, n int) error {
	batch := slices.Repeat([]backlite.Task{p.task}, preloadBatch)
	for ; n > 0; n -= preloadBatch {
		if _, err := p.client.Add(batch[:min(n, preloadBatch)]...).Ctx(ctx).Save(); err != nil {
			return err
		}
	}
	return nil
}

func (p *backlitePeer) Enqueue(ctx context.Context) error {
	_, err := p.client.Add(p.task).Ctx(ctx).Save()
	return err
}

// Start lets the dispatcher outlive ctx: Stop ends it in order.
func (p *backlitePeer) Start(ctx context.Context) error {
	p.client.Start(context.WithoutCancel(ctx))
	return nil
}

func (p *backlitePeer) Stop(ctx context.Context) error {
	if !p.client.Stop(ctx) {
		return fmt.Errorf("stop backlite: workers still busy: %w", context.Cause(ctx))
	}
	return nil
}

func (p *backlitePeer) Unfinished(ctx context.Context) (int, error) {
	return count(ctx, p.db, "SELECT count(*) FROM backlite_tasks")
}

func (p *backlitePeer) RowsLeft(ctx context.Context) (int, error) {
	return count(ctx, p.db, `SELECT (SELECT count(*) FROM backlite_tasks) +
		(SELECT count(*) FROM backlite_tasks_completed)`)
}

func (p *backlitePeer) Durability(ctx context.Context) (string, error) {
	return readDurability(ctx, p.db)
}

func (p *backlitePeer) Close() error { return p.db.Close() }
