package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type batchCmd struct {
	Create   batchCreateCmd   `cmd:"" help:"Create a batch, or find the one with the same key."`
	Add      batchAddCmd      `cmd:"" help:"Add members from a file, as drafts."`
	Publish  batchPublishCmd  `cmd:"" help:"Make jobs of the drafts, and retry dead members."`
	Show     batchShowCmd     `cmd:"" help:"Show a batch with its counts."`
	Explain  batchExplainCmd  `cmd:"" help:"Explain what a batch waits for."`
	List     batchListCmd     `cmd:"" help:"List batches, the newest first."`
	Members  batchMembersCmd  `cmd:"" help:"List the members of a batch."`
	Wait     batchWaitCmd     `cmd:"" help:"Wait for the end of a batch; the exit code says how it ended."`
	Outcomes batchOutcomesCmd `cmd:"" help:"List the ends of a batch."`
	Retry    batchRetryCmd    `cmd:"" help:"Retry the dead members of a batch."`
	Cancel   batchCancelCmd   `cmd:"" help:"Cancel the members that have not ended."`
	Discard  batchDiscardCmd  `cmd:"" help:"Throw the drafts of a batch away."`
	Set      batchSetCmd      `cmd:"" help:"Change when a batch expires."`
}

// batchArg names a batch.
type batchArg struct {
	Batch string `arg:"" help:"Number or key of the batch."`
	Owner string `placeholder:"NAME" help:"Owner of the batch, if it is named by its key."`
}

// handle returns the batch that is named.
func (b *batchArg) handle(ctx context.Context, c *redrive.Client) (*redrive.BatchHandle, error) {
	if id, err := strconv.ParseInt(b.Batch, 10, 64); err == nil {
		h := c.BatchHandle(id)
		_, err := h.Get(ctx)
		return h, err
	}
	f := redrive.BatchFilter{Key: b.Batch, Owner: b.Owner, Limit: job.PageMax}
	for {
		page, err := c.Batches(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range page.Batches {
			if page.Batches[i].Owner == b.Owner {
				return c.BatchHandle(page.Batches[i].ID), nil
			}
		}
		if f.Before = page.Next; page.Next == 0 {
			return nil, absentf("no batch of the owner %q has the key %q; `redrive batch list` shows them", b.Owner, b.Batch)
		}
	}
}

// withBatch opens the database and calls the function with the batch.
func (a *app) withBatch(ctx context.Context, b *batchArg, do func(*redrive.BatchHandle) error) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	h, err := b.handle(ctx, client)
	if err != nil {
		return err
	}
	return do(h)
}

type batchCreateCmd struct {
	by
	jsonFlag
	Key     string   `placeholder:"KEY" help:"Key of the batch, unique for its owner: with a known key, the command finds that batch."`
	Name    string   `placeholder:"TEXT" help:"Name of the batch, for people."`
	Owner   string   `placeholder:"NAME" help:"Owner of the batch and of its members."`
	Expires string   `placeholder:"WHEN" help:"When the batch expires after its end: a time, or a duration from now, such as 30d."`
	On      []string `placeholder:"END=KIND" sep:"none" help:"Enqueue a job of this kind when the batch ends; END is ready, partial, failed or end. You can repeat this flag."`
}

// Help implements kong.HelpProvider.
func (*batchCreateCmd) Help() string {
	return `The command prints the number of the batch. Its members are added as drafts and run when it is published. All these lines
can be repeated after a kill: nothing is doubled.

    redrive batch create --key summer --name "Summer" --on end=report
    redrive batch add summer --file members.jsonl
    redrive batch publish summer
    redrive batch wait summer`
}

func (c *batchCreateCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	spec := redrive.BatchSpec{Key: c.Key, Name: c.Name, Owner: c.Owner}
	if c.Expires != "" {
		at, err := human.ParseTime(c.Expires, a.now(), false)
		if err != nil {
			return usagef("--expires: %w", err)
		}
		spec.ExpiresAt = job.At(at)
	}
	for _, text := range c.On {
		end, kind, ok := strings.Cut(text, "=")
		if !ok {
			return usagef("--on %q: must be END=KIND, such as end=report", text)
		}
		queue := redrive.DefaultQueue
		if k, ok := s.Kinds[kind]; ok && k.Queue != "" {
			queue = k.Queue
		}
		spec.Callbacks = append(spec.Callbacks, redrive.BatchCallback{On: end, Kind: kind, Queue: queue})
	}
	r := rules{settings: s, now: a.now()}
	client, db, err := a.enqueuer(ctx, &r)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	h, err := client.NewBatch(ctx, c.actor(a), spec)
	if err != nil {
		return err
	}
	if !c.JSON {
		_, err = fmt.Fprintln(a.out, h.ID())
		return err
	}
	return a.printBatch(ctx, h)
}

