package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/tempdir"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Defaults and limits of Config and Kind.
const (
	LeaseDefault          = 10 * time.Second
	LeaseMin              = 100 * time.Millisecond
	LeaseMax              = time.Hour
	RescueIntervalDefault = 30 * time.Second
	PollDefault           = time.Second
	GraceDefault          = 30 * time.Second
	WorkersMax            = store.WorkersMax
)

// Config configures an engine. A duration of 0 means the default.
type Config struct {
	Store  store.Worker
	Holder string        // Holder is the name of the process, 1 to job.TextMax bytes.
	Lease  time.Duration // Lease is the duration of a lease. The default is 10 s.
	// RescueInterval is the longest time between two rescues. A rescue is also made when
	// the earliest known lease ends. The default is 30 s.
	RescueInterval time.Duration
	Poll           time.Duration // Poll is the time between two polls, which find jobs whose notification was lost. The default is 1 s.
	// Grace is the time that running jobs have to end at a graceful stop. The default is 30
	// s. A negative value means no time.
	Grace  time.Duration
	Queues []Queue
	Kinds  []Kind
	// Admit is called for each run before its handler. If it returns an outcome, the run
	// ends with that outcome and no handler is called. Otherwise Run.Admission and
	// Ending.Admission have the other value that it returned. Nil admits all runs. It
	// must be safe for concurrent use.
	Admit func(c *job.Claim) (admission any, held *job.Outcome)
	// Decide returns the complete outcome of a run that has ended. It must be safe for
	// concurrent use.
	Decide func(c *job.Claim, e *job.Ending) job.Outcome
	// Written is called for each outcome after its commit, with the time that the handler
	// took. It must not block, and must not keep the claim. Nil means no call.
	Written func(c *job.Claim, o *job.Outcome, took time.Duration)
	Clock   Clock // Clock is the system's clock by default.
	// Rand returns random numbers in [0, 1) for the jitter of back-offs. The default is
	// math/rand.
	Rand   func() float64
	Logger *slog.Logger  // Logger is slog.Default() by default.
	Dirs   *tempdir.Base // Dirs is the base for temp directories. With nil, runs have no temp directories.
}

// Queue is a queue that the process works on.
type Queue struct {
	Name string
	// Workers is how many jobs of the queue the process runs at a time, 1 to WorkersMax. A
	// setting that a person made on the queue takes precedence.
	Workers int
	Limit   int        // Limit is how many jobs may run at once in all processes together. 0 means no limit.
	Rate    store.Rate // Rate limits how many jobs all processes together may start.
}

// Kind is a kind of job and how the process runs it.
type Kind struct {
	Name    string
	Workers int        // Workers is how many jobs of the kind this process may run at once. 0 means no limit.
	Limit   int        // Limit is how many jobs may run at once in all processes together. 0 means no limit.
	Rate    store.Rate // Rate limits how many jobs all processes together may start.
	// MaxCrashes is how many crashes in one life make a job dead. 0 means job.MaxCrashes.
	MaxCrashes int
	Timeout    time.Duration // Timeout is the time limit of a run. 0 means no limit.
	// KillGrace is how long subprocesses have between SIGTERM and SIGKILL after the end of
	// the run's context. The handler has one second more to return. The default is 5 s.
	KillGrace time.Duration
	Handler   func(ctx context.Context, r *Run) error
}

// withDefaults returns c with default values filled in, or an error that lists all problems
// of c.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Lease, LeaseDefault)
	setDefault(&c.RescueInterval, RescueIntervalDefault)
	setDefault(&c.Poll, PollDefault)
	setDefault(&c.Grace, GraceDefault)
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Kinds = append([]Kind(nil), c.Kinds...)
	for i := range c.Kinds {
		setDefault(&c.Kinds[i].KillGrace, proc.DefaultGrace)
		if c.Kinds[i].MaxCrashes == 0 {
			c.Kinds[i].MaxCrashes = job.MaxCrashes
		}
	}
	return c, c.validate()
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	rate := func(what, name string, r store.Rate) {
		if err := r.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("engine: %s %q: %w", what, name, err))
		}
	}
	check(c.Store != nil, "engine: a store is required")
	check(c.Decide != nil, "engine: a decide function is required")
	check(len(c.Holder) >= 1 && len(c.Holder) <= job.TextMax,
		"engine: holder of %d bytes: must be 1 to %d", len(c.Holder), job.TextMax)
	check(c.Lease >= LeaseMin && c.Lease <= LeaseMax, "engine: lease %s: must be %s to %s", c.Lease, LeaseMin, LeaseMax)
	check(c.RescueInterval > 0, "engine: rescue every %s: must be positive", c.RescueInterval)
	check(c.Poll > 0, "engine: poll every %s: must be positive", c.Poll)
	check(len(c.Queues) > 0, "engine: no queue to work on")
	check(len(c.Kinds) > 0, "engine: no kind of job to run")

	seen := map[string]bool{}
	for _, q := range c.Queues {
		errs = append(errs, store.ValidName("queue", q.Name))
		check(!seen[q.Name], "engine: queue %q is given twice", q.Name)
		seen[q.Name] = true
		check(q.Workers >= 1 && q.Workers <= WorkersMax, "engine: queue %q: %d workers: must be 1 to %d", q.Name, q.Workers, WorkersMax)
		check(q.Limit >= 0, "engine: queue %q: limit %d: must not be negative", q.Name, q.Limit)
		rate("queue", q.Name, q.Rate)
	}
	seen = map[string]bool{}
	for _, k := range c.Kinds {
		errs = append(errs, store.ValidName("kind", k.Name))
		check(!seen[k.Name], "engine: kind %q is given twice", k.Name)
		seen[k.Name] = true
		check(k.Handler != nil, "engine: kind %q has no handler", k.Name)
		check(k.Workers >= 0, "engine: kind %q: %d workers: must not be negative", k.Name, k.Workers)
		check(k.Limit >= 0, "engine: kind %q: limit %d: must not be negative", k.Name, k.Limit)
		rate("kind", k.Name, k.Rate)
		check(k.MaxCrashes >= 1 && k.MaxCrashes <= job.MaxCrashes,
			"engine: kind %q: crash maximum %d: must be 1 to %d", k.Name, k.MaxCrashes, job.MaxCrashes)
		check(k.Timeout >= 0, "engine: kind %q: time limit %s: must not be negative", k.Name, k.Timeout)
		check(k.KillGrace > 0, "engine: kind %q: kill grace %s: must be positive", k.Name, k.KillGrace)
	}
	return errors.Join(errs...)
}
