// Package cli implements the command redrive: it enqueues jobs, runs them and shows their
// state.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
)

const description = `redrive keeps durable jobs in an SQLite file or in PostgreSQL. The commands of redrive.yaml run the jobs. Failures are kept and explained.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 stopped before the work was done, 4 not found, 5 conflict, 9 works, with warnings.`

// grammar describes the command line: all commands and flags.
type grammar struct {
	globals
	Enqueue  enqueueCmd  `cmd:"" help:"Enqueue one job, or many jobs as JSON lines."`
	Work     workCmd     `cmd:"" help:"Run jobs with the commands of the configuration."`
	Serve    serveCmd    `cmd:"" help:"Serve the HTTP API, and run jobs as well if asked to."`
	Webhooks webhooksCmd `cmd:"" help:"List, add, test, rotate and turn off the receivers of webhooks."`
	Keys     keysCmd     `cmd:"" help:"List, make, rotate and revoke the access keys of servers."`
	Workers  workersCmd  `cmd:"" help:"List the processes that run jobs, and order one to be quiet."`
	Jobs     jobsCmd     `cmd:"" help:"List, show, cancel and retry jobs."`
	Explain  explainCmd  `cmd:"" help:"Explain what was decided about a job, or what would be decided about an error."`
	DLQ      dlqCmd      `cmd:"" name:"dlq" help:"List, show, retry and close dead letters: jobs that failed for good."`
	Batch    batchCmd    `cmd:"" help:"Make batches of jobs that end together, publish, watch and retry them."`
	Policy   policyCmd   `cmd:"" help:"Show, check, explain and list policies: what is retried, when and how often."`
	Notify   notifyCmd   `cmd:"" help:"Show, publish and take back the rules of notifications: who hears of what."`
	Queues   queuesCmd   `cmd:"" help:"List queues and change their settings."`
	Stream   streamCmd   `cmd:"" help:"List, show, pause and rewind streams, which take tasks from Kafka topics."`
	Stats    statsCmd    `cmd:"" help:"Show figures over time: jobs that were enqueued, completed, failed and so on."`
	Events   eventsCmd   `cmd:"" help:"Print what happened, as JSON lines."`
	Cron     cronCmd     `cmd:"" help:"List schedules with their slots, pause and resume them."`
	Audit    auditCmd    `cmd:"" help:"Print the audit log: actions of people, redrives and retention."`
	Doctor   doctorCmd   `cmd:"" help:"Check the database, its workers and its disk."`
	Migrate  migrateCmd  `cmd:"" help:"Migrate the schema of the database to the version of this program."`
	Config   configCmd   `cmd:"" help:"Check the configuration."`
	Demo     demoCmd     `cmd:"" help:"Play a demo: five systems, a service that fails, and a cause that is repaired."`
	Bench    benchCmd    `cmd:"" help:"Measure this program on this machine."`
	Version  versionCmd  `cmd:"" help:"Print the version; so do --version and -v."`

	Completion completionCmd `cmd:"" help:"Print the script that completes this command in a shell."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:"" passthrough:""`
	DemoTool   demoToolCmd   `cmd:"" name:"demo-tool" hidden:"" passthrough:""`
	Guard      guardCmd      `cmd:"" name:"__guard" hidden:""`
	Separate   separateCmd   `cmd:"" name:"__separate" hidden:""`
}

// globals are the flags that all commands have.
type globals struct {
	ConfigFile string `name:"config" placeholder:"FILE" help:"Configuration file. Default: $$REDRIVE_CONFIG, or redrive.yaml if it exists."`
	DB         string `name:"db" placeholder:"FILE|DSN" help:"Database: a file, or postgres://user@host:5432/name. Default: $$REDRIVE_DB, or the database of the configuration, or jobs.db."`
	Schema     string `name:"schema" placeholder:"NAME" help:"PostgreSQL schema of redrive's tables. Default: the schema of the configuration, or \"redrive\"."`
}

// jsonFlag is the flag --json of the commands that print something.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON, with times in UTC."`
}

// app is one call of the command, with its input, its outputs, its environment and its
// global flags.
type app struct {
	globals
	in     io.Reader
	out    *bufio.Writer // buffered standard output, flushed when the command ends
	stdout io.Writer     // standard output without the buffer
	stderr io.Writer
	getenv func(string) string
	now    func() time.Time
}

// Main runs the command with args, which do not include the program's name, and
// returns its exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{
		in: stdin, out: bufio.NewWriter(stdout), stdout: stdout, stderr: stderr, getenv: getenv, now: systemNow,
	}
	err := a.run(ctx, args)
	if ferr := a.out.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("write the output: %w", ferr)
	}
	if err != nil {
		report(stderr, err, slices.Contains(args, "--json"))
	}
	return wire.KindOf(err).ExitCode()
}

// printJSON prints an object as JSON with line breaks and indentation.
func (a *app) printJSON(v any) error { return wire.Encode(a.out, v, "  ") }

// printJSONLine prints an object as JSON in one line.
func (a *app) printJSONLine(v any) error { return wire.Encode(a.out, v, "") }

func (a *app) run(ctx context.Context, args []string) error {
	args = asWritten(args)
	var g grammar
	helped := false
	parser, err := newParser(&g, kong.Writers(a.stdout, a.stderr), kong.Exit(func(int) { helped = true }), only(args[0]))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return &usageError{fmt.Errorf("%w; see %s", err, helpFor(err))}
	}
	a.globals = g.globals
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(a)
	if _, mistakes := errors.AsType[yamlfile.Problems](err); mistakes { // mistakes in a configuration or a policy
		return &usageError{err}
	}
	return err
}

// asWritten returns the arguments with the usual other ways to ask for the help and the version
// replaced: nothing, help, help COMMAND, --version and -v.
func asWritten(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version" || args[0] == "-v":
		return append([]string{"version"}, args[1:]...)
	}
	return args
}

// newParser makes a parser that reads the command line into g. It returns an error only if
// the grammar itself is wrong; every test of the command would find such an error.
func newParser(g *grammar, more ...kong.Option) (*kong.Kong, error) {
	return kong.New(g, append(more,
		kong.Name("redrive"), kong.Description(description),
		kong.Vars{"pageMax": strconv.Itoa(job.PageMax)},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)...)
}

// only makes the parser read nothing of the other commands if name is a command: reading the flags of
// them all took half the time in which a short command starts.
func only(name string) kong.Option {
	var others []string
	found := false
	for field := range reflect.TypeFor[grammar]().Fields() {
		if _, isCommand := field.Tag.Lookup("cmd"); !isCommand {
			continue
		}
		if cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) == name {
			found = true
			continue
		}
		others = append(others, field.Name)
	}
	if !found {
		return kong.OptionFunc(func(*kong.Kong) error { return nil })
	}
	return kong.IgnoreFields(`^grammar\.(` + strings.Join(others, "|") + `)$`)
}

// helpFor returns the command line that prints the help for the command or flag that was
// used wrongly.
func helpFor(err error) string {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok || parse.Context == nil || parse.Context.Selected() == nil {
		return "`redrive --help`"
	}
	return "`" + parse.Context.Selected().FullPath() + " --help`"
}
