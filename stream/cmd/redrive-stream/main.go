// Command redrive-stream makes jobs of the records of a Kafka topic. docs/kafka.md describes it.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// The exit codes are those of the command redrive.
const (
	exitError = 1
	exitUsage = 2
)

type grammar struct {
	Run   runCmd   `cmd:"" help:"Read a topic, and make a job of each record, until SIGINT or SIGTERM."`
	Check checkCmd `cmd:"" help:"Say what is wrong with the cluster, the topics and the rights. Changes nothing."`
	Init  initCmd  `cmd:"" help:"Make the retry topic if it is missing."`

	Peek     peekCmd     `cmd:"" help:"Read records, and say what would become of each. Takes none."`
	Rewind   rewindCmd   `cmd:"" help:"Read partitions again from a time, or from the offsets of the group."`
	Rebuild  rebuildCmd  `cmd:"" help:"Write the documents or marks of a stream anew."`
	Handback handbackCmd `cmd:"" help:"Write tasks that wait to the retry topic, and cancel their jobs, so that another system works on them."`
}

type runCmd struct{ flags }

// The defaults of flags that the configuration replaces.
const (
	defaultName    = "stream"
	defaultQueue   = "default"
	defaultBacklog = 50_000
)

// flags are the settings of a stream.
type flags struct {
	Config         string        `placeholder:"FILE" default:"redrive.yaml" env:"REDRIVE_CONFIG" help:"Configuration file, for the database, the kinds, limits and retention. Default: ${default}."`
	DB             string        `name:"db" placeholder:"FILE" env:"REDRIVE_DB" help:"Database: an SQLite file, or the DSN of a PostgreSQL database. Default: that of the configuration."`
	Schema         string        `help:"Schema of the tables in a PostgreSQL database. Default: that of the configuration."`
	Name           string        `default:"stream" help:"Name of the stream, under which the configuration and the store know it. Default: the only one of the configuration, or ${default}."`
	Brokers        []string      `placeholder:"HOST:PORT" env:"KAFKA_BOOTSTRAP_SERVERS" help:"Brokers to ask first, separated by commas. Default: those of the configuration."`
	Topic          string        `help:"Topic that is read. It is never written to. Default: that of the configuration."`
	Group          string        `help:"Consumer group. Default: redrive- and the name of the stream."`
	Instance       string        `env:"REDRIVE_INSTANCE" help:"Name of this process, which makes a static member of the group. Default: none."`
	Start          string        `enum:"earliest,latest" default:"earliest" help:"Where a new group begins: earliest or latest. Default: ${default}."`
	Queue          string        `default:"default" help:"Queue of the jobs. Default: ${default}."`
	Kind           []string      `placeholder:"TYPE[=KIND]" help:"task_type, and the kind that it becomes. Default: the kinds of the configuration in this queue."`
	Strict         bool          `help:"Require a UUID of version 4 as job_id."`
	Dead           string        `placeholder:"TOPIC" help:"Topic of dead letters. Default: none."`
	Compat         string        `enum:",connect,spring" default:"" help:"Headers of dead letters beside redrive's: connect or spring."`
	Results        string        `placeholder:"TOPIC" help:"Topic of results. Default: none."`
	MinWait        time.Duration `default:"1s" help:"Shorter waits have no record on the retry topic. Default: ${default}."`
	Retry          string        `placeholder:"TOPIC" env:"KAFKA_TOPIC_RETRY" help:"Topic of retries. Default: none."`
	Alongside      bool          `help:"Allow members of the group that are not of redrive."`
	AllowCompacted bool          `help:"Allow a compacted topic."`
	TLS            bool          `name:"tls" help:"Encrypt the connections. Without --tls-ca the certificates of the system are trusted."`
	TLSCA          string        `name:"tls-ca" placeholder:"FILE" help:"PEM file with the certificates that are trusted."`
	TLSCert        string        `name:"tls-cert" placeholder:"FILE" help:"PEM file with the certificate of this client."`
	TLSKey         string        `name:"tls-key" placeholder:"FILE" help:"PEM file with the key of that certificate."`
	TLSName        string        `name:"tls-name" placeholder:"NAME" help:"Name in the brokers' certificates. Default: their host."`
	SASL           string        `name:"sasl" placeholder:"MECHANISM" help:"Log in with plain, scram-sha-256, scram-sha-512 or oauthbearer."`
	SASLUser       string        `name:"sasl-user" placeholder:"USER" help:"User of the login."`
	SASLPassword   string        `name:"sasl-password-file" placeholder:"FILE" help:"File with the password; it is read at each login."`
	SASLToken      string        `name:"sasl-token-file" placeholder:"FILE" help:"File with the token of oauthbearer; it is read at each login."`
	SASLInsecure   bool          `name:"sasl-insecure" help:"Allow a login without TLS to brokers on other machines."`
	Backlog        int           `default:"50000" help:"Read no records while so many jobs of the queue wait for their first run. Default: ${default}."`

	marks     *config.StreamMarks     // of the configuration: no flag names them
	documents *config.StreamDocuments // the same
}

