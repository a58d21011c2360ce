package sqlstore

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// listedColumns are the columns of a dead letter in a list. If a dead letter is ignored
	// together with its group, the SQL returns the time at which the mute of the group ends.
	listedColumns = `j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
		j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by,
		CASE WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive,
		j.correlation, j.batch, j.holder`
	listedWidth = 23 // number of listedColumns; the statements add further columns after them
	fromLetters = ` FROM redrive_dead j JOIN redrive_lanes l ON l.id = j.lane LEFT JOIN redrive_groups g ON g.id = j.grp
		LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token `

	originalColumns = `job, at, by, queue, priority, policy, payload`
)

var (
	selDeadLetter  = declare("selDeadLetter", `SELECT `+listedColumns+fromLetters+`WHERE j.job = ?`)
	selDeadLetters = declare("selDeadLetters", `SELECT `+listedColumns+fromLetters+`ORDER BY j.job`)
	selListed      = declare("selListed", `SELECT `+listedColumns+fromLetters+`WHERE j.death = ?`)
	selListedJob   = declare("selListedJob", `SELECT `+listedColumns+`, `+deadColumns+`, j.attrs, j.policy, j.long, j.payload`+
		fromLetters+`WHERE j.death = ?`)
	selDiedAt = declare("selDiedAt", `SELECT died_at FROM redrive_dead WHERE death = ?`)

	selOriginal  = declare("selOriginal", `SELECT `+originalColumns+` FROM redrive_originals WHERE job = ?`)
	allOriginals = declare("allOriginals", `SELECT `+originalColumns+` FROM redrive_originals ORDER BY job`)
)

func scanDeadLetter(r Row) job.DeadLetter {
	return job.DeadLetter{
		Death: r.Int(0), Job: job.ID(r.Int(1)), Life: int32(r.Int(2)), Status: job.Status(r.Int(3)), Reason: job.Reason(r.Text(4)),
		Class: r.Text(5), Code: r.Text(6), Fingerprint: r.Text(7), Message: r.Text(8), Kind: r.Text(9), Queue: r.Text(10),
		Owner: r.Text(11), DiedAt: job.Micros(r.Int(12)), Revived: r.Int(13) != 0, Action: job.DeadAction(r.Text(14)),
		Note: r.Text(15), ActedAt: job.Micros(r.Int(16)), ActedBy: r.Text(17), ReopenAt: job.Micros(r.Int(18)), Redrive: r.Int(19),
		Correlation: r.Text(20), Batch: r.Int(21), Holder: r.Text(22),
	}
}

// DeadLetter implements store.Reader.
func (s *Core) DeadLetter(ctx context.Context, id job.ID) (d job.DeadLetter, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		d = job.DeadLetter{}
		return c.Rows(selDeadLetter, func(r Row) error { d = scanDeadLetter(r); return nil }, num(id))
	})
	if err == nil && d.Job == 0 {
		err = fmt.Errorf("dead letter of job %d: %w", id, store.ErrNotFound)
	}
	return d, err
}

// DeadLetters implements store.DeadLetters.
func (s *Core) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (page store.DeadPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	if p.Limit < 0 || p.Limit > job.PageMax || p.Before < 0 {
		return page, fmt.Errorf("page of %d dead letters before death %d: a page has 1 to %d entries: %w", p.Limit, p.Before, job.PageMax, store.ErrInvalid)
	}
	if p.Limit == 0 {
		p.Limit = 50
	}
	err = s.db.Read(ctx, func(c Session) error {
		page, err = deadLetters(c, &f, &p, s.db.Clock.Now())
		return err
	})
	return page, err
}

