package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type auditCmd struct {
	jsonFlag
	Actor  string `placeholder:"NAME" help:"Print only actions of this actor."`
	Action string `placeholder:"ACTION" help:"Print only this action, such as job.retry. A name that ends with a dot, such as dead_letter., selects all actions that begin with it."`
	Target string `placeholder:"TARGET" help:"Print only actions on this target: a job's id, a queue, a redrive's number or a policy's hash."`
	Since  string `placeholder:"WHEN" help:"Print only actions since this time, such as 2026-01-31T18:00, or since this long ago, such as 2h or 3d."`
	Limit  int    `default:"50" help:"Number of entries: the newest ones, 1 to ${pageMax}."`
	Follow bool   `short:"f" help:"Wait for new entries and print them, until an interrupt."`
}

// Help implements kong.HelpProvider.
func (*auditCmd) Help() string {
	return `Each action of a person, of a redrive and of retention has a row with its time, actor, target and reason. The row is
written in the same transaction as the change. BECAME shows the state before and after. An action by filter has one row
for each step, and its target is the filter. The newest row is the last one. With --json, each line is one object.

    redrive audit
    redrive audit --actor tess --since 1d
    redrive audit --target 17
    redrive audit --action redrive. --follow`
}

func (c *auditCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	since, err := past("--since", c.Since, a.now())
	if err != nil {
		return err
	}
	f := c.filter(since)
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	page, err := client.Audit(ctx, f)
	if err != nil {
		return err
	}
	if err := c.print(a, page.Entries, true); err != nil {
		return err
	}
	if !c.Follow {
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	for rows, err := range client.FollowAudit(ctx, page.Last, f) {
		if err == nil {
			err = c.print(a, rows, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *auditCmd) filter(since job.Micros) redrive.AuditFilter {
	f := redrive.AuditFilter{Actor: c.Actor, Target: c.Target, Since: since, Limit: c.Limit}
	if c.Action != "" {
		f.Actions = []string{c.Action}
	}
	return f
}

// print writes audit entries as JSON lines or as a table. If first is true, the table has
// column titles.
func (c *auditCmd) print(a *app, rows []redrive.AuditEntry, first bool) error {
	if c.JSON {
		for i := range rows {
			if err := a.printJSONLine(&rows[i]); err != nil {
				return err
			}
		}
	} else if len(rows) > 0 || first {
		c.table(a, rows, first)
	}
	if err := a.out.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

func (c *auditCmd) table(a *app, rows []redrive.AuditEntry, first bool) {
	out := a.styleOf(a.stdout)
	if len(rows) == 0 {
		if !c.Follow {
			fmt.Fprintln(a.out, out.faint("nothing"))
		}
		return
	}
	t := table{untitled: !first, columns: []column{
		{title: "WHEN"}, {title: "ACTOR"}, {title: "ACTION"}, {title: "TARGET"}, {title: "REASON"}, {title: "BECAME", loose: true},
	}}
	for i := range rows {
		r := &rows[i]
		became := r.After
		if r.Before != "" {
			became = r.Before + " → " + r.After
		}
		t.add(words.Time(r.At), r.Actor, r.Action, r.Target, r.Reason, became)
	}
	t.print(a.out, out)
}
