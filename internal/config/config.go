// Package config reads redrive.yaml, the file that makes the redrive command usable
// without writing Go: queues, kinds that run a program, their limits and their retries.
//
// The reader is strict and reports all mistakes of a file at once. Each message says where the
// mistake is, which values are allowed, and how to correct the mistake.
package config

import (
	"log/slog"
	"strings"
	"time"

	"github.com/redrive/redrive"
)

// Config is a whole configuration with every default filled in.
type Config struct {
	// Dir is the absolute path of the folder that relative paths of the file start
	// from. It is empty in Default, whose relative paths start from the working
	// directory.
	Dir string
	// Database is the path of the database file; it is "" if Postgres has a DSN. Default
	// "jobs.db".
	Database string
	// Postgres says how a PostgreSQL database is used.
	Postgres Postgres
	// TempDir is the base of the jobs' temporary directories. Default "", which means
	// the default of redrive.Config.
	TempDir string
	// Development adds stacks to the failure records. Default false.
	Development bool
	// KeepRaw stores the texts of failures together with the secrets, paths and addresses that
	// they contain. Default false.
	KeepRaw bool
	// KeepPaths and KeepAddresses leave the paths of files and IP addresses in the texts of
	// failures that operators see. Default true.
	KeepPaths, KeepAddresses bool
	// HideEmails also removes e-mail addresses from the texts of failures. Default
	// false.
	HideEmails bool
	// Lease is how long a claim is valid without a heartbeat. Default 10s.
	Lease time.Duration
	// RescueInterval is the time between two searches for stalled runs. Default 30s.
	RescueInterval time.Duration
	// ShutdownGrace is how long running jobs may continue after the beginning of a stop.
	// Default 30s.
	ShutdownGrace time.Duration
	// MaxAttempts is the highest number of attempts of any job. The policy and Retry cannot
	// exceed it. Default 100.
	MaxAttempts int
	// Policy is the path of the policy file, or PresetPrefix followed by the name of a preset.
	// Default "", which means the built-in default policy.
	Policy string
	Log    Log
	Limits Limits
	// Queues contains at least one queue. Default: one queue with the name "default".
	Queues map[string]Queue
	// QueueNames lists the keys of Queues in the order of the file.
	QueueNames []string
	Kinds      map[string]Kind
	// KindNames lists the keys of Kinds in the order of the file.
	KindNames []string
	Retention Retention
	// Cron is nil if the file has no cron entries.
	Cron map[string]Cron
	// CronNames lists the keys of Cron in the order of the file.
	CronNames []string
	// Server says how "redrive serve" identifies its callers.
	Server Server
	// Streams is nil if the file has no streams.
	Streams map[string]Stream
	// StreamNames lists the keys of Streams in the order of the file.
	StreamNames []string
	// Notify says who hears of what. Default: nobody.
	Notify Notify
}

// PresetPrefix is the beginning of a Policy that names a preset, such as "preset:watermark".
const PresetPrefix = "preset:"

// PresetDefault is the preset that is the built-in default policy.
const PresetDefault = "default"

// Preset returns the name of the preset that Policy names. ok is false if Policy names a file
// or is empty.
func (c *Config) Preset() (name string, ok bool) { return strings.CutPrefix(c.Policy, PresetPrefix) }

// Log configures the log of the process.
type Log struct {
	// Level is the lowest level that is logged. Default slog.LevelInfo.
	Level slog.Level
	// Format is LogText or LogJSON. Default LogText.
	Format string
}

// The values of Log.Format.
const (
	LogText = "text"
	LogJSON = "json"
)

// Limits are limits on what callers pass in.
type Limits struct {
	// PayloadBytes is the size of the largest payload. Default 256 KiB.
	PayloadBytes int
}

// Rate is a number of starts per duration. The zero Rate means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Queue is a named stream of work.
type Queue struct {
	// Workers is how many jobs of the queue this process runs at once. Default 4.
	Workers int
	// Limit is how many jobs of the queue all processes together run at once; 0 means no limit.
	Limit int
	// Rate is the highest rate at which all processes together start jobs of the queue.
	Rate Rate
}

// The values of Kind.Payload.
const (
	PayloadJSON = "json"
	PayloadText = "text"
)

