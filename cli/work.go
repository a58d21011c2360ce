package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/policy"
)

type workCmd struct {
	UntilIdle bool `help:"End when this worker has no more jobs to run: no waiting, retrying or running ones."`
}

// Help implements kong.HelpProvider.
func (*workCmd) Help() string {
	return `The worker runs the jobs of the configured queues and kinds. The command of a kind reads the payload from standard input.
It gets the environment variables REDRIVE_JOB_ID, REDRIVE_KIND, REDRIVE_ATTEMPT, REDRIVE_LIFE, REDRIVE_RUN,
REDRIVE_STEP_KEY, REDRIVE_CORRELATION, REDRIVE_PAYLOAD_BYTES, REDRIVE_ATTRS, REDRIVE_OVERRIDES, REDRIVE_FD and TMPDIR.
TMPDIR is a directory for this run only, which is removed afterwards. REDRIVE_FD is the number of a file descriptor to which the
command may write lines such as "progress 3/10", "code IMAGE_MISSING" and "retry-after 120"; docs/config.md lists all.
The first 64 KiB of standard output are the result of the job. Exit code 0 completes the job. Any other end is a failure,
and the end of standard error is its evidence.

After SIGINT or SIGTERM the worker starts no new jobs, and running jobs have shutdown_grace to end. A second signal ends
them at once. A third signal ends the worker itself, even if it is still writing. Its commands continue to run, and its
jobs run again when their leases have expired. The exit code is 0 after a clean stop. It is 3 when jobs were handed back,
when the outcome of a job could not be stored, and after a third signal.

With --until-idle, the worker also waits for jobs that are due later, for retries and for redrives. It does not wait for
jobs of paused queues, for jobs of kinds and queues that the configuration does not have, or for redrives that depend on
such jobs. At the end the log says which jobs are left.

    redrive work
    redrive work --until-idle`
}

