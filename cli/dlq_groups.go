package cli

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// groupStates lists the states of a group.
var groupStates = [...]redrive.GroupState{redrive.GroupOpen, redrive.GroupResolved, redrive.GroupRegressed}

type dlqGroupsCmd struct {
	jsonFlag
	deadFlags
	Pending  bool   `help:"List only groups that have pending dead letters."`
	New      bool   `help:"List only groups whose first death is not earlier than --since."`
	State    string `placeholder:"STATE" help:"List only groups of this state: open, resolved or regressed."`
	Assignee string `placeholder:"NAME" help:"List only groups that this person works on."`
	Set      string `placeholder:"NAME" help:"List only groups of this set; see \"dlq groups merge\"."`
	Apart    bool   `help:"List each group of a set. Default: a set is one row, unless --set, --group or filters other than --kind and --class are given."`

	Largest bool `help:"Sort by the number of pending dead letters. Default: the last seen group first."`
	Limit   int  `default:"50" help:"Largest number of groups, 1 to ${pageMax}."`
	Skip    int  `placeholder:"N" help:"Skip this number of groups: the next page."`
}

// Help implements kong.HelpProvider.
func (*dlqGroupsCmd) Help() string {
	return `A group is one root cause: dead letters of one kind, class and code, with messages that differ only in numbers, ids and
paths. DEATHS is the number of all deaths so far, and PENDING the number of dead letters without an action. WHO ACTS is the
beginning of the class's text for operators. JOB is the first job that died.

A terminal draws the deaths of the last 24 hours as TREND. A narrow one leaves out columns and writes the cause below the
row. Without a terminal, times are absolute and the trend is left out; --json has all.

    redrive dlq groups
    redrive dlq groups --pending --largest
    redrive dlq groups --owner ann --since 1d
    redrive dlq groups --new --since 2026-01-31
    redrive dlq redrive --group 3fa9

With filters other than --kind, --class and --group, all numbers count only the dead letters that match. The command reads
up to 10,000 of them, the newest ones, and says so when there are more.

GROUP is the short name: the first 8 digits. The full name, such as 2:957bd32c0b2a967f, is in --json. Commands accept both,
and any beginning of a name if no other name begins with it.`
}

