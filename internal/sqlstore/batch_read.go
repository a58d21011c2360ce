package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	// countRunning counts the running counted members of a batch, sumRunning those of all batches.
	countRunning  = ask("countRunning")
	sumRunning    = ask("sumRunning")
	listBatches   = askWalk("listBatches")
	ofOwner       = askWalk("ofOwner")
	ofState       = askWalk("ofState")
	severalCounts = ask("severalCounts")
	selOutcomes   = ask("selOutcomes")
	allOutcomes   = ask("allOutcomes")
	allBatches    = ask("allBatches")
	allCounts     = ask("allCounts")
)

// listLook is the number of batches that one page of a list examines.
const listLook = 20_000

// Batch implements store.Batches.
func (s *Core) Batch(ctx context.Context, id int64) (b store.Batch, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		b, err = readBatch(c, id)
		return err
	})
	return b, err
}

// BatchTx implements store.BatchTransactor.
func (s *Core) BatchTx(ctx context.Context, tx store.Tx, id int64) (b store.Batch, err error) {
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		b, err = readBatch(t.s, id)
		return err
	})
	return b, err
}

func readBatch(c Session, id int64) (b store.Batch, err error) {
	if b, err = oneBatch(c, readBatchRow, id, ""); err != nil {
		return b, err
	}
	err = c.Rows(selBatchCounts, func(r Row) error { b.BatchCounts = scanCounts(r); return nil }, num(id))
	if err == nil {
		b.Running, err = ReadInt(c, countRunning, num(id))
	}
	return b, err
}

func (t *Txn) runningOf(id int64) (int64, error) { return ReadInt(t.s, countRunning, num(id)) }

// BatchList implements store.Batches.
func (s *Core) BatchList(ctx context.Context, f store.BatchFilter) (page store.BatchPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		page = store.BatchPage{}
		return listOf(c, &f, &page)
	})
	return page, err
}

func listOf(c Session, f *store.BatchFilter, page *store.BatchPage) error {
	q, args := listBatches, []Value{num(cmp.Or(f.Before, math.MaxInt64))}
	switch {
	case f.Owner != "":
		q, args = ofOwner, append(args, text(f.Owner))
	case f.State != 0:
		q, args = ofState, append(args, num(f.State))
	}
	limit, looked := cmp.Or(f.Limit, 50), 0
	name := strings.ToLower(f.Name)
	err := c.Rows(q, func(r Row) error {
		if looked == listLook {
			page.Next = r.Int(0) + 1
			return errEnough
		}
		looked++
		if f.State != 0 && f.State != job.BatchState(r.Int(6)) || f.Key != "" && f.Key != r.Text(2) ||
			!strings.Contains(strings.ToLower(r.Text(3)), name) {
			return nil
		}
		if n := len(page.Batches); n == limit {
			page.Next = page.Batches[n-1].ID
			return errEnough
		}
		b, err := scanBatch(r)
		page.Batches = append(page.Batches, b)
		return err
	}, args...)
	if err := enough(err); err != nil {
		return err
	}
	return fillCounts(c, page.Batches)
}

// fillCounts reads the counts of several batches: one read of each table for all of them.
func fillCounts(c Session, all []store.Batch) error {
	if len(all) == 0 {
		return nil
	}
	ids, at := make([]int64, len(all)), make(map[int64]*store.Batch, len(all))
	for i := range all {
		ids[i], at[all[i].ID] = all[i].ID, &all[i]
	}
	err := c.Rows(severalCounts, func(r Row) error {
		if b := at[r.Int(4)]; b != nil {
			b.BatchCounts = scanCounts(r)
		}
		return nil
	}, idList(ids))
	if err != nil {
		return err
	}
	return c.Rows(sumRunning, func(r Row) error {
		if b := at[r.Int(0)]; b != nil {
			b.Running = r.Int(1)
		}
		return nil
	})
}

// Outcomes implements store.Batches.
func (s *Core) Outcomes(ctx context.Context, id, after int64) (all []store.BatchOutcome, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		all = nil
		if _, err := oneBatch(c, readBatchRow, id, ""); err != nil {
			return err
		}
		return c.Rows(selOutcomes, func(r Row) error { all = append(all, scanOutcome(r)); return nil }, num(id), num(after), num(job.PageMax))
	})
	return all, err
}

func scanOutcome(r Row) store.BatchOutcome {
	return store.BatchOutcome{N: r.Int(0), State: job.BatchState(r.Int(1)), At: job.Micros(r.Int(2)), Total: r.Int(3), Completed: r.Int(4),
		Dead: r.Int(5), Cancelled: r.Int(6)}
}

