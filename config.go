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

// DefaultQueue is the queue of jobs that name no queue.
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
	// replaces it while the client runs.
	Policy *policy.Policy
	// Schedule is the schedule of all kinds that have no schedule of their own and that
	// the policy does not name; see policy.Policy.WithSchedule. By default only the
	// policy decides.
	Schedule *policy.Schedule
	// MaxAttempts limits the attempts of any job in one life, at least 1. The policy
	// may have a limit, too; the lower one applies. The default is the policy's limit.
	MaxAttempts int
	// MaxAge is the age of a life after which a job gets no more retries. The age
	// counts from when the job could first run, or from its manual retry. The policy
	// may have a limit, too; the lower one applies. The default is the policy's limit.
	MaxAge time.Duration

	// Resends limits how often the calls of package retry in one run of a job send
	// again, in total; default retry.ResendsDefault.
	Resends int

	// PayloadMax is the limit on a payload in bytes, at most job.PayloadMax;
	// default PayloadMaxDefault.
	PayloadMax int
	// Development stores the %+v form of an error as its stack. The stack of a panic is
	// always stored.
	Development bool
	// KeepRaw stores messages, details, stderr and stacks unchanged, with the secrets,
	// paths and addresses in them. By default these are removed before anything is
	// stored. Set it only for stores that outsiders cannot read.
	KeepRaw bool
	// HideEmails removes e-mail addresses as well.
	HideEmails bool

	// Retention is how long ended jobs, failures, events and dead letters are kept. The
	// defaults are a day for completed jobs, a week for failures and events, and 30
	// days for dead letters. Pending dead letters are kept for ever.
	Retention Retention
	// EnqueueMiddleware wraps every enqueue of the client; the first one is outermost.
	// See EnqueueMiddleware. Without any, an enqueue costs nothing extra.
	EnqueueMiddleware []EnqueueMiddleware
	// KindEnqueueMiddleware holds more middleware by the kind of the jobs; it is inside
	// EnqueueMiddleware. In a call with jobs of several kinds, it sees only the jobs of
	// its kind.
	KindEnqueueMiddleware map[string][]EnqueueMiddleware
	// Cron are the periodic jobs that Run enqueues.
	Cron []Cron

	// Middleware wraps the handlers of all kinds; the first is outermost.
	// HandlerOptions.Middleware is inside it.
	Middleware []Middleware
	// OnOutcome is called after the commit with the outcome of each run that this
	// process has written to the store. Use it for an error tracker or for metrics. Not
	// every failure is final, see Outcome.Final. Default none.
	//
	// It delays no job. At most OutcomeCalls calls run at a time, so it must be safe
	// for concurrent use, and their order is not the order of the commits. At most
	// OutcomeBuffer outcomes wait for a call; further outcomes are skipped, counted and
	// logged. A panic is logged. When Run stops, it waits for the calls until the grace
	// time is over, and then ends their context.
	//
	// OnOutcome is not called for what other processes end: crashed runs, expired jobs,
	// and jobs that a person cancels while they wait. Nor is it called for the success
	// that a handler has written by Info.CompleteTx. All of these are events; read
	// Client.Events where no outcome may be missed.
	OnOutcome func(context.Context, Outcome)

	Lease          time.Duration // how long a run may go without a heartbeat before another process takes over; 100 ms to 1 h, default 10 s
	RescueInterval time.Duration // the longest time between two searches for jobs of dead processes; default 30 s
	Poll           time.Duration // the longest delay when a notification is lost; default 1 s
	Grace          time.Duration // how long running jobs may continue at a stop; default 30 s, negative means no time
	TempDir        string        // the directory for jobs' temporary directories; default below os.TempDir
	Logger         *slog.Logger  // default slog.Default
	Clock          Clock         // default the system's clock; tests set it
}

// Queue configures how Run works on a queue.
type Queue struct {
	// Workers is how many jobs of the queue this process runs at a time; default
	// WorkersDefault. A setting that a person has made on the queue overrides it.
	Workers int
	// Limit is how many jobs of the queue run at a time in all processes, at most
	// store.LimitMax; 0 means no limit. A setting that a person has made on the queue
	// overrides it.
	Limit int
	// Rate limits the starts in all processes; the zero value means no limit. A setting
	// that a person has made on the queue overrides it.
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

// defaultName returns a name that no other process has. The process id alone is not
// enough: ids are reused, and every container has the same ones.
func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.64s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// validate returns all mistakes of the configuration, joined.
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
		errs = append(errs, fmt.Errorf("Config.Schedule: %w", err))
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
