package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type auditCmd struct {
	jsonFlag
	Actor  string `placeholder:"NAME" help:"Print only actions of this actor."`
	Action string `placeholder:"ACTION" help:"Print only this action, such as job.retry. A name that ends with a dot, such as \"dead_letter.\", selects all actions that begin with it."`
	Target string `placeholder:"TARGET" help:"Print only actions on this target: a job's id, a queue, a redrive's number or a policy's hash."`
	Since  string `placeholder:"WHEN" help:"Print only actions since this time, such as 2026-01-31T18:00, or since a duration ago, such as 2h or 3d."`
	Until  string `placeholder:"WHEN" help:"Print only actions before this time, or before a duration ago."`
	Limit  int    `default:"50" help:"Number of entries: the newest ones, 1 to ${pageMax}."`
	Before int64  `placeholder:"N" help:"Print only entries with a number below this one: the next page."`
	Follow bool   `short:"f" help:"Print new entries as they come, until an interrupt; the newest entry is printed last."`
}

// Help implements kong.HelpProvider.
func (*auditCmd) Help() string {
	return `Each action of a person, of a redrive and of retention has a row with its time, actor, target and reason. The row is
written in the same transaction as the change. BECAME shows the state before and after. An action by filter has one row
for each step, and its target is the filter. The newest row is the first one; with --follow it is the
last one. With --json, each line is one object. If there are older entries, a line says how many there are, and with which
--before the next page begins; on standard error if the output is not a terminal.

    redrive audit
    redrive audit --actor tess --since 1d
    redrive audit --target 17
    redrive audit --action redrive. --follow`
}

