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

// DefaultQueue is the queue of a job whose Options name no queue.
const DefaultQueue = "default"

// The defaults of Config.
const (
	WorkersDefault    = 10
	PayloadMaxDefault = 256 << 10 // the default of Config.PayloadMax, in bytes
)

// Config configures a client. The zero value of every field is its default.
type Config struct {
	// Name names the process in leases and failure records, at most
	// job.TextMax bytes. It must be different in every process. The default is
	// made of host, process id and a random part.
	Name string
	// Build is the name of the build of the program, such as a version or a commit. It is
	// shown with the process, see Client.Processes, and stored with each failure; a group
	// of dead letters shows the builds of its first and its last death. At most
	// job.TextMax bytes.
	Build string
	// Queues are the queues whose jobs Run executes, by name. The default is
	// DefaultQueue with WorkersDefault workers.
	Queues map[string]Queue

	// Policy decides what happens after a failure; the default is policy.Default.
	// SetPolicy replaces the policy, also while the client runs.
	Policy *policy.Policy
	// Schedule is the retry schedule of each kind without a schedule in HandlerOptions,
	// unless the policy names the kind; see policy.Policy.WithSchedule. By default the
	// policy decides about all kinds.
	Schedule *policy.Schedule
	// MaxAttempts limits the attempts of any job in one life (since its enqueue or its
	// last manual retry). It is at least 1. The policy may have a limit, too; the lower
	// limit applies. The default is the policy's limit.
	MaxAttempts int
	// MaxAge is the age after which a job gets no more retries. The age counts from the
	// time when the job could first run, or from its last manual retry. The policy may
	// have a limit, too; the lower limit applies. The default is the policy's limit.
	MaxAge time.Duration

	// Resends is how many requests may be repeated in one run of a job, in total, by
	// all calls of package retry. The default is retry.ResendsDefault.
	Resends int

	// PayloadMax is the maximum size of a payload in bytes, at most job.PayloadMax. The
	// default is PayloadMaxDefault.
	PayloadMax int
	// PayloadChecks check the payloads of kinds, by kind: of every job that the client enqueues,
	// and every payload that a person changes through it. A payload with mistakes is refused with
	// a *PayloadError. By default no payload is checked.
	PayloadChecks map[string]PayloadCheck
	// If Development is true, the %+v form of an error is stored as its stack. The
	// stack of a panic is always stored.
	Development bool
	// If KeepRaw is true, messages, details, stderr and stacks of failures are stored
	// with their secrets. By default the secrets in these texts are removed first. Set
	// KeepRaw only for a store that outsiders cannot read. Logs, events and exports never
	// have secrets.
	KeepRaw bool
	// HidePaths and HideAddresses remove the paths of files and IP addresses from the texts of
	// failures before these are stored. By default operators see them, because they often show the
	// cause; logs, events, exports and owners of jobs never get them.
	HidePaths, HideAddresses bool
	// If HideEmails is true, e-mail addresses are also removed from the texts of
	// failures.
	HideEmails bool

	// Retention is how long ended jobs, failures, events and dead letters are kept. The
	// defaults are a day for completed jobs, a week for failures and events, and 30
	// days for dead letters. Pending dead letters are kept for ever.
	Retention Retention
	// EnqueueMiddleware is the middleware around every enqueue of the client; the first
	// in the list is outermost. See the type EnqueueMiddleware.
	EnqueueMiddleware []EnqueueMiddleware
	// KindEnqueueMiddleware is the enqueue middleware of single kinds, by kind. It is
	// called inside EnqueueMiddleware. If a call enqueues jobs of several kinds, a
	// middleware gets only the jobs of its kind. Run logs the kinds that have no handler
	// here, as a warning when a handler has a similar name.
	KindEnqueueMiddleware map[string][]EnqueueMiddleware
	// Cron are the periodic jobs that Run enqueues.
	Cron []Cron

	// Middleware is the middleware around the handlers of all kinds; the first in the
	// list is outermost. HandlerOptions.Middleware is called inside it.
	Middleware []Middleware
	// OnOutcome is called after the commit with the outcome of each run that this
	// process has written to the store. Use it for an error tracker or for metrics. A
	// failure may be followed by a retry; see Outcome.Final. The default is no
	// function.
	//
	// A slow OnOutcome does not delay jobs. At most OutcomeCalls calls run at a time,
	// so the function must be safe for concurrent use. The order of the calls can
	// differ from the order of the commits. At most OutcomeBuffer outcomes wait for a
	// call; further outcomes are skipped, counted and logged. A panic is logged.
	//
	// When Run stops, the outcomes of the last runs are reported, too: when the last
	// outcome is written, OnOutcome has Config.Grace for the outcomes that wait. Then the
	// context of the calls ends, and Run returns without waiting for them; the log says
	// how many outcomes were not reported. So Run takes at most the grace time of the jobs
	// and then the grace time of OnOutcome. Halt ends both at once, and a negative Grace
	// leaves no time for either: outcomes that wait are then not reported.
	//
	// OnOutcome is not called for crashed runs, for expired jobs, for jobs that a
	// person cancels while they wait, or for a success that a handler has written with
	// Info.CompleteTx. All of these are events. A program that must not miss any
	// outcome reads Client.Events.
	OnOutcome func(context.Context, Outcome)

	// Separate runs the last chance of a job in a process of its own: a run of a job that has
	// crashed, and that would be dead after one more crash. It starts a process that calls
	// Client.RunSeparate with SeparateRun.Data, and returns nil when this process has ended.
	// It returns an error if it could not start the process; the job is then handed back,
	// as after ErrNotStarted. When the context of Separate ends, the other process must
	// stop soon. By default such a job gets the process of the client to itself: its other
	// slots stay empty until the job has ended.
	Separate func(ctx context.Context, r SeparateRun) error

	Lease          time.Duration // the time without a heartbeat after which another process takes over the run; 100 ms to 1 h, default 10 s
	RescueInterval time.Duration // the longest time between two searches for jobs of crashed processes; default 30 s
	Poll           time.Duration // the longest delay before new work is noticed when a notification is lost; default 1 s
	Grace          time.Duration // the time that running jobs have to end after a stop, and that OnOutcome has then; default 30 s, negative means no time
	TempDir        string        // the parent of the temporary directories of jobs; default a directory below os.TempDir
	Logger         *slog.Logger  // the default is slog.Default
	Clock          Clock         // the default is the system's clock; tests set another one
}