func (c *dlqGroupsCmd) Run(ctx context.Context, a *app) (err error) {
	switch {
	case c.Limit < 1 || c.Limit > job.PageMax:
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	case c.Skip < 0:
		return usagef("--skip %d: must not be negative", c.Skip)
	case c.State != "" && !slices.Contains(groupStates[:], redrive.GroupState(c.State)):
		return usagef("--state: %s", suggest.Unknown("state", c.State, texts(groupStates[:])))
	case c.New && c.Since == "":
		return usagef("--new needs --since: the time from which a group is new")
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
	rest := f
	rest.Kind, rest.Class, rest.Group = "", "", ""
	var list wire.GroupList
	if reflect.ValueOf(rest).IsZero() {
		page, err := client.Groups(ctx, redrive.GroupFilter{Group: f.Group, Kind: f.Kind, Class: f.Class, Pending: c.Pending,
			State: redrive.GroupState(c.State), Assignee: c.Assignee, Set: c.Set, Merge: !c.Apart && c.Set == "" && c.Group == "", Largest: c.Largest, Skip: c.Skip, Limit: c.Limit})
		if err != nil {
			return fmt.Errorf("list groups: %w", err)
		}
		list = wire.GroupsOf(&page)
	} else if list, err = c.tally(ctx, a, client, &f); err != nil {
		return err
	}
	if err := addOperators(ctx, client, list.Groups); err != nil {
		return err
	}
	if list.Total == 0 {
		if err := c.explainNothing(ctx, a, client); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(list)
	}
	c.print(a, &list)
	return nil
}

// tally lists the groups of the dead letters that a filter selects.
func (c *dlqGroupsCmd) tally(ctx context.Context, a *app, client *redrive.Client, f *redrive.DeadFilter) (list wire.GroupList, err error) {
	list.Groups = []wire.GroupRow{}
	over := a.busy("counting dead letters")
	t, err := client.TallyDead(ctx, *f)
	over()
	if err != nil {
		return list, fmt.Errorf("count dead letters: %w", err)
	}
	a.warnSearched(t.Searched)
	groups := t.Groups
	if c.Pending {
		groups = slices.DeleteFunc(groups, func(g redrive.Group) bool { return g.Pending == 0 })
	}
	if c.New || c.State != "" || c.Assignee != "" || c.Set != "" {
		if groups, err = c.ofWhole(ctx, client, groups, f.Since); err != nil {
			return list, err
		}
	}
	if c.Largest {
		slices.SortStableFunc(groups, func(a, b redrive.Group) int { return cmp.Or(cmp.Compare(b.Pending, a.Pending), cmp.Compare(b.N, a.N)) })
	}
	list.Total, list.Searched = len(groups), t.Searched
	groups = groups[min(c.Skip, len(groups)):]
	for _, g := range groups[:min(c.Limit, len(groups))] {
		whole, err := wholeGroup(ctx, client, g.Fingerprint)
		if err != nil {
			return list, err
		}
		whole.Fingerprint, whole.Kind, whole.Class, whole.Code, whole.Message = g.Fingerprint, g.Kind, g.Class, g.Code, g.Message
		whole.Sample, whole.FirstAt, whole.LastAt, whole.Trend = g.Sample, g.FirstAt, g.LastAt, g.Trend
		whole.N, whole.Entries, whole.Pending = g.N, g.Entries, g.Pending
		list.Groups = append(list.Groups, wire.GroupRow{Group: whole})
	}
	return list, nil
}

// ofWhole returns those groups that the flags about all dead letters of a group select. From the
// given time on, a group counts as new.
func (c *dlqGroupsCmd) ofWhole(ctx context.Context, client *redrive.Client, groups []redrive.Group, since job.Micros) (all []redrive.Group, err error) {
	for i := range groups {
		whole, err := wholeGroup(ctx, client, groups[i].Fingerprint)
		if err != nil {
			return nil, err
		}
		if (!c.New || whole.FirstAt >= since) && !differs(c.State, string(whole.State())) && !differs(c.Assignee, whole.Assignee) &&
			!differs(c.Set, whole.Set) {
			all = append(all, groups[i])
		}
	}
	return all, nil
}

// wholeGroup returns a group with the numbers of all its dead letters. It returns the zero value
// when the group was removed since then.
func wholeGroup(ctx context.Context, client *redrive.Client, fingerprint string) (redrive.Group, error) {
	page, err := client.Groups(ctx, redrive.GroupFilter{Group: fingerprint, Limit: 1})
	if err != nil || len(page.Groups) == 0 {
		return redrive.Group{}, err
	}
	return page.Groups[0], nil
}

// warnSearched prints a warning if only the dead letters since a time were counted. It
// prints nothing if the time is 0.
func (a *app) warnSearched(since job.Micros) {
	if since != 0 {
		fmt.Fprintf(a.stderr, "redrive: only dead letters since %s (%s) were counted; --until counts older ones\n",
			words.Time(since), words.Away(since, job.At(a.now())))
	}
}

func (c *dlqGroupsCmd) print(a *app, page *wire.GroupList) {
	out := a.styleOf(a.stdout)
	if len(page.Groups) == 0 {
		fmt.Fprintln(a.out, out.faint("no groups"))
		return
	}
	t := groupTable(page, job.At(a.now()), out)
	t.print(a.out, out)
	if left := page.Total - c.Skip - len(page.Groups); left > 0 && out.terminal {
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("%s more: --skip %d", words.Number(int64(left)), c.Skip+len(page.Groups))))
	}
}

