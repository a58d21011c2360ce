package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

// patchShown is the number of refused jobs whose reasons are printed.
const patchShown = 10

// patchMax is the maximum number of bytes that are read of a patch file. The client's own limit for
// a patch is lower.
const patchMax = 1 << 20

// retryPatched retries the selected jobs. It applies the JSON Patch to the payload of each job.
func (c *dlqRetryCmd) retryPatched(ctx context.Context, a *app) (err error) {
	if c.Payload != "" {
		return usagef("either --payload or --patch, not both")
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Rate < 0 || c.Rate > redrive.RedriveRateMax || c.Rate > 0 && len(c.IDs) > 0 {
		return usagef("--rate %d: must be 1 to %d jobs per second, and needs a filter", c.Rate, redrive.RedriveRateMax)
	}
	patch, err := a.readPatch(c.Patch)
	if err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	act, err := c.action(ctx, a, client, redrive.ActRetry)
	if err != nil {
		return err
	}
	act.Note = c.Note
	if act.Change, err = c.changes(ctx, a, client); err != nil {
		return err
	}
	found, err := client.RetryPatched(ctx, c.actor(a), act, patch, true, nil)
	if err != nil {
		return invalidIsUsage(err)
	}
	if c.DryRun || found.Done == 0 {
		return a.patched(&found, nil, c.JSON)
	}
	if len(act.IDs) != 1 {
		if err := a.confirm(fmt.Sprintf("retry %s with the patch", words.Count(found.Done, "dead letter")), c.Yes); err != nil {
			return err
		}
	}
	if act.Filter == nil {
		return c.retryPatchedIDs(ctx, a, client, act, patch, &found)
	}
	spec := retrySpec(&words.Counted{Action: act, N: found.Done + found.RefusedN}, c.Rate)
	spec.Patch, spec.Through = patch, found.Through
	r, err := client.Redrive(ctx, c.actor(a), spec)
	if err != nil {
		return invalidIsUsage(err)
	}
	return a.advance(ctx, client, c.actor(a), r.ID, bulk{n: spec.Total, what: "dead letter", done: words.Done(redrive.ActRetry), print: func(r *redrive.Redrive) error {
		found.RefusedN, found.Redrive = r.Refused, r.ID
		return a.patched(&found, &r.Released, c.JSON)
	}})
}

// retryPatchedIDs retries the jobs with the given ids, each in a transaction. An interrupt stops it
// after a job.
func (c *dlqRetryCmd) retryPatchedIDs(ctx context.Context, a *app, client *redrive.Client, act redrive.Action, patch []byte, found *redrive.Patched) error {
	asked, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // an interrupt does not stop a retry that has begun
	defer stop()
	progress := newBar(a, found.Done)
	did, err := client.RetryPatched(ctx, c.actor(a), act, patch, false, func(done int64) {
		progress.set(done, done)
		if asked.Err() != nil {
			stop()
		}
	})
	progress.end()
	switch {
	case err == nil:
		return a.patched(&did, &did.Done, c.JSON)
	case asked.Err() != nil && ctx.Err() != nil:
		return &interruptedError{fmt.Sprintf("%s of %s were retried", words.Number(did.Done), words.Count(found.Done, "dead letter")) + sameAgain}
	}
	return err
}

// readPatch reads a patch from a file; "-" is standard input.
func (a *app) readPatch(path string) ([]byte, error) {
	in, err := a.input(path)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	defer in.Close()
	patch, err := io.ReadAll(io.LimitReader(in, patchMax))
	if err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	return patch, nil
}

// patched prints the result of a retry with a patch. The number of changed jobs is nil for a dry
// run, which only counts the jobs.
func (a *app) patched(p *redrive.Patched, done *int64, asJSON bool) error {
	if asJSON {
		out := wire.Patched{Do: redrive.ActRetry.String(), N: p.Done, Done: done, Through: p.Through, RefusedN: p.RefusedN, Refused: []wire.DeadAnswer{},
			Redrive: p.Redrive}
		for _, r := range p.Refused {
			out.Refused = append(out.Refused, wire.DeadAnswer{ID: r.Job, Code: wire.KindOf(r.Err).String(), Error: r.Err.Error()})
		}
		return a.printJSON(out)
	}
	verb := "would be retried"
	if done != nil {
		verb = "retried"
	}
	fmt.Fprintf(a.out, "%s %s with the patch\n", words.Count(p.Done, "dead letter"), verb)
	if p.RefusedN > 0 {
		stay := "stay"
		if p.RefusedN == 1 {
			stay = "stays"
		}
		fmt.Fprintf(a.out, "%s %s dead:\n", words.Count(p.RefusedN, "job"), stay)
		for _, r := range p.Refused[:min(len(p.Refused), patchShown)] {
			fmt.Fprintf(a.out, "  %s\n", words.Clean(r.Err.Error()))
		}
		if p.RefusedN > patchShown {
			fmt.Fprintf(a.out, "  and %s more; --json lists up to %s\n", words.Number(p.RefusedN-patchShown), words.Number(redrive.PatchRefusedMax))
		}
	}
	if done == nil && p.Example.Job != 0 {
		fmt.Fprintf(a.out, "job %d, for example:\n- %s\n+ %s\n", p.Example.Job, words.Clean(string(p.Example.Before)), words.Clean(string(p.Example.After)))
	}
	return nil
}
