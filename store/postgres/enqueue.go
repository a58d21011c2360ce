package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
)

var (
	insertJobs   = &sqlstore.Query{Name: "insertJobs"}
	reserveKeys  = &sqlstore.Query{Name: "reserveKeys"}
	insertBodies = &sqlstore.Query{Name: "insertBodies"}
	waitShortly  = &sqlstore.Query{Name: "waitShortly"}
	selManyEnded = &sqlstore.Query{Name: "selManyEnded"}
)

// insert writes the jobs of a group, but for calls that need a look by
// themselves: these it returns. Briefly says that it waits for locks for a short
// time only.
func (s *Store) insert(group []*enqueueCall, briefly bool) (apart map[*enqueueCall]bool, err error) {
	var notice claims.Notice
	ctx, cancel := s.untilGone(group)
	defer cancel()
	err = s.fast(ctx, func(t *fastTxn) (err error) {
		notice, apart = claims.Notice{}, s.odd(t, group)
		fresh := without(group, apart)
		if len(fresh) == 0 {
			return nil
		}
		known, err := reserve(t, fresh, briefly)
		if err != nil {
			return err
		}
		if fresh = without(fresh, known); len(known) > 0 {
			maps.Copy(apart, known)
		}
		if len(fresh) == 0 {
			return nil
		}
		b := s.batch(t, fresh)
		steps := b.steps
		written, taken := 0, 0
		steps[0].N = &written
		if b.old.N > 0 {
			steps = append(steps, pg.Step{Q: selManyEnded, Args: []any{b.old}, N: &taken})
		}
		if !t.begun {
			steps = append(lead(briefly), steps...)
		}
		if err := t.send(steps...); err != nil {
			return err
		}
		if written != b.n || taken > 0 {
			return errSingly
		}
		for _, call := range fresh {
			for i := range call.jobs {
				n := &call.jobs[i]
				lane, due := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps), dueOf(n, t.Now())
				t.Enqueued(n, lane, due)
				notice.Add(lane, n.Priority, due)
			}
		}
		crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		return nil
	})
	if err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	for _, call := range group {
		s.intake.use(call.jobs)
	}
	s.news.tell(notice)
	return apart, nil
}

func without(group []*enqueueCall, some map[*enqueueCall]bool) []*enqueueCall {
	if len(some) == 0 {
		return group
	}
	return slices.DeleteFunc(slices.Clone(group), func(call *enqueueCall) bool { return some[call] })
}

// odd finds the calls to lanes that are not there yet and to queues that take
// nothing, and those with terms whose number is not known.
func (s *Store) odd(t *fastTxn, group []*enqueueCall) map[*enqueueCall]bool {
	odd := make(map[*enqueueCall]bool)
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			if t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps) == 0 {
				// It is about to be made, and a process that only enqueues has
				// nothing else that would notice.
				s.hot.known.CompareAndSwap(t.known, nil)
				odd[call] = true
			} else if t.known.catalog.Draining(n.Queue) || n.Terms != "" && t.known.terms.id(n.Terms) == 0 {
				odd[call] = true
			}
		}
	}
	return odd
}

// lead is what the transaction of a group begins with.
func lead(briefly bool) []pg.Step {
	if !briefly {
		return nil
	}
	return []pg.Step{{Q: waitShortly}}
}

// reserve takes the keys of a group, and returns the calls whose keys are known
// already, to whomever.
func reserve(t *fastTxn, group []*enqueueCall, briefly bool) (known map[*enqueueCall]bool, err error) {
	var keyed []*enqueueCall
	for _, call := range group {
		if call.jobs[0].Key != "" {
			keyed = append(keyed, call)
		}
	}
	if len(keyed) == 0 {
		return nil, nil
	}
	slices.SortFunc(keyed, func(a, b *enqueueCall) int {
		x, y := &a.jobs[0], &b.jobs[0]
		return cmp.Or(cmp.Compare(x.Owner, y.Owner), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Key, y.Key))
	})
	n := len(keyed)
	owners, kinds, keys, jobs, digests, until := pg.Texts(n), pg.Texts(n), pg.Texts(n), pg.Ints(n), pg.Blobs(n), pg.Ints(n)
	for _, call := range keyed {
		j := &call.jobs[0]
		owners.Text(j.Owner)
		kinds.Text(j.Kind)
		keys.Text(j.Key)
		jobs.Int(int64(j.ID))
		digests.Blob(pg.Present(j.Digest))
		until.SetInt(int64(j.KeyEnd(t.Now())))
	}
	taken := make(map[job.ID]bool, n)
	err = t.send(append(lead(briefly), pg.Step{Q: reserveKeys,
		Args: []any{int64(t.Now()), owners, kinds, keys, jobs, digests, until},
		Each: func(r sqlstore.Row) error { taken[job.ID(r.Int(0))] = true; return nil }})...)
	if err != nil || len(taken) == n {
		return nil, err
	}
	known = make(map[*enqueueCall]bool)
	for _, call := range keyed {
		if !taken[call.jobs[0].ID] {
			known[call] = true
		}
	}
	return known, nil
}

func dueOf(n *job.New, now job.Micros) job.Micros {
	if n.RunAt == 0 {
		return now
	}
	return n.RunAt
}

// batch is the statements for the jobs of a group.
type batch struct {
	n     int
	steps []pg.Step
	old   *pg.Vector // ids that a job which has ended may have
}

func (s *Store) batch(t *fastTxn, group []*enqueueCall) (b batch) {
	for _, call := range group {
		b.n += len(call.jobs)
	}
	ids, lanes, priorities, due, deadlines := pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n)
	owners, correlations, keys, batches := pg.Texts(b.n), pg.Texts(b.n), pg.Texts(b.n), pg.Ints(b.n)
	attrs, policies, long, payloads, terms := pg.Blobs(b.n), pg.Blobs(b.n), pg.Ints(b.n), pg.Blobs(b.n), pg.Ints(b.n)
	longIDs, bodies := pg.Ints(0), pg.Blobs(0)
	b.old = pg.Ints(0)
	used := job.ID(s.intake.used.Load())
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			lane := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps)
			ids.Int(int64(n.ID))
			lanes.Int(lane)
			priorities.Int(int64(n.Priority))
			due.Int(int64(dueOf(n, t.Now())))
			deadlines.SetInt(int64(n.Deadline))
			owners.SetText(n.Owner)
			correlations.SetText(n.Correlation)
			keys.SetText(n.Key)
			batches.SetInt(n.Batch)
			attrs.Blob(n.Attrs)
			policies.Blob(n.Override)
			terms.SetInt(t.known.terms.id(n.Terms))
			if len(n.Payload) > sqlstore.InlineMax {
				long.Int(1)
				payloads.Null()
				longIDs.Int(int64(n.ID))
				bodies.Blob(n.Payload)
			} else {
				long.Null()
				payloads.Blob(n.Payload)
			}
			if n.ID <= used {
				b.old.Int(int64(n.ID))
			}
		}
	}
	b.steps = append(b.steps, pg.Step{Q: insertJobs, Args: []any{int64(t.Now()), ids, lanes, priorities, due, deadlines,
		owners, correlations, keys, batches, attrs, policies, long, payloads, terms}})
	if longIDs.N > 0 {
		b.steps = append(b.steps, pg.Step{Q: insertBodies, Args: []any{longIDs, bodies}})
	}
	return b
}
