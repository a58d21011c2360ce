package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// divisors are the numbers by which the waits of the presets are divided, in the order of
// kinds. They turn minutes into about a second.
var divisors = [...]int{240, 4, 300, 300, 10}

// highMemory is the queue to which the preset transcribe sends long videos.
const highMemory = "compute-engine-high-memory"

// system is one of the five programs of the demo: a client with one kind of job and the
// policy of this kind. All systems use the same store, as programs on one machine can.
type system struct {
	kind    string
	divisor int
	policy  *policy.Policy
	client  *redrive.Client
}

// systemOptions are the values that all systems have in common.
type systemOptions struct {
	store   store.Store
	worker  *worker
	tempDir string
	limit   time.Duration // the time limit of a run
	haste   int           // a further number by which all waits are divided
}

func newSystems(o systemOptions) ([]system, error) {
	var all []system
	for i, kind := range kinds {
		by := divisors[i] * o.haste
		p, err := shortened(kind, by)
		if err != nil {
			return nil, err
		}
		queues := map[string]redrive.Queue{kind: {Workers: 10}}
		if kind == kindTranscribe {
			queues[highMemory] = redrive.Queue{Workers: 2}
		}
		client, err := redrive.New(o.store, &redrive.Config{
			Name: "demo-" + kind, Queues: queues, Policy: p, TempDir: o.tempDir,
			Grace: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		redrive.Handle(client, redrive.Kind[task](kind), o.worker.handler(kind), &redrive.HandlerOptions{
			Timeout: o.limit, KillGrace: 100 * time.Millisecond,
		})
		all = append(all, system{kind: kind, divisor: by, policy: p, client: client})
	}
	return all, nil
}

// enqueue enqueues each job through the system of its kind.
func enqueue(ctx context.Context, all []system, jobs []demoJob) error {
	for i := range all {
		var specs []redrive.Spec
		for k := range jobs {
			if jobs[k].kind == all[i].kind {
				specs = append(specs, jobs[k].spec())
			}
		}
		if _, err := all[i].client.EnqueueMany(ctx, specs); err != nil {
			return fmt.Errorf("enqueue jobs of kind %s: %w", all[i].kind, err)
		}
	}
	return nil
}

// run runs the systems until the returned function is called. This function waits until
// they have ended and returns their error. If a system ends early, the returned context
// ends with the error of that system.
func run(ctx context.Context, all []system) (running context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, len(all))
	for _, s := range all {
		go func() {
			err := s.client.Run(ctx)
			if err != nil {
				err = fmt.Errorf("system %s: %w", s.kind, err)
				cancel(err)
			}
			ended <- err
		}()
	}
	return ctx, func() error {
		cancel(nil)
		var errs []error
		for range all {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}
