package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

// redriveSettings: there is one, the defaults.
func redriveSettings() []setting {
	return []setting{{
		peer: "redrive", name: "default", modules: []string{"modernc.org/sqlite"},
		open: openRedrive,
	}}
}

type redrivePeer struct {
	store   *sqlite.Store
	client  *redrive.Client
	payload string
	cancel  context.CancelFunc
	ended   chan error
}

type redriveArgs struct{ Payload string }

const redriveKind redrive.Kind[redriveArgs] = "bench"

func openRedrive(ctx context.Context, dir string, l load) (peer, error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, "redrive.db"), nil)
	if err != nil {
		return nil, err
	}
	client, err := redrive.New(s, &redrive.Config{
		Queues:  map[string]redrive.Queue{redrive.DefaultQueue: {Workers: l.workers}},
		TempDir: filepath.Join(dir, "tmp"),
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	redrive.Handle(client, redriveKind, func(context.Context, *redrive.Job[redriveArgs]) error {
		l.handled()
		return nil
	}, nil)
	return &redrivePeer{store: s, client: client, payload: l.payload, ended: make(chan error, 1)}, nil
}

func (p *redrivePeer) spec() redrive.Spec { return redriveKind.New(redriveArgs{p.payload}, nil) }

func (p *redrivePeer) Preload(ctx context.Context, n int) error {
	for left := n; left > 0; {
		specs := make([]redrive.Spec, min(left, 1000))
		for i := range specs {
			specs[i] = p.spec()
		}
		if _, err := p.client.EnqueueAll(ctx, specs); err != nil {
			return err
		}
		left -= len(specs)
	}
	return nil
}

func (p *redrivePeer) Enqueue(ctx context.Context) error {
	_, err := p.client.Enqueue(ctx, p.spec())
	return err
}

func (p *redrivePeer) Start(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(ctx)
	go func() { p.ended <- p.client.Run(ctx) }()
	return nil
}

func (p *redrivePeer) Stop(context.Context) error {
	p.cancel()
	return <-p.ended
}

// Unfinished and RowsLeft read the counters, which are written with each change.
func (p *redrivePeer) Unfinished(ctx context.Context) (int, error) {
	return p.count(ctx, func(s job.State) bool { return !s.Terminal() })
}

func (p *redrivePeer) RowsLeft(ctx context.Context) (int, error) {
	return p.count(ctx, func(job.State) bool { return true })
}

func (p *redrivePeer) count(ctx context.Context, counts func(job.State) bool) (n int, err error) {
	rows, err := p.store.Counts(ctx)
	for _, row := range rows {
		if counts(row.State) {
			n += int(row.N)
		}
	}
	return n, err
}

func (p *redrivePeer) Durability(ctx context.Context) (words string, err error) {
	err = p.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		words, err = readDurability(ctx, tx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the settings back: %w", err)
	}
	return words, nil
}

func (p *redrivePeer) Close() error { return p.store.Close() }
