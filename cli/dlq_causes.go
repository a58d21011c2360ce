package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// dlqCausesCmd has the commands that show groups, and those that change what people have noted
// about them.
type dlqCausesCmd struct {
	List    dlqGroupsCmd    `cmd:"" default:"withargs" help:"List groups; \"dlq groups\" does the same."`
	Show    causeShowCmd    `cmd:"" help:"Show a group: its cause, who works on it, its builds, its notes."`
	Assign  causeAssignCmd  `cmd:"" help:"Say who works on a group."`
	Name    causeNameCmd    `cmd:"" help:"Give the cause of a group a name."`
	Resolve causeResolveCmd `cmd:"" help:"Mark the cause of a group as gone. A later death makes it regressed."`
	Reopen  causeReopenCmd  `cmd:"" help:"Mark the cause of a group as not gone."`
	Merge   causeMergeCmd   `cmd:"" help:"Put groups with one cause into a named set."`
	Unmerge causeUnmergeCmd `cmd:"" help:"Take groups out of their set."`
	Note    causeNoteCmd    `cmd:"" help:"Add a note to a group."`

	Reclassify causeReclassifyCmd `cmd:"" help:"Say which class the failures of a group have."`
}

// findCauses returns the groups that a name selects: all groups of the set with that name, or else
// the group whose fingerprint begins with the name.
func findCauses(ctx context.Context, client *redrive.Client, name string) ([]string, error) {
	set, err := client.Groups(ctx, redrive.GroupFilter{Set: name, Limit: job.PageMax})
	if err != nil {
		return nil, fmt.Errorf("read the groups of the set %q: %w", name, err)
	}
	if len(set.Groups) == 0 {
		group, err := findGroup(ctx, client, name)
		return []string{group}, err
	}
	groups := make([]string, len(set.Groups))
	for i := range set.Groups {
		groups[i] = set.Groups[i].Fingerprint
	}
	slices.Sort(groups)
	return groups, nil
}

type causeShowCmd struct {
	jsonFlag
	Group string `arg:"" help:"Name of the group, or its beginning."`
}

// Help implements kong.HelpProvider.
func (*causeShowCmd) Help() string {
	return `The page shows the first error of the group, the deaths with the builds of the first and the last one, how many retries
helped, who works on the cause, and the notes. "dlq list --group" lists its dead letters.

    redrive dlq groups show 3fa9
    redrive dlq groups show 3fa9 --json | jq .group.assignee`
}

func (c *causeShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	fingerprint, err := findGroup(ctx, client, c.Group)
	if err != nil {
		return err
	}
	page, err := client.Groups(ctx, redrive.GroupFilter{Group: fingerprint, Limit: 1})
	if err != nil {
		return fmt.Errorf("read group %s: %w", fingerprint, err)
	}
	if len(page.Groups) == 0 {
		return absentf("group %s was removed", fingerprint)
	}
	notes, err := client.Notes(ctx, redrive.NoteFilter{Group: fingerprint, Limit: job.PageMax})
	if err != nil {
		return fmt.Errorf("read the notes of group %s: %w", fingerprint, err)
	}
	slices.Reverse(notes)
	if c.JSON {
		return a.printJSON(wire.GroupDetails{Group: &page.Groups[0], Notes: append([]redrive.Note{}, notes...)})
	}
	rows := wire.GroupsOf(&page).Groups
	if err := addOperators(ctx, client, rows); err != nil {
		return err
	}
	a.page().cause(&rows[0].Group, rows[0].Operator, notes)
	return nil
}

func (p *page) cause(g *redrive.Group, operator string, notes []redrive.Note) {
	p.title(fmt.Sprintf("Group %s  %s", words.ShortGroup(g.Fingerprint), words.Clean(g.Kind)))
	fmt.Fprintf(p.w, "  %s\n", words.Clean(words.CauseStanding(g, p.now)))
	p.head("First error", words.FirstLine(g.Message))
	p.head("To do", operator)
	fmt.Fprintln(p.w)
	p.facts(words.CauseFacts(g, p.now))
	p.notes(notes)
}

// notes writes notes, the oldest first.
func (p *page) notes(notes []redrive.Note) {
	for i := range notes {
		n := &notes[i]
		p.block(words.NoteTitle(n, p.now), n.Text)
	}
}

