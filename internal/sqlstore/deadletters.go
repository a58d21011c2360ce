package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	listedWidth = 23 // number of columns in severalListed; the other statements add further columns after them

)

var (
	selDeadLetter     = ask("selDeadLetter")
	selDeadLetters    = ask("selDeadLetters")
	severalListed     = ask("severalListed")
	severalListedJobs = ask("severalListedJobs")
	selDiedAt         = ask("selDiedAt")

	selOriginal  = ask("selOriginal")
	allOriginals = ask("allOriginals")
)

func scanDeadLetter(r Row) job.DeadLetter {
	batch, aside := unsigned(r.Int(21))
	return job.DeadLetter{
		Death: r.Int(0), Job: job.ID(r.Int(1)), Life: int32(r.Int(2)), Status: job.Status(r.Int(3)), Reason: job.Reason(r.Text(4)),
		Class: r.Text(5), Code: r.Text(6), Fingerprint: r.Text(7), Message: r.Text(8), Kind: r.Text(9), Queue: r.Text(10),
		Owner: r.Text(11), DiedAt: job.Micros(r.Int(12)), Revived: r.Int(13) != 0, Action: job.DeadAction(r.Text(14)),
		Note: r.Text(15), ActedAt: job.Micros(r.Int(16)), ActedBy: r.Text(17), ReopenAt: job.Micros(r.Int(18)), Redrive: r.Int(19),
		Correlation: r.Text(20), Batch: batch, Aside: aside, Holder: r.Text(22),
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
	m, err := newMatcher(c, f, now, p.Before == 0)
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
	if out.Entries, err = readEntries(c, found.found, p.Jobs); err != nil {
		return out, err
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

// readEntries reads existing dead letters by the numbers of their deaths, and returns them in this
// order. If the caller asks for the jobs, readEntries also reads the jobs that are still dead.
func readEntries(c Session, deaths []int64, withJobs bool) ([]store.DeadEntry, error) {
	if len(deaths) == 0 {
		return nil, nil
	}
	q := severalListed
	if withJobs {
		q = severalListedJobs
	}
	found := make(map[int64]store.DeadEntry, len(deaths))
	err := c.Rows(q, func(r Row) error {
		e := store.DeadEntry{DeadLetter: scanDeadLetter(r)}
		if withJobs && !e.Revived {
			const of, own = listedWidth, listedWidth + columns
			j := scanJob(shifted{r, of})
			j.Attrs, j.Override, j.Payload, j.Cost, j.Sends = r.Blob(own), r.Blob(own+1), r.Blob(own+2), r.Int(own+3), r.Int(own+4)
			e.Job = &j
		}
		found[e.Death] = e
		return nil
	}, idList(deaths))
	return inOrderOf(deaths, found), err
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
	selDeadCounts    = ask("selDeadCounts")
	selFirstPending  = ask("selFirstPending")
	selOldestPending = ask("selOldestPending")
	severalTrends    = ask("severalTrends")
)

// DeadStats implements store.DeadLetters.
func (s *Core) DeadStats(ctx context.Context) (stats store.DeadStats, err error) {
	stats.At = s.db.Clock.Now()
	err = s.db.Read(ctx, func(c Session) error {
		if stats.Counts, err = readDeadCounts(c); err != nil {
			return err
		}
		if stats.OldestPending, err = oldestPending(c); err != nil {
			return err
		}
		trends, err := readTrends(c, []int64{0}, stats.At, minute, store.AddedMinutes)
		if err != nil {
			return err
		}
		stats.Added = trends[0]
		stats.Hours, err = readHours(c, stats.At)
		return err
	})
	return stats, err
}

// oldestPending returns when the oldest pending dead letter died; 0 means that no dead letter is pending.
func oldestPending(c Session) (job.Micros, error) {
	at, err := ReadInt(c, selFirstPending)
	if err == nil && at == 0 {
		at, err = ReadInt(c, selOldestPending)
	}
	return job.Micros(at), err
}

// readDeadCounts returns the numbers of dead letters, sorted. The rows are not joined with the lanes
// and not sorted by the database: there may be a row for each lane and class, and it would compare
// many texts.
func readDeadCounts(c Session) ([]store.DeadCount, error) {
	type name struct{ queue, kind string }
	lanes, counts := make(map[int64]name), make(map[name][]store.DeadCount)
	err := c.Rows(selLanes, func(r Row) error { lanes[r.Int(0)] = name{r.Text(1), r.Text(2)}; return nil })
	if err != nil {
		return nil, err
	}
	several := make(map[name]bool) // the names of several lanes
	lane, total := int64(-1), 0
	var of name
	var own []store.DeadCount // of the lane
	keep := func() {
		if len(own) > 0 {
			several[of] = len(counts[of]) > 0
			counts[of], own = append(counts[of], own...), own[:0]
		}
	}
	err = c.Rows(selDeadCounts, func(r Row) error {
		if r.Int(0) != lane {
			keep()
			lane = r.Int(0)
			of = lanes[lane]
		}
		total++
		own = append(own, store.DeadCount{Queue: of.queue, Kind: of.kind, Reason: job.Reason(r.Text(1)), Class: r.Text(2),
			Status: job.Status(r.Int(3)), N: r.Int(4)})
		return nil
	})
	keep()
	delete(counts, name{}) // of lanes that do not exist
	all := make([]store.DeadCount, 0, total)
	for _, of := range slices.SortedFunc(maps.Keys(counts), func(a, b name) int {
		return cmp.Or(strings.Compare(a.queue, b.queue), strings.Compare(a.kind, b.kind))
	}) {
		if several[of] {
			all = append(all, summed(counts[of])...)
		} else {
			all = append(all, counts[of]...)
		}
	}
	return all, err
}

// summed adds the numbers of the same reason, class and status, and returns the sums sorted.
func summed(counts []store.DeadCount) (sums []store.DeadCount) {
	slices.SortFunc(counts, func(a, b store.DeadCount) int {
		return cmp.Or(strings.Compare(string(a.Reason), string(b.Reason)), strings.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status))
	})
	for _, d := range counts {
		if last := len(sums) - 1; last >= 0 && sums[last].Reason == d.Reason && sums[last].Class == d.Class && sums[last].Status == d.Status {
			sums[last].N += d.N
		} else {
			sums = append(sums, d)
		}
	}
	return slices.DeleteFunc(sums, func(d store.DeadCount) bool { return d.N == 0 })
}

// readTrends reads, of each group, the numbers of deaths in each of the last n units of time, the
// oldest first. The last number is for the current unit. Group 0 stands for all jobs together.
func readTrends(c Session, groups []int64, now, unit job.Micros, units int) (map[int64][]int64, error) {
	trends := make(map[int64][]int64, len(groups))
	for _, g := range groups {
		trends[g] = make([]int64, units)
	}
	before := start(now, unit) - unit*job.Micros(units)
	err := c.Rows(severalTrends, func(r Row) error {
		trend := trends[r.Int(0)]
		if i := (job.Micros(r.Int(1))-before)/unit - 1; int(i) < len(trend) {
			trend[i] = r.Int(2)
		}
		return nil
	}, idList(groups), num(before))
	return trends, err
}
