package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqGroupsCmd struct {
	jsonFlag
	Kind    string `placeholder:"NAME" help:"List only groups of this kind."`
	Class   string `placeholder:"CLASS" help:"List only groups of this class of failure."`
	Group   string `placeholder:"GROUP" help:"List only this group: its name, or the beginning of its name."`
	Pending bool   `help:"List only groups that have pending dead letters."`
	Largest bool   `help:"Sort by the number of pending dead letters. Default: the last seen group first."`
	Limit   int    `default:"50" help:"Largest number of groups, 1 to ${pageMax}."`
	Skip    int    `placeholder:"N" help:"Skip this number of groups: the next page."`
}

// Help implements kong.HelpProvider.
func (*dlqGroupsCmd) Help() string {
	return `A group is one root cause: dead letters of one kind, class and code, with messages that differ only in numbers, ids and
paths. DEATHS is the number of all deaths so far, and PENDING the number of dead letters without an action. TREND has
the deaths of each of the last 24 hours. JOB is the first job that died.

    redrive dlq groups
    redrive dlq groups --pending --largest
    redrive dlq redrive --group 3fa9

GROUP is the short name: the first 8 digits. The full name, such as 1:957bd32c0b2a967f, is in --json. Commands accept both,
and any beginning of a name if no other name begins with it.`
}

func (c *dlqGroupsCmd) Run(ctx context.Context, a *app) (err error) {
	f := redrive.GroupFilter{Kind: c.Kind, Class: c.Class, Pending: c.Pending, Largest: c.Largest, Skip: c.Skip, Limit: c.Limit}
	if c.Limit < 1 {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	if err := f.Validate(); err != nil {
		return &usageError{err}
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if c.Group != "" {
		if f.Group, err = findGroup(ctx, client, c.Group); err != nil {
			return err
		}
	}
	page, err := client.Groups(ctx, f)
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	if c.JSON {
		return a.printJSON(wire.GroupsOf(&page))
	}
	c.print(a, &page)
	return nil
}

func (c *dlqGroupsCmd) print(a *app, page *redrive.GroupPage) {
	out := a.styleOf(a.stdout)
	if len(page.Groups) == 0 {
		fmt.Fprintln(a.out, out.faint("no groups"))
		return
	}
	now := job.At(a.now())
	muted := slices.ContainsFunc(page.Groups, func(g redrive.Group) bool { return g.Muted })
	t := table{columns: []column{
		{title: "GROUP"}, {title: "KIND"}, {title: "CLASS"}, {title: "PENDING", right: true}, {title: "DEATHS", right: true},
		{title: "FIRST SEEN"}, {title: "LAST SEEN"}, {title: "TREND"}, {title: "JOB", right: true}, {title: "CAUSE", loose: true},
	}}
	if muted {
		t.columns = slices.Insert(t.columns, 3, column{title: "IGNORED"})
	}
	for i := range page.Groups {
		g := &page.Groups[i]
		row := []string{
			words.ShortGroup(g.Fingerprint), g.Kind, g.Class, words.Number(g.Pending), words.Number(g.N), words.Away(g.FirstAt, now), words.Away(g.LastAt, now),
			trend(g.Trend, out), g.Sample.String(), words.GroupCause(g),
		}
		if muted {
			row = slices.Insert(row, 3, words.Muted(g, now))
		}
		t.add(row...)
	}
	t.print(a.out, out)
	if left := page.Total - c.Skip - len(page.Groups); left > 0 && out.terminal {
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("%s more: --skip %d", words.Number(int64(left)), c.Skip+len(page.Groups))))
	}
}

// trend draws numbers as a small chart if the output is a terminal. Otherwise it writes the
// numbers.
func trend(numbers []int64, out style) string {
	if !out.terminal {
		texts := make([]string, len(numbers))
		for i, n := range numbers {
			texts[i] = strconv.FormatInt(n, 10)
		}
		return strings.Join(texts, ",")
	}
	return words.Sparkline(numbers)
}
