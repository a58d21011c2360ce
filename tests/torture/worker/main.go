//go:build unix

// Command worker is what the torture test kills: a process that runs jobs, or
// enqueues them, through the public API, and keeps a ledger of both.
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

	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
)

type options struct {
	database string
	ledger   string
	name     string
	lease    time.Duration

	drain bool // work until nothing is left

	enqueue int    // jobs to take in at least; above zero makes it a client
	once    bool   // end when they are taken in
	backlog int64  // live jobs at which a client waits
	seed    uint64 // of a client's choices
	poison  int    // jobs that kill their worker, among the others
	again   string // ledgers of earlier clients whose keyed jobs without an answer are enqueued again
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", "", "database file, or URL of a PostgreSQL server with the schema as its fragment")
	flag.StringVar(&o.ledger, "ledger", "", "ledger file")
	flag.StringVar(&o.name, "name", "", "name of the process, unique in the round")
	flag.DurationVar(&o.lease, "lease", 400*time.Millisecond, "lease of a run")
	flag.BoolVar(&o.drain, "drain", false, "work until no job is left")
	flag.IntVar(&o.enqueue, "enqueue", 0, "enqueue at least so many jobs instead of working")
	flag.BoolVar(&o.once, "once", false, "enqueue no more than that")
	flag.Int64Var(&o.backlog, "backlog", 200, "live jobs at which to stop enqueueing for a while")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of what is enqueued")
	flag.IntVar(&o.poison, "poison", 0, "jobs that kill their worker")
	flag.StringVar(&o.again, "again", "", "pattern of the ledgers of earlier clients")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// run works or enqueues until it is done or SIGTERM comes.
func run(o *options) error {
	// A file that may not grow gives an error then, as a full disk does.
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
		return nil // stopped before it had begun
	}
	return err
}

func serve(ctx context.Context, o *options, book *ledger.Book, log *slog.Logger) error {
	st, err := open(ctx, o)
	if err != nil {
		return err
	}
	if err = prepare(ctx, st); err == nil {
		log.InfoContext(ctx, "working") // as the command says it: from now on it can be hurt at work
		if o.enqueue > 0 {
			err = enqueueAll(ctx, o, st, book)
		} else {
			err = work(ctx, o, st, book, log)
		}
	}
	return errors.Join(err, st.Close())
}

// open waits for a database that is away.
func open(ctx context.Context, o *options) (*place.Place, error) {
	for {
		st, err := place.Open(ctx, o.database)
		if err == nil || !place.Passes(err) || ctx.Err() != nil {
			return st, err
		}
		pause(ctx, troubleWait)
	}
}

// The application's own tables: an order comes with its job in one transaction,
// an effect with the end of its job.
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
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx, troubleWait)
	}
}

// troubleWait is how long to leave a store alone that has just failed.
const troubleWait = 20 * time.Millisecond

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
