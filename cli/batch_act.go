package cli

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type batchPublishCmd struct {
	by
	batchArg
}

// Help implements kong.HelpProvider.
func (*batchPublishCmd) Help() string {
	return `Drafts become jobs, and dead members get a new life. Completed members are not touched, so the command can be repeated.
If the command is killed, running workers continue the publication, and so does the same command if it is run again.`
}

func (c *batchPublishCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		p, err := h.Publish(ctx, c.actor(a))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "batch %d: %s\n", h.ID(), words.PublishedText(&p))
		return err
	})
}

type batchRetryCmd struct {
	by
	batchArg
	Yes bool `short:"y" help:"Do not ask."`
}

func (c *batchRetryCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		b, err := h.Get(ctx)
		if err != nil {
			return err
		}
		if b.Dead > 0 {
			if err := a.confirm(fmt.Sprintf("Retry %s of batch %d?", words.Count(b.Dead, "dead member"), b.ID), c.Yes); err != nil {
				return err
			}
		}
		n, err := h.RetryDead(ctx, c.actor(a))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "%s retried\n", words.Count(n, "member"))
		return err
	})
}

type batchCancelCmd struct {
	by
	batchArg
}

func (c *batchCancelCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		if err := h.Cancel(ctx, c.actor(a)); err != nil {
			return err
		}
		b, err := h.Get(ctx)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("batch %d is %s; %s cancelled", b.ID, b.State, words.Count(b.Cancelled, "member"))
		if b.Running > 0 {
			text += fmt.Sprintf(", %s asked to stop", words.Number(b.Running))
		}
		_, err = fmt.Fprintln(a.out, text)
		return err
	})
}

type batchDiscardCmd struct {
	by
	batchArg
	ID []redrive.JobID `placeholder:"ID" help:"Only this draft. You can repeat this flag."`
}

func (c *batchDiscardCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		b, err := h.Get(ctx)
		if err != nil {
			return err
		}
		if err := h.Discard(ctx, c.actor(a), c.ID...); err != nil {
			return err
		}
		n, gone := b.Drafts+b.AsideDrafts, ""
		if len(c.ID) > 0 {
			n = int64(len(c.ID))
		} else if b.State == job.BatchDraft {
			gone = fmt.Sprintf("; batch %d is gone", b.ID)
		}
		_, err = fmt.Fprintf(a.out, "%s discarded%s\n", words.Count(n, "draft"), gone)
		return err
	})
}

type batchMembersCmd struct {
	jsonFlag
	batchArg
	State string        `placeholder:"STATE" help:"Only members whose job is in this state, such as dead, or draft for members without a job."`
	After redrive.JobID `placeholder:"ID" help:"Only members with ids above this one."`
	Limit int           `default:"50" placeholder:"N" help:"Number of members, at most ${pageMax}."`
}

func (c *batchMembersCmd) Run(ctx context.Context, a *app) error {
	f := redrive.MemberFilter{Limit: c.Limit, Drafts: c.State == "draft"}
	if c.State != "" && !f.Drafts {
		var err error
		if f.State, err = job.ParseState(c.State); err != nil {
			return &usageError{err}
		}
	}
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		page, err := h.Members(ctx, f, c.After)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.printJSON(map[string]any{"members": page.Members, "next": page.Next})
		}
		t := table{columns: []column{{title: "JOB", right: true}, {title: "KEY", loose: true}, {title: "STATE"}, {title: "KIND"}, {title: "ATTEMPTS", right: true}}}
		for i := range page.Members {
			m := &page.Members[i]
			state := words.MemberState(m)
			if m.Aside {
				state += " (aside)"
			}
			t.add(m.ID.String(), m.Key, state, m.Kind, fmt.Sprint(m.Counters.Attempts))
		}
		t.print(a.out, a.styleOf(a.stdout))
		if page.Next != 0 {
			_, err = fmt.Fprintf(a.out, "more: --after %d\n", page.Next)
		}
		return err
	})
}

type batchOutcomesCmd struct {
	jsonFlag
	batchArg
}

func (c *batchOutcomesCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		list, err := h.Outcomes(ctx, 0)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.printJSON(map[string]any{"outcomes": list})
		}
		for _, o := range list {
			if _, err := fmt.Fprintf(a.out, "%d  %s  %s  %s\n", o.N, words.Time(o.At), o.State, words.OutcomeText(&o)); err != nil {
				return err
			}
		}
		return nil
	})
}

type batchWaitCmd struct {
	jsonFlag
	batchArg
	After int64 `placeholder:"N" help:"Wait for an outcome with a number above this one."`
}

// Help implements kong.HelpProvider.
func (*batchWaitCmd) Help() string {
	return `The exit code is 0 if the batch is READY, 6 if it is PARTIAL, 7 if it is FAILED and 8 if it is EXPIRED.`
}

func (c *batchWaitCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		o, err := h.Wait(ctx, c.After)
		if err != nil {
			return err
		}
		if c.JSON {
			err = a.printJSON(o)
		} else {
			_, err = fmt.Fprintf(a.out, "batch %d is %s: %s\n", h.ID(), o.State, words.OutcomeText(&o))
		}
		if err != nil || o.State == job.BatchReady {
			return err
		}
		return endedAs(o.State)
	})
}

// endedAs ends a command with the exit code of a batch's state. The command has printed the state.
type endedAs job.BatchState

func (e endedAs) Error() string { return "the batch is " + job.BatchState(e).String() }

// Kind returns the kind of error, which has the exit code.
func (e endedAs) Kind() wire.Kind {
	switch job.BatchState(e) {
	case job.BatchPartial:
		return wire.BatchPartial
	case job.BatchFailed:
		return wire.BatchFailed
	case job.BatchExpired:
		return wire.BatchExpired
	case job.BatchNone, job.BatchDraft, job.BatchProcessing, job.BatchReady:
	}
	return wire.Internal
}