// groupTable returns the table of groups for a terminal or another output.
func groupTable(page *wire.GroupList, now job.Micros, out style) *table {
	some := func(has func(*redrive.Group) bool) bool {
		return slices.ContainsFunc(page.Groups, func(g wire.GroupRow) bool { return has(&g.Group) })
	}
	columns := []groupColumn{
		{column{title: "GROUP"}, words.GroupNames},
		{column{title: "KIND", spare: 6, below: true}, func(g *redrive.Group) string { return g.Kind }},
		{column{title: "CLASS", spare: 4}, func(g *redrive.Group) string { return g.Class }},
		{column{title: "PENDING", right: true}, func(g *redrive.Group) string { return words.Number(g.Pending) }},
		{column{title: "DEATHS", right: true, spare: 3}, func(g *redrive.Group) string { return words.Number(g.N) }},
		{column{title: "FIRST SEEN", spare: 1}, func(g *redrive.Group) string { return away(g.FirstAt, now, out) }},
		{column{title: "LAST SEEN", spare: 5}, func(g *redrive.Group) string { return away(g.LastAt, now, out) }},
		{column{title: "JOB", right: true, spare: 2}, func(g *redrive.Group) string { return g.Sample.String() }},
	}
	if some(func(g *redrive.Group) bool { return g.Set != "" }) {
		columns = append(columns, groupColumn{column{title: "SET", spare: 8, below: true}, func(g *redrive.Group) string { return orDash(g.Set) }})
	}
	if some(func(g *redrive.Group) bool { return g.Assignee != "" || g.ResolvedAt > 0 }) {
		columns = append(columns,
			groupColumn{column{title: "STATE", spare: 9, below: true}, func(g *redrive.Group) string { return string(g.State()) }},
			groupColumn{column{title: "ASSIGNEE", spare: 7, below: true}, func(g *redrive.Group) string { return orDash(g.Assignee) }})
	}
	if some(func(g *redrive.Group) bool { return g.Muted }) {
		columns = append(columns, groupColumn{column{title: "IGNORED", spare: 10, below: true}, func(g *redrive.Group) string { return words.Muted(g, now) }})
	}
	if out.terminal {
		columns = append(columns, groupColumn{column{title: "TREND"}, func(g *redrive.Group) string { return trend(g.Trend, out) }})
	}
	t := &table{}
	for i := range columns {
		t.columns = append(t.columns, columns[i].column)
	}
	t.columns = append(t.columns, column{title: "WHO ACTS", loose: true}, column{title: "CAUSE", loose: true, own: true})
	for i := range page.Groups {
		g := &page.Groups[i]
		var row []string
		for n := range columns {
			row = append(row, columns[n].cell(&g.Group))
		}
		t.add(append(row, words.WhoActs(g.Operator), words.GroupCause(&g.Group))...)
	}
	return t
}

// groupColumn is a column of a list of groups, and the text of a group in it.
type groupColumn struct {
	column
	cell func(*redrive.Group) string
}

// away returns a time: how long ago it was on a terminal, otherwise the time itself.
func away(at, now job.Micros, out style) string {
	if !out.terminal {
		return words.Time(at)
	}
	return words.Away(at, now)
}

const (
	// trendWide is the number of columns from which a terminal shows the trend of each hour.
	trendWide = 140
	// trendCells is the number of bars of the trend on a smaller terminal.
	trendCells = 8
)

// trend draws the deaths of the last hours as a small chart.
func trend(numbers []int64, out style) string {
	if out.columns < trendWide {
		numbers, _ = words.Grouped(numbers, trendCells)
	}
	return words.Sparkline(numbers)
}

// addOperators adds to groups who must act, as the policies that decided about their first jobs say.
func addOperators(ctx context.Context, client *redrive.Client, groups []wire.GroupRow) error {
	ids := make([]job.ID, len(groups))
	for i := range groups {
		ids[i] = groups[i].Sample
	}
	slices.Sort(ids)
	latest, err := client.Latest(ctx, slices.Compact(ids))
	if err != nil {
		return fmt.Errorf("read the last failures of the first jobs: %w", err)
	}
	byJob := make(map[job.ID]*job.Failure, len(latest))
	for i := range latest {
		byJob[latest[i].Job] = &latest[i]
	}
	operators := words.Operators{Policy: client.StoredPolicy}
	for i := range groups {
		g := &groups[i]
		var decision []byte
		if f := byJob[g.Sample]; f != nil && f.Class == g.Class { // the first job may have died of something else since
			decision = f.Decision
		}
		g.Operator = operators.ClassText(ctx, failure.Class(g.Class), decision)
	}
	return nil
}
