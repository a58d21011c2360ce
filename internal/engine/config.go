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

// The default values and limits of Config and Kind.
const (
	LeaseDefault          = 10 * time.Second
	LeaseMin              = 100 * time.Millisecond
	LeaseMax              = time.Hour
	RescueIntervalDefault = 30 * time.Second
	PollDefault           = time.Second
	GraceDefault          = 30 * time.Second
	WorkersMax            = store.WorkersMax
)

// Config configures an engine. For durations, 0 means the default.
type Config struct {
	Store          store.Worker
	Holder         string        // the name of the process, 1 to job.TextMax bytes
	Build          string        // the build of the program, for failure records; "" means that it names none
	Lease          time.Duration // duration of a lease; default 10 s
	RescueInterval time.Duration // longest time between two rescues; default 30 s; a rescue is also made when the earliest known lease ends
	Poll           time.Duration // time between two polls, which find jobs whose notification was lost; default 1 s
	Grace          time.Duration // grace time of running jobs at a stop; default 30 s; negative means 0
	Queues         []Queue
	Kinds          []Kind
	// Admit is called for each run before its handler. If the second result is not nil, the run
	// ends with this outcome and the handler is not called. Otherwise, the first result becomes
	// Run.Admission and Ending.Admission. If Admit is nil, all runs are admitted. Admit must be
	// safe for concurrent use.
	Admit func(c *job.Claim) (admission any, held *job.Outcome)
	// Decide returns the complete outcome of a run that has ended. It must be safe for
	// concurrent use.
	Decide func(c *job.Claim, e *job.Ending) job.Outcome
	// Terms returns the encoded job.Terms of a kind. The terms say what happens to the jobs of
	// the kind after crashes and after deadlines. Terms is called for each exchange. If Terms
	// is nil, each kind has the default terms.
	Terms func(kind string) string
	// Written is called for each outcome after its commit, with the duration of the handler.
	// Written must not block, and must not use the claim after it has returned. It may be nil.
	Written func(c *job.Claim, o *job.Outcome, took time.Duration)
	// Present sends a sign of life to the store. It returns when the earliest lease expires,
	// and whether a person has ordered the process to be quiet. A quiet engine claims no jobs
	// and finishes those that run. Present is called at the start, every store.PresentEvery,
	// and after the end once more with Leaving true. An error of Present is only logged. If
	// Present is nil, the process sends no signs of life.
	Present func(ctx context.Context, s Sign) (store.Orders, error)
	// Outside returns a text of a handler without the parts that only operators may see, for logs
	// and events. It must be safe for concurrent use. If Outside is nil, texts stay as they are.
	Outside func(text string) string
	// Separate runs the last chance of a job in a process of its own; see separate.go. It returns when
	// the other process has ended, or with an error if no other process has taken the run over. The age
	// is the time since the claim was made. If Separate is nil, a last chance gets this process to itself.
	Separate func(ctx context.Context, c *job.Claim, age time.Duration) error
	Clock    Clock          // the clock of the engine; default: the clock of the system
	Rand     func() float64 // returns random numbers in [0, 1) for the jitter of back-offs; default: math/rand
	Logger   *slog.Logger   // the log of the engine; default: slog.Default()
	Dirs     *tempdir.Base  // the base of the temp directories of runs; nil means that runs have no temp directories
}

// Queue is a queue that the process works on.
type Queue struct {
	Name string
	// Workers is the number of jobs of the queue that this process runs at the same time, 1 to
	// WorkersMax. A setting that a person has stored for the queue takes precedence.
	Workers int
	Limit   int        // the largest number of jobs of the queue that run at the same time in all processes; 0 means no limit
	Rate    store.Rate // the highest rate at which all processes together start jobs of the queue
}

// Kind is a kind of job, and how this process runs jobs of this kind.
type Kind struct {
	Name       string
	Workers    int           // the largest number of jobs of the kind that run at the same time in this process; 0 means no limit
	Limit      int           // the largest number of jobs of the kind that run at the same time in all processes; 0 means no limit
	Rate       store.Rate    // the highest rate at which all processes together start jobs of the kind
	MaxCrashes int           // the number of crashes (lost leases) in one life of a job after which the job is dead; 0 means job.MaxCrashes
	Timeout    time.Duration // time limit of a run; 0 means no limit
	// Limits, if it is set, is called for each claim and each run, and returns the values that replace
	// Timeout and MaxCrashes. It must be fast and safe for concurrent use.
	Limits func() (timeout time.Duration, maxCrashes int)
	// KeepPayload makes the store keep the payload and attributes of completed jobs.
	KeepPayload bool
	// KillGrace is the time that subprocesses have between SIGTERM and SIGKILL after the run's
	// context has ended; the default is 5 s. The handler then has one more second to return.
	KillGrace time.Duration
	Handler   func(ctx context.Context, r *Run) error
}

// limits returns the time limit of a run that begins now, and the number of crashes after which a job
// is dead.
func (k *Kind) limits() (timeout time.Duration, maxCrashes int) {
	if k.Limits == nil {
		return k.Timeout, k.MaxCrashes
	}
	return k.Limits()
}

// withDefaults returns c with all default values, or an error with all problems of c.
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
