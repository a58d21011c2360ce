package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mode is what is timed.
type mode string

const (
	enqueue mode = "enqueue" // producers store jobs, nothing runs them
	process mode = "process" // stored jobs are run until the database has all completed
	both    mode = "both"    // producers store while workers run, until all have completed
)

// settledEvery is how often the database is asked whether all is done, once
// every handler has run: the error of a time, not a load on the peer.
const settledEvery = 2 * time.Millisecond

// stopWait bounds the orderly end of a peer after its numbers are taken.
const stopWait = 10 * time.Second

// measurement is one run of one setting.
type measurement struct {
	seconds    float64
	durability string
	rowsLeft   int
	runs       int64 // handler calls; more than jobs means that some ran twice
}

// measure opens the peer on an empty database below o.dir, takes the time of
// one mode and removes the database.
func measure(ctx context.Context, s setting, m mode, o options) (out measurement, err error) {
	dir, err := os.MkdirTemp(o.dir, "redrive-bench-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	calls := newTally(o.jobs)
	p, err := s.open(ctx, dir, load{
		workers: o.workers,
		payload: strings.Repeat("x", o.payload),
		handled: calls.add,
		log:     o.log,
	})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	if out.durability, err = p.Durability(ctx); err != nil {
		return out, err
	}
	out.seconds, err = timed(ctx, p, m, o, calls)
	out.runs = calls.n.Load()
	if err != nil {
		return out, err
	}
	out.rowsLeft, err = p.RowsLeft(ctx)
	return out, err
}

// timed runs one mode and returns the seconds that it took.
func timed(ctx context.Context, p peer, m mode, o options, calls *tally) (_ float64, err error) {
	if m == process {
		if err := p.Preload(ctx, o.jobs); err != nil {
			return 0, fmt.Errorf("preload: %w", err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("not done within %v", o.limit))
	defer cancel()
	start := o.now()
	if m != enqueue {
		if err := p.Start(ctx); err != nil {
			return 0, fmt.Errorf("start: %w", err)
		}
		defer func() { err = errors.Join(err, stop(ctx, p)) }()
	}
	if m != process {
		if err := enqueueAll(ctx, p, o.jobs, o.producers); err != nil {
			return 0, err
		}
	}
	if m != enqueue {
		if err := awaitCompleted(ctx, p, calls); err != nil {
			return 0, err
		}
	}
	return o.now().Sub(start).Seconds(), nil
}

func stop(ctx context.Context, p peer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// enqueueAll stores jobs from as many goroutines as there are producers, each
// waiting for its own commit. The first error ends them all.
func enqueueAll(ctx context.Context, p peer, jobs, producers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for ctx.Err() == nil && taken.Add(1) <= int64(jobs) {
				if err := p.Enqueue(ctx); err != nil {
					cancel(fmt.Errorf("enqueue: %w", err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// awaitCompleted waits until every handler has run and then until the database
// holds no unfinished job.
func awaitCompleted(ctx context.Context, p peer, calls *tally) error {
	select {
	case <-calls.full:
	case <-ctx.Done():
		return fmt.Errorf("%d of %d jobs run: %w", calls.n.Load(), calls.want, context.Cause(ctx))
	}
	tick := time.NewTicker(settledEvery)
	defer tick.Stop()
	for {
		left, err := p.Unfinished(ctx)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if left == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d jobs ran but are not completed: %w", left, context.Cause(ctx))
		}
	}
}

// tally counts handler calls and says when the wanted number is reached.
type tally struct {
	want int64
	n    atomic.Int64
	full chan struct{}
}

func newTally(want int) *tally {
	return &tally{want: int64(want), full: make(chan struct{})}
}

func (t *tally) add() {
	if t.n.Add(1) == t.want {
		close(t.full)
	}
}
