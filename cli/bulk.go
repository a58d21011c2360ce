package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
)

// bulk is an action on many jobs that the store keeps as a redrive, and that a command carries
// out.
type bulk struct {
	n     int64  // number of selected jobs
	what  string // the name of one of them: "job" or "dead letter"
	done  string // what the action does to them, such as "cancelled"
	print func(r *redrive.Redrive) error
}

// advance makes the steps of a redrive until all its jobs are changed, and prints the result. An
// interrupt pauses the redrive.
func (a *app) advance(ctx context.Context, client *redrive.Client, by redrive.By, id int64, b bulk) error {
	asked, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt does not stop a step that has begun
	defer stop()
	progress := newBar(a, b.n)
	r, err := client.AdvanceRedrive(ctx, id, func(r redrive.Redrive) {
		progress.set(r.Released, r.Released)
		if asked.Err() != nil {
			stop()
		}
	})
	progress.end()
	if asked.Err() != nil && err != nil {
		if r, err = client.ControlRedrive(context.WithoutCancel(ctx), by, id, redrive.RedrivePause); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case r.State == redrive.RedriveCompleted || r.State == redrive.RedriveEnded || r.State == redrive.RedriveSettling:
		return b.print(&r)
	case r.State == redrive.RedriveStopped:
		return fmt.Errorf("redrive %d has stopped by itself: %s; `redrive dlq redrive resume %d` continues", r.ID, r.Why, r.ID)
	}
	return &interruptedError{fmt.Sprintf("%s of %s are %s, and redrive %d is %s; `redrive dlq redrive resume %d` continues",
		words.Number(r.Released), words.Count(b.n, b.what), b.done, r.ID, r.State, r.ID)}
}
