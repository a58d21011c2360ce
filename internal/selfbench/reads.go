package selfbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/seed"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

const (
	readMax   = 100 * time.Millisecond // highest accepted p99 of a read
	readCalls = 100                    // number of measured calls of each read
	// readBudget ends the calls of a read that misses its target by far.
	readBudget = 30 * time.Second
)

// read is one call of the client that is measured. i is the number of the call: each call
// asks for something else.
type read struct {
	name string
	most time.Duration
	do   func(ctx context.Context, i int) error
}

// readFigures prints the p99 of each read beside the database with many jobs.
func (b *bencher) readFigures(ctx context.Context, p *printer, in Seeded) (err error) {
	cache, err := in.cache(b.log)
	if err != nil {
		return err
	}
	s, on, err := openSeeded(ctx, cache, in.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	client, err := redrive.New(s.Store, &redrive.Config{
		Queues:  map[string]redrive.Queue{deadQueue: {Workers: 1}},
		TempDir: filepath.Join(b.folder(), "tmp"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	for _, r := range newReader(client, in.shape(), s.now).all() {
		before := processorTime()
		took, err := r.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		each := (processorTime() - before) / time.Duration(len(took)+1)
		fmt.Fprintf(b.log, "%-55s p50 %9.2f ms, p99 %9.2f ms, %9.2f ms of a processor in this process\n", r.name,
			milliseconds(took.at(0.5)), milliseconds(took.at(0.99)), milliseconds(each))
		name := fmt.Sprintf("%s beside %d jobs on %s, p99", r.name, in.shape().Jobs(), on)
		if err := p.below(name, took.at(0.99), r.most); err != nil {
			return err
		}
	}
	return nil
}

// measure calls the read several times, once before to fill the caches. A read that the
// store ends, because it takes too long, counts with its time.
func (r *read) measure(ctx context.Context) (took latencies, err error) {
	if err := r.do(ctx, 0); err != nil && !errors.Is(err, store.ErrUnavailable) {
		return nil, err
	}
	began := time.Now()
	for i := 1; i <= readCalls && time.Since(began) < readBudget; i++ {
		begin := time.Now()
		if err := r.do(ctx, i); err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took, nil
}

// seeded is an opened database with many jobs.
type seeded struct {
	store.Store
	now   job.Micros // the end of its history
	close func() error
}

// openSeeded opens the database with many jobs. The store's clock goes on where the history
// ends, so that jobs that are due soon stay due soon.
func openSeeded(ctx context.Context, c *seed.Cache, dsn string) (s seeded, on string, err error) {
	open := func(clock func() time.Time) (store.Store, func() error, error) {
		path, err := c.File(ctx)
		if err != nil {
			return nil, nil, err
		}
		f, err := sqlite.Open(ctx, path, &sqlite.Options{Clock: clock})
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
	on = "SQLite"
	if dsn != "" {
		on = "PostgreSQL"
		open = func(clock func() time.Time) (store.Store, func() error, error) {
			schema, err := c.Schema(ctx, dsn)
			if err != nil {
				return nil, nil, err
			}
			p, err := postgres.Open(ctx, dsn, &postgres.Options{Schema: schema, Clock: clock})
			if err != nil {
				return nil, nil, err
			}
			return p, p.Close, nil
		}
	}
	first, closeFirst, err := open(nil)
	if err != nil {
		return s, on, err
	}
	end, err := seed.End(ctx, first)
	if err = errors.Join(err, closeFirst()); err != nil {
		return s, on, err
	}
	began := time.Now()
	s.now = end
	s.Store, s.close, err = open(func() time.Time { return end.Time().Add(time.Since(began)) })
	return s, on, err
}
