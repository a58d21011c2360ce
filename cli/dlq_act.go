package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

// actOnDead applies an action to the selected dead letters.
func (a *app) actOnDead(ctx context.Context, s *selection, do redrive.Act, w who, asJSON bool, fill func(context.Context, *redrive.Client, *redrive.Action) error) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	act, err := s.action(ctx, a, client, do)
	if err != nil {
		return err
	}
	act.Note = w.Note
	if fill != nil {
		if err := fill(ctx, client, &act); err != nil {
			return err
		}
	}
	if err := act.Validate(true); err != nil {
		return &usageError{err}
	}
	if len(act.IDs) == 1 && !s.DryRun {
		return a.actByID(ctx, client, w.actor(a), act, asJSON)
	}
	c, err := preview(ctx, client, act)
	if err == nil && c.N == 0 && act.Filter != nil {
		err = s.explainNothing(ctx, a, client)
	}
	switch {
	case err != nil:
		return err
	case s.DryRun:
		return a.dryRun(&c, asJSON)
	}
	if c.N == 0 && act.Filter != nil {
		if c.Groups, err = groupsToChange(ctx, client, &act); err != nil {
			return err
		}
		if len(c.Groups) == 0 {
			return a.acted(&c, 0, asJSON)
		}
	}
	if err := a.confirm(c.Question(), s.Yes); err != nil {
		return err
	}
	if act.Filter == nil {
		return a.actByID(ctx, client, w.actor(a), act, asJSON)
	}
	return a.actByFilter(ctx, client, w.actor(a), &c, asJSON)
}

// actByFilter applies an action to the dead letters of a filter, step by step. An interrupt
// stops it after the current step.
func (a *app) actByFilter(ctx context.Context, client *redrive.Client, actor redrive.By, c *words.Counted, asJSON bool) error {
	asked, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt does not stop a step that has begun
	defer stop()
	progress := newBar(a, c.N)
	acted, err := client.Act(ctx, actor, c.Action, func(done int64) {
		progress.set(done, done)
		if asked.Err() != nil {
			stop()
		}
	})
	progress.end()
	switch {
	case err == nil:
		return a.acted(c, acted.Done, asJSON)
	case asked.Err() != nil && ctx.Err() != nil:
		return &interruptedError{c.Progress(acted.Done) + sameAgain}
	}
	return &noted{fmt.Errorf("%s: %w", c.Do, err), c.Progress(acted.Done) + sameAgain}
}

// sameAgain is added to an error when an action stopped before it had changed all jobs.
const sameAgain = "; run the same command again to continue"

// interruptedError says that a person stopped a command before it was finished.
type interruptedError struct{ done string }

func (e *interruptedError) Error() string   { return "stopped: " + e.done }
func (e *interruptedError) Kind() wire.Kind { return wire.Stopping }

func (a *app) acted(c *words.Counted, done int64, asJSON bool) error {
	if asJSON {
		return a.printJSON(wire.Counted{Do: c.Do.String(), N: c.N, Done: &done, Through: c.Through})
	}
	_, err := fmt.Fprintln(a.out, c.Result(done))
	return err
}

// actByID applies an action to the jobs with the given ids, and prints the result for each
// job.
func (a *app) actByID(ctx context.Context, client *redrive.Client, actor redrive.By, act redrive.Action, asJSON bool) error {
	var notes map[redrive.JobID][]string
	if act.Do == redrive.ActRetry {
		var err error
		if notes, err = a.retryNotes(ctx, client, act.IDs); err != nil {
			return err
		}
	}
	acted, err := client.Act(ctx, actor, act, nil)
	if err != nil {
		return invalidIsUsage(fmt.Errorf("%s: %w", act.Do, err))
	}
	answers := make([]wire.DeadAnswer, len(act.IDs))
	var wrong several
	for i, id := range act.IDs {
		answers[i] = wire.DeadAnswer{ID: id}
		if i < len(acted.Errors) && acted.Errors[i] != nil {
			err := acted.Errors[i]
			answers[i].Code, answers[i].Error = wire.KindOf(err).String(), err.Error()
			wrong = append(wrong, err)
			continue
		}
		answers[i].Status = "removed"
		if act.Do != redrive.ActPurge {
			d, err := client.DeadLetter(ctx, id)
			if err != nil {
				return fmt.Errorf("read the dead letter of job %d: %w", id, err)
			}
			answers[i].Status = d.Status.String()
		}
		a.printNotes(notes, id)
	}
	if asJSON {
		if err := a.printJSON(map[string]any{"dead_letters": answers}); err != nil {
			return err
		}
		return wrong.asError()
	}
	for _, one := range answers {
		if one.Error == "" {
			fmt.Fprintf(a.out, "%d is %s\n", one.ID, one.Status)
		}
	}
	return wrong.asError()
}
