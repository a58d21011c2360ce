package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
)

var (
	insertJobs   = &sqlstore.Query{Name: "insertJobs"}
	insertBodies = sqlstore.Statement("insertBodies")
	waitShortly  = &sqlstore.Query{Name: "waitShortly"}
	growSpans    = &sqlstore.Query{Name: "growSpans"}
	selManyEnded = &sqlstore.Query{Name: "selManyEnded"}
)

// insertOnce writes the jobs of a group, but for calls that need a look by themselves: these it
// returns.
func (s *Store) insertOnce(group []*enqueueCall, briefly bool) (odd map[*enqueueCall]bool, err error) {
	var notice claims.Notice
	ctx, cancel := s.untilGone(group)
	defer cancel()
	err = s.fast(ctx, func(t *fastTxn) (err error) {
		notice, odd = claims.Notice{}, s.needsSharedPath(t, group)
		fresh := group
		if len(odd) > 0 {
			fresh = slices.DeleteFunc(slices.Clone(group), func(call *enqueueCall) bool { return odd[call] })
		}
		if len(fresh) == 0 {
			return nil
		}
		if err := admit(t, fresh, briefly); err != nil {
			return err
		}
		b := s.batch(t, fresh)
		if b.n == 0 { // all are known
			return nil
		}
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
			return errOneByOne
		}
		for _, call := range fresh {
			for i := range call.jobs {
				n := &call.jobs[i]
				if !call.fresh(i) {
					continue
				}
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
	return odd, nil
}

func without(group []*enqueueCall, some refusedCalls) []*enqueueCall {
	if len(some) == 0 {
		return group
	}
	return slices.DeleteFunc(slices.Clone(group), func(call *enqueueCall) bool { _, is := some[call]; return is })
}

// needsSharedPath returns the calls that the shared statements have to write: those with lanes
// that do not exist yet, with queues that accept no jobs, and with terms whose number is not known.
func (s *Store) needsSharedPath(t *fastTxn, group []*enqueueCall) map[*enqueueCall]bool {
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
		for i := range call.jobs {
			if call.fresh(i) {
				b.n++
			}
		}
	}
	ids, lanes, priorities, due, deadlines := pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n), pg.Ints(b.n)
	owners, correlations, keys, batches := pg.Texts(b.n), pg.Texts(b.n), pg.Texts(b.n), pg.Ints(b.n)
	attrs, policies, long, payloads, terms := pg.Blobs(b.n), pg.Blobs(b.n), pg.Ints(b.n), pg.Blobs(b.n), pg.Ints(b.n)
	longIDs, bodies := pg.Ints(0), pg.Blobs(0)
	b.old = pg.Ints(0)
	var members []member
	used := job.ID(s.intake.used.Load())
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			if !call.fresh(i) {
				continue
			}
			lane := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps)
			ids.Int(int64(n.ID))
			lanes.Int(lane)
			priorities.Int(int64(n.Priority))
			due.Int(int64(dueOf(n, t.Now())))
			deadlines.SetInt(int64(n.Deadline))
			owners.SetText(n.Owner)
			correlations.SetText(n.Correlation)
			keys.SetText(n.Key)
			batches.SetInt(sqlstore.BatchColumn(n))
			if n.Batch != 0 {
				members = append(members, member{n.Batch, n.ID})
			}
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
	if len(members) > 0 {
		b.steps = append(b.steps, spans(members))
	}
	if longIDs.N > 0 {
		b.steps = append(b.steps, pg.Step{Q: insertBodies, Args: []any{longIDs, bodies}})
	}
	return b
}

type member struct {
	batch int64
	id    job.ID
}

// spans notes that ids belong to batches. Ids that follow each other make one span.
func spans(members []member) pg.Step {
	slices.SortFunc(members, func(a, b member) int { return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.id, b.id)) })
	batches, first, last := pg.Ints(1), pg.Ints(1), pg.Ints(1)
	for len(members) > 0 {
		n := 1
		for n < len(members) && members[n] == (member{members[n-1].batch, members[n-1].id + 1}) {
			n++
		}
		batches.Int(members[0].batch)
		first.Int(int64(members[0].id))
		last.Int(int64(members[n-1].id))
		members = members[n:]
	}
	return pg.Step{Q: growSpans, Args: []any{batches, first, last}}
}