// causeChange has the flags of the commands that change a group or all groups of a set.
type causeChange struct {
	by
	jsonFlag
	Group string `arg:"" help:"Name of the group, or its beginning, or the name of a set."`
}

// run makes a change for each group, and prints a line for each.
func (c *causeChange) run(ctx context.Context, a *app, change redrive.GroupChange, did func(*redrive.Group) string) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	groups, err := findCauses(ctx, client, c.Group)
	if err != nil {
		return err
	}
	page := redrive.GroupPage{Total: len(groups)}
	for _, group := range groups {
		change.Group = group
		g, err := client.SetGroup(ctx, c.actor(a), change)
		if err != nil {
			return invalidIsUsage(err)
		}
		page.Groups = append(page.Groups, g)
	}
	if c.JSON {
		return a.printJSON(wire.GroupsOf(&page))
	}
	for i := range page.Groups {
		g := &page.Groups[i]
		if _, err := fmt.Fprintf(a.out, "group %s %s\n", words.ShortGroup(g.Fingerprint), words.Clean(did(g))); err != nil {
			return err
		}
	}
	return nil
}

type causeAssignCmd struct {
	causeChange
	To string `arg:"" optional:"" help:"Who works on the group. Without it, nobody does."`
}

// Help implements kong.HelpProvider.
func (*causeAssignCmd) Help() string {
	return `    redrive dlq groups assign 3fa9 ben
    redrive dlq groups assign 3fa9            # nobody
    redrive dlq groups --assignee ben`
}

func (c *causeAssignCmd) Run(ctx context.Context, a *app) error {
	return c.run(ctx, a, redrive.GroupChange{Assignee: &c.To}, func(g *redrive.Group) string {
		if g.Assignee == "" {
			return "is assigned to nobody"
		}
		return "is assigned to " + g.Assignee
	})
}

type causeNameCmd struct {
	causeChange
	As string `arg:"" optional:"" name:"name" help:"The name. Without it, the group has no name."`
}

// Help implements kong.HelpProvider.
func (*causeNameCmd) Help() string {
	return `The name stands in the list of groups instead of the first error.

    redrive dlq groups name 3fa9 "disk of render-3 is full"`
}

func (c *causeNameCmd) Run(ctx context.Context, a *app) error {
	return c.run(ctx, a, redrive.GroupChange{Name: &c.As}, func(g *redrive.Group) string {
		if g.Name == "" {
			return "has no name"
		}
		return "has the name " + g.Name
	})
}

type causeResolveCmd struct{ causeChange }

// Help implements kong.HelpProvider.
func (*causeResolveCmd) Help() string {
	return `The group stays resolved until a job dies of the cause again; then it is regressed. Its dead letters stay as they are:
"dlq retry --group" retries them, and "dlq resolve --group" closes them.

    redrive dlq groups resolve 3fa9 --reason "fixed in 4.19.0"
    redrive dlq groups --state regressed`
}

func (c *causeResolveCmd) Run(ctx context.Context, a *app) error {
	return c.run(ctx, a, redrive.GroupChange{Resolved: new(true)}, func(g *redrive.Group) string { return "is " + string(g.State()) })
}

type causeReopenCmd struct{ causeChange }

func (c *causeReopenCmd) Run(ctx context.Context, a *app) error {
	return c.run(ctx, a, redrive.GroupChange{Resolved: new(false)}, func(g *redrive.Group) string { return "is " + string(g.State()) })
}

type causeMergeCmd struct {
	by
	Set    string   `arg:"" help:"Name of the set."`
	Groups []string `arg:"" name:"group" help:"Names of groups, or their beginnings."`
}

// Help implements kong.HelpProvider.
func (*causeMergeCmd) Help() string {
	return `A set is a name for several groups. Dead letters keep their groups, so "dlq groups unmerge" undoes the merge.
Commands with --group accept the name of a set and then work on all of its groups.

    redrive dlq groups merge disk-full 3fa9 81c0
    redrive dlq retry --group disk-full --yes
    redrive dlq groups --set disk-full`
}

func (c *causeMergeCmd) Run(ctx context.Context, a *app) error {
	if c.Set == "" {
		return usagef("the name of the set is empty")
	}
	return a.merge(ctx, c.actor(a), c.Set, c.Groups)
}

