package selfbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/policy"
)

// Soak describes a soak test. One engine runs jobs on a new database, as fast as possible
// or at a fixed rate. Meanwhile producers enqueue jobs, and old rows are removed.
type Soak struct {
	For       time.Duration // length of the measurement, without the warm-up and the end; at least 1 s
	Keep      time.Duration // time for which ended jobs and other old rows are kept
	Backlog   int           // largest number of open jobs; producers wait while it is reached
	Workers   int           // the number of jobs that run at the same time
	Producers int           // number of goroutines that enqueue jobs
	Payload   int           // size of a payload in bytes
	Rate      int           // the number of jobs that are enqueued per second; 0 means as fast as possible
	Snapshot  bool          // if true, another connection holds a database snapshot during the whole soak
	SizeMax   int64         // largest size of the database in bytes; above it the soak fails
	// DSN names a PostgreSQL database. The soak creates a schema there and removes it at
	// the end. If DSN is empty, the soak creates File and removes it at the end. If both
	// are empty, it uses a file in a temporary folder.
	DSN, File string
}

// SoakDefault is the soak test of the published figures.
var SoakDefault = Soak{
	For: 10 * time.Minute, Keep: time.Minute, Backlog: 20_000, Workers: 400, Producers: 100, Payload: 200, SizeMax: 20 << 30,
}

const (
	soakSpans  = 10 // smallest number of spans; a span is a minute, or a tenth of a soak that is shorter than ten minutes
	soakLooks  = 6  // number of size measurements in each span
	warmUpMin  = time.Second
	warmUpMost = 15 * time.Second
	// soakSettled is the smallest length of a soak in which the size has a target, as a
	// multiple of the sum of sweep interval and retention time.
	soakSettled = 6
	// drainMax is the longest time after the end of the measurement in which all open jobs
	// must end.
	drainMax = 2 * time.Minute
)

// Validate returns an error if a value of the soak is out of range.
func (s *Soak) Validate() error {
	switch {
	case s.For < time.Second || s.For > 7*24*time.Hour:
		return fmt.Errorf("soak for %s: the length must be 1s to 168h", s.For)
	case s.Keep < time.Second || s.Keep > 24*time.Hour:
		return fmt.Errorf("keep for %s: the time must be 1s to 24h", s.Keep)
	case s.Backlog < 100 || s.Backlog > 10_000_000:
		return fmt.Errorf("backlog of %d jobs: the number must be 100 to 10,000,000", s.Backlog)
	case s.Workers < len(soakQueues) || s.Workers > 10_000, s.Producers < 1 || s.Producers > 10_000:
		return fmt.Errorf("%d workers and %d producers: the number of workers must be %d to 10,000, the number of producers 1 to 10,000", s.Workers, s.Producers, len(soakQueues))
	case s.Payload < payloadLeast || s.Payload > redrive.PayloadMaxDefault:
		return fmt.Errorf("payload of %d bytes: the size must be %d to %d bytes", s.Payload, payloadLeast, redrive.PayloadMaxDefault)
	case s.Rate < 0 || s.Rate > 1_000_000:
		return fmt.Errorf("rate of %d jobs a second: the rate must be 0 to 1,000,000; 0 means as fast as possible", s.Rate)
	case s.SizeMax < 1<<20:
		return fmt.Errorf("size limit of %d bytes: the limit must be at least 1 MiB", s.SizeMax)
	}
	return nil
}

// span returns the length of time that one printed line describes.
func (s *Soak) span() time.Duration { return min(time.Minute, s.For/soakSpans) }

// warmUp returns how long the engine works before the first span.
func (s *Soak) warmUp() time.Duration { return min(warmUpMost, max(warmUpMin, s.span())) }

// settles reports whether the soak is long enough for a target of the database size: old
// rows must have been removed several times. With a snapshot there is no such target,
// because removed rows then keep their space.
func (s *Soak) settles() bool {
	return !s.Snapshot && s.For >= s.settled()
}

func (s *Soak) settled() time.Duration { return soakSettled * max(s.Keep, keeper.SweepEvery) }

// Run runs the soak. It prints a line for each minute, or for each tenth of a shorter soak,
// and the figures with their targets at the end. It returns ErrMissed if a figure missed
// its target.
func (s *Soak) Run(ctx context.Context, out io.Writer, asJSON bool) (err error) {
	if err := s.Validate(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redrive-soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p := newSoakPrinter(s, out, asJSON)
	place := s.place(dir)
	opened, err := place.open(ctx)
	if err != nil {
		_ = place.remove(context.WithoutCancel(ctx)) // no error check: the caller already returns the error of the failed creation
		return err
	}
	spans, end, err := s.on(ctx, place, newWatched(opened, s.Backlog), dir, p.span)
	if rerr := place.remove(context.WithoutCancel(ctx)); rerr != nil {
		err = errors.Join(err, fmt.Errorf("remove the soak's database: %w", rerr))
	}
	if err != nil {
		return err
	}
	return p.verdict(spans, &end)
}

// on runs the soak on a database and returns the measurements.
func (s *Soak) on(ctx context.Context, place soakPlace, w *watched, dir string, tell func(*soakSpan) error) (
	spans []soakSpan, end soakEnd, err error,
) {
	defer func() { err = errors.Join(err, w.Close()) }()
	spans, err = s.work(ctx, place, w, dir, tell)
	if err != nil {
		return nil, end, err
	}
	end, err = w.end(ctx, place)
	return spans, end, err
}

// work runs the engine for the time of the soak, and then until all open jobs have ended.
func (s *Soak) work(ctx context.Context, place soakPlace, w *watched, dir string, tell func(*soakSpan) error) (spans []soakSpan, err error) {
	watch := soakWatch{soak: s, watched: w, place: place, tell: tell}
	if s.Snapshot {
		held, err := place.hold(ctx)
		if err != nil {
			return nil, fmt.Errorf("hold a snapshot: %w", err)
		}
		defer held.release()
		watch.held = held.check
	}
	client, err := s.client(w, dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := client.Run(running)
		if running.Err() == nil {
			cancel(fmt.Errorf("the engine ended before the soak did: %w", err))
		}
		ended <- err
	}()
	load := s.load(client, w, cancel)
	load.start(ctx)
	spans, err = watch.spans(ctx)
	load.stop()
	if err == nil {
		err = w.drained(ctx, drainMax)
	}
	stop() // a graceful stop stores the outcomes of jobs that have run
	return spans, errors.Join(err, <-ended)
}

// client returns a client with the queues and kinds of the load.
func (s *Soak) client(w *watched, dir string) (*redrive.Client, error) {
	queues := make(map[string]redrive.Queue)
	for _, name := range soakQueues {
		queues[name] = redrive.Queue{Workers: s.Workers / len(soakQueues)}
	}
	client, err := redrive.New(w, &redrive.Config{
		Queues:    queues,
		Schedule:  &policy.Schedule{Waits: []time.Duration{100 * time.Millisecond, time.Second}, MaxRetries: soakRetries},
		Retention: redrive.Retention{Completed: s.Keep, Failures: s.Keep, Dead: s.Keep, DropPending: true, Events: s.Keep},
		TempDir:   filepath.Join(dir, "tmp"),
		Logger:    slog.New(slog.DiscardHandler), // no log: a tenth of the jobs fails on purpose, and failed store calls are counted elsewhere
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range soakKinds {
		redrive.HandleRaw(client, kind, soakAttempt, nil)
	}
	return client, nil
}
