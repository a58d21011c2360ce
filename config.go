package redrive

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// DefaultQueue is the queue of jobs that name none.
const DefaultQueue = "default"

// The defaults of Config.
const (
	WorkersDefault    = 10
	PayloadMaxDefault = 256 << 10 // bytes
)

// Config configures a client. The zero value of every field is its default.
type Config struct {
	// Name names the process in leases and failure records, at most
	// job.TextMax bytes. It must be different in every process. The default is
	// made of host, process id and a random part.
	Name string
	// Queues are the queues that Run works on, by name. The default is
	// DefaultQueue with WorkersDefault workers.
	Queues map[string]Queue

	// Policy decides what follows from failures; default policy.Default. SetPolicy
	// puts another one in force while the client runs.
	Policy *policy.Policy
	// Schedule is a schedule for all kinds that have none of their own and that the
	// policy does not name; see policy.Policy.WithSchedule. Default none: the
	// policy alone decides.
	Schedule *policy.Schedule
	// MaxAttempts is the number of attempts in one life that end any job, if it
	// is lower than the ceiling of the policy; at least 1. Default that one.
	MaxAttempts int
	// MaxAge is the age of a life, counted from when the job could first run or
	// from its manual retry, at which a job gets no retry any more, if it is lower than the ceiling of the
	// policy. Default that one.
	MaxAge time.Duration

	// Resends bounds what the calls of package retry in one run of a job send again, all
	// together; default retry.ResendsDefault.
	Resends int

	// PayloadMax is the limit on a payload in bytes, at most job.PayloadMax;
	// default PayloadMaxDefault.
	PayloadMax int
	// Development stores what an error prints with %+v as its stack. The stack
	// of a panic is stored always.
	Development bool
	// KeepRaw stores messages, details, stderr and stacks as they come, with the
	// secrets, paths and addresses in them. Only for stores that nobody else can
	// read: by default they are taken out before anything is stored.
	KeepRaw bool
	// HideEmails takes e-mail addresses out as well.
	HideEmails bool

	// Retention is how long things are kept that are done with. Default a day for
	// completed jobs, a week for failures and events, 30 days for dead letters, and
	// never a pending one.
	Retention Retention
	// EnqueueMiddleware wraps every enqueue of the client, the first one outermost; see
	// EnqueueMiddleware. Default none, at no cost.
	EnqueueMiddleware []EnqueueMiddleware
	// KindEnqueueMiddleware wraps the enqueues of jobs of a kind, by its name, inside
	// EnqueueMiddleware. In a call with jobs of several kinds it gets those of its own.
	KindEnqueueMiddleware map[string][]EnqueueMiddleware
	// Cron are the periodic jobs that Run enqueues.
	Cron []Cron

	// Middleware wraps the handlers of all kinds; the first is outermost. Those of a
	// kind, HandlerOptions.Middleware, are inside.
	Middleware []Middleware
	// OnOutcome is called with the outcome of each run that this process has written
	// to the store, after the commit: what an error tracker or a meter needs. Not every
	// failure is final, see Outcome.Final. Default none.
	//
	// It holds up no job. OutcomeCalls calls are made at a time, so it must be safe for
	// concurrent use, and the order is not that of the commits; OutcomeBuffer outcomes
	// wait for a call. What comes while so many wait is skipped, counted and logged. A
	// panic is logged. When Run stops, it waits for the calls until the grace time is
	// over, and then ends their context.
	//
	// What other processes end comes as an event, see Client.Events: crashed runs,
	// expired jobs and those that a person cancels while they wait, and the success
	// that a handler has written by Info.CompleteTx. So read the events where none may
	// be missed.
	OnOutcome func(context.Context, Outcome)

	Lease          time.Duration // without a sign of life another process takes over; 100 ms to 1 h, default 10 s
	RescueInterval time.Duration // how often to look for jobs of dead processes at least; default 30 s
	Poll           time.Duration // how long a lost notification can delay; default 1 s
	Grace          time.Duration // for running jobs at a stop; default 30 s, negative is none
	TempDir        string        // where jobs' temporary directories are made; default below os.TempDir
	Logger         *slog.Logger  // default slog.Default
	Clock          Clock         // default the system's; for tests
}

// Queue is how Run works on a queue.
type Queue struct {
	// Workers is how many jobs of the queue this process runs at a time;
	// default WorkersDefault. A setting that a person made on the queue wins.
	Workers int
	// Limit is how many run over all processes, at most store.LimitMax; 0 is no
	// limit. A setting that a person made on the queue wins.
	Limit int
	// Rate limits the starts over all processes; the zero value is no limit. A
	// setting that a person made on the queue wins.
	Rate Rate
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, defaultName())
	c.PayloadMax = cmp.Or(c.PayloadMax, PayloadMaxDefault)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Middleware = slices.Clone(c.Middleware)
	c.Queues = maps.Clone(c.Queues)
	if len(c.Queues) == 0 {
		c.Queues = map[string]Queue{DefaultQueue: {}}
	}
	for name, q := range c.Queues {
		q.Workers = cmp.Or(q.Workers, WorkersDefault)
		c.Queues[name] = q
	}
	return c
}

// defaultName is the same for nobody else: a process id comes again, and
// containers all have the same.
func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.64s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// validate returns every mistake.
func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(c.Name) <= job.TextMax, "Config.Name of %d bytes: at most %d", len(c.Name), job.TextMax)
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		q := c.Queues[name]
		if err := store.ValidName("queue", name); err != nil {
			errs = append(errs, fmt.Errorf("Config.Queues: %w", err))
		}
		check(q.Workers >= 1 && q.Workers <= engine.WorkersMax,
			"Config.Queues: queue %q: %d workers: must be 1 to %d", name, q.Workers, engine.WorkersMax)
		check(q.Limit >= 0 && q.Limit <= store.LimitMax,
			"Config.Queues: queue %q: limit %d: must be 0 to %d", name, q.Limit, store.LimitMax)
		if err := q.Rate.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("Config.Queues: queue %q: %w", name, err))
		}
	}
	if err := c.Schedule.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("Config.Retry: %w", err))
	}
	if err := validMiddleware("Config.Middleware", c.Middleware); err != nil {
		errs = append(errs, err)
	}
	check(c.MaxAttempts >= 0, "Config.MaxAttempts %d: must be at least 1", c.MaxAttempts)
	check(c.Resends >= 0, "Config.Resends %d: must be at least 1", c.Resends)
	check(c.PayloadMax >= 1 && c.PayloadMax <= job.PayloadMax,
		"Config.PayloadMax %d: must be 1 to %d", c.PayloadMax, job.PayloadMax)
	check(c.Lease == 0 || c.Lease >= engine.LeaseMin && c.Lease <= engine.LeaseMax,
		"Config.Lease %s: must be %s to %s", c.Lease, engine.LeaseMin, engine.LeaseMax)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"MaxAge", c.MaxAge}, {"RescueInterval", c.RescueInterval}, {"Poll", c.Poll}} {
		check(d.value >= 0, "Config.%s %s: must not be negative", d.name, d.value)
	}
	return errors.Join(errs...)
}
