package cli

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqListCmd struct {
	jsonFlag
	deadFlags
	Limit    int   `default:"50" help:"Largest number of dead letters, 1 to ${pageMax}."`
	Before   int64 `placeholder:"N" help:"List only deaths before this number: the next page. The previous page prints the number."`
	UserText bool  `help:"Add a column with the text for users. Default: only with --owner."`
	IDs      bool  `name:"ids" help:"Print only the ids of the jobs."`
}

// Help implements kong.HelpProvider.
func (*dlqListCmd) Help() string {
	return `A dead letter is listed when it matches all filters. STATUS says what was done about it. GROUP is the short name of its
root cause; "redrive dlq groups" lists the groups.

    redrive dlq list
    redrive dlq list --status pending --kind thumbnail --since 2h
    redrive dlq list --group 3fa9 --text "connection refused" --json

Some filters, such as --text, have no index. For these, the command reads a limited number of dead letters. If they do not
fill a page, it prints how far back it has searched, and --before continues from there.`
}

func (c *dlqListCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	if c.Before < 0 {
		return usagef("--before %d: must not be negative", c.Before)
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	f, err := c.filter(ctx, a, client)
	if err != nil {
		return err
	}
	page, err := c.read(ctx, client, f)
	if err != nil {
		return err
	}
	if len(page.Entries) == 0 && page.Next == 0 && c.Before == 0 {
		if err := c.explainNothing(ctx, a, client); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return a.printJSON(wire.DeadPageOf(&page))
	case c.IDs:
		for i := range page.Entries {
			fmt.Fprintln(a.out, page.Entries[i].DeadLetter.Job)
		}
	default:
		users, err := c.userTexts(ctx, client, &page)
		if err != nil {
			return err
		}
		c.print(a, &page, users)
	}
	c.printSearched(a, &page)
	return nil
}

// deadListPages is the largest number of pages that are read for one list. For each page
// the store looks at a limited number of rows, and possibly none of them matches the
// filter.
const deadListPages = 20

func (c *dlqListCmd) read(ctx context.Context, client *redrive.Client, f redrive.DeadFilter) (redrive.DeadPage, error) {
	all := redrive.DeadPage{Entries: []redrive.DeadEntry{}}
	p := redrive.DeadPaging{Before: c.Before, Limit: c.Limit}
	for range deadListPages {
		page, err := client.DeadLetters(ctx, f, p)
		if err != nil {
			return all, fmt.Errorf("list dead letters: %w", err)
		}
		all.Entries, all.Next, all.Searched = append(all.Entries, page.Entries...), page.Next, page.Searched
		p.Before, p.Limit = page.Next, c.Limit-len(all.Entries)
		if page.Next == 0 || p.Limit == 0 {
			break
		}
	}
	return all, nil
}

// usersRead is the column of what users read about a failed job.
var usersRead = column{title: "USERS READ", loose: true}

// userTexts returns what the users read about the dead jobs of a page, or nil if this is not a column.
func (c *dlqListCmd) userTexts(ctx context.Context, client *redrive.Client, page *redrive.DeadPage) (map[job.ID]string, error) {
	if !c.UserText && c.Owner == "" {
		return nil, nil
	}
	ids := make([]job.ID, len(page.Entries))
	for i := range page.Entries {
		ids[i] = page.Entries[i].DeadLetter.Job
	}
	latest, err := client.Latest(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the last failures of the jobs: %w", err)
	}
	texts := make(map[job.ID]string, len(latest))
	for i := range latest {
		texts[latest[i].Job] = latest[i].UserMessage
	}
	return texts, nil
}

func (c *dlqListCmd) print(a *app, page *redrive.DeadPage, users map[job.ID]string) {
	now := job.At(a.now())
	out := a.styleOf(a.stdout)
	if len(page.Entries) == 0 {
		fmt.Fprintln(a.out, out.faint("no dead letters"))
		return
	}
	owned, correlated := false, false // whether any dead letter has a value for these optional columns
	for i := range page.Entries {
		d := &page.Entries[i].DeadLetter
		owned, correlated = owned || d.Owner != "", correlated || d.Correlation != ""
	}
	t := table{columns: []column{
		{title: "JOB", right: true}, {title: "KIND"}, {title: "QUEUE", spare: 1}, {title: "STATUS", spare: 3}, {title: "DIED"},
		{title: "REASON", spare: 2}, {title: "CLASS", spare: 4}, {title: "GROUP"},
	}}
	if owned {
		t.columns = append(t.columns, column{title: "OWNER"})
	}
	if correlated {
		t.columns = append(t.columns, column{title: "CORRELATION"})
	}
	if users != nil {
		t.columns = append(t.columns, usersRead)
	}
	t.columns = append(t.columns, column{title: "MESSAGE", loose: true, own: true})
	for i := range page.Entries {
		d := &page.Entries[i].DeadLetter
		cells := []string{d.Job.String(), d.Kind, d.Queue, d.Status.String(), words.Away(d.DiedAt, now), string(d.Reason), d.Class,
			words.ShortGroup(d.Fingerprint)}
		if owned {
			cells = append(cells, d.Owner)
		}
		if correlated {
			cells = append(cells, d.Correlation)
		}
		if users != nil {
			cells = append(cells, words.FirstLine(users[d.Job]))
		}
		t.add(append(cells, words.FirstLine(d.Message))...)
	}
	t.print(a.out, out)
}

// printSearched says that there may be more dead letters. If the page is not full, it says
// this on standard error, so that a reader knows that the search ended early.
func (c *dlqListCmd) printSearched(a *app, page *redrive.DeadPage) {
	out := a.styleOf(a.stdout)
	switch {
	case page.Next == 0:
	case len(page.Entries) < c.Limit:
		fmt.Fprintf(a.stderr, "redrive: only dead letters since %s (%s) were searched; --before %d searches older ones\n",
			words.Time(page.Searched), words.Away(page.Searched, job.At(a.now())), page.Next)
	case out.terminal && !c.IDs:
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("older ones: --before %d", page.Next)))
	}
}
