package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insAudit     = ask("insAudit")
	selAudit     = ask("selAudit")
	selAuditFrom = ask("selAuditFrom")
	selAuditLast = ask("selAuditLast")

	walkAudit       = askWalk("walkAudit")
	walkAuditActor  = askWalk("walkAuditActor")
	walkAuditTarget = askWalk("walkAuditTarget")
)

// auditLate is the maximum time between the time of an audit row and the moment when the row
// gets its number. The time of the row is the beginning of its transaction. The number is
// given when the row is written.
const auditLate = time.Minute

func (t *Txn) audit(by store.By, action, target, before, after string) error {
	_, err := t.exec(insAudit, num(t.now), text(by.Actor), text(action), text(target), setText(by.Reason),
		setText(before), setText(after), setText(by.Via), setText(by.Owner))
	return err
}

// Audit implements store.Reader.
func (s *Core) Audit(ctx context.Context, after int64, limit int) (all []store.Audit, err error) {
	if limit < 1 || limit > job.PageMax {
		return nil, fmt.Errorf("%d audit rows in one call: the limit must be 1 to %d: %w", limit, job.PageMax, store.ErrInvalid)
	}
	err = s.db.Read(ctx, func(c Session) error {
		all = nil
		return c.Rows(selAudit, func(r Row) error { all = append(all, scanAudit(r)); return nil }, num(after), num(limit))
	})
	return all, err
}

func scanAudit(r Row) store.Audit {
	return store.Audit{Seq: r.Int(0), At: job.Micros(r.Int(1)), Actor: r.Text(2), Action: r.Text(3),
		Target: r.Text(4), Reason: r.Text(5), Before: r.Text(6), After: r.Text(7), Via: r.Text(8), Owner: r.Text(9)}
}

// AuditPage implements store.Reader.
func (s *Core) AuditPage(ctx context.Context, f store.AuditFilter) (page store.AuditPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		page, err = auditPage(c, &f)
		return err
	})
	return page, err
}

func auditPage(c Session, f *store.AuditFilter) (page store.AuditPage, err error) {
	if page.Last, err = ReadInt(c, selAuditLast); err != nil {
		return page, err
	}
	before := f.Before
	if before == 0 {
		before = math.MaxInt64
	}
	if f.Until > 0 {
		first, err := firstNumber(c, selAuditLast, selAuditFrom, f.Until.Add(auditLate))
		if err != nil {
			return page, err
		}
		before = min(before, first)
	}
	walk, args := walkAudit, []Value{num(before)}
	switch {
	case f.Target != "":
		walk, args = walkAuditTarget, []Value{text(f.Target), num(before)}
	case f.Actor != "":
		walk, args = walkAuditActor, []Value{text(f.Actor), num(before)}
	}
	examined := 0
	var last store.Audit // the entry that was examined last; only its number is set
	err = c.Rows(walk, func(r Row) error {
		if len(page.Entries) == f.Limit || examined == scanMax {
			page.Next, page.Searched = last.Seq, last.At
			return errEnough
		}
		examined++
		if last = scanAudit(r); last.At < f.Since.Add(-auditLate) {
			return errEnough
		}
		if f.Matches(&last) {
			page.Entries = append(page.Entries, last)
		}
		return nil
	}, args...)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return page, err
}
