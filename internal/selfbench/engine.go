package selfbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// both measures enqueuing and running together: goroutines enqueue jobs one by one while
// one engine runs them. It returns the time until the last outcome is stored. options returns
// the options of the job with the given number.
func both(ctx context.Context, place soakPlace, dir string, l Load, options func(i int) redrive.Options) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	s, err := place.open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
	b, err := newBench(s, dir, l.Workers, succeed)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	run := b.work(ctx, l.Jobs)
	err = inParallel(l.Producers, l.Jobs, func(i int) error {
		o := options(i)
		o.Queue = "bench"
		_, err := b.client.Enqueue(ctx, redrive.NewRaw("noop", b.bytes(l.Payload), &o))
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := run(); err != nil {
		return 0, err
	}
	took = time.Since(start)
	return took, b.verify(ctx, succeeding(l.Jobs))
}

// process enqueues jobs in bulk and then measures the time until all attempts have run and
// their outcomes are stored.
func process(ctx context.Context, dir string, workers, payload int, w *work) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	b, err := openBench(ctx, dir, workers, w.attempt)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.preload(ctx, w.jobs, payload); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := b.work(ctx, w.attempts)(); err != nil {
		return 0, err
	}
	took = time.Since(start)
	return took, b.verify(ctx, w)
}

// enqueue measures how fast jobs are stored: one by one from many goroutines, or in batches
// from one goroutine.
func enqueue(ctx context.Context, dir string, jobs, producers, batch, payload int, keys bool) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	b, err := openBench(ctx, dir, 1, succeed)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	body := b.bytes(payload)
	start := time.Now()
	err = inParallel(producers, jobs/batch, func(i int) error {
		specs := make([]redrive.Spec, batch)
		for k := range specs {
			o := &redrive.Options{Queue: "bench"}
			if keys {
				o.Key = fmt.Sprintf("order-%016x", uint64(i*batch+k)*0x9E3779B97F4A7C15) // the multiplication spreads the keys over the index like random keys
			}
			specs[k] = redrive.NewRaw("noop", body, o)
		}
		_, err := b.client.EnqueueMany(ctx, specs)
		return err
	})
	return time.Since(start), err
}

// work describes the jobs and attempts of a measured run.
type work struct {
	jobs     int
	attempts int       // the number of attempts of all jobs together
	end      job.State // the state that all jobs must have after the run
	attempt  func(*redrive.Job[[]byte]) error
}

// succeeding returns the work of jobs that succeed at their first attempt.
func succeeding(jobs int) *work {
	return &work{jobs, jobs, job.Completed, succeed}
}

func succeed(*redrive.Job[[]byte]) error { return nil }

// benchRetries is the number of retries in the policy of the benchmark. There is no wait
// before a retry.
const benchRetries = 3

// bench is a store and a client with one kind of job. Its handler counts the attempts and
// returns the results that the work requires.
type bench struct {
	store  store.Store
	file   *sqlite.Store // the store; nil on PostgreSQL
	client *redrive.Client
	ran    atomic.Int64
	goal   atomic.Int64
	done   chan struct{}
}

func openBench(ctx context.Context, dir string, workers int, attempt func(*redrive.Job[[]byte]) error) (*bench, error) {
	s, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"), &sqlite.Options{ReadLimit: time.Minute}) // a long limit: a slow read must be measured and must not fail
	if err != nil {
		return nil, err
	}
	b, err := newBench(s, dir, workers, attempt)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	b.file = s
	return b, nil
}

func newBench(s store.Store, dir string, workers int, attempt func(*redrive.Job[[]byte]) error) (*bench, error) {
	client, err := redrive.New(s, &redrive.Config{
		Queues:   map[string]redrive.Queue{"bench": {Workers: workers}},
		Schedule: &policy.Schedule{Waits: []time.Duration{0}, MaxRetries: benchRetries},
		TempDir:  filepath.Join(dir, "tmp"),
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	b := &bench{store: s, client: client, done: make(chan struct{})}
	redrive.HandleRaw(client, "noop", func(_ context.Context, j *redrive.Job[[]byte]) error {
		if b.ran.Add(1) == b.goal.Load() {
			close(b.done)
		}
		return attempt(j)
	}, nil)
	return b, nil
}

func (b *bench) close() error { return b.store.Close() }

func (*bench) bytes(n int) []byte {
	body := make([]byte, n)
	for i := range body {
		body[i] = 'x'
	}
	if n >= 2 {
		body[0], body[n-1] = '"', '"'
	}
	return body
}

// work starts the engine. The returned function waits until the engine has run the given
// number of attempts, has stored their outcomes, and has stopped.
func (b *bench) work(ctx context.Context, attempts int) (wait func() error) {
	b.goal.Store(int64(attempts))
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.client.Run(ctx) }()
	return func() error {
		defer cancel()
		select {
		case <-b.done:
		case err := <-ended:
			return errors.Join(err, ctx.Err())
		}
		cancel() // Run stops gracefully, so it stores the outcomes of the jobs that have run
		return <-ended
	}
}

func (b *bench) preload(ctx context.Context, jobs, payload int) error {
	body := b.bytes(payload)
	for left := jobs; left > 0; {
		specs := make([]redrive.Spec, min(left, 1000))
		for i := range specs {
			specs[i] = redrive.NewRaw("noop", body, &redrive.Options{Queue: "bench"})
		}
		if _, err := b.client.EnqueueMany(ctx, specs); err != nil {
			return err
		}
		left -= len(specs)
	}
	return nil
}

// verify compares the numbers of jobs and runs with the expected ones. It returns an error
// if a job was lost or ran twice.
func (b *bench) verify(ctx context.Context, w *work) error {
	counts, err := b.store.Counts(ctx)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c.State != w.end || c.N != int64(w.jobs) {
			return fmt.Errorf("after the run %d jobs are %s, want %d jobs that are %s", c.N, c.State, w.jobs, w.end)
		}
	}
	if ran := b.ran.Load(); ran != int64(w.attempts) {
		return fmt.Errorf("got %d runs of %d jobs, want %d runs", ran, w.jobs, w.attempts)
	}
	return nil
}

// inParallel calls the given function n times, from the given number of goroutines.
func inParallel(goroutines, n int, do func(i int) error) error {
	var next atomic.Int64
	errs := make(chan error, goroutines)
	for range goroutines {
		go func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					errs <- nil
					return
				}
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	var err error
	for range goroutines {
		err = errors.Join(err, <-errs)
	}
	return err
}