// dumpBatches adds the batches, their outcomes and their drafts to a dump.
func dumpBatches(c Session, d *store.Dump) error {
	at := make(map[int64]int)
	err := c.Rows(allBatches, func(r Row) error {
		b, err := scanBatch(r)
		at[b.ID] = len(d.Batches)
		d.Batches = append(d.Batches, b)
		return err
	})
	if err != nil {
		return err
	}
	err = c.Rows(allCounts, func(r Row) error {
		if i, ok := at[r.Int(4)]; ok {
			b := &d.Batches[i].BatchCounts
			more := scanCounts(r)
			b.Total, b.Completed, b.Dead, b.Cancelled = b.Total+more.Total, b.Completed+more.Completed, b.Dead+more.Dead, b.Cancelled+more.Cancelled
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Outcomes = make(map[int64][]store.BatchOutcome)
	err = c.Rows(allOutcomes, func(r Row) error {
		d.Outcomes[r.Int(7)] = append(d.Outcomes[r.Int(7)], scanOutcome(r))
		return nil
	})
	if err != nil {
		return err
	}
	return c.Rows(allDrafts, func(r Row) error { d.Drafts = append(d.Drafts, scanMemberDraft(r)); return nil })
}

var (
	allDrafts    = ask("allDrafts")
	rangeDrafts  = ask("rangeDrafts")
	rangeLive    = ask("rangeLive")
	rangeDone    = ask("rangeDone")
	rangeDead    = ask("rangeDead")
	selSpans     = askWalk("selSpans")
	selMemberKey = ask("selMemberKey")
)

func scanMemberDraft(r Row) store.Member {
	return store.Member{Job: job.Job{
		ID: job.ID(r.Int(0)), Kind: r.Text(1), Queue: r.Text(2), Priority: int8(r.Int(3)), CreatedAt: job.Micros(r.Int(4)),
		RunAt: job.Micros(r.Int(5)), Deadline: job.Micros(r.Int(6)), Owner: r.Text(7), Correlation: r.Text(8), Key: r.Text(9),
		Batch: r.Int(10), Aside: r.Int(11) != 0,
	}, Replaces: job.ID(r.Int(12))}
}

// memberWindow is the number of ids whose members are read with one statement a table.
const memberWindow = 2_000

// Members implements store.Batches.
func (s *Core) Members(ctx context.Context, id int64, f store.MemberFilter, after job.ID) (page store.MemberPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		page = store.MemberPage{}
		if _, err := oneBatch(c, readBatchRow, id, ""); err != nil {
			return err
		}
		w := memberWalk{c: c, batch: id, f: &f, limit: cmp.Or(f.Limit, 50), page: &page}
		return w.spans(after)
	})
	return page, err
}

// memberWalk reads a page of members.
type memberWalk struct {
	c      Session
	batch  int64
	f      *store.MemberFilter
	limit  int
	looked int64
	page   *store.MemberPage
}

func (w *memberWalk) spans(after job.ID) error {
	var spans [][2]int64
	err := w.c.Rows(selSpans, func(r Row) error {
		spans = append(spans, [2]int64{max(r.Int(0), int64(after)+1), r.Int(1)})
		if len(spans) == store.MemberLook {
			return errEnough
		}
		return nil
	}, num(w.batch), num(after))
	if err := enough(err); err != nil {
		return err
	}
	for _, s := range spans {
		for first := s[0]; first <= s[1]; first += memberWindow {
			if w.looked >= store.MemberLook {
				w.page.Next = job.ID(first - 1)
				return nil
			}
			last := min(s[1], first+memberWindow-1)
			w.looked += last - first + 1
			if err := w.window(first, last); err != nil {
				return err
			}
			if len(w.page.Members) > w.limit {
				w.page.Members = w.page.Members[:w.limit]
				w.page.Next = w.page.Members[w.limit-1].ID
				return nil
			}
		}
	}
	return nil
}

// window adds the members with ids from first to last.
func (w *memberWalk) window(first, last int64) error {
	begin := len(w.page.Members)
	args := []Value{num(first), num(last), num(w.batch)}
	l := lister{c: w.c, f: &store.Filter{}}
	add := func(r Row) error {
		if j := l.scan(r); w.f.State == job.None || w.f.State == j.State {
			w.page.Members = append(w.page.Members, store.Member{Job: j})
		}
		return nil
	}
	for _, table := range []struct {
		q      *Query
		states []job.State
		each   func(Row) error
	}{
		{rangeDrafts, nil, func(r Row) error { w.page.Members = append(w.page.Members, scanMemberDraft(r)); return nil }},
		{rangeLive, places[0].states, add}, {rangeDone, []job.State{job.Completed, job.Cancelled}, add}, {rangeDead, []job.State{job.Dead}, add},
	} {
		if table.states == nil && w.f.State != job.None || table.states != nil && (w.f.Drafts || w.f.State != job.None && !slices.Contains(table.states, w.f.State)) {
			continue
		}
		if err := w.c.Rows(table.q, table.each, args...); err != nil {
			return err
		}
	}
	slices.SortFunc(w.page.Members[begin:], func(a, b store.Member) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// Member implements store.Batches.
func (s *Core) Member(ctx context.Context, id int64, key string) (m store.Member, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		m = store.Member{}
		if _, err := oneBatch(c, readBatchRow, id, ""); err != nil {
			return err
		}
		holder, err := ReadInt(c, selMemberKey, text(store.BatchMemberKey(id)), text(key))
		if err != nil {
			return err
		}
		page := store.MemberPage{}
		if holder != 0 {
			w := memberWalk{c: c, batch: id, f: &store.MemberFilter{}, page: &page}
			if err := w.window(holder, holder); err != nil {
				return err
			}
		}
		if len(page.Members) == 0 {
			return fmt.Errorf("batch %d has no member with the key %.80q: %w", id, key, store.ErrNotFound)
		}
		m = page.Members[0]
		return nil
	})
	return m, err
}
