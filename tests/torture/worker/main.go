//go:build unix

// Command worker is the program that the torture test kills. It runs or enqueues jobs through the
// public API and keeps a ledger of both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

type options struct {
	database string
	ledger   string
	name     string
	lease    time.Duration

	drain bool // whether the worker ends when no job is left

	enqueue int    // minimum number of jobs to enqueue; above zero makes the process a client
	once    bool   // whether the client ends when the jobs are enqueued
	backlog int64  // number of live jobs at which a client pauses
	seed    uint64 // seed of the client's random choices
	poison  int    // number of additional jobs that kill their worker
	// again is a file pattern of the ledgers of earlier clients. If the enqueue of a job with a key got no answer there,
	// this client enqueues the job again.
	again string
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", "", "database file, or URL of a PostgreSQL server with the schema as its fragment")
	flag.StringVar(&o.ledger, "ledger", "", "ledger file")
	flag.StringVar(&o.name, "name", "", "name of the process, unique in the round")
	flag.DurationVar(&o.lease, "lease", 400*time.Millisecond, "lease of a run")
	flag.BoolVar(&o.drain, "drain", false, "work until no job is left")
	flag.IntVar(&o.enqueue, "enqueue", 0, "enqueue at least this number of jobs instead of working")
	flag.BoolVar(&o.once, "once", false, "enqueue no more jobs than -enqueue says")
	flag.Int64Var(&o.backlog, "backlog", 200, "number of live jobs at which to pause enqueueing")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the random jobs")
	flag.IntVar(&o.poison, "poison", 0, "number of jobs that kill their worker")
	flag.StringVar(&o.again, "again", "", "pattern of the ledgers of earlier clients")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// run works or enqueues until it is done or gets SIGTERM.
func run(o *options) error {
	// If this signal is ignored, a write beyond the file size limit returns an error, as on a full
	// disk.
	signal.Ignore(syscall.SIGXFSZ)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	slog.SetDefault(log)
	book, err := ledger.Open(o.ledger)
	if err != nil {
		return err
	}
	err = serve(ctx, o, book, log)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // no error, because the process was stopped before it began to work
	}
	return err
}

func serve(ctx context.Context, o *options, book *ledger.Book, log *slog.Logger) error {
	st, err := open(ctx, o)
	if err != nil {
		return err
	}
	if err = prepare(ctx, st); err == nil {
		log.InfoContext(ctx, "working") // the redrive command logs the same text; faults begin after this line
		if o.enqueue > 0 {
			err = enqueueAll(ctx, o, st, book)
		} else {
			err = work(ctx, o, st, book, log)
		}
	}
	return errors.Join(err, st.Close())
}

// open opens the database and retries while it is unavailable.
func open(ctx context.Context, o *options) (*place.Place, error) {
	for {
		st, err := place.Open(ctx, o.database)
		if err == nil || !place.Passes(err) || ctx.Err() != nil {
			return st, err
		}
		pause(ctx, troubleWait)
	}
}

// The application's own tables. A row of orders is written with the enqueue of its job, a row of
// effects with the end of its job.
var ownTables = [...]string{
	`CREATE TABLE IF NOT EXISTS orders (name TEXT PRIMARY KEY)`,
	`CREATE TABLE IF NOT EXISTS effects (job BIGINT, run BIGINT)`,
}

func prepare(ctx context.Context, st *place.Place) error {
	for {
		err := st.Tx(ctx, func(ctx context.Context, tx *place.Tx) error {
			for _, table := range ownTables {
				if err := tx.Exec(ctx, table); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = publishRules(ctx, st)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, troubleWait)
	}
}

// publishRules puts the rules of notifications in force before there is any job.
func publishRules(ctx context.Context, st *place.Place) error {
	client, err := redrive.New(st, nil)
	if err == nil {
		_, err = client.PublishNotify(ctx, redrive.By{Actor: "torture"}, plan.Rules())
	}
	return err
}

// troubleWait is the pause after an error of the store.
const troubleWait = 20 * time.Millisecond

// pause waits for the duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