type causeUnmergeCmd struct {
	by
	Groups []string `arg:"" name:"group" help:"Names of groups, their beginnings, or names of sets."`
}

// Help implements kong.HelpProvider.
func (*causeUnmergeCmd) Help() string {
	return `    redrive dlq groups unmerge 3fa9
    redrive dlq groups unmerge disk-full     # all groups of the set`
}

func (c *causeUnmergeCmd) Run(ctx context.Context, a *app) error {
	return a.merge(ctx, c.actor(a), "", c.Groups)
}

func (a *app) merge(ctx context.Context, who redrive.By, set string, names []string) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	var groups []string
	for _, name := range names {
		found, err := []string{}, error(nil)
		if set == "" {
			found, err = findCauses(ctx, client, name)
		} else {
			var group string
			group, err = findGroup(ctx, client, name)
			found = append(found, group)
		}
		if err != nil {
			return err
		}
		groups = append(groups, found...)
	}
	slices.Sort(groups)
	n, err := client.MergeGroups(ctx, who, set, slices.Compact(groups))
	switch {
	case errors.Is(err, redrive.ErrInvalid), errors.Is(err, redrive.ErrTooLarge):
		return &usageError{err}
	case err != nil:
		return err
	case set == "":
		_, err = fmt.Fprintf(a.out, "%s taken out of their set\n", words.Count(int64(n), "group"))
	default:
		_, err = fmt.Fprintf(a.out, "%s put into the set %s\n", words.Count(int64(n), "group"), words.Clean(set))
	}
	return err
}

type causeNoteCmd struct {
	by
	jsonFlag
	Group string   `arg:"" help:"Name of the group, or its beginning."`
	Text  []string `arg:"" help:"The note."`
}

// Help implements kong.HelpProvider.
func (*causeNoteCmd) Help() string {
	return `    redrive dlq groups note 3fa9 "the supplier knows, ticket 4711"`
}

func (c *causeNoteCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	group, err := findGroup(ctx, client, c.Group)
	if err != nil {
		return err
	}
	return a.addNote(ctx, client, c.actor(a), redrive.Note{What: redrive.PlainNote, Group: group, Text: strings.Join(c.Text, " ")}, c.JSON)
}

// addNote adds a note and prints it.
func (a *app) addNote(ctx context.Context, client *redrive.Client, who redrive.By, n redrive.Note, asJSON bool) error {
	added, err := client.AddNote(ctx, who, n)
	if err != nil {
		return invalidIsUsage(err)
	}
	if asJSON {
		return a.printJSON(added)
	}
	_, err = fmt.Fprintf(a.out, "%s added to %s\n", added.What, words.Clean(words.Noted(&added)))
	return err
}

// jobsNoteCmd adds a note to a job.
type jobsNoteCmd struct {
	by
	jsonFlag
	ID   job.ID   `arg:"" help:"Id of the job."`
	Text []string `arg:"" help:"The note."`
}

// Help implements kong.HelpProvider.
func (*jobsNoteCmd) Help() string {
	return `    redrive jobs note 17 "the customer was called"`
}

func (c *jobsNoteCmd) Run(ctx context.Context, a *app) error {
	return a.noteOnJob(ctx, c.actor(a), c.ID, redrive.PlainNote, c.Text, c.JSON)
}

// jobsFeedbackCmd adds the feedback of a job's user.
type jobsFeedbackCmd struct {
	by
	jsonFlag
	ID   job.ID   `arg:"" help:"Id of the job."`
	Text []string `arg:"" help:"The feedback."`
}

// Help implements kong.HelpProvider.
func (*jobsFeedbackCmd) Help() string {
	return `Feedback is what the user of a job says about it, such as about a failure. Handlers leave feedback, too.

    redrive jobs feedback 17 "the file opens on my machine" --by alice`
}

func (c *jobsFeedbackCmd) Run(ctx context.Context, a *app) error {
	return a.noteOnJob(ctx, c.actor(a), c.ID, redrive.Feedback, c.Text, c.JSON)
}

func (a *app) noteOnJob(ctx context.Context, who redrive.By, id job.ID, what redrive.NoteKind, text []string, asJSON bool) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return a.addNote(ctx, client, who, redrive.Note{What: what, Job: id, Text: strings.Join(text, " ")}, asJSON)
}
