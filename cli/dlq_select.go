package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// selection selects the jobs on which a command acts: by ids or by a filter. If it selects
// more than one job, the command counts the jobs first and asks the person.
type selection struct {
	IDs []job.ID `arg:"" optional:"" name:"id" help:"Ids of jobs."`
	deadFlags
	All     bool  `help:"Select all dead letters that the command can change, instead of a filter."`
	Through int64 `placeholder:"N" help:"Select only deaths up to this number, which --dry-run prints."`
	DryRun  bool  `help:"Count the dead letters, and change nothing."`
	Yes     bool  `short:"y" help:"Act without asking for confirmation."`
}

// who has the flags for the name of the person who acts and for the reason.
type who struct {
	By   string `name:"by" placeholder:"NAME" help:"Your name, for the audit log. Default: $$USER."`
	Note string `placeholder:"TEXT" help:"Your reason, for the dead letters and the audit log."`
}

func (w who) actor(a *app) redrive.By { return by{By: w.By, Reason: w.Note}.actor(a) }

// check returns an error if the selection has both ids and filters.
func (s *selection) check() error {
	filtered := !s.isZero()
	switch {
	case len(s.IDs) == 0 && !filtered && !s.All:
		return usagef("name jobs, a --group or another filter; --all selects everything")
	case len(s.IDs) > 0 && (filtered || s.All || s.Through != 0):
		return usagef("name either jobs or a filter, not both; --reason selects jobs by the reason why they are dead, --note is your own reason")
	case filtered && s.All:
		return usagef("use either --all or a filter, not both")
	case s.Through < 0:
		return usagef("--through %d: must not be negative", s.Through)
	case len(s.IDs) > job.IDsMax:
		return usagef("%d jobs: at most %d in one call; a filter takes any number", len(s.IDs), job.IDsMax)
	}
	return nil
}

// action returns the given action for the selected jobs.
func (s *selection) action(ctx context.Context, a *app, client *redrive.Client, do redrive.Act) (redrive.Action, error) {
	act := redrive.Action{Do: do, Through: s.Through}
	if len(s.IDs) > 0 {
		act.IDs = s.IDs
		return act, nil
	}
	f, err := s.filter(ctx, a, client)
	act.Filter = &f
	return act, err
}

// groupsToChange returns the groups that the action ignores or reopens, including their future
// dead letters. It returns none if the action does not change a group.
func groupsToChange(ctx context.Context, client *redrive.Client, act *redrive.Action) (groups []redrive.Group, err error) {
	ignores := act.Do == redrive.ActIgnore && (act.Until > 0 || act.Count > 0)
	if !act.Filter.WholeGroup() || !ignores && act.Do != redrive.ActReopen {
		return nil, nil
	}
	for _, name := range act.Filter.Fingerprints() {
		g, err := wholeGroup(ctx, client, name)
		if err != nil {
			return nil, fmt.Errorf("read the group: %w", err)
		}
		if g.Fingerprint != "" && (ignores || g.Muted) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// preview counts the jobs that an action would change. An action by filter that follows the preview
// does not change jobs that become dead after the preview.
func preview(ctx context.Context, client *redrive.Client, act redrive.Action) (words.Counted, error) {
	found, err := client.Preview(ctx, act)
	if err != nil {
		return words.Counted{}, invalidIsUsage(fmt.Errorf("%s: %w", act.Do, err))
	}
	act.Through = found.Through
	return words.Counted{Action: act, N: found.Done}, nil
}

// invalidIsUsage turns an error of the store about an invalid action into a usage error.
func invalidIsUsage(err error) error {
	if errors.Is(err, redrive.ErrInvalid) || errors.Is(err, redrive.ErrTooLarge) {
		return &usageError{err}
	}
	return err
}

// dryRun prints what an action would change, and changes nothing.
func (a *app) dryRun(c *words.Counted, asJSON bool) error {
	if asJSON {
		return a.printJSON(wire.Counted{Do: c.Do.String(), N: c.N, Through: c.Through})
	}
	text := c.Plan()
	if c.Filter != nil && c.Through > 0 {
		text += fmt.Sprintf("; add --through %d to act on just these", c.Through)
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

// confirm asks on the terminal whether to continue. It returns an error if there is no
// terminal and --yes is not given.
func (a *app) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.styleOf(a.stderr).terminal {
		return usagef("%s: confirm with --yes, or use --dry-run to only count", question)
	}
	fmt.Fprintf(a.stderr, "%s? [y/N] ", words.Clean(question))
	return answered(a.in)
}

// answered reads the answer to a yes-or-no question. It returns an error unless the answer
// is yes.
func answered(in io.Reader) error {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return usagef("nothing was done")
}
