package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// explainNothing is called when a filter selects nothing. It returns an error if the filter names a
// kind, a queue, a class or a worker that neither the configuration nor the database has, so that a
// misspelled name does not look like an empty result. Owners are not declared anywhere, so for an
// unknown owner it only prints a line on standard error.
func (a *app) explainNothing(ctx context.Context, client *redrive.Client, f *selectFlags) error {
	for _, named := range [...]struct{ sort, name string }{
		{"kind", f.Kind}, {"queue", f.Queue}, {"class", f.Class}, {"worker", f.Worker},
	} {
		if named.name == "" {
			continue
		}
		known, err := a.knownNames(ctx, client, named.sort)
		if err != nil {
			return err
		}
		if slices.Contains(known, named.name) {
			continue
		}
		if stored, err := isStored(ctx, client, named.sort, named.name); err != nil || stored {
			return err
		}
		return absentError(suggest.Unknown(named.sort, named.name, known))
	}
	return a.explainOwner(ctx, client, f.Owner)
}

// explainNothing does the same for the flags that select dead letters. It also returns an
// error if the redrive does not exist.
func (f *deadFlags) explainNothing(ctx context.Context, a *app, client *redrive.Client) error {
	if f.Redrive != 0 {
		if _, err := client.GetRedrive(ctx, f.Redrive); err != nil {
			return absentRedrive(err, f.Redrive)
		}
	}
	return a.explainNothing(ctx, client, &f.selectFlags)
}

// knownNames returns the names of one sort that the configuration and the database have. The sort
// is "kind", "queue", "class" or "worker".
func (a *app) knownNames(ctx context.Context, client *redrive.Client, sort string) ([]string, error) {
	n := a.configuredNames(sort)
	if err := n.read(ctx, client, sort); err != nil {
		return nil, fmt.Errorf("read the known names: %w", err)
	}
	return slices.Sorted(maps.Keys(n.all)), nil
}

// configuredNames returns a nameReader with the names of the program and of the
// configuration.
func (a *app) configuredNames(sort string) *nameReader {
	n := &nameReader{all: map[string]string{}}
	switch known := a.known(); sort {
	case "kind":
		n.add(known.KindNames)
	case "queue":
		n.add(known.QueueNames)
	case "class":
		for _, c := range failure.Classes() {
			n.all[string(c.Class)] = firstSentence(c.Summary)
		}
		if s, err := a.settings(); err == nil {
			if p, err := loadPolicy(s.policyName()); err == nil { // ignore the error, because other commands report a policy with mistakes
				for _, class := range p.Classes() {
					n.all[string(class)] = firstSentence(p.Info(class).Summary)
				}
			}
		}
	}
	return n
}

// isStored searches the jobs for a class or a worker that the lists of names do not contain. The
// lists have only the classes of dead jobs, and only the workers of the last day.
func isStored(ctx context.Context, client *redrive.Client, sort, name string) (bool, error) {
	f := redrive.JobFilter{Limit: 1}
	switch sort {
	case "class":
		f.Class = name
	case "worker":
		f.Worker = name
	default:
		return false, nil
	}
	page, err := client.List(ctx, f)
	if err != nil {
		return false, fmt.Errorf("list jobs: %w", err)
	}
	return len(page.Jobs) > 0 || !page.Next.IsZero(), nil
}

// explainOwner prints the most similar owner of a recent job if no job of an owner is found.
func (a *app) explainOwner(ctx context.Context, client *redrive.Client, owner string) error {
	if owner == "" {
		return nil
	}
	page, err := client.List(ctx, redrive.JobFilter{Owner: owner, Limit: 1})
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	if len(page.Jobs) > 0 || !page.Next.IsZero() {
		return nil
	}
	recent, err := client.List(ctx, redrive.JobFilter{Limit: job.PageMax})
	if err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	var owners []string
	for i := range recent.Jobs {
		if o := recent.Jobs[i].Owner; o != "" && !slices.Contains(owners, o) {
			owners = append(owners, o)
		}
	}
	fmt.Fprintf(a.stderr, "redrive: no job of the owner %s is stored%s\n", words.Clean(fmt.Sprintf("%.64q", owner)), suggest.DidYouMean(owner, owners))
	return nil
}
