package cli

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

type batchAddCmd struct {
	batchArg
	File   string `required:"" placeholder:"FILE" help:"File with one JSON object per line, as for \"enqueue --file\"; \"-\" reads standard input."`
	NoKeys bool   `help:"Allow lines without a key. Adding such a line again adds a second member."`
}

// Help implements kong.HelpProvider.
func (*batchAddCmd) Help() string {
	return `Each line is a member, with a key that is unique in the batch. A member whose key is known is not added again, so the
command can be repeated after a kill. A file is checked as a whole before its first member is added. Members are drafts
until "batch publish".

    redrive batch add summer --file members.jsonl`
}

func (c *batchAddCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	checks, err := payloadChecks(s.Config)
	if err != nil {
		return err
	}
	r := &rules{settings: s, now: a.now(), checks: checks}
	in, total, name := a.in, int64(0), c.File
	if name == "-" {
		name = "stdin"
	} else {
		f, err := openBatchFile(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if total, err = a.checkFile(r, name, f); err != nil {
			return err
		}
		in = f
	}
	client, db, err := a.enqueuer(ctx, r)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	h, err := c.handle(ctx, client)
	if err != nil {
		return err
	}
	in, release := untilSignal(in)
	defer release()
	m := &adder{h: h, source: r.source(name, in), noKeys: c.NoKeys, bar: newBar(a, total)}
	err = m.source.inBatches(m.hasKey, func(batch []lineJob) error { return m.add(ctx, batch) })
	m.bar.end()
	if err != nil {
		return &noted{err, fmt.Sprintf("%s of the lines before are drafts of batch %d; correct the file and repeat the command: known keys are not added again",
			words.Count(m.added+m.known, "member"), h.ID())}
	}
	text := words.Count(m.added, "member") + " added"
	if m.known > 0 {
		text += fmt.Sprintf("; %s not added, because the batch has members with their keys", words.Number(m.known))
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

// adder adds the members of a file.
type adder struct {
	h            *redrive.BatchHandle
	source       *lineSource
	noKeys       bool
	bar          *bar
	added, known int64
}

// hasKey returns an error for a job without a key, unless such jobs are allowed.
func (m *adder) hasKey(j *lineJob) error {
	if m.noKeys || j.spec.Options().Key != "" {
		return nil
	}
	return &wire.LineError{Name: m.source.Name(), Line: j.line,
		Err: usagef("the member has no key: give it one, unique in the batch, or use --no-keys")}
}

func (m *adder) add(ctx context.Context, batch []lineJob) error {
	receipts, err := m.source.enqueue(batch, func(specs []redrive.Spec) ([]redrive.Receipt, error) { return m.h.Add(ctx, specs...) })
	if err != nil {
		return err
	}
	for _, r := range receipts {
		if r.Existing {
			m.known++
		} else {
			m.added++
		}
	}
	m.bar.set(m.source.Bytes(), m.added+m.known)
	return nil
}
