//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// handlers runs the jobs as their plans say and records the runs in the ledger.
type handlers struct {
	book  *ledger.Book
	store *noted
	name  string
}

func work(ctx context.Context, o *options, st *place.Place, book *ledger.Book, log *slog.Logger) error {
	s := newNoted(st, book, log, o.name, o.lease)
	go s.watchForStops(ctx)
	client, err := redrive.New(s, &redrive.Config{
		Name:           o.name,
		Queues:         map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 16}},
		Lease:          o.lease,
		RescueInterval: o.lease / 4,
		Poll:           50 * time.Millisecond,
		Grace:          100 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	h := &handlers{book: book, store: s, name: o.name}
	for _, kind := range []string{plan.Work, plan.Brief, plan.Toxic} {
		// The handlers stop when their context ends, and then flush their ledger. On a slow disk
		// they need a long grace time for that.
		options := &redrive.HandlerOptions{Schedule: plan.Schedule(kind), KillGrace: time.Minute}
		switch kind {
		case plan.Brief:
			options.Timeout = plan.BriefTimeout
		case plan.Toxic:
			options.MaxCrashes = plan.ToxicCrashes
		}
		redrive.HandleRaw(client, kind, h.handle, options)
	}
	if o.drain {
		err = client.RunUntilEmpty(ctx)
	} else {
		err = client.Run(ctx)
	}
	if _, ok := errors.AsType[*redrive.Returned](err); ok {
		return nil // a worker that stops may give jobs back
	}
	return err
}

// handle is the handler of all kinds.
func (h *handlers) handle(ctx context.Context, j *redrive.Job[[]byte]) (err error) {
	line := ledger.Line{Op: ledger.Begin, At: time.Now().UnixMicro(), Holder: h.name,
		ID: j.ID, Life: int32(j.Life), Token: token(j), Digest: check.Digest(j.Args)}
	h.note(line)
	crashpoint.Hit(crashpoint.MidHandler)
	result := fmt.Appendf(nil, "run %d of job %d", j.Run, j.ID)
	p := recover1(func() { err = h.do(ctx, j, result) })
	end := ledger.Line{Op: ledger.Finish, At: time.Now().UnixMicro(), ID: j.ID, Token: token(j)}
	switch {
	case p != nil:
		end.Error = fmt.Sprint(p)
	case err != nil:
		end.Error = err.Error()
	default:
		end.Result = check.Digest(result)
	}
	h.note(end)
	if p != nil {
		panic(p)
	}
	return err
}

// note writes a line. A process that cannot write its ledger ends, because it could not be checked
// any more.
func (h *handlers) note(line ledger.Line) {
	if err := h.book.Note(line); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// recover1 calls the function f and returns the value of its panic, or nil.
func recover1(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// do runs a job as its plan says.
func (h *handlers) do(ctx context.Context, j *redrive.Job[[]byte], result []byte) error {
	var args plan.Args
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return failure.Permanent(err)
	}
	broken := plan.Broken(int64(j.Run), args.Name)
	switch {
	case args.Plan == plan.Slow:
		if err := h.slowly(ctx, j); err != nil {
			return err
		}
	case args.Plan == plan.Tx:
		return h.inTx(ctx, j, result)
	case args.Plan == plan.Flaky && j.Attempt == 1, args.Plan == plan.Fails:
		return broken
	case args.Plan == plan.Panics && j.Attempt == 1:
		panic(broken)
	case args.Plan == plan.Bad:
		return failure.Permanent(broken)
	case args.Plan == plan.Snoozes && j.Run == 1:
		return failure.Snooze(30 * time.Millisecond)
	case args.Plan == plan.Hangs:
		<-ctx.Done()
		return fmt.Errorf("run %d of %s stopped: %w", j.Run, args.Name, context.Cause(ctx))
	case args.Plan == plan.Poison:
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return j.SetResult(result)
}

// slowly works for 40 to 360 ms, depending on the job, and reports progress.
func (h *handlers) slowly(ctx context.Context, j *redrive.Job[[]byte]) error {
	const steps = 4
	step := time.Duration(10+int64(j.ID)*37%80) * time.Millisecond
	for i := range steps {
		j.Progress(int64(i), steps, "slowly")
		if pause(ctx, step); ctx.Err() != nil {
			return fmt.Errorf("run %d stopped: %w", j.Run, context.Cause(ctx))
		}
	}
	return nil
}

// inTx completes the job together with a row of the application.
func (h *handlers) inTx(ctx context.Context, j *redrive.Job[[]byte], result []byte) error {
	if err := j.SetResult(result); err != nil {
		return err
	}
	h.store.endsInTx(j.ID, token(j))
	err := h.store.Tx(ctx, func(ctx context.Context, tx *place.Tx) error {
		if err := tx.Exec(ctx, `INSERT INTO effects (job, run) VALUES (?, ?)`, int64(j.ID), j.Run); err != nil {
			return err
		}
		return j.CompleteTx(ctx, tx.Jobs)
	})
	if err != nil && !errors.Is(err, store.ErrLeaseLost) {
		return failure.Snooze(troubleWait) // the job is snoozed, because a full disk must not fail it
	}
	return err
}