// Kind is a type of job that runs a program.
type Kind struct {
	// Command is the program and its arguments; no shell interprets them. A program
	// with a slash is an absolute path; any other is looked up in PATH.
	Command []string
	// Queue names a queue of the same Config. Default "default".
	Queue string
	// Timeout is the time limit of one run. Default 0, which means the time limit of the policy, or
	// else TimeoutDefault.
	Timeout time.Duration
	// KillGrace is the time between asking a program to end and killing it. Default 5s.
	KillGrace time.Duration
	// Priority is 1 to 4; 1 runs first. Default 2.
	Priority int
	// Workers is how many jobs of the kind this process runs at once; 0 means that only the
	// queue limits them.
	Workers int
	// Limit is how many jobs of the kind all processes together run at once; 0 means no limit.
	Limit int
	// Rate is the highest rate at which all processes together start jobs of the kind.
	Rate Rate
	// MaxCrashes is the number of crashes after which a job is dead. A manual retry resets the
	// count of crashes to 0. Default 0, which means the number of the policy, or else 5.
	MaxCrashes int
	// Env lists the names of the variables that the program inherits. Default: only PATH.
	Env []string
	// SetEnv holds variables with fixed values; they override inherited ones.
	SetEnv map[string]string
	// Dir is the working directory. Default: the folder of the file.
	Dir string
	// Output is the file that the command has to write, relative to Dir. It may contain variables of
	// the command, as in $TMPDIR/out.mp4, and texts of the payload, as in ${payload.output}. Default
	// "", which means that the command need not write a file.
	Output string
	// Encoding names the encoding in which the program writes what is not UTF-8. Default "",
	// which means that it writes UTF-8, or UTF-16 of Latin letters.
	Encoding string
	// Payload is PayloadJSON or PayloadText: the form of the payload in an enqueue.
	// Default PayloadJSON.
	Payload string
	// Schema is the file of the JSON Schema that payloads must fit. Default "", which means that
	// payloads are not checked.
	Schema string
	// KeepPayload keeps the payload and the attributes of completed jobs. Default false.
	KeepPayload bool
	// Owner says what owners may do with their jobs over HTTP. Default: they see their jobs and
	// give feedback.
	Owner Owner
	// PermanentExitCodes are the exit codes (1 to 255) that are never retried.
	PermanentExitCodes []int
	// Retry is the kind's own schedule of retries. Default nil, which means that the policy
	// decides.
	Retry *Retry
}

// Retry says how often and when a failed job runs again; it replaces the policy's
// schedule.
type Retry struct {
	// MaxRetries is how often a job runs again after its first attempt. Default: the
	// length of Waits.
	MaxRetries int
	// Waits are the waits before the retries, in order; the last one repeats. Default
	// 30s.
	Waits []time.Duration
	// Formula replaces Waits. It is set by variables of a stream and not by the file.
	Formula *RetryFormula
}

// RetryFormula is the formula of waits: First, First × Factor, First × Factor², …, each up to Spread longer, at most Cap.
type RetryFormula struct {
	First, Cap, Spread time.Duration
	Factor             float64
}

// TimeoutDefault is the time limit of a run if neither the kind nor the policy sets one.
const TimeoutDefault = 2 * time.Hour

// Default returns the configuration of an empty file. Its relative paths stay relative.
func Default() *Config {
	return &Config{
		Database:       "jobs.db",
		Postgres:       defaultPostgres(),
		Lease:          10 * time.Second,
		RescueInterval: 30 * time.Second,
		ShutdownGrace:  30 * time.Second,
		MaxAttempts:    100,
		KeepPaths:      true,
		KeepAddresses:  true,
		Log:            Log{Level: slog.LevelInfo, Format: LogText},
		Limits:         Limits{PayloadBytes: 256 << 10},
		Queues:         map[string]Queue{defaultQueueName: defaultQueue()},
		QueueNames:     []string{defaultQueueName},
		Kinds:          map[string]Kind{},
		Retention:      defaultRetention(),
		Server:         defaultServer(),
	}
}

const defaultQueueName = redrive.DefaultQueue

func defaultQueue() Queue { return Queue{Workers: redrive.WorkersDefault} }

func defaultKind() Kind {
	return Kind{
		Queue:     defaultQueueName,
		KillGrace: 5 * time.Second,
		Priority:  2,
		Env:       []string{"PATH"},
		Payload:   PayloadJSON,
		Owner:     Owner{Feedback: true},
	}
}
