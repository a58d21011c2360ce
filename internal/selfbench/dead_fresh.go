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
	freshDead  = 200_000 // dead letters that come back meanwhile
	freshPulse = 2 * time.Millisecond
	freshWatch = 5 * time.Second
	freshMost  = 1.2 // times the p99 without a retry
)

// freshWork is work that arrives at its own pace, whatever else is going on.
type freshWork struct {
	client *redrive.Client
	rate   float64 // jobs a second

	mu    sync.Mutex
	waits latencies // from before the enqueue to the start of the handler
	count atomic.Bool
}

// fresh measures how much later fresh jobs start while a bulk retry brings dead
// ones back: the p99 of both, at half of what the machine can do.
func (b *bencher) fresh(ctx context.Context, dir string, capacity float64) (alone, beside time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, 0, err
	}
	path := filepath.Join(dir, "fresh.db")
	if err := seedDead(ctx, path, freshDead); err != nil {
		return 0, 0, err
	}
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	client, err := redrive.New(s, &redrive.Config{
		Queues:  map[string]redrive.Queue{deadQueue: {Workers: b.load.Workers}},
		TempDir: filepath.Join(dir, "tmp"), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, 0, err
	}
	w := &freshWork{client: client, rate: capacity / 2}
	for k := range deadKinds {
		redrive.HandleRaw(client, deadKind(k), func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil)
	}
	redrive.Handle(client, redrive.Kind[int64](freshKind), w.start, nil)
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { _ = client.Run(running) }) // ends with the context
	all.Go(func() { w.arrive(running) })

	pause(ctx, time.Second)
	alone = w.p99(func() error { pause(ctx, freshWatch); return nil }, &err)
	beside = w.p99(func() error {
		answer, err := client.Act(ctx, redrive.By{Actor: "bench"}, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}, nil)
		if err == nil && answer.Done != freshDead {
			err = fmt.Errorf("bulk retry: %d of %d", answer.Done, freshDead)
		}
		return err
	}, &err)
	return alone, beside, err
}

// start is the handler of a fresh job, whose payload is when it was enqueued.
func (w *freshWork) start(_ context.Context, j *redrive.Job[int64]) error {
	if w.count.Load() {
		wait := time.Since(time.Unix(0, j.Args))
		w.mu.Lock()
		w.waits = append(w.waits, wait)
		w.mu.Unlock()
	}
	return nil
}

// arrive enqueues at the pace until the context ends. A pulse that is late brings
// what it has missed: the world does not wait for a slow store.
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
		calls.Go(func() { _, _ = w.client.EnqueueAll(ctx, specs) }) // what is not taken in is not measured
	}
}

// p99 measures while something is done.
func (w *freshWork) p99(do func() error, err *error) time.Duration {
	w.mu.Lock()
	w.waits = nil
	w.mu.Unlock()
	w.count.Store(true)
	*err = errors.Join(*err, do())
	w.count.Store(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.waits)
	return w.waits.at(0.99)
}

// freshFigures print what a bulk retry does to fresh work.
func (b *bencher) freshFigures(ctx context.Context, p *printer) error {
	results, err := b.measure(ctx, b.both("enqueue+process", b.load.Jobs, b.load.Payload))
	if err != nil {
		return err
	}
	var ratios []float64
	for i := range b.load.Rounds {
		dir := filepath.Join(b.dir, fmt.Sprintf("fresh-%d", i))
		alone, beside, err := b.fresh(ctx, dir, results[0].PerSecond)
		if err != nil {
			return err
		}
		fmt.Fprintf(b.log, "fresh work: p99 %s alone, %s beside a bulk retry\n", alone, beside)
		ratios = append(ratios, float64(beside)/float64(alone))
	}
	ratio := median(ratios)
	return p.print(Figure{fmt.Sprintf("fresh work at half of capacity beside the retry of %d dead letters, p99", freshDead),
		fmt.Sprintf("<= %g x alone", freshMost), ratio, "x", 0, ratio <= freshMost})
}
