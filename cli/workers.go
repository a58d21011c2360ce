package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

type workersCmd struct {
	List  workersListCmd  `cmd:"" default:"withargs" help:"List workers; \"workers\" does the same."`
	Quiet workersQuietCmd `cmd:"" help:"Order a worker to claim no jobs and to finish those that run."`
	Wake  workersWakeCmd  `cmd:"" help:"Order a quiet worker to claim jobs again."`
}

// Help implements kong.HelpProvider.
func (*workersCmd) Help() string {
	return `A worker is a process that runs jobs: "redrive work", or a Go program. Each reports to the database every 10
seconds. A worker that has not reported for a minute is silent: it was killed, or cannot reach the database.
Silent workers leave the list after a day. A worker that cannot start the program of a kind is sick: it claims no jobs of
this kind until it can. Lines below the list say why.

    redrive workers
    redrive workers --json | jq -r '.workers[] | select(.silent) | .name'
    redrive workers quiet web-3 --reason "deploy"
    redrive workers wake web-3`
}

type workersListCmd struct{ jsonFlag }

func (c *workersListCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	list, err := processes(ctx, client)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(wire.WorkersOf(list))
	}
	a.printWorkers(list, a.styleOf(a.stdout))
	return nil
}

func processes(ctx context.Context, client *redrive.Client) ([]redrive.Process, error) {
	list, err := client.Processes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return list, nil
}

// The widths, in columns, from which a terminal shows more columns of the list of workers.
const (
	wideColumns = 120
	allColumns  = 170
)

func (a *app) printWorkers(list []redrive.Process, out style) {
	if len(list) == 0 {
		fmt.Fprintln(a.out, out.faint("no workers"))
		return
	}
	all := out.columns == 0 || out.columns >= allColumns
	wide := all || out.columns >= wideColumns
	t := table{columns: []column{
		{title: "WORKER"}, {title: "STATE"}, {title: "RUNNING", right: true}, {title: "SEEN"}, {title: "SINCE"}, {title: "QUEUES", loose: true},
	}}
	if wide {
		t.columns = append(t.columns, column{title: "KINDS", loose: true}, column{title: "BUILD", loose: true})
	}
	if all {
		t.columns = append(t.columns, column{title: "HOST", loose: true}, column{title: "PID", right: true}, column{title: "POLICY"},
			column{title: "VERSION", loose: true})
	}
	now := job.At(a.now())
	for i := range list {
		p := &list[i]
		name := p.Name
		if !wide {
			name = middleCut(words.Clean(name), 24)
		}
		row := []string{
			name, words.ProcessState(p), fmt.Sprintf("%d/%d", p.Running, p.Slots),
			words.Away(p.SeenAt, now), words.Away(p.StartedAt, now), orDash(strings.Join(p.Queues, ",")),
		}
		if wide {
			row = append(row, orDash(strings.Join(p.Kinds, ",")), orDash(p.Build))
		}
		if all {
			row = append(row, orDash(p.Host), fmt.Sprint(p.PID), policy.ShortHash(p.Policy), orDash(p.Version))
		}
		t.add(row...)
	}
	t.print(a.out, out)
	for i := range list {
		if list[i].Silent {
			continue
		}
		for _, text := range words.ProcessSick(&list[i]) {
			fmt.Fprintln(a.out, text)
		}
	}
}

// middleCut shortens a text to a number of columns and keeps its beginning and its end.
func middleCut(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	end := columns / 2
	return string(runes[:columns-end-1]) + "…" + string(runes[len(runes)-end:])
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type workersQuietCmd struct{ workerOrder }

// Help implements kong.HelpProvider.
func (*workersQuietCmd) Help() string {
	return `The worker gets the order within 10 seconds. Jobs that run continue. The order ends when the worker ends.
The beginning of a name is enough if no other worker's name begins with it.

    redrive workers quiet web-3 --reason "deploy"`
}

func (c *workersQuietCmd) Run(ctx context.Context, a *app) error { return c.order(ctx, a, true) }

type workersWakeCmd struct{ workerOrder }

func (c *workersWakeCmd) Run(ctx context.Context, a *app) error { return c.order(ctx, a, false) }

// workerOrder has the flags of the commands that give an order to a worker.
type workerOrder struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the worker, or its beginning."`
}

func (c *workerOrder) order(ctx context.Context, a *app, quiet bool) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	list, err := processes(ctx, client)
	if err != nil {
		return err
	}
	name, err := workerNamed(list, c.Name)
	if err != nil {
		return err
	}
	if err := client.OrderProcess(ctx, c.actor(a), name, quiet); err != nil {
		return fmt.Errorf("worker %q: %w", name, err)
	}
	if list, err = processes(ctx, client); err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		if p.Name != name {
			continue
		}
		if c.JSON {
			err = a.printJSON(wire.WorkerOf(p))
		} else {
			_, err = fmt.Fprintf(a.out, "%s: %s\n", words.Clean(name), words.ProcessOrder(p))
		}
		if err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}

// workerNamed returns the name of a worker from its full name, or from the beginning of a
// name if only one worker's name begins so.
func workerNamed(list []redrive.Process, text string) (string, error) {
	var names []string
	found := map[string]bool{}
	for i := range list {
		name := list[i].Name
		if name == text {
			return name, nil
		}
		names = append(names, name)
		if strings.HasPrefix(name, text) {
			found[name] = true
		}
	}
	switch len(found) {
	case 0:
		return "", absentError(suggest.Unknown("worker", text, names))
	case 1:
		for name := range found {
			return name, nil
		}
	}
	return "", usagef("the names of %d workers begin with %q: give more of the name", len(found), text)
}

// idleWarning returns a warning if no worker can run the jobs of a redrive now, or "".
func idleWarning(list []redrive.Process, now time.Time) string {
	quiet, silent := []string{}, 0
	var seen redrive.Process // the silent worker that reported last
	for i := range list {
		switch p := &list[i]; {
		case p.What == "keep": // such a process does not run jobs
		case p.Silent:
			silent++
			if p.SeenAt > seen.SeenAt {
				seen = *p
			}
		case p.Quiet:
			quiet = append(quiet, p.Name)
		default:
			return ""
		}
	}
	switch {
	case len(quiet) > 0:
		return fmt.Sprintf("each running worker is quiet; the jobs wait until one is woken, as with `redrive workers wake %s`", words.Clean(quiet[0]))
	case silent > 0:
		return fmt.Sprintf("no worker is running now (%s was seen %s); the redrive waits until `redrive work` is running",
			words.Clean(seen.Name), words.Away(seen.SeenAt, job.At(now)))
	}
	return "no worker is running now; the redrive waits until `redrive work` is running"
}
