package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// absentRedrive says of a redrive that is not there how to find one.
func absentRedrive(err error, id int64) error {
	if errors.Is(err, store.ErrNotFound) {
		return absentf("redrive %d: there is none; see `redrive dlq redrive list`", id)
	}
	return err
}

// redriveView is a redrive in JSON.
type redriveView struct {
	*store.Redrive
	Priority int8   `json:"priority"`
	Queue    string `json:"queue,omitempty"`
}

func redriveViewOf(r *store.Redrive) redriveView {
	return redriveView{r, r.Change.Priority, r.Change.Queue}
}

type redriveListCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*redriveListCmd) Help() string {
	return `OUT are brought back, of ALL. AGAIN failed once more by the same cause at their first attempt, of those that have ANSWERED.

    redrive dlq redrive list
    redrive dlq redrive list --json`
}

func (c *redriveListCmd) Run(ctx context.Context, a *app) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	list, err := st.RedriveList(ctx)
	if err != nil {
		return fmt.Errorf("list redrives: %w", err)
	}
	if c.JSON {
		views := make([]redriveView, len(list))
		for i := range list {
			views[i] = redriveViewOf(&list[i])
		}
		return a.printJSON(map[string]any{"redrives": views})
	}
	out := a.styleOf(a.stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.out, out.faint("no redrives"))
		return nil
	}
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "STATE"}, {title: "OUT", right: true}, {title: "ALL", right: true},
		{title: "ANSWERED", right: true}, {title: "AGAIN", right: true}, {title: "COMPLETED", right: true},
		{title: "DEAD", right: true}, {title: "STARTED"}, {title: "BY"}, {title: "WHAT", loose: true},
	}}
	for i := range list {
		r := &list[i]
		t.add(fmt.Sprint(r.ID), string(r.State), number(r.Released), number(r.Total), number(r.Answered), number(r.Again),
			number(r.Completed), number(r.Dead), away(r.CreatedAt, now), r.By, filterText(&r.Filter))
	}
	t.print(a.out, out)
	return nil
}

type redriveShowCmd struct {
	jsonFlag
	Watch bool  `help:"Show how it goes until it ends."`
	ID    int64 `arg:"" help:"Redrive."`
}

// Help implements kong.HelpProvider.
func (*redriveShowCmd) Help() string {
	return `Where it stands, by its own numbers.

    redrive dlq redrive show 3
    redrive dlq redrive show 3 --watch`
}

func (c *redriveShowCmd) Run(ctx context.Context, a *app) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if c.Watch {
		return a.watchRedrive(ctx, st, c.ID, c.JSON)
	}
	r, err := st.Redrive(ctx, c.ID)
	if err != nil {
		return absentRedrive(err, c.ID)
	}
	if c.JSON {
		return a.printJSON(redriveViewOf(&r))
	}
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
	p.redrive(&r)
	return nil
}

func (p *page) redrive(r *store.Redrive) {
	fmt.Fprintf(p.w, "%s\n\n", p.style.bold(fmt.Sprintf("Redrive %d", r.ID)))
	standing := clean(redriveStanding(r))
	if r.State == store.RedriveStopped {
		standing = p.style.red(standing)
	}
	fmt.Fprintf(p.w, "  %s\n", standing)
	p.steps(redriveNext(r))
	f := facts{}
	f.add("what", filterText(&r.Filter))
	f.add("plan", planText(r))
	change := fmt.Sprintf("priority %d", r.Change.Priority)
	if r.Change.Queue != "" {
		change += ", queue " + r.Change.Queue
	}
	f.add("jobs get", change)
	f.add("brought back", fmt.Sprintf("%s of %s", number(r.Released), number(r.Total)))
	f.add("answered", fmt.Sprintf("%s, of which %s failed again by the same cause", number(r.Answered), number(r.Again)))
	f.add("ended", fmt.Sprintf("%s completed, %s dead, %s cancelled", number(r.Completed), number(r.Dead), number(r.Cancelled)))
	f.add("started", fmt.Sprintf("%s (%s) by %s", clockTime(r.CreatedAt), away(r.CreatedAt, p.now), r.By))
	f.add("reason", r.Reason)
	if r.EndedAt > 0 {
		f.add("over", fmt.Sprintf("%s (%s)", clockTime(r.EndedAt), away(r.EndedAt, p.now)))
	}
	f.print(p)
}

// redriveStanding says in words where a redrive stands.
func redriveStanding(r *store.Redrive) string {
	switch r.State {
	case store.RedriveCanary:
		return fmt.Sprintf("Canary: %s of the first %d have answered", number(r.Answered), min(int64(r.Canary), r.Total))
	case store.RedriveRamping:
		return fmt.Sprintf("Ramping: %s of %s are brought back", number(r.Released), number(r.Total))
	case store.RedriveSettling:
		return fmt.Sprintf("Settling: all are brought back, %s have not ended", number(r.Released-r.Completed-r.Dead-r.Cancelled))
	case store.RedrivePaused:
		return "Paused: no more are brought back until somebody resumes it"
	case store.RedriveStopped:
		return "Stopped by itself: " + r.Why
	case store.RedriveCompleted:
		return fmt.Sprintf("Completed: all %s have ended", number(r.Released))
	case store.RedriveCancelled:
		return "Cancelled: no more are brought back"
	}
	return string(r.State)
}