// printBatch prints a batch as JSON.
func (a *app) printBatch(ctx context.Context, h *redrive.BatchHandle) error {
	b, err := h.Get(ctx)
	if err != nil {
		return err
	}
	return a.printJSON(wire.BatchOf(&b))
}

type batchShowCmd struct {
	jsonFlag
	batchArg
}

func (c *batchShowCmd) Run(ctx context.Context, a *app) error {
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		b, err := h.Get(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.printJSON(wire.BatchOf(&b))
		}
		a.showBatch(&b)
		return nil
	})
}

func (a *app) showBatch(b *redrive.Batch) {
	now := job.At(a.now())
	state := b.State.String()
	if b.Task != 0 {
		state += ", " + b.Task.String()
	}
	fmt.Fprintf(a.out, "batch %d: %s\n", b.ID, state)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-10s %s\n", name, words.Clean(text))
		}
	}
	at := func(name string, t job.Micros) {
		if t != 0 {
			row(name, fmt.Sprintf("%s (%s)", words.Time(t), words.Away(t, now)))
		}
	}
	row("name", b.Name)
	row("key", b.Key)
	row("owner", b.Owner)
	row("members", fmt.Sprintf("%s: %s waiting, %s running, %s completed, %s dead, %s cancelled", words.Number(b.Total), words.Number(b.Waiting()),
		words.Number(b.Running), words.Number(b.Completed), words.Number(b.Dead), words.Number(b.Cancelled)))
	if n := b.Drafts + b.AsideDrafts; n > 0 {
		row("drafts", words.Number(n)+" not published")
	}
	at("created", b.CreatedAt)
	at("published", b.PublishedAt)
	at("ended", b.EndedAt)
	at("expires", b.ExpiresAt)
	if b.Dead > 0 && b.State.Ended() {
		row("next", fmt.Sprintf("redrive batch retry %d", b.ID))
	}
}

type batchListCmd struct {
	jsonFlag
	State string `placeholder:"STATE" help:"Only batches in this state: DRAFT, PROCESSING, READY, PARTIAL, FAILED or EXPIRED."`
	Owner string `placeholder:"NAME" help:"Only batches of this owner."`
	Name  string `placeholder:"TEXT" help:"Only batches whose name has this text."`
	Limit int    `default:"50" placeholder:"N" help:"Number of batches, at most ${pageMax}."`
}

func (c *batchListCmd) Run(ctx context.Context, a *app) (err error) {
	f := redrive.BatchFilter{Owner: c.Owner, Name: c.Name, Limit: c.Limit}
	if c.State != "" {
		if f.State, err = job.ParseBatchState(strings.ToUpper(c.State)); err != nil {
			return &usageError{err}
		}
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	page, err := client.Batches(ctx, f)
	if err != nil {
		return err
	}
	if c.JSON {
		views := make([]wire.Batch, len(page.Batches))
		for i := range page.Batches {
			views[i] = wire.BatchOf(&page.Batches[i])
		}
		return a.printJSON(map[string]any{"batches": views, "next": page.Next})
	}
	out := a.styleOf(a.stdout)
	if len(page.Batches) == 0 {
		_, err = fmt.Fprintln(a.out, out.faint("no batches"))
		return err
	}
	t := table{columns: []column{{title: "BATCH", right: true}, {title: "STATE"}, {title: "NAME", loose: true}, {title: "MEMBERS", right: true},
		{title: "COMPLETED", right: true}, {title: "DEAD", right: true}, {title: "DRAFTS", right: true}, {title: "CREATED"}}}
	for i := range page.Batches {
		b := &page.Batches[i]
		t.add(strconv.FormatInt(b.ID, 10), b.State.String(), b.Name, words.Number(b.Total), words.Number(b.Completed), words.Number(b.Dead),
			words.Number(b.Drafts+b.AsideDrafts), words.Time(b.CreatedAt))
	}
	t.print(a.out, out)
	return nil
}

type batchSetCmd struct {
	by
	batchArg
	Expires string `required:"" placeholder:"WHEN|never" help:"When the batch expires after its end: a time, a duration from now, or never."`
}

func (c *batchSetCmd) Run(ctx context.Context, a *app) error {
	at := time.Time{}
	if c.Expires != "never" {
		var err error
		if at, err = human.ParseTime(c.Expires, a.now(), false); err != nil {
			return usagef("--expires: %w", err)
		}
	}
	return a.withBatch(ctx, &c.batchArg, func(h *redrive.BatchHandle) error {
		b, err := h.SetExpiry(ctx, c.actor(a), at)
		if err != nil {
			return err
		}
		text := "does not expire"
		if b.ExpiresAt != 0 {
			text = "expires at " + words.Time(b.ExpiresAt)
		}
		_, err = fmt.Fprintf(a.out, "batch %d %s\n", b.ID, text)
		return err
	})
}

// openBatchFile opens the file of members. The caller closes it.
func openBatchFile(name string) (*os.File, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	return f, nil
}