func (c *auditCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	f, err := c.filter(a)
	if err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	page, err := auditPages(ctx, client, f, auditListPages)
	if err != nil {
		return err
	}
	if len(page.Entries) == 0 && page.Next == 0 && !c.Follow {
		if err := c.explainNothing(ctx, a, client); err != nil {
			return err
		}
	}
	if c.Follow {
		slices.Reverse(page.Entries)
	}
	if err := c.print(a, page.Entries, true); err != nil {
		return err
	}
	if !c.Follow {
		return c.printNext(ctx, a, client, &f, &page)
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

// filter returns the filter that the flags describe.
func (c *auditCmd) filter(a *app) (f redrive.AuditFilter, err error) {
	if c.Before < 0 {
		return f, usagef("--before %d: must not be negative", c.Before)
	}
	if c.Follow && (c.Before > 0 || c.Until != "") {
		return f, usagef("--follow waits for new entries, and --before and --until select old ones; leave one of them out")
	}
	f = redrive.AuditFilter{Actor: c.Actor, Target: c.Target, Before: c.Before, Limit: c.Limit}
	if c.Action != "" {
		f.Actions = []string{c.Action}
		if !strings.Contains(c.Action, ".") {
			f.Actions = append(f.Actions, c.Action+".") // all actions of this beginning
		}
	}
	if f.Since, err = past("--since", c.Since, a.now()); err != nil {
		return f, err
	}
	f.Until, err = past("--until", c.Until, a.now())
	return f, err
}

// explainNothing prints the most similar action and actor of recent entries if no entry
// matches.
func (c *auditCmd) explainNothing(ctx context.Context, a *app, client *redrive.Client) error {
	if c.Action == "" && c.Actor == "" {
		return nil
	}
	recent, err := client.Audit(ctx, redrive.AuditFilter{Limit: job.PageMax})
	if err != nil {
		return err
	}
	var actions, actors []string
	for i := range recent.Entries {
		family, _, _ := strings.Cut(recent.Entries[i].Action, ".")
		actions = append(actions, recent.Entries[i].Action, family+".")
		actors = append(actors, recent.Entries[i].Actor)
	}
	for _, named := range [...]struct {
		sort, name string
		known      []string
	}{{"action", c.Action, actions}, {"actor", c.Actor, actors}} {
		if named.name != "" && !slices.Contains(named.known, named.name) {
			hint := suggest.DidYouMean(named.name, named.known)
			fmt.Fprintf(a.stderr, "redrive: no recent entry has the %s %s%s\n", named.sort, words.Clean(fmt.Sprintf("%.64q", named.name)), hint)
		}
	}
	return nil
}

// auditListPages is the largest number of pages that are read for one list. For each page
// the store looks at a limited number of entries, and possibly none of them matches the
// filter.
const auditListPages = 100

// auditPages reads pages of the audit log, newest first, until it has as many entries as the
// limit of the filter, which must be set. It reads at most the given number of pages; 0 means
// no limit.
func auditPages(ctx context.Context, client *redrive.Client, f redrive.AuditFilter, pages int) (all redrive.AuditPage, err error) {
	limit := f.Limit
	for n := 1; ; n++ {
		page, err := client.Audit(ctx, f)
		if err != nil {
			return all, err
		}
		if n == 1 {
			all.Last = page.Last
		}
		all.Entries, all.Next, all.Searched = append(all.Entries, page.Entries...), page.Next, page.Searched
		f.Before, f.Limit = page.Next, limit-len(all.Entries)
		if page.Next == 0 || f.Limit == 0 || n == pages {
			return all, nil
		}
	}
}

// printNext says how many entries there are and how to read older ones. If the page is
// not full, it says on standard error how far back the log was searched.
func (c *auditCmd) printNext(ctx context.Context, a *app, client *redrive.Client, f *redrive.AuditFilter, page *redrive.AuditPage) error {
	switch {
	case page.Next == 0:
		return nil
	case len(page.Entries) < c.Limit:
		fmt.Fprintf(a.stderr, "redrive: only entries since %s were searched; --before %d searches older ones\n", words.Time(page.Searched), page.Next)
		return nil
	}
	older, all, err := countAudit(ctx, client, *f, page.Next)
	if err != nil || older == 0 {
		return err
	}
	text := fmt.Sprintf("%s of %s%s entries", words.Number(int64(len(page.Entries))), all, words.Number(int64(len(page.Entries))+older))
	if c.Before > 0 {
		text += fmt.Sprintf(" below %d", c.Before)
	}
	text += fmt.Sprintf("; older ones: --before %d", page.Next)
	if out := a.styleOf(a.stdout); out.terminal && !c.JSON {
		fmt.Fprintln(a.out, out.faint(text))
	} else {
		fmt.Fprintln(a.stderr, "redrive: "+text)
	}
	return nil
}

// targetColumns is the width to which a terminal shortens the target of an audit entry.
const targetColumns = 24

// countAudit returns how many of the entries below a number a filter selects. It reads at most
// auditListPages pages; if there are more, it also returns the words "more than ".
func countAudit(ctx context.Context, client *redrive.Client, f redrive.AuditFilter, before int64) (older int64, least string, err error) {
	if f.Actor == "" && f.Target == "" && len(f.Actions) == 0 && f.Since == 0 && f.Until == 0 {
		return before - 1, "", nil // entries are numbered from 1 on, without gaps, and are never removed
	}
	f.Before, f.Limit = before, job.PageMax
	for range auditListPages {
		page, err := client.Audit(ctx, f)
		if err != nil {
			return 0, "", err
		}
		older += int64(len(page.Entries))
		if f.Before = page.Next; page.Next == 0 {
			return older, "", nil
		}
	}
	return older, "more than ", nil
}

// print writes audit entries as JSON lines or as a table. The table has column titles if the
// last argument is true.
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
			fmt.Fprintln(a.out, out.faint("no audit entries match"))
		}
		return
	}
	t := table{untitled: !first, columns: []column{
		{title: "WHEN"}, {title: "ACTOR", spare: 2}, {title: "ACTION"}, {title: "TARGET"}, {title: "REASON", spare: 1, below: true},
		{title: "BECAME", loose: true, own: true},
	}}
	for i := range rows {
		r := &rows[i]
		became := r.After
		if r.Before != "" {
			became = r.Before + " → " + r.After
		}
		target := words.Clean(r.Target)
		if out.terminal {
			target = middleCut(target, targetColumns) // the hash of a policy has 64 digits; --json has all
		}
		t.add(words.Time(r.At), r.Actor, r.Action, target, r.Reason, became)
	}
	t.print(a.out, out)
}
