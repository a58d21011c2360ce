package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// riverSettings: one connection, as the driver's documentation asks for.
func riverSettings() []setting {
	modules := []string{
		"github.com/riverqueue/river",
		"github.com/riverqueue/river/riverdriver/riversqlite",
		"modernc.org/sqlite",
	}
	return []setting{
		{
			peer: "river-sqlite", name: "default", modules: modules,
			open: func(ctx context.Context, dir string, l load) (peer, error) {
				return openRiver(ctx, dir, walFull, river.Config{}, l)
			},
		},
		{
			// The intervals of River's own benchmark command: by default it
			// fetches ten times a second, once per free worker.
			peer: "river-sqlite", name: "tuned", modules: modules,
			open: func(ctx context.Context, dir string, l load) (peer, error) {
				return openRiver(ctx, dir, walFull+"&"+largeCache, river.Config{
					FetchCooldown:     2 * time.Millisecond,
					FetchPollInterval: 20 * time.Millisecond,
				}, l)
			},
		},
	}
}

type riverArgs struct {
	Payload string `json:"payload"`
}

func (riverArgs) Kind() string { return "bench" }

type riverPeer struct {
	db      *sql.DB
	client  *river.Client[*sql.Tx]
	payload string
}

func openRiver(ctx context.Context, dir, parameters string, config river.Config, l load) (_ peer, err error) {
	db, err := openSQLite(dir, parameters)
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

	config.Logger = l.log
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: config.Logger})
	if err != nil {
		return nil, fmt.Errorf("set up River's migrations: %w", err)
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate River's tables: %w", err)
	}

	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: l.workers}}
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, river.WorkFunc(func(context.Context, *river.Job[riverArgs]) error {
		l.handled()
		return nil
	}))
	client, err := river.NewClient(driver, &config)
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return &riverPeer{db: db, client: client, payload: l.payload}, nil
}

func (p *riverPeer) Preload(ctx context.Context, n int) error {
	batch := slices.Repeat([]river.InsertManyParams{{Args: riverArgs{p.payload}}}, preloadBatch)
	for ; n > 0; n -= preloadBatch {
		if _, err := p.client.InsertManyFast(ctx, batch[:min(n, preloadBatch)]); err != nil {
			return err
		}
	}
	return nil
}

func (p *riverPeer) Enqueue(ctx context.Context) error {
	_, err := p.client.Insert(ctx, riverArgs{p.payload}, nil)
	return err
}

// Start lets the client outlive ctx: Stop ends it in order.
func (p *riverPeer) Start(ctx context.Context) error {
	return p.client.Start(context.WithoutCancel(ctx))
}

func (p *riverPeer) Stop(ctx context.Context) error { return p.client.Stop(ctx) }

// Unfinished names the states, so that the index on state answers.
func (p *riverPeer) Unfinished(ctx context.Context) (int, error) {
	return count(ctx, p.db, `SELECT count(*) FROM river_job WHERE state IN
		('available', 'running', 'retryable', 'scheduled', 'pending', 'cancelled', 'discarded')`)
}

func (p *riverPeer) RowsLeft(ctx context.Context) (int, error) {
	return count(ctx, p.db, "SELECT count(*) FROM river_job")
}

func (p *riverPeer) Durability(ctx context.Context) (string, error) {
	return readDurability(ctx, p.db)
}

func (p *riverPeer) Close() error { return p.db.Close() }