// redriveNext are the commands that fit where a redrive stands.
func redriveNext(r *store.Redrive) []nextStep {
	step := func(verb, does string) nextStep {
		return nextStep{fmt.Sprintf("redrive dlq redrive %s %d", verb, r.ID), does}
	}
	left := nextStep{fmt.Sprintf("redrive dlq list --redrive %d --status pending", r.ID), "those that died again"}
	switch r.State {
	case store.RedriveCanary:
		return []nextStep{step("proceed", "do not wait for the first few"), step("pause", "bring back no more for now")}
	case store.RedriveRamping, store.RedriveSettling:
		return []nextStep{step("show --watch", "see how it goes"), step("pause", "bring back no more for now")}
	case store.RedrivePaused:
		return []nextStep{step("resume", "go on"), step("cancel", "bring back no more, for good")}
	case store.RedriveStopped:
		return []nextStep{left, step("resume", "go on in spite of them"), step("cancel", "leave the rest as it is")}
	case store.RedriveCompleted, store.RedriveCancelled:
	}
	return []nextStep{left}
}

const (
	// watchEvery is how often a redrive is looked at.
	watchEvery = 200 * time.Millisecond
	// idleAfter is how long nothing has to move before it is said that no worker is seen.
	idleAfter = 5 * time.Second
)

// watchRedrive shows a redrive until it ends, on a terminal in one line, elsewhere
// a line for each state. An interrupt ends the watching, not the redrive.
func (a *app) watchRedrive(ctx context.Context, st store.Store, id int64, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	w := &redriveWatch{app: a, store: st, screen: &live{w: a.stderr, style: a.styleOf(a.stderr)}, json: asJSON, moved: a.now()}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		r, err := st.Redrive(context.WithoutCancel(ctx), id)
		if err != nil {
			w.screen.set("")
			return absentRedrive(err, id)
		}
		if err := w.show(ctx, &r); err != nil {
			return err
		}
		if !r.State.Active() && r.State != store.RedrivePaused {
			return w.ended(&r)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.screen.set("")
			return &interruptedError{fmt.Sprintf("redrive %d goes on, and so do its jobs; `redrive dlq redrive show %d --watch` "+
				"shows it again, `redrive dlq redrive pause %d` holds it", id, id, id)}
		}
	}
}

type redriveWatch struct {
	*app
	store  store.Reader
	screen *live
	json   bool

	last  store.Redrive
	moved time.Time // when something changed last
	told  bool      // that no worker is seen
}

// show tells what is new.
func (w *redriveWatch) show(ctx context.Context, r *store.Redrive) error {
	now := w.now()
	state := r.State != w.last.State
	if state || r.Released != w.last.Released || r.Answered != w.last.Answered || r.Completed != w.last.Completed || r.Dead != w.last.Dead {
		w.moved, w.told = now, false
	}
	w.last = *r
	line := redriveLine(r)
	w.screen.set(line)
	if state && !w.screen.style.terminal {
		var err error
		if w.json {
			err = w.printJSONLine(redriveViewOf(r))
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
	if now.Sub(w.moved) >= idleAfter && !w.told && r.State.Active() {
		w.told = true
		if busy, err := workerSeen(ctx, w.store, job.At(now)); err == nil && !busy {
			fmt.Fprintf(w.screen, "redrive: nothing has moved for %s, and no worker is busy; does `redrive work` run?\n", span(idleAfter))
		}
	}
	return nil
}

// ended tells how it ended, which is an error unless all are back.
func (w *redriveWatch) ended(r *store.Redrive) error {
	w.screen.set("")
	if w.screen.style.terminal && !w.json {
		fmt.Fprintln(w.out, clean(redriveLine(r)))
	}
	switch r.State {
	case store.RedriveStopped:
		return fmt.Errorf("redrive %d has stopped by itself: %s; `redrive dlq redrive resume %d` goes on nevertheless", r.ID, r.Why, r.ID)
	case store.RedriveCancelled:
		return fmt.Errorf("redrive %d was cancelled", r.ID)
	case store.RedriveCanary, store.RedriveRamping, store.RedriveSettling, store.RedrivePaused, store.RedriveCompleted:
	}
	return nil
}

// redriveLine is a redrive in one line, "ramping  [####    ]  42%  420 of 1,000 back …".
func redriveLine(r *store.Redrive) string {
	share := 0.0
	if r.Total > 0 {
		share = min(1, float64(r.Released)/float64(r.Total))
	}
	full := int(share * barColumns)
	parts := []string{
		string(r.State), fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("#", full), strings.Repeat(" ", barColumns-full), int(share*100)),
		fmt.Sprintf("%s of %s back", number(r.Released), number(r.Total)),
		fmt.Sprintf("%s answered", number(r.Answered)), fmt.Sprintf("%s failed again", number(r.Again)),
		fmt.Sprintf("%s completed", number(r.Completed)), fmt.Sprintf("%s dead", number(r.Dead)),
	}
	if r.Cancelled > 0 {
		parts = append(parts, number(r.Cancelled)+" cancelled")
	}
	return strings.Join(parts, "  ")
}
