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

// Soak describes a soak test: one engine works as fast as it can, or at a rate, on a
// new database, while producers enqueue and expired rows are removed.
type Soak struct {
	For       time.Duration // without warm-up and end; at least 1 s
	Keep      time.Duration // how long ended jobs and other old rows are kept
	Backlog   int           // above this number of open jobs producers wait
	Workers   int           // jobs that run at the same time
	Producers int           // goroutines that enqueue
	Payload   int           // bytes
	Rate      int           // jobs enqueued a second; 0 means as fast as possible
	Snapshot  bool          // another connection holds a snapshot for the whole time
	SizeMax   int64         // the soak fails when the database has more bytes
	// DSN names a PostgreSQL database, in which the soak makes a schema and drops it
	// at the end. If DSN is empty, File is made and removed at the end. If both are
	// empty, a file in a temporary folder is used.
	DSN, File string
}

// SoakDefault is the soak test of the published figures.
var SoakDefault = Soak{
	For: 10 * time.Minute, Keep: time.Minute, Backlog: 20_000, Workers: 400, Producers: 100, Payload: 200, SizeMax: 20 << 30,
}

const (
	soakSpans  = 10 // least number of spans: a span is a minute, or a tenth of a shorter soak
	soakLooks  = 6  // measurements of the size in each span
	warmUpMin  = time.Second
	warmUpMost = 15 * time.Second
	// soakSettled: a soak must be this many times as long as a sweep round and the
	// retention together before its size has a target.
	soakSettled = 6
	// drainMax is how long the jobs that are open at the end may take.
	drainMax = 2 * time.Minute
)

// Validate returns an error that names the bound that the soak exceeds.
func (s *Soak) Validate() error {
	switch {
	case s.For < time.Second || s.For > 7*24*time.Hour:
		return fmt.Errorf("soak for %s: must be 1s to 168h", s.For)
	case s.Keep < time.Second || s.Keep > 24*time.Hour:
		return fmt.Errorf("keep for %s: must be 1s to 24h", s.Keep)
	case s.Backlog < 100 || s.Backlog > 10_000_000:
		return fmt.Errorf("backlog of %d jobs: must be 100 to 10,000,000", s.Backlog)
	case s.Workers < len(soakQueues) || s.Workers > 10_000, s.Producers < 1 || s.Producers > 10_000:
		return fmt.Errorf("%d workers and %d producers: must be %d to 10,000 and 1 to 10,000", s.Workers, s.Producers, len(soakQueues))
	case s.Payload < payloadLeast || s.Payload > redrive.PayloadMaxDefault:
		return fmt.Errorf("payload of %d bytes: must be %d to %d", s.Payload, payloadLeast, redrive.PayloadMaxDefault)
	case s.Rate < 0 || s.Rate > 1_000_000:
		return fmt.Errorf("rate of %d jobs a second: must be 0 to 1,000,000; 0 means as fast as possible", s.Rate)
	case s.SizeMax < 1<<20:
		return fmt.Errorf("size limit of %d bytes: must be at least 1 MiB", s.SizeMax)
	}
	return nil
}

// span is the time that one printed line covers.
func (s *Soak) span() time.Duration { return min(time.Minute, s.For/soakSpans) }

// warmUp is how long the engine works before the first span.
func (s *Soak) warmUp() time.Duration { return min(warmUpMost, max(warmUpMin, s.span())) }

// settles reports whether the soak is long enough for a target of the size: the
// history has been full, and sweeps have come round, several times. With a snapshot
// there is no such target, because removed rows do not free their space.
func (s *Soak) settles() bool {
	return !s.Snapshot && s.For >= s.settled()
}

func (s *Soak) settled() time.Duration { return soakSettled * max(s.Keep, keeper.SweepEvery) }

// Run runs the soak. It prints a line for each minute, or for each tenth of a shorter
// soak, and at the end the figures and their targets. It returns ErrMissed when a
// figure missed its target.
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
		_ = place.remove(context.WithoutCancel(ctx)) // the error of making it is the one to return
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

// on runs the soak on a database and returns what was measured.
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

// work runs the engine for the time of the soak and until the open jobs have ended.
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
			cancel(fmt.Errorf("the engine has ended: %w", err))
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
	stop() // a graceful stop settles the jobs that have run
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
		Logger:    slog.New(slog.DiscardHandler), // a tenth of the jobs fails, which would be logged; failed calls are counted
	})
	if err != nil {
		return nil, err
	}
	for _, kind := range soakKinds {
		redrive.HandleRaw(client, kind, soakAttempt, nil)
	}
	return client, nil
}
