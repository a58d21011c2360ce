package sqlite

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// letterOf are the columns of a dead letter as readers see it. One that was
	// ignored with its group comes back when that does.
	letterOf = `SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
		j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by,
		CASE WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive`
	letterWidth = 20 // what else a statement reads follows
	fromLetters = ` FROM redrive_dead j JOIN redrive_lanes l ON l.id = j.lane LEFT JOIN redrive_groups g ON g.id = j.grp
		LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token `
)

var (
	selDeadLetter  = &query{letterOf + fromLetters + `WHERE j.job = ?`}
	selDeadLetters = &query{letterOf + fromLetters + `ORDER BY j.job`}
	selListed      = &query{letterOf + fromLetters + `WHERE j.death = ?`}
	selListedJob   = &query{letterOf + `, ` + deadColumns + `, j.attrs, j.policy, j.long, j.payload` +
		fromLetters + `WHERE j.death = ?`}
	selDiedAt = &query{`SELECT died_at FROM redrive_dead WHERE death = ?`}

	originalColumns = `SELECT job, at, by, queue, priority, policy, payload FROM redrive_originals `
	selOriginal     = &query{originalColumns + `WHERE job = ?`}
	allOriginals    = &query{originalColumns + `ORDER BY job`}
)

func scanDeadLetter(r row) job.DeadLetter {
	return job.DeadLetter{
		Death: r.int(0), Job: job.ID(r.int(1)), Life: int32(r.int(2)), Status: job.Status(r.int(3)), Reason: job.Reason(r.text(4)),
		Class: r.text(5), Code: r.text(6), Fingerprint: r.text(7), Message: r.text(8), Kind: r.text(9), Queue: r.text(10),
		Owner: r.text(11), DiedAt: job.Micros(r.int(12)), Revived: r.int(13) != 0, Action: job.DeadAction(r.text(14)),
		Note: r.text(15), ActedAt: job.Micros(r.int(16)), ActedBy: r.text(17), ReopenAt: job.Micros(r.int(18)), Redrive: r.int(19),
	}
}

// DeadLetter implements store.Reader.
func (s *Store) DeadLetter(ctx context.Context, id job.ID) (d job.DeadLetter, err error) {
	err = s.read(ctx, func(c session) error {
		return c.rows(selDeadLetter, func(r row) error { d = scanDeadLetter(r); return nil }, num(id))
	})
	if err == nil && d.Job == 0 {
		err = fmt.Errorf("dead letter of job %d: %w", id, store.ErrNotFound)
	}
	return d, err
}

// DeadLetters implements store.DeadLetters.
func (s *Store) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (page store.DeadPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	if p.Limit < 0 || p.Limit > job.PageMax || p.Before < 0 {
		return page, fmt.Errorf("%d before %d: a page has 1 to %d: %w", p.Limit, p.Before, job.PageMax, store.ErrInvalid)
	}
	if p.Limit == 0 {
		p.Limit = 50
	}
	err = s.read(ctx, func(c session) error {
		page, err = deadLetters(c, &f, &p)
		return err
	})
	return page, err
}

func deadLetters(c session, f *store.DeadFilter, p *store.DeadPaging) (out store.DeadPage, err error) {
	m, err := newMatcher(c, f, true)
	if err != nil {
		return out, err
	}
	below := m.high
	if p.Before > 0 {
		below = p.Before - 1
	}
	found, err := search(m, false, 1, below, p.Limit, lookMax,
		func(r row) int64 { return r.int(0) }, func(death *int64) int64 { return *death })
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
		at, err := readInt(c, selDiedAt, num(found.edge))
		if err != nil {
			return out, err
		}
		out.Searched = job.Micros(at)
	}
	return out, nil
}

// readEntry reads an entry that is there, with its job when that is asked for and
// dead.
func readEntry(c session, death int64, withJob bool) (e store.DeadEntry, err error) {
	if !withJob {
		err = c.rows(selListed, func(r row) error { e.DeadLetter = scanDeadLetter(r); return nil }, num(death))
		return e, err
	}
	long := false
	err = c.rows(selListedJob, func(r row) error {
		e.DeadLetter = scanDeadLetter(r)
		if e.Revived {
			return nil
		}
		const of, own = letterWidth, letterWidth + columns
		j := scanJob(shifted{r, of})
		j.Attrs, j.Policy, long, j.Payload = r.blob(own), r.blob(own+1), r.int(own+2) != 0, r.blob(own+3)
		e.Job = &j
		return nil
	}, num(death))
	if err == nil && long {
		err = c.rows(selBody, func(r row) error { e.Job.Payload = r.blob(0); return nil }, num(e.DeadLetter.Job))
	}
	if err == nil && e.Job != nil {
		err = addSpent(c, e.Job)
	}
	return e, err
}

