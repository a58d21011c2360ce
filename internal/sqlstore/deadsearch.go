package sqlstore

import (
	"github.com/redrive/redrive/job"
)

// page is the result of one search for dead letters.
type page[T any] struct {
	found []T
	// edge is the number of the last examined death; it is 0 if the search has examined all
	// deaths.
	edge int64
	more bool
}

// search returns the entries with death numbers between two numbers, both included. If the
// first argument after the matcher is true, the lowest numbers come first, otherwise the
// highest. The last two numbers limit the entries that search returns and the rows that it
// examines. The first function makes an entry from a row; the second returns the number of an
// entry's death.
func search[T any](m *matcher, up bool, low, high int64, want, look int, make func(Row) T, death func(*T) int64) (p page[T], err error) {
	low, high = max(low, m.low), min(high, m.high)
	if m.none || low > high {
		return p, nil
	}
	q := m.route.down
	if up {
		q = m.route.up
	}
	parts := []page[T]{}
	for _, key := range m.keys {
		part, err := walk(m, q, key, low, high, want, max(look/len(m.keys), 1), make)
		if err != nil {
			return p, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		p = parts[0]
	} else {
		p = merge(parts, up, death)
	}
	if len(p.found) > want {
		p.found = p.found[:want]
		p.edge, p.more = death(&p.found[want-1]), true
	}
	return p, nil
}

// walk does the work of search for one statement and key. It searches for one entry more than
// the caller wants: if it finds that entry, there are more entries.
func walk[T any](m *matcher, q *Query, key Value, low, high int64, want, look int, make func(Row) T) (p page[T], err error) {
	further := m.further()
	var jobs []job.ID // the jobs of the dead letters that fit, and whose further columns were not read yet
	var entries []T
	check := func() error {
		if len(jobs) == 0 {
			return nil
		}
		selected, err := m.selects(jobs)
		for i, id := range jobs {
			if selected[id] {
				p.found = append(p.found, entries[i])
			}
		}
		jobs, entries = jobs[:0], entries[:0]
		return err
	}
	err = m.c.Rows(q, func(r Row) error {
		if look <= 0 {
			p.more = true
			return errEnough
		}
		look--
		p.edge = r.Int(0)
		if !m.fits(r) {
			return nil
		}
		if further == 0 {
			p.found = append(p.found, make(r))
		} else {
			look -= further * MessageCost
			jobs, entries = append(jobs, job.ID(r.Int(1))), append(entries, make(r))
			if len(jobs) == furtherBatch {
				if err := check(); err != nil {
					return err
				}
			}
		}
		if len(p.found) > want {
			p.more = true
			return errEnough
		}
		if int64(len(p.found)) == m.most {
			return errEnough
		}
		return nil
	}, key, num(low), num(high))
	if err := enough(err); err != nil {
		return p, err
	}
	return p, check()
}

// furtherBatch is the number of dead letters whose further columns are read with one statement.
const furtherBatch = 100

// merge joins the results of several walks. The joined result ends at the first death at which
// one of the walks stopped.
func merge[T any](parts []page[T], up bool, death func(*T) int64) (p page[T]) {
	before := func(a, b int64) bool { return up && a < b || !up && a > b }
	for _, part := range parts {
		if part.more && (!p.more || before(part.edge, p.edge)) {
			p.edge, p.more = part.edge, true
		}
	}
	for {
		first := -1
		for i := range parts {
			if len(parts[i].found) > 0 && (first < 0 || before(death(&parts[i].found[0]), death(&parts[first].found[0]))) {
				first = i
			}
		}
		if first < 0 || p.more && before(p.edge, death(&parts[first].found[0])) {
			return p
		}
		p.found = append(p.found, parts[first].found[0])
		parts[first].found = parts[first].found[1:]
	}
}

// search finds entries to which the action applies, in the order of their deaths, and at most
// as many as the limit. It searches only deaths with numbers above the first number, up to and
// including the second.
func (t *Txn) search(m *matcher, after, through int64, limit int) (page[deadRow], error) {
	return search(m, true, after+1, through, limit, LookMax, t.scanDeadRow, func(d *deadRow) int64 { return d.Death })
}

// scanDeadRow reads a row that has the columns actColumns.
func (t *Txn) scanDeadRow(r Row) deadRow {
	l := t.laneOf(r.Int(7))
	batch, aside := unsigned(r.Int(11))
	return deadRow{
		DeadLetter: job.DeadLetter{Death: r.Int(0), Job: job.ID(r.Int(1)), Status: job.Status(r.Int(2)), Revived: r.Int(3) != 0,
			Reason: job.Reason(r.Text(4)), Class: r.Text(5), Kind: l.kind, Queue: l.queue, Owner: r.Text(8), Redrive: r.Int(9),
			Batch: batch, Aside: aside, Life: int32(r.Int(12)), DiedAt: job.Micros(r.Int(16))},
		lane: l, group: r.Int(6), token: job.Token(r.Int(10)), priority: int8(r.Int(13)), batch: r.Int(11), long: r.Int(14) != 0,
		name: r.Text(15),
	}
}