// Queue configures how Run works on a queue.
type Queue struct {
	// Workers is how many jobs of the queue this process runs at a time; default
	// WorkersDefault. A setting that a person has made on the queue overrides it.
	Workers int
	// Limit is the maximum number of jobs of the queue that run at a time in all
	// processes, at most store.LimitMax; 0 means no limit. A setting that a person has
	// made on the queue overrides it.
	Limit int
	// Rate limits how many jobs of the queue start per period, counted over all
	// processes; the zero value means no limit. A setting that a person has made on the
	// queue overrides it.
	Rate Rate
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, defaultName())
	c.PayloadMax = cmp.Or(c.PayloadMax, PayloadMaxDefault)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Middleware = slices.Clone(c.Middleware)
	c.PayloadChecks = maps.Clone(c.PayloadChecks)
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

// defaultName returns a process name that no other process has. The process id alone is
// not enough: the system reuses process ids, and processes in different containers can
// have the same id.
func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%.64s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// invalid returns an error with the same text that is also an ErrInvalid. An ErrInvalid or an
// ErrTooLarge is returned unchanged.
func invalid(err error) error {
	if err == nil || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge) {
		return err
	}
	return &invalidError{err}
}

type invalidError struct{ error }

// Unwrap returns the error and ErrInvalid, for package errors.
func (e *invalidError) Unwrap() []error { return []error{e.error, store.ErrInvalid} }

// validate returns one error with all mistakes of the configuration. Each is an
// ErrInvalid.
func (c *Config) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, invalid(fmt.Errorf(format, args...)))
		}
	}
	check(len(c.Name) <= job.TextMax, "Config.Name of %d bytes: at most %d", len(c.Name), job.TextMax)
	check(len(c.Build) <= job.TextMax, "Config.Build of %d bytes: at most %d", len(c.Build), job.TextMax)
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		q := c.Queues[name]
		if err := store.ValidName("queue", name); err != nil {
			check(false, "Config.Queues: %w", err)
		}
		check(q.Workers >= 1 && q.Workers <= engine.WorkersMax,
			"Config.Queues: queue %q: %d workers: must be 1 to %d", name, q.Workers, engine.WorkersMax)
		check(q.Limit >= 0 && q.Limit <= store.LimitMax,
			"Config.Queues: queue %q: limit %d: must be 0 to %d", name, q.Limit, store.LimitMax)
		if err := q.Rate.Validate(); err != nil {
			check(false, "Config.Queues: queue %q: %w", name, err)
		}
	}
	if err := c.Schedule.Validate(); err != nil {
		check(false, "Config.Schedule: %w", err)
	}
	if err := validMiddleware("Config.Middleware", c.Middleware); err != nil {
		check(false, "%w", err)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.KindEnqueueMiddleware)) {
		if err := store.ValidName("kind", kind); err != nil {
			check(false, "Config.KindEnqueueMiddleware: %w", err)
		}
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
