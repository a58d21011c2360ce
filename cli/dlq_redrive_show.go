package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// absentRedrive completes the error about a redrive that does not exist: it adds the command that
// lists all redrives.
func absentRedrive(err error, id int64) error {
	if errors.Is(err, redrive.ErrNotFound) {
		return absentf("redrive %d does not exist; see `redrive dlq redrive list`", id)
	}
	return err
}

type redriveListCmd struct {
	jsonFlag
	State []redriveState `placeholder:"STATE,..." help:"Only in this state: canary, ramping, settling, paused, stopped, completed, ended or cancelled."`
	By    string         `placeholder:"NAME" help:"Only redrives that this person started."`
	Kind  string         `placeholder:"NAME" help:"Only redrives of this kind of jobs."`
	Queue string         `placeholder:"NAME" help:"Only redrives of jobs of this queue."`
	Owner string         `placeholder:"NAME" help:"Only redrives of jobs of this owner."`
	Class string         `placeholder:"CLASS" help:"Only redrives of jobs that failed with this class."`
	Group string         `placeholder:"GROUP" help:"Only redrives of this group, or of a group of this set: its name, or the beginning of its name."`
	Since string         `placeholder:"WHEN" help:"Only redrives that were started since this time, such as 2026-01-31T18:00, or since a duration ago, such as 2h or 3d."`
	Until string         `placeholder:"WHEN" help:"Only redrives that were started before this time, in the same forms."`
}

// redriveState is the value of a flag: a state of a redrive.
type redriveState redrive.RedriveState

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *redriveState) UnmarshalText(text []byte) error {
	known := texts([]redrive.RedriveState{redrive.RedriveCanary, redrive.RedriveRamping, redrive.RedriveSettling, redrive.RedrivePaused,
		redrive.RedriveStopped, redrive.RedriveCompleted, redrive.RedriveEnded, redrive.RedriveCancelled})
	if !slices.Contains(known, string(text)) {
		return errors.New(suggest.Unknown("state", string(text), known))
	}
	*s = redriveState(text)
	return nil
}

// Help implements kong.HelpProvider.
func (*redriveListCmd) Help() string {
	return `OUT is the number of jobs that were retried so far, and ALL the number of jobs in the set. ANSWERED is the number of
retried jobs whose first attempt has ended. AGAIN is how many of these failed by the same cause, and OTHER how many by
another one. COMPLETED and DEAD count retried jobs that have ended. The state is completed if all jobs have completed, and
ended if some of them are dead or cancelled.

    redrive dlq redrive list
    redrive dlq redrive list --state canary,ramping
    redrive dlq redrive list --group 3fa9 --since 1d --json

--kind, --queue, --owner, --class and --group select redrives that were started with this filter.`
}

func (c *redriveListCmd) Run(ctx context.Context, a *app) (err error) {
	now := a.now()
	var span redrive.Span
	if span.Since, err = past("--since", c.Since, now); err != nil {
		return err
	}
	if span.Until, err = past("--until", c.Until, now); err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	var groups []string
	if c.Group != "" {
		if groups, err = findCauses(ctx, client, c.Group); err != nil {
			return err
		}
	}
	list, err := client.Redrives(ctx)
	if err != nil {
		return fmt.Errorf("list redrives: %w", err)
	}
	list = slices.DeleteFunc(list, func(r redrive.Redrive) bool {
		f := r.Filter
		if r.Live != nil {
			of := &r.Live.Filter
			f = redrive.DeadFilter{Kind: of.Kind, Queue: of.Queue, Owner: of.Owner, Class: of.Class, Group: of.Group}
		}
		return len(c.State) > 0 && !slices.Contains(c.State, redriveState(r.State)) || !span.Has(r.CreatedAt) ||
			differs(c.By, r.By) || differs(c.Kind, f.Kind) || differs(c.Queue, f.Queue) || differs(c.Owner, f.Owner) ||
			differs(c.Class, f.Class) || len(groups) > 0 && !slices.ContainsFunc(f.Fingerprints(), func(of string) bool { return slices.Contains(groups, of) })
	})
	if len(list) == 0 {
		named := selectFlags{Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Class: c.Class}
		if err := a.explainNothing(ctx, client, &named); err != nil {
			return err
		}
	}
	return c.print(a, list)
}

// differs reports whether a value differs from the wanted value. If the wanted value is "", no
// value differs.
func differs(want, value string) bool { return want != "" && want != value }

func (c *redriveListCmd) print(a *app, list []redrive.Redrive) error {
	if c.JSON {
		return a.printJSON(wire.RedrivesOf(list))
	}
	out := a.styleOf(a.stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.out, out.faint("no redrives"))
		return nil
	}
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "STATE"}, {title: "OUT", right: true}, {title: "ALL", right: true, spare: 3},
		{title: "ANSWERED", right: true, spare: 1}, {title: "AGAIN", right: true, spare: 5}, {title: "OTHER", right: true, spare: 5},
		{title: "COMPLETED", right: true}, {title: "DEAD", right: true}, {title: "STARTED", spare: 4}, {title: "BY", spare: 2},
		{title: "WHAT", loose: true, own: true},
	}}
	for i := range list {
		r := &list[i]
		t.add(fmt.Sprint(r.ID), string(r.State), words.Number(r.Released), words.Number(r.Total), words.Number(r.Answered), words.Number(r.Again), words.Number(r.Other),
			words.Number(r.Completed), words.Number(r.Dead), words.Away(r.CreatedAt, now), r.By, words.RedriveWhat(r))
	}
	t.print(a.out, out)
	return nil
}

