package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// readKey asks for the job that holds a key.
func (d *duel) readKey(owner, kind, key string) {
	d.ask("Lookup", func(s store.Store) (any, error) { return s.Lookup(ctx(), owner, kind, key) })
	d.ask("Processed", func(s store.Store) (any, error) { return s.Processed(ctx(), owner, kind, key) })
}

// read reads a job, its failures, its events and its audit rows.
func (d *duel) read() {
	id := d.id()
	d.ask("Get", func(s store.Store) (any, error) { return s.Get(ctx(), id) })
	d.ask("Failures", func(s store.Store) (any, error) { return s.Failures(ctx(), id) })
	ids := some(d.t, "ids", 3, func(int) job.ID { return d.id() })
	d.ask("GetAll", func(s store.Store) (any, error) { return s.GetAll(ctx(), ids) })
	d.ask("Latest", func(s store.Store) (any, error) { return s.Latest(ctx(), ids) })
	d.readKey(pick(d.t, "owner", "", "alice"), d.kind(), pick(d.t, "key", "k1", "k2", job.AliveKey+"a"))
	asked := 0
	for i := range d.last.Jobs { // Processed answers only for completed jobs
		if j := &d.last.Jobs[i]; j.Key != "" && asked < 4 && (j.State == job.Completed || asked == 0) {
			d.readKey(j.Owner, j.Kind, j.Key)
			asked++
		}
	}
	d.ask("DeadLetter", func(s store.Store) (any, error) { return s.DeadLetter(ctx(), id) })
	d.ask("Counts", func(s store.Store) (any, error) {
		counts, err := s.Counts(ctx())
		return slices.DeleteFunc(counts, func(c store.Count) bool { return c.N == 0 }), err
	})
	d.ask("Queues", func(s store.Store) (any, error) { return s.Queues(ctx()) })
	after, limit := event.Cursor{}, rapid.IntRange(1, 9).Draw(d.t, "limit")
	if n := len(d.last.Events); n > 0 {
		after = d.last.Events[rapid.IntRange(0, n-1).Draw(d.t, "after")].Cursor
	}
	d.askOf("EventSpan", func(c *contender) (any, error) {
		first, last, err := c.EventSpan(ctx())
		if c.numbers != nil && err == nil {
			last, err = c.numbers.last(c, first, d.last.Events)
		}
		return struct {
			Removed bool
			Last    event.Cursor
		}{first != event.Cursor{}, last}, err
	})
	d.askOf("Events", func(c *contender) (any, error) {
		if c.numbers == nil {
			return c.Events(ctx(), after, limit)
		}
		if err := shownAll(c, c.numbers.own); err != nil {
			return nil, err
		}
		return c.numbers.events(c, d.last.Events, after, limit)
	})
	f := store.AuditFilter{
		Actor: pick(d.t, "actor", "", "ann", "ben"), Target: pick(d.t, "target", "", "", "x", id.String()), Limit: limit,
		Actions: some(d.t, "actions", 2, func(int) string { return pick(d.t, "action", "job.", "job.cancel", "queue.set", "redrive.") }),
	}
	if n := len(d.last.Audit); n > 0 {
		f.Since = pick(d.t, "since", 0, d.last.Audit[rapid.IntRange(0, n-1).Draw(d.t, "first row")].At)
		f.Until = pick(d.t, "until", 0, d.last.Audit[rapid.IntRange(0, n-1).Draw(d.t, "last row")].At)
	}
	d.ask("AuditPage", func(s store.Store) (any, error) {
		rows, err := allAudit(s, f)
		return d.audited(rows), err
	})
	d.ask("Audit", func(s store.Store) (any, error) {
		rows, err := s.Audit(ctx(), int64(limit), limit)
		return d.audited(rows), err
	})
}

// audited returns audit rows for the comparison. Rows about events that a sweep has removed count commits,
// and the end of a batch may be in a commit of its own.
func (d *duel) audited(rows []store.Audit) []store.Audit {
	rows = slices.Clone(rows)
	for i := range rows {
		if d.apart && rows[i].Action == "retention.remove" && rows[i].Target == "events" {
			rows[i].After = ""
		}
	}
	return rows
}

// allAudit reads all pages of the audit log. Two stores may return different numbers of rows in the
// same page.
func allAudit(s store.Store, f store.AuditFilter) (rows []store.Audit, err error) {
	for {
		page, err := s.AuditPage(ctx(), f)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Entries...)
		if page.Next == 0 {
			return rows, nil
		}
		f.Before = page.Next
	}
}