func (c *workCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if err := runnable(s); err != nil {
		return err
	}
	screen := &live{w: a.stderr, style: a.styleOf(a.stderr)}
	w, db, err := a.openWorker(ctx, s, screen, newLogger(screen, screen.style, s.Log))
	if err != nil {
		return err
	}
	defer w.guard.Close()
	w.args = a.separateArgs()
	client, err := w.client(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := w.notify(ctx, client, by{Reason: "start"}.actor(a), true); err != nil {
		return errors.Join(err, db.Close())
	}
	later, err := w.laterSender(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	ctx, stop, release := w.stopOnSignals(ctx, client, later.Halt)
	defer release()
	defer closing(db, &err) // the database is closed before the call of release, so that a third signal can end a slow Close
	defer w.keepPolicy(ctx, client, by{Reason: "the policy file has changed"}.actor(a))()
	defer w.keepNotify(ctx, client)()
	defer w.sendLater(ctx, later)()
	defer stop()
	w.log.InfoContext(ctx, "working", "database", w.database.String(), "queues", strings.Join(s.QueueNames, ","),
		"kinds", strings.Join(s.KindNames, ","), "policy", w.policy.policy.Name(), "hash", policy.ShortHash(w.policy.policy.Hash()))
	return w.run(ctx, stop, client, c.UntilIdle)
}

// openWorker opens the policy and the database of a process that runs jobs. The caller closes the
// database and the guard of the worker.
func (a *app) openWorker(ctx context.Context, s settings, screen *live, log *slog.Logger) (*worker, *opened, error) {
	p, err := openPolicy(&s)
	if err != nil {
		return nil, nil, err
	}
	d, err := a.databaseOf(s.Config)
	if err != nil {
		return nil, nil, err
	}
	if err := d.absolute(); err != nil {
		return nil, nil, err
	}
	db, err := d.openToWork(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	return &worker{settings: s, database: d, policy: p, screen: screen, now: a.now, log: log, guard: proc.NewGuard(guardCommand)}, db, nil
}

// runnable returns an error if the program of a kind is not installed on this machine.
func runnable(s settings) error {
	if s.file == "" {
		return absentf("there is no %s here%s; it says which command runs a kind, and --config names another one", defaultConfig, renameHint())
	}
	if len(s.Kinds) == 0 {
		return usagef("%s has no kinds; a kind says which command runs its jobs", s.file)
	}
	var wrong several
	for _, name := range s.KindNames {
		k := s.Kinds[name]
		if _, err := exec.LookPath(k.Command[0]); err != nil {
			wrong = append(wrong, fmt.Errorf("kind %q: the command cannot be run: %w; install it, or correct kinds.%s.command in %s", name, err, name, s.file))
		}
		if info, err := os.Stat(k.Dir); err != nil {
			wrong = append(wrong, fmt.Errorf("kind %q: \"dir\" cannot be used: %w", name, err))
		} else if !info.IsDir() {
			wrong = append(wrong, fmt.Errorf("kind %q: dir: %s is not a folder", name, k.Dir))
		}
	}
	return wrong.asError()
}

// worker runs the jobs of a configuration.
type worker struct {
	settings
	database *database
	policy   workPolicy
	screen   *live
	log      *slog.Logger
	now      func() time.Time
	guard    *proc.Guard
	sends    bool // whether the worker sends notices since its start

	args     []string        // the arguments of the processes for last chances; nil means that there are no such processes
	stopping <-chan struct{} // closed when the worker begins to stop
	handed   atomic.Int32    // how many jobs such processes have handed back
}

// guardCommand is the name of the hidden command guardCmd.
const guardCommand = "__guard"

// guardCmd is a hidden command. A worker runs it to kill the worker's commands when the
// worker is killed.
type guardCmd struct{}

// Run implements the command.
func (*guardCmd) Run(a *app) error {
	proc.RunGuard(a.in)
	return nil
}

// lookEvery is the time between two reads of the numbers of jobs for the status line.
const lookEvery = 100 * time.Millisecond

// returnedError says that the worker had to give running jobs back before they were
// finished.
type returnedError struct{ *redrive.Returned }

func (e *returnedError) Kind() wire.Kind { return wire.Stopping }

func (e *returnedError) Error() string { return words.Stopped(e.Jobs, e.Unsaved) }

// run runs jobs until ctx ends. The given function ends ctx.
func (w *worker) run(ctx context.Context, stop func(), client *redrive.Client, untilIdle bool) error {
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	err := w.watch(ctx, stop, client, ended, untilIdle)
	w.screen.set("")
	return w.returned(err)
}

// returned returns the error of a worker whose client has stopped with err.
func (w *worker) returned(err error) error {
	all, handed := new(redrive.Returned), int(w.handed.Load())
	if r, ok := errors.AsType[*redrive.Returned](err); ok {
		*all = *r
	} else if err != nil || handed == 0 {
		return err
	}
	all.Jobs += handed
	return &returnedError{all}
}

// watch waits until the client has stopped. On a terminal it reads the numbers of jobs
// regularly and shows them. If untilIdle is true, it stops the client when no job is left
// that the worker can run.
func (w *worker) watch(ctx context.Context, stop func(), client *redrive.Client, ended <-chan error, untilIdle bool) error {
	var look <-chan time.Time
	if untilIdle || w.screen.style.terminal {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look = ticker.C
	}
	view := &progress{now: w.now}
	looks := context.WithoutCancel(ctx) // the status line is still updated while the worker stops
	idle := false
	for {
		select {
		case err := <-ended:
			if idle && err == nil {
				w.logLeft(looks, client)
			}
			return err
		case <-look:
		}
		left, err := client.Backlog(looks)
		if err != nil {
			continue // the engine already logs that the store does not answer
		}
		w.screen.set(view.line(&left, ctx.Err() != nil))
		if untilIdle && left.Runnable() == 0 && !idle {
			idle = true
			stop()
		}
	}
}

// client returns a client that runs the configured commands.
func (w *worker) client(db *opened) (*redrive.Client, error) {
	client, err := w.configured(db)
	if err != nil {
		return nil, err
	}
	for _, name := range w.KindNames {
		k := w.Kinds[name]
		c := &command{kind: k, log: w.log, guard: w.guard}
		redrive.HandleRaw(client, name, c.handle, &redrive.HandlerOptions{
			Timeout: k.Timeout, TimeoutDefault: config.TimeoutDefault, KillGrace: max(k.KillGrace, time.Millisecond), Schedule: schedule(&k),
			Workers: k.Workers, Limit: k.Limit, Rate: redrive.Rate(k.Rate), MaxCrashes: k.MaxCrashes, KeepPayload: k.KeepPayload,
		})
	}
	return client, nil
}

// configured returns a client with the settings of the configuration and without handlers.
func (w *worker) configured(db *opened) (*redrive.Client, error) {
	c, err := w.clientConfig()
	if err != nil {
		return nil, err
	}
	return db.client(c)
}

func (w *worker) clientConfig() (*redrive.Config, error) {
	queues := make(map[string]redrive.Queue, len(w.Queues))
	for name, q := range w.Queues {
		queues[name] = redrive.Queue{Workers: q.Workers, Limit: q.Limit, Rate: redrive.Rate(q.Rate)}
	}
	periodic, err := schedules(w.Config)
	if err != nil {
		return nil, err
	}
	checks, err := payloadChecks(w.Config)
	if err != nil {
		return nil, err
	}
	var separate func(context.Context, redrive.SeparateRun) error
	if w.args != nil {
		separate = w.separate
	}
	return &redrive.Config{
		Separate: separate, Queues: queues, PayloadChecks: checks, Policy: w.policy.policy, MaxAttempts: w.MaxAttempts, PayloadMax: w.Limits.PayloadBytes,
		Development: w.Development, KeepRaw: w.KeepRaw, HidePaths: !w.KeepPaths, HideAddresses: !w.KeepAddresses, HideEmails: w.HideEmails,
		Lease: w.Lease, RescueInterval: w.RescueInterval, Grace: graceOf(w.ShutdownGrace),
		TempDir: w.TempDir, Logger: w.log, Retention: retention(w.Config), Cron: periodic,
	}, nil
}

// graceOf converts a grace time of the configuration for redrive.Config. In the
// configuration 0 means no grace time; in redrive.Config it means the default.
func graceOf(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