type redriveShowCmd struct {
	jsonFlag
	Watch bool  `help:"Show the progress until the redrive ends."`
	ID    int64 `arg:"" help:"Number of the redrive."`
}

// Help implements kong.HelpProvider.
func (*redriveShowCmd) Help() string {
	return `The page shows the state of the redrive, its plan, its numbers and the commands to use next.

    redrive dlq redrive show 3
    redrive dlq redrive show 3 --watch`
}

func (c *redriveShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if c.Watch {
		return a.watchRedrive(ctx, client, c.ID, c.JSON)
	}
	r, err := client.GetRedrive(ctx, c.ID)
	if err != nil {
		return absentRedrive(err, c.ID)
	}
	if c.JSON {
		return a.printJSON(wire.RedriveOf(&r))
	}
	a.page().redrive(&r)
	return nil
}

func (p *page) redrive(r *redrive.Redrive) {
	p.title(fmt.Sprintf("Redrive %d", r.ID))
	standing := words.Clean(words.RedriveStanding(r))
	if r.State == redrive.RedriveStopped {
		standing = p.style.red(standing)
	}
	fmt.Fprintf(p.w, "  %s\n", standing)
	p.steps(words.RedriveSteps(r))
	p.facts(words.RedriveFacts(r, p.now))
}

const (
	// watchEvery is the time between two reads of a redrive that is being watched.
	watchEvery = 200 * time.Millisecond
	// idleAfter is the time without progress after which a warning says that no worker is
	// busy.
	idleAfter = 5 * time.Second
)

// watchRedrive shows a redrive until it ends: on a terminal in one line that changes,
// elsewhere in one line for each state. An interrupt ends the watching, but not the
// redrive.
func (a *app) watchRedrive(ctx context.Context, client *redrive.Client, id int64, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := &redriveWatch{app: a, client: client, screen: &live{w: a.stderr, style: a.styleOf(a.stderr)}, json: asJSON, moved: a.now()}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		r, err := client.GetRedrive(context.WithoutCancel(ctx), id)
		if err != nil {
			w.screen.set("")
			return absentRedrive(err, id)
		}
		if err := w.show(ctx, &r); err != nil {
			return err
		}
		if !r.State.Active() && r.State != redrive.RedrivePaused {
			return w.ended(&r)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.screen.set("")
			return &interruptedError{fmt.Sprintf("stopped watching; redrive %d continues; `redrive dlq redrive show %d --watch` "+
				"shows it again, `redrive dlq redrive pause %d` pauses it", id, id, id)}
		}
	}
}

type redriveWatch struct {
	*app
	client *redrive.Client
	screen *live
	json   bool

	last   redrive.Redrive
	moved  time.Time // time of the last change
	warned bool      // whether the warning that no worker can run the jobs was printed
}

// show prints the changes since the last call.
func (w *redriveWatch) show(ctx context.Context, r *redrive.Redrive) error {
	now := w.now()
	state := r.State != w.last.State
	if state || r.Released != w.last.Released || r.Answered != w.last.Answered || r.Completed != w.last.Completed || r.Dead != w.last.Dead {
		w.moved, w.warned = now, false
	}
	w.last = *r
	line := redriveLine(r)
	w.screen.set(line)
	if state && !w.screen.style.terminal {
		var err error
		if w.json {
			err = w.printJSONLine(wire.RedriveOf(r))
		} else {
			_, err = fmt.Fprintln(w.out, line)
		}
		if err == nil {
			err = w.out.Flush()
		}
		if err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if now.Sub(w.moved) >= idleAfter && !w.warned && r.State.Active() {
		w.warned = true
		list, err := processes(ctx, w.client)
		if warning := idleWarning(list, now); err == nil && warning != "" {
			fmt.Fprintf(w.screen, "redrive: there was no progress for %s: %s\n", words.Span(idleAfter), warning)
		}
	}
	return nil
}

// ended returns an error unless the redrive has sent all its jobs back to their queues.
func (w *redriveWatch) ended(r *redrive.Redrive) error {
	w.screen.set("")
	if w.screen.style.terminal && !w.json {
		fmt.Fprintln(w.out, words.Clean(redriveLine(r)))
	}
	switch r.State {
	case redrive.RedriveStopped:
		return fmt.Errorf("redrive %d has stopped by itself: %s; `redrive dlq redrive resume %d` continues anyway", r.ID, r.Why, r.ID)
	case redrive.RedriveCancelled:
		return fmt.Errorf("redrive %d was cancelled", r.ID)
	case redrive.RedriveEnded:
		if causes := words.StopCauses(r, redrive.RedriveStopDead); causes != "" && !w.json {
			fmt.Fprintf(w.out, "dead by: %s\n", words.Clean(causes))
		}
	case redrive.RedriveCanary, redrive.RedriveRamping, redrive.RedriveSettling, redrive.RedrivePaused, redrive.RedriveCompleted:
	}
	return nil
}

// redriveLine describes a redrive in one line, such as "ramping  [####    ]  42%  420 of
// 1,000 back …".
func redriveLine(r *redrive.Redrive) string {
	share := 0.0
	if r.Total > 0 {
		share = min(1, float64(r.Released)/float64(r.Total))
	}
	full := int(share * barColumns)
	return fmt.Sprintf("%s  [%s%s] %3d%%  %s", r.State, strings.Repeat("#", full), strings.Repeat(" ", barColumns-full), int(share*100),
		words.RedriveCounts(r))
}