// usageError is an error in the command line or the configuration.
type usageError struct{ error }

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var g grammar
	helped := false
	parser, err := kong.New(&g, kong.Name("redrive-stream"), kong.Writers(stdout, stderr), kong.Exit(func(int) { helped = true }),
		kong.Description("redrive-stream makes jobs of the records of a Kafka topic. Workers such as `redrive work` run them."))
	var chosen *kong.Context
	if err == nil {
		chosen, err = parser.Parse(args)
	}
	switch {
	case helped:
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "redrive-stream: %v; see `redrive-stream run --help`\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(stderr, nil))
	switch verb, _, _ := strings.Cut(chosen.Command(), " "); verb {
	case "check":
		err = g.Check.run(ctx, stdout)
	case "init":
		err = g.Init.run(ctx, stdout)
	case "peek":
		err = g.Peek.run(ctx, stdout)
	case "rewind":
		err = g.Rewind.run(ctx, stdout)
	case "rebuild":
		err = g.Rebuild.run(ctx, stdout)
	case "handback":
		err = g.Handback.run(ctx, stdout)
	default:
		err = g.Run.run(ctx, log)
	}
	if err != nil {
		fmt.Fprintf(stderr, "redrive-stream: %v\n", err)
		if _, usage := errors.AsType[usageError](err); usage {
			return exitUsage
		}
		return exitError
	}
	return 0
}

// prepared returns the settings of the configuration and the stream that the flags ask for.
func (c *flags) prepared(log *slog.Logger) (*config.Config, *stream.Config, error) {
	settings, err := c.settings()
	if err != nil {
		return nil, nil, usageError{err}
	}
	if err := c.fromFile(settings); err != nil {
		return nil, nil, usageError{err}
	}
	kinds, err := c.kinds(settings)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if c.Backlog < 1 {
		return nil, nil, usageError{fmt.Errorf("--backlog %d: it must be at least 1", c.Backlog)}
	}
	cfg := &stream.Config{
		Name: c.Name, Brokers: c.Brokers, Topic: c.Topic, Group: c.Group, Instance: c.Instance, Latest: c.Start == "latest",
		Queue: c.Queue, Kinds: kinds, Strict: c.Strict, ValueMax: settings.Limits.PayloadBytes, Backlog: c.Backlog, Log: log,
		Retry: c.Retry, Dead: c.Dead, Compat: wire.Compat(c.Compat), Results: c.Results, MinWait: cmp.Or(c.MinWait, -1), Alongside: c.Alongside, AllowCompacted: c.AllowCompacted,
	}
	if c.TLS || c.TLSCA != "" || c.TLSCert != "" || c.TLSKey != "" || c.TLSName != "" {
		cfg.TLS = &kafka.TLS{CAFile: c.TLSCA, CertFile: c.TLSCert, KeyFile: c.TLSKey, ServerName: c.TLSName}
	}
	if c.SASL != "" {
		cfg.SASL = &kafka.SASL{Mechanism: c.SASL, User: c.SASLUser, PasswordFile: c.SASLPassword, TokenFile: c.SASLToken, Insecure: c.SASLInsecure}
	}
	return settings, cfg, nil
}