// shifted is a row from a column on.
type shifted struct {
	row
	by int
}

func (s shifted) int(col int) int64   { return s.row.int(s.by + col) }
func (s shifted) text(col int) string { return s.row.text(s.by + col) }
func (s shifted) blob(col int) []byte { return s.row.blob(s.by + col) }
func (s shifted) null(col int) bool   { return s.row.null(s.by + col) }

// Original implements store.DeadLetters.
func (s *Store) Original(ctx context.Context, id job.ID) (o store.Original, err error) {
	err = s.read(ctx, func(c session) error {
		return c.rows(selOriginal, func(r row) error { o = scanOriginal(r); return nil }, num(id))
	})
	if err == nil && o.Job == 0 {
		err = fmt.Errorf("original of job %d: %w", id, store.ErrNotFound)
	}
	return o, err
}

func scanOriginal(r row) store.Original {
	return store.Original{Job: job.ID(r.int(0)), At: job.Micros(r.int(1)), By: r.text(2), Queue: r.text(3),
		Priority: int8(r.int(4)), Policy: r.blob(5), Payload: r.blob(6)}
}

var (
	selDeadCounts = &query{`SELECT l.queue, l.kind, c.reason, c.class, c.status, sum(c.n) FROM redrive_dead_counts c
		JOIN redrive_lanes l ON l.id = c.lane GROUP BY 1, 2, 3, 4, 5 HAVING sum(c.n) <> 0 ORDER BY 1, 2, 3, 4, 5`}
	// Of each group that has pending ones, the first is at hand in the index.
	selOldestPending = &query{`SELECT died_at FROM redrive_dead WHERE death = (SELECT min(first) FROM (
		SELECT (SELECT death FROM redrive_dead INDEXED BY redrive_dead_pending WHERE status = 0 AND grp = g.id ORDER BY death LIMIT 1) AS first
		FROM redrive_groups g WHERE g.pending > 0
		UNION ALL SELECT (SELECT death FROM redrive_dead INDEXED BY redrive_dead_pending WHERE status = 0 AND grp IS NULL ORDER BY death LIMIT 1)))`}
	selTrend = &query{`SELECT at, n FROM redrive_trends WHERE grp = ? AND at > ?`}
	// A row for each of some hundred hours.
	allHours = &query{`SELECT at, completed, recovered, dead, exhausted, retries, retry_cost FROM redrive_hours ORDER BY at`}
)

// DeadStats implements store.DeadLetters.
func (s *Store) DeadStats(ctx context.Context) (stats store.DeadStats, err error) {
	stats.At = s.clock.Now()
	err = s.read(ctx, func(c session) error {
		if stats.Counts, err = readDeadCounts(c); err != nil {
			return err
		}
		oldest, err := readInt(c, selOldestPending)
		if err != nil {
			return err
		}
		stats.OldestPending = job.Micros(oldest)
		if stats.Added, err = readTrend(c, 0, stats.At, minute, store.AddedMinutes); err != nil {
			return err
		}
		stats.Hours = nil
		since := stats.At.Add(-store.HoursKept)
		return c.rows(allHours, func(r row) error {
			if h := scanHour(r); h.At > since {
				stats.Hours = append(stats.Hours, h)
			}
			return nil
		})
	})
	return stats, err
}

func readDeadCounts(c session) (counts []store.DeadCount, err error) {
	err = c.rows(selDeadCounts, func(r row) error {
		counts = append(counts, store.DeadCount{Queue: r.text(0), Kind: r.text(1), Reason: job.Reason(r.text(2)), Class: r.text(3),
			Status: job.Status(r.int(4)), N: r.int(5)})
		return nil
	})
	return counts, err
}

// readTrend reads the numbers of the last units of time, the present one last.
func readTrend(c session, group int64, now, unit job.Micros, units int) ([]int64, error) {
	trend := make([]int64, units)
	before := start(now, unit) - unit*job.Micros(units)
	err := c.rows(selTrend, func(r row) error {
		if i := (job.Micros(r.int(0))-before)/unit - 1; int(i) < units {
			trend[i] = r.int(1)
		}
		return nil
	}, num(group), num(before))
	return trend, err
}

func scanHour(r row) store.Hour {
	return store.Hour{At: job.Micros(r.int(0)), Completed: r.int(1), Recovered: r.int(2), Dead: r.int(3), Exhausted: r.int(4),
		Retries: r.int(5), RetryCost: r.int(6)}
}
