package selfbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

const (
	freshKind  = "fresh"
	freshDead  = 1_000_000 // the number of dead letters for the bulk retry
	freshPulse = 2 * time.Millisecond
	freshMost  = 1.2 // highest accepted ratio of the p99 with a bulk retry to the p99 without one

	// Time windows with and without the bulk retry alternate. So a disturbance of the
	// machine, such as a disk that is slow for some seconds, affects both in the same way.
	// The figure compares the median p99 of both kinds of windows.
	freshTurns  = 15 // number of windows with the bulk retry, and also without it
	freshWindow = 2 * time.Second
	freshSettle = 250 * time.Millisecond // pause between two windows, so that running calls can end
)

// freshWork is new work that arrives at a constant rate, even if the store is slow.
type freshWork struct {
	client *redrive.Client
	rate   float64 // the rate at which jobs arrive, in jobs a second

	mu    sync.Mutex
	waits latencies // durations from the enqueue of a job to the start of its handler
	count atomic.Bool
}

// fresh measures how much later new jobs start while a bulk retry runs. New jobs arrive at
// half of the given capacity. It returns the p99 of the delay without and with the bulk
// retry, and the rate of the bulk retry in jobs a second.
func (b *bencher) fresh(ctx context.Context, dir string, capacity float64) (alone, beside time.Duration, rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*runMax)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, 0, 0, err
	}
	path := filepath.Join(dir, "fresh.db")
	if err := seedDead(ctx, path, freshDead); err != nil {
		return 0, 0, 0, err
	}
	client, closing, err := b.openClient(ctx, path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, closing()) }()
	w := &freshWork{client: client, rate: capacity / 2}
	for k := range deadKinds {
		redrive.HandleRaw(client, deadKind(k), func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil)
	}
	return w.beside(ctx, w.turns)
}

// openClient opens a database file and a client that runs jobs of the queue deadQueue. Call the
// returned function after the client has stopped.
func (b *bencher) openClient(ctx context.Context, path string) (client *redrive.Client, closing func() error, err error) {
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, nil, err
	}
	client, err = b.newClient(s, filepath.Dir(path))
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return client, s.Close, nil
}

// newClient returns a client that runs jobs of the queue deadQueue. dir is a folder for its
// temporary files.
func (b *bencher) newClient(s store.Store, dir string) (*redrive.Client, error) {
	return redrive.New(s, &redrive.Config{
		Queues:  map[string]redrive.Queue{deadQueue: {Workers: b.load.Workers}},
		TempDir: filepath.Join(dir, "tmp"), Logger: slog.New(slog.DiscardHandler),
	})
}

// beside calls the given function while the client runs and new jobs arrive, and returns its
// results.
func (w *freshWork) beside(ctx context.Context, measure func(context.Context) (alone, beside time.Duration, rate float64, err error),
) (alone, beside time.Duration, rate float64, err error) {
	redrive.Handle(w.client, redrive.Kind[int64](freshKind), w.start, nil)
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { _ = w.client.Run(running) }) // Run returns when its context ends
	all.Go(func() { w.arrive(running) })
	pause(ctx, 2*time.Second)
	return measure(running)
}

// turns measures windows with and without the bulk retry in alternation. The bulk retry is
// paused during the windows without it, and is stopped after the last window. It returns the same
// results as fresh.
func (w *freshWork) turns(ctx context.Context) (alone, beside time.Duration, rate float64, err error) {
	var without, with []float64
	var done atomic.Int64
	ctx, cancel := context.WithCancel(ctx)
	var gate sync.Mutex // locked while a window without the bulk retry is measured
	pass := func(n int64) {
		gate.Lock()
		done.Store(n)
		gate.Unlock()
	}
	gate.Lock()
	acted := make(chan error, 1)
	go func() {
		pass(0) // blocks until the first window has ended
		_, err := w.client.Act(ctx, redrive.By{Actor: "bench"}, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}, pass)
		acted <- err
	}()
	for range freshTurns {
		pause(ctx, freshSettle)
		without = append(without, float64(w.p99(ctx)))
		gate.Unlock()
		pause(ctx, freshSettle)
		before := done.Load()
		with = append(with, float64(w.p99(ctx)))
		rate += float64(done.Load()-before) / (freshWindow.Seconds() * freshTurns)
		gate.Lock()
	}
	cancel()
	gate.Unlock()
	if err = <-acted; errors.Is(err, context.Canceled) {
		err = nil
	} else if err == nil {
		err = errors.New("the bulk retry ended before it was measured")
	}
	return time.Duration(median(without)), time.Duration(median(with)), rate, err
}

// start is the handler of a new job. The payload of the job is the time of its enqueue.
func (w *freshWork) start(_ context.Context, j *redrive.Job[int64]) error {
	if w.count.Load() {
		wait := time.Since(time.Unix(0, j.Args))
		w.mu.Lock()
		w.waits = append(w.waits, wait)
		w.mu.Unlock()
	}
	return nil
}

// arrive enqueues jobs at the constant rate until the context ends. If a tick comes late, the next
// call enqueues the missed jobs too, because work arrives even when the store is slow.
func (w *freshWork) arrive(ctx context.Context) {
	ticker := time.NewTicker(freshPulse)
	defer ticker.Stop()
	begin, sent := time.Now(), 0
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		due := int(time.Since(begin).Seconds()*w.rate) - sent
		if due < 1 {
			continue
		}
		specs := make([]redrive.Spec, due)
		now := time.Now().UnixNano()
		for i := range specs {
			specs[i] = redrive.Kind[int64](freshKind).New(now, &redrive.Options{Queue: deadQueue})
		}
		sent += due
		calls.Go(func() { _, _ = w.client.EnqueueMany(ctx, specs) }) // jobs that are refused are not measured
	}
}

// p99 measures one window: it waits for the window's length and returns the p99 of the delays of
// new jobs in this time.
func (w *freshWork) p99(ctx context.Context) time.Duration { return w.window(ctx, freshWindow) }

// window is p99 for a window of the given length.
func (w *freshWork) window(ctx context.Context, length time.Duration) time.Duration {
	w.mu.Lock()
	w.waits = nil
	w.mu.Unlock()
	w.count.Store(true)
	pause(ctx, length)
	w.count.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.waits)
	return w.waits.at(0.99)
}

// freshFigures prints how much a bulk retry delays new jobs.
func (b *bencher) freshFigures(ctx context.Context, p *printer) error {
	results, err := b.measure(ctx, b.both("enqueue+process", b.load.Jobs, b.load.Payload))
	if err != nil {
		return err
	}
	var ratios []float64
	for i := range b.load.Rounds {
		dir := filepath.Join(b.dir, fmt.Sprintf("fresh-%d", i))
		alone, beside, rate, err := b.fresh(ctx, dir, results[0].PerSecond)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "new jobs start with a p99 delay of %s alone, and of %s during a bulk retry of %.0f jobs/s\n", alone, beside, rate)
		ratios = append(ratios, float64(beside)/float64(alone))
	}
	return p.atMost(fmt.Sprintf("fresh work at half of capacity beside the retry of %d dead letters, p99", freshDead), median(ratios), "alone", freshMost)
}
