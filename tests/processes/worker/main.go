// Command worker is one of several processes that share a database in a test. It prints what it
// does, one line per event.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/tests/processes/line"
	"github.com/redrive/redrive/tests/torture/place"
)

type options struct {
	database, name, kinds, cron, policy string

	workers, limit    int
	crashes           int
	lease, scan, poll time.Duration
	timeout           time.Duration
	enqueues          bool
	callers           int
	unique            bool
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", "", "where the jobs are, see package place")
	flag.StringVar(&o.name, "name", "", "name of the process")
	flag.StringVar(&o.kinds, "kinds", "", "kinds that it knows, with commas")
	flag.StringVar(&o.cron, "cron", "", "a schedule of jobs of the first kind")
	flag.StringVar(&o.policy, "policy", "", "a policy file to follow")
	flag.IntVar(&o.workers, "workers", 4, "jobs at a time")
	flag.IntVar(&o.limit, "limit", 0, "jobs at a time over all processes")
	flag.IntVar(&o.crashes, "crashes", 0, "crashes that end a job; 0 means the default")
	flag.DurationVar(&o.lease, "lease", 0, "lease of a run")
	flag.DurationVar(&o.timeout, "timeout", 0, "time limit of a run; 0 means no limit")
	flag.DurationVar(&o.scan, "scan", 0, "how often to look for lost leases")
	flag.DurationVar(&o.poll, "poll", 0, "how often to poll for jobs without a notification")
	flag.BoolVar(&o.enqueues, "enqueue", false, "enqueue a job of the first kind for each line of the standard input")
	flag.IntVar(&o.callers, "callers", 1, "with -enqueue: number of concurrent calls for each line; the line is their key unless it is empty")
	flag.BoolVar(&o.unique, "unique", false, "with -callers: the line is the arguments of a unique job, not its key")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(o *options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(log)
	st, err := place.Open(ctx, o.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	w := &worker{options: o, kinds: strings.Split(o.kinds, ","), out: line.NewPrinter(os.Stdout), log: log}
	if o.enqueues {
		return w.enqueueAll(ctx, st)
	}
	return w.work(ctx, st)
}

type worker struct {
	*options
	kinds []string
	out   *line.Printer
	log   *slog.Logger
}

// enqueueAll calls enqueue for each line until the standard input ends.
func (w *worker) enqueueAll(ctx context.Context, st *place.Place) error {
	client, err := redrive.New(st, nil)
	if err != nil {
		return err
	}
	if err := w.out.Print(line.Line{Op: line.Up, At: now()}); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		key := in.Text()
		errs := make([]error, w.callers)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() { errs[i] = w.enqueue(ctx, client, key) })
		}
		calls.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// enqueue enqueues one job and prints its receipt.
func (w *worker) enqueue(ctx context.Context, client *redrive.Client, key string) error {
	begun := now()
	spec := redrive.NewRaw(w.kinds[0], nil, &redrive.Options{Key: key})
	if w.unique {
		spec = redrive.NewRaw(w.kinds[0], []byte(key), &redrive.Options{Unique: &redrive.Unique{}})
	}
	receipt, err := client.Enqueue(ctx, spec)
	if err != nil {
		return err
	}
	return w.out.Print(line.Line{Op: line.Taken, Call: begun, At: now(), ID: receipt.ID, Note: key, Existing: receipt.Existing})
}

// work runs jobs until SIGTERM.
func (w *worker) work(ctx context.Context, st *place.Place) error {
	config := &redrive.Config{
		Name: w.name, Lease: w.lease, RescueInterval: w.scan, Poll: w.poll, Grace: time.Second,
		Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: w.workers, Limit: w.limit}},
	}
	if w.cron != "" {
		config.Cron = []redrive.Cron{{Name: "slots", Expression: w.cron, Make: func(slot time.Time) redrive.Spec {
			return redrive.NewRaw(w.kinds[0], []byte(slot.UTC().Format(time.RFC3339)), nil)
		}}}
	}
	var watcher *policyfile.Watcher
	if w.policy != "" {
		var err error
		if watcher, err = policyfile.Watch(w.policy); err != nil {
			return err
		}
		config.Policy = watcher.File().Policy
	}
	client, err := redrive.New(st, config)
	if err != nil {
		return err
	}
	for _, kind := range w.kinds {
		redrive.HandleRaw(client, kind, w.handle, &redrive.HandlerOptions{MaxCrashes: w.crashes, Timeout: w.timeout})
	}
	if err := st.Declare(ctx, []string{redrive.DefaultQueue}); err != nil {
		return err
	}
	if watcher != nil {
		go w.follow(ctx, client, watcher)
	}
	if err := w.out.Print(line.Line{Op: line.Up, At: now()}); err != nil {
		return err
	}
	err = client.Run(ctx)
	if _, ok := errors.AsType[*redrive.Returned](err); ok {
		return nil
	}
	return err
}

// policyEvery is how often the policy file is read. A change is
// applied when two reads in a row have found the same new text.
const policyEvery = 400 * time.Millisecond

// follow applies each change of the policy file.
func (w *worker) follow(ctx context.Context, client *redrive.Client, watcher *policyfile.Watcher) {
	ticker := time.NewTicker(policyEvery)
	defer ticker.Stop()
	watcher.Run(ctx, ticker.C, func(f *policyfile.File) {
		err := client.SetPolicy(ctx, redrive.By{Actor: w.name, Reason: "the file has changed"}, f.Policy)
		if err == nil {
			err = w.out.Print(line.Line{Op: line.Policy, At: now(), Note: f.Spec.Name})
		}
		if err != nil {
			w.log.ErrorContext(ctx, "policy", "error", err)
		}
	}, func(err error) { w.log.ErrorContext(ctx, "policy", "error", err) })
}

var errBroken = errors.New("planned failure")

// handle runs a job; the kind of the job says what it does.
func (w *worker) handle(ctx context.Context, j *redrive.Job[[]byte]) error {
	l := line.Line{Op: line.Begin, At: now(), ID: j.ID, Run: job.Token(j.Run), Kind: j.Kind, Note: string(j.Args)}
	if err := w.out.Print(l); err != nil {
		return err
	}
	err := w.do(ctx, j)
	l.Op, l.At = line.End, now()
	return errors.Join(err, w.out.Print(l))
}

func (w *worker) do(ctx context.Context, j *redrive.Job[[]byte]) error {
	switch j.Kind {
	case "short": // a handler that takes a while
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "stuck", "held":
		<-ctx.Done()
		return context.Cause(ctx)
	case "deaf": // a handler that ignores its context and returns when a file exists
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for range look.C {
			if _, err := os.Stat(string(j.Args)); err == nil {
				return nil
			}
		}
	case "poison": // a handler that kills its process
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return err
		}
		select {} // the process ends before the handler returns
	case "broken":
		return errBroken
	}
	return nil
}

func now() int64 { return time.Now().UnixMicro() }