func (c *runCmd) run(ctx context.Context, log *slog.Logger) error {
	settings, cfg, err := c.prepared(log)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, settings, log)
	if err != nil {
		return err
	}
	cfg.Store = s
	end, err := c.servers(cfg)
	if err == nil {
		err = c.stream(ctx, s, settings, cfg)
	}
	return errors.Join(err, end(), s.Close())
}

// stream reads the topic, and beside that ends the jobs of records that cannot be a task.
func (c *runCmd) stream(ctx context.Context, s store.Store, settings *config.Config, cfg *stream.Config) error {
	keep := settings.Retention
	client, err := redrive.New(s, &redrive.Config{
		Queues: map[string]redrive.Queue{c.Queue: {Workers: 2}}, PayloadMax: settings.Limits.PayloadBytes, Logger: cfg.Log,
		MaxAttempts: settings.MaxAttempts, Retention: redrive.Retention{Completed: keep.Completed, Failures: keep.Failures, Dead: keep.Dead,
			DropPending: keep.DropPending, Events: keep.Events, Batches: keep.Batches},
	})
	if err != nil {
		return err
	}
	if err := stream.Handle(client, cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked := make(chan error, 1)
	go func() {
		defer cancel() // without the worker, records that cannot be a task would wait
		worked <- client.Run(ctx)
	}()
	err = stream.Run(ctx, client, cfg)
	cancel()
	return errors.Join(err, <-worked)
}

// settings reads the configuration. Only a redrive.yaml that nobody names may be missing.
func (c *flags) settings() (*config.Config, error) {
	s, err := config.Load(c.Config)
	if errors.Is(err, fs.ErrNotExist) && c.Config == "redrive.yaml" && c.DB != "" {
		s, err = config.Default(), nil
	}
	if err != nil {
		return nil, err
	}
	if c.DB != "" {
		if err := s.SetDatabase(c.DB); err != nil {
			return nil, fmt.Errorf("--db: %w", err)
		}
	}
	if c.Schema != "" {
		if err := config.CheckSchema(c.Schema); err != nil {
			return nil, fmt.Errorf("--schema %w", err)
		}
		if s.Postgres.DSN.IsZero() {
			return nil, fmt.Errorf("--schema needs a PostgreSQL database, but %s is a file", s.Database)
		}
		s.Postgres.Schema = c.Schema
	}
	return s, nil
}

// kinds returns the kinds by task_type.
func (c *flags) kinds(s *config.Config) (map[string]string, error) {
	kinds := map[string]string{}
	for _, text := range c.Kind {
		name, kind, mapped := strings.Cut(text, "=")
		if !mapped {
			kind = name
		}
		if name == "" || kind == "" {
			return nil, fmt.Errorf("--kind %q: it must be a task_type, or TYPE=KIND", text)
		}
		if k, ok := s.Kinds[kind]; len(s.Kinds) > 0 && (!ok || k.Queue != c.Queue) {
			return nil, fmt.Errorf("--kind %q: the configuration has no kind %q in the queue %q%s", text, kind, c.Queue, suggest.DidYouMean(kind, s.KindNames))
		}
		kinds[name] = kind
	}
	if len(c.Kind) > 0 {
		return kinds, nil
	}
	for _, name := range s.KindNames {
		if s.Kinds[name].Queue == c.Queue {
			kinds[name] = name
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no kind is known for the queue %q: name each task_type with --kind, or define kinds in %s (its queues: %s)",
			c.Queue, c.Config, suggest.List(slices.Clone(s.QueueNames)))
	}
	return kinds, nil
}
