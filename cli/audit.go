package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

type auditCmd struct {
	jsonFlag
	Actor  string `placeholder:"NAME" help:"Only what this one did."`
	Action string `placeholder:"ACTION" help:"Only this action, such as job.retry; of a whole family with its dot, such as dead_letter."`
	Target string `placeholder:"TARGET" help:"Only what was done to this: a job's id, a queue, a redrive's number, a policy's hash."`
	Since  string `placeholder:"WHEN" help:"Done at or after then: a time such as 2026-01-31T18:00, or so long ago, such as 2h or 3d."`
	Limit  int    `default:"50" help:"The last so many, up to ${pageMax}."`
	Follow bool   `short:"f" help:"Do not stop at the last one, wait for more."`
}

// Help implements kong.HelpProvider.
func (*auditCmd) Help() string {
	return `Every action of a person is a row with actor, time and reason, written together with what it changed; so are those of
redrives and of retention. The newest comes last. With --json, one object a line.

    redrive audit
    redrive audit --actor tess --since 1d
    redrive audit --target 17
    redrive audit --action redrive. --follow`
}

// auditWindow is how many rows of the audit log are read at once.
const auditWindow = 500

// auditQuery looks for rows of the audit log from its end backwards.
type auditQuery struct {
	limit   int
	windows int // that are searched for rows that fit; 0 is the whole log
	since   job.Micros
	keep    func(*store.Audit) bool
}

type auditFound struct {
	rows     []store.Audit // oldest first
	end      int64         // the newest row of the log
	searched job.Micros    // not 0: the search ended here, and there may be more before
}

func (c *auditCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	since, err := past("--since", c.Since, a.now())
	if err != nil {
		return err
	}
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	found, err := c.query(since).last(ctx, st)
	if err != nil {
		return err
	}
	if err := c.print(a, found.rows, true); err != nil {
		return err
	}
	if !c.Follow {
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return c.follow(ctx, a, st, found.end)
}

// query looks for what is asked for in the whole log.
func (c *auditCmd) query(since job.Micros) *auditQuery {
	return &auditQuery{limit: c.Limit, since: since, keep: c.keeps}
}

// keeps reports whether a row is asked for, but for its time.
func (c *auditCmd) keeps(r *store.Audit) bool {
	family, whole := strings.CutSuffix(c.Action, ".")
	return (c.Actor == "" || c.Actor == r.Actor) && (c.Target == "" || c.Target == r.Target) &&
		(c.Action == "" || c.Action == r.Action || whole && strings.HasPrefix(r.Action, family+"."))
}

// last returns the newest rows that fit.
func (q *auditQuery) last(ctx context.Context, st store.Reader) (auditFound, error) {
	end, err := auditEnd(ctx, st)
	found := auditFound{end: end}
	if err != nil {
		return found, err
	}
	var oldest job.Micros
	for n := 0; n < q.windows || q.windows == 0; n++ {
		from := max(0, end-auditWindow)
		rows, err := auditRows(ctx, st, from)
		if err != nil {
			return found, err
		}
		for _, r := range slices.Backward(rows) {
			switch {
			case r.Seq > end:
				continue
			case r.At < q.since || len(found.rows) == q.limit:
				slices.Reverse(found.rows)
				return found, nil
			case q.keep(&r):
				found.rows = append(found.rows, r)
			}
		}
		if from == 0 {
			slices.Reverse(found.rows)
			return found, nil
		}
		if len(rows) > 0 {
			oldest = rows[0].At
		}
		end = from
	}
	found.searched = oldest
	slices.Reverse(found.rows)
	return found, nil
}

func auditRows(ctx context.Context, st store.Reader, after int64) ([]store.Audit, error) {
	rows, err := st.Audit(ctx, after, auditWindow)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return rows, nil
}

// auditEnd returns the number of the newest row, which the store does not tell:
// it is looked for by doubling, and then by halving.
func auditEnd(ctx context.Context, st store.Reader) (int64, error) {
	after := func(n int64) (last int64, err error) {
		rows, err := st.Audit(ctx, n, 1)
		if err != nil || len(rows) == 0 {
			return 0, err
		}
		return rows[0].Seq, nil
	}
	low, high := int64(0), int64(auditWindow) // there is a row above low, or none at all
	for {
		n, err := after(high)
		if err != nil {
			return 0, fmt.Errorf("read the audit log: %w", err)
		}
		if n == 0 {
			break
		}
		low, high = n, 2*n
	}
	for high-low > auditWindow {
		middle := low + (high-low)/2
		n, err := after(middle)
		switch {
		case err != nil:
			return 0, fmt.Errorf("read the audit log: %w", err)
		case n == 0:
			high = middle
		default:
			low = n
		}
	}
	rows, err := auditRows(ctx, st, low)
	if err != nil || len(rows) == 0 {
		return low, err
	}
	return rows[len(rows)-1].Seq, nil
}

// follow prints rows as they come, until the context ends.
func (c *auditCmd) follow(ctx context.Context, a *app, st store.Store, after int64) error {
	changed := make(chan struct{}, 1)
	defer st.Notify(changed)()
	poll := time.NewTicker(eventsPoll)
	defer poll.Stop()
	for {
		rows, err := auditRows(ctx, st, after)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			after = rows[len(rows)-1].Seq
			if err := c.print(a, slices.DeleteFunc(rows, func(r store.Audit) bool { return !c.keeps(&r) }), false); err != nil {
				return err
			}
		}
		if len(rows) == auditWindow {
			continue
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// print writes rows, and the titles above them at the beginning.
func (c *auditCmd) print(a *app, rows []store.Audit, first bool) error {
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

func (c *auditCmd) table(a *app, rows []store.Audit, first bool) {
	out := a.styleOf(a.stdout)
	if len(rows) == 0 {
		if !c.Follow {
			fmt.Fprintln(a.out, out.faint("nothing"))
		}
		return
	}
	t := table{untitled: !first, columns: []column{
		{title: "WHEN"}, {title: "ACTOR"}, {title: "ACTION"}, {title: "TARGET"}, {title: "REASON"}, {title: "BECAME", loose: true},
	}}
	for i := range rows {
		r := &rows[i]
		became := r.After
		if r.Before != "" {
			became = r.Before + " → " + r.After
		}
		t.add(words.Time(r.At), r.Actor, r.Action, r.Target, r.Reason, became)
	}
	t.print(a.out, out)
}