func deadLetters(c Session, f *store.DeadFilter, p *store.DeadPaging, now job.Micros) (out store.DeadPage, err error) {
	m, err := newMatcher(c, f, now, true)
	if err != nil {
		return out, err
	}
	below := m.high
	if p.Before > 0 {
		below = p.Before - 1
	}
	found, err := search(m, false, 1, below, p.Limit, LookMax,
		func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	if err != nil {
		return out, err
	}
	for _, death := range found.found {
		e, err := readEntry(c, death, p.Jobs)
		if err != nil {
			return out, err
		}
		out.Entries = append(out.Entries, e)
	}
	if found.more {
		out.Next = found.edge
		at, err := ReadInt(c, selDiedAt, num(found.edge))
		if err != nil {
			return out, err
		}
		out.Searched = job.Micros(at)
	}
	return out, nil
}

// readEntry reads an existing dead letter. If the caller asks for the job and the job is still
// dead, readEntry also reads the job.
func readEntry(c Session, death int64, withJob bool) (e store.DeadEntry, err error) {
	if !withJob {
		err = c.Rows(selListed, func(r Row) error { e.DeadLetter = scanDeadLetter(r); return nil }, num(death))
		return e, err
	}
	long := false
	err = c.Rows(selListedJob, func(r Row) error {
		e.DeadLetter = scanDeadLetter(r)
		if e.Revived {
			return nil
		}
		const of, own = listedWidth, listedWidth + columns
		j := scanJob(shifted{r, of})
		j.Attrs, j.Override, long, j.Payload = r.Blob(own), r.Blob(own+1), r.Int(own+2) != 0, r.Blob(own+3)
		e.Job = &j
		return nil
	}, num(death))
	if err == nil && long {
		err = c.Rows(selBody, func(r Row) error { e.Job.Payload = r.Blob(0); return nil }, num(e.DeadLetter.Job))
	}
	if err == nil && e.Job != nil {
		err = addSpent(c, e.Job)
	}
	return e, err
}

// shifted gives access to a row without its first columns. The field by is the number of these
// columns.
type shifted struct {
	Row
	by int
}

func (s shifted) Int(col int) int64   { return s.Row.Int(s.by + col) }
func (s shifted) Text(col int) string { return s.Row.Text(s.by + col) }
func (s shifted) Blob(col int) []byte { return s.Row.Blob(s.by + col) }
func (s shifted) Null(col int) bool   { return s.Row.Null(s.by + col) }

// Original implements store.DeadLetters.
func (s *Core) Original(ctx context.Context, id job.ID) (o store.Original, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		o = store.Original{}
		return c.Rows(selOriginal, func(r Row) error { o = scanOriginal(r); return nil }, num(id))
	})
	if err == nil && o.Job == 0 {
		err = fmt.Errorf("original of job %d: %w", id, store.ErrNotFound)
	}
	return o, err
}

func scanOriginal(r Row) store.Original {
	return store.Original{Job: job.ID(r.Int(0)), At: job.Micros(r.Int(1)), By: r.Text(2), Queue: r.Text(3),
		Priority: int8(r.Int(4)), Override: r.Blob(5), Payload: r.Blob(6)}
}

var (
	selDeadCounts = declare("selDeadCounts", `SELECT l.queue, l.kind, c.reason, c.class, c.status, sum(c.n) FROM redrive_dead_counts c
		JOIN redrive_lanes l ON l.id = c.lane GROUP BY 1, 2, 3, 4, 5 HAVING sum(c.n) <> 0 ORDER BY 1, 2, 3, 4, 5`)
	// The statement uses an index, so it reads only the first pending dead letter of each
	// group.
	selOldestPending = declare("selOldestPending", `SELECT died_at FROM redrive_dead WHERE death = (SELECT min(first) FROM (
		SELECT (SELECT death FROM redrive_dead INDEXED BY redrive_dead_pending WHERE status = 0 AND grp = g.id ORDER BY death LIMIT 1) AS first
		FROM redrive_groups g WHERE g.pending > 0
		UNION ALL SELECT (SELECT death FROM redrive_dead INDEXED BY redrive_dead_pending WHERE status = 0 AND grp IS NULL ORDER BY death LIMIT 1)))`)
	selTrend = declare("selTrend", `SELECT at, n FROM redrive_trends WHERE grp = ? AND at > ?`)
)

// DeadStats implements store.DeadLetters.
func (s *Core) DeadStats(ctx context.Context) (stats store.DeadStats, err error) {
	stats.At = s.db.Clock.Now()
	err = s.db.Read(ctx, func(c Session) error {
		if stats.Counts, err = readDeadCounts(c); err != nil {
			return err
		}
		oldest, err := ReadInt(c, selOldestPending)
		if err != nil {
			return err
		}
		stats.OldestPending = job.Micros(oldest)
		if stats.Added, err = readTrend(c, 0, stats.At, minute, store.AddedMinutes); err != nil {
			return err
		}
		stats.Hours, err = readHours(c, stats.At)
		return err
	})
	return stats, err
}

func readDeadCounts(c Session) (counts []store.DeadCount, err error) {
	err = c.Rows(selDeadCounts, func(r Row) error {
		counts = append(counts, store.DeadCount{Queue: r.Text(0), Kind: r.Text(1), Reason: job.Reason(r.Text(2)), Class: r.Text(3),
			Status: job.Status(r.Int(4)), N: r.Int(5)})
		return nil
	})
	return counts, err
}

// readTrend reads the numbers of deaths in each of the last n units of time, the oldest first.
// The last number is for the current unit.
func readTrend(c Session, group int64, now, unit job.Micros, units int) ([]int64, error) {
	trend := make([]int64, units)
	before := start(now, unit) - unit*job.Micros(units)
	err := c.Rows(selTrend, func(r Row) error {
		if i := (job.Micros(r.Int(0))-before)/unit - 1; int(i) < units {
			trend[i] = r.Int(1)
		}
		return nil
	}, num(group), num(before))
	return trend, err
}
