package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type batchExplainCmd struct {
	jsonFlag
	batchArg
}

// Help implements kong.HelpProvider.
func (*batchExplainCmd) Help() string {
	return `The command says in words what a batch waits for: for which members, and what each of them waits for; at most ` +
		fmt.Sprint(wire.WaitsShown) + ` of
each state are listed. "redrive explain" does the same for one job.`
}

func (c *batchExplainCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	h, err := c.handle(ctx, client)
	if err != nil {
		return err
	}
	b, err := h.Get(ctx)
	if err != nil {
		return err
	}
	p := a.page()
	steps := words.BatchSteps(&b, p.now)
	e := wire.BatchExplanation{Batch: b.ID, State: b.State, Standing: words.BatchStanding(&b, p.now), Next: wire.StepsOf(steps, commandLine)}
	if e.Waits, err = a.membersWaiting(ctx, client, h, &b); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(e)
	}
	p.title(words.BatchFinding(&b))
	fmt.Fprintf(p.w, "  %s\n", words.Clean(e.Standing))
	for i := range e.Waits {
		p.fact(memberName(&e.Waits[i]), memberWaits(&e.Waits[i]))
	}
	if len(steps) > 0 {
		fmt.Fprintln(p.w)
		p.steps(steps)
	}
	return nil
}

func memberName(w *wire.MemberWaits) string {
	if w.Key != "" {
		return words.Shorten(words.Clean(w.Key), 40)
	}
	return "job " + w.Job.String()
}

func memberWaits(w *wire.MemberWaits) string {
	if w.Waits == "" {
		return w.Standing
	}
	return w.Standing + "; waits: " + w.Waits
}

// membersWaiting returns some members of a batch that have not ended, and what each of them waits for.
func (a *app) membersWaiting(ctx context.Context, client *redrive.Client, h *redrive.BatchHandle, b *redrive.Batch) ([]wire.MemberWaits, error) {
	out := []wire.MemberWaits{}
	if b.State != job.BatchProcessing {
		return out, nil
	}
	known, now := a.known(), job.At(a.now())
	for _, state := range [...]job.State{job.Running, job.Retrying, job.Waiting} {
		page, err := h.Members(ctx, redrive.MemberFilter{State: state, Limit: wire.WaitsShown}, 0)
		if err != nil {
			return nil, err
		}
		for i := range page.Members {
			m := &page.Members[i]
			d, err := readDetails(ctx, client, m.ID, known)
			if err != nil {
				return nil, err
			}
			around, err := d.ReadAround(ctx, client)
			if err != nil {
				return nil, err
			}
			a.addPace(around, &d.Job, known)
			out = append(out, wire.MemberWaits{Job: m.ID, Key: m.Key, State: d.Job.State, Standing: d.Standing(now), Waits: d.Waits(around, now)})
		}
	}
	return out, nil
}

// batchOf returns the batch of a job; nil if it has none, or if the batch is not stored any more.
func batchOf(ctx context.Context, client *redrive.Client, j *job.Job) (*redrive.Batch, error) {
	if j.Batch == 0 {
		return nil, nil //nolint:nilnil // most jobs have no batch
	}
	b, err := client.BatchHandle(j.Batch).Get(ctx)
	if errors.Is(err, redrive.ErrNotFound) {
		return nil, nil //nolint:nilnil // as above
	}
	return &b, err
}

// memberLine names the batch of a job in a line.
func memberLine(b *wire.MemberBatch) string {
	text := fmt.Sprintf("%d is %s", b.ID, b.State)
	if b.Name != "" {
		text = fmt.Sprintf("%d (%s) is %s", b.ID, b.Name, b.State)
	}
	if b.Aside {
		return text + "; the job does not count in it"
	}
	return text + ". " + b.Standing
}
