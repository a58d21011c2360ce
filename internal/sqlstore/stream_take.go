package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Take implements store.Streams.
func (s *Core) Take(ctx context.Context, x store.Taking) (answer []store.Taken, err error) {
	if err := x.Validate(); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		answer, err = t.take(&x)
		if err == nil {
			crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	return answer, nil
}

// take locks the positions first, in a fixed order, so that two transactions cannot deadlock. No
// transaction that holds another lock waits for a position, but for that on dead letters.
func (t *Txn) take(x *store.Taking) ([]store.Taken, error) {
	if kills(x) {
		if err := t.lockDeadLetters(); err != nil {
			return nil, err
		}
	} else {
		t.noDeadLetters = true
	}
	positions := make(map[store.Place]*store.Position, len(x.Parts))
	for _, part := range x.InOrder() {
		p, err := t.position(x.Stream, part.Place)
		if err != nil {
			return nil, err
		}
		if part.From > p.Next {
			return nil, &store.Gap{Stream: x.Stream, Place: part.Place, Position: p.Next, From: part.From}
		}
		positions[part.Place] = p
	}
	answer, err := t.takeRecords(x, positions)
	if err != nil {
		return nil, err
	}
	if err := t.endTaken(x, answer); err != nil {
		return nil, err
	}
	if err := t.reviveTaken(x, answer); err != nil {
		return nil, err
	}
	i := 0
	for _, part := range x.Parts {
		p := positions[part.Place]
		before := *p
		for range part.Records {
			p.Counts.Count(answer[i].Fate)
			i++
		}
		if part.Next > p.Next {
			p.Next, p.Reached, p.MovedAt = part.Next, max(p.Reached, part.Next), t.now
		} else if p.Counts.Read == before.Counts.Read {
			t.reliesOnEarlier = true
		}
		if *p == before {
			continue
		}
		if err := t.putPosition(p); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// kills reports whether dead letters may have to be written.
func kills(x *store.Taking) bool {
	for i := range x.Parts {
		for k := range x.Parts[i].Records {
			if r := &x.Parts[i].Records[k]; r.Revive || r.Death != nil {
				return true
			}
		}
	}
	return false
}

// takeRecords enqueues the jobs of the records that are at or above their positions.
func (t *Txn) takeRecords(x *store.Taking, positions map[store.Place]*store.Position) ([]store.Taken, error) {
	n := 0
	for i := range x.Parts {
		n += len(x.Parts[i].Records)
	}
	answer := make([]store.Taken, 0, n)
	jobs := make([]job.New, 0, n)
	at := make([]int, 0, n) // the number of the record of each job
	records := make([]*store.Record, 0, n)
	for i := range x.Parts {
		next := positions[x.Parts[i].Place].Next
		for k := range x.Parts[i].Records {
			r := &x.Parts[i].Records[k]
			switch {
			case r.Offset < next:
				answer = append(answer, store.Taken{Fate: store.FateReplayed})
			case r.Skips():
				answer = append(answer, store.Taken{Fate: r.Fate})
			default:
				at, jobs, records = append(at, len(answer)), append(jobs, r.Job), append(records, r)
				answer = append(answer, store.Taken{})
			}
		}
	}
	if len(jobs) == 0 {
		return answer, nil
	}
	receipts, err := t.enqueueAll(jobs, records)
	if conflict, ok := errors.AsType[*store.TakeConflict](err); ok {
		for i := range conflict.Conflicts {
			conflict.Conflicts[i].Index = at[conflict.Conflicts[i].Index]
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range receipts {
		answer[at[i]] = store.TakenOf(records[i], &receipts[i])
	}
	return answer, nil
}

// endTaken ends the jobs of records that cannot be tasks, as if a worker had claimed them and ended their runs.
func (t *Txn) endTaken(x *store.Taking, answer []store.Taken) error {
	i := -1
	for k := range x.Parts {
		for m := range x.Parts[k].Records {
			i++
			r := &x.Parts[k].Records[m]
			if r.Death == nil || answer[i].Fate != store.FateDead {
				continue
			}
			if err := t.begin(r.Job.ID, store.TakenBy(x.Stream)); err != nil {
				return err
			}
			own, err := t.settle(r.Death)
			if err := cmp.Or(err, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin claims a job that this transaction has inserted, for a run that this transaction also ends.
func (t *Txn) begin(id job.ID, holder string) error {
	r, err := t.live(id)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("job %d: it was inserted in this transaction, but is not there", id) // This cannot happen.
	}
	from := r.state
	r.token++
	r.claimedAt, r.holder, r.crashMax = t.now, holder, 1
	if err := t.one(setClaimed, num(r.id), num(r.token), num(t.now), num(t.now), text(holder), num(r.crashMax), setNum(r.terms)); err != nil {
		return err
	}
	t.move(r.lane, from, r.lane, job.Running)
	t.started(r, t.now)
	t.events.Add(r.event(from, job.Running, job.Claimed))
	return nil
}

// reviveTaken retries the dead jobs whose records were published again.
func (t *Txn) reviveTaken(x *store.Taking, answer []store.Taken) error {
	i := -1
	for k := range x.Parts {
		for m := range x.Parts[k].Records {
			i++
			a := &answer[i]
			if !x.Parts[k].Records[m].Revive || a.Fate != store.FateExisting || a.State != job.Dead {
				continue
			}
			own, err := t.actOne(store.Reviver(x.Stream), &store.Action{Do: store.ActRetry, IDs: []job.ID{a.Job}}, 0)
			if err != nil {
				return err
			}
			if own == nil { // otherwise the job cannot be retried: the record is a repeat
				a.Fate = store.FateRevived
			}
		}
	}
	return nil
}

// position reads a position, and locks it.
func (t *Txn) position(stream string, place store.Place) (p *store.Position, err error) {
	err = t.rows(selPosition, func(r Row) error { found := scanPosition(r); p = &found; return nil },
		text(stream), text(place.Cluster), text(place.TopicID), num(place.Partition))
	if err == nil && p == nil {
		err = store.NoPosition(stream, place)
	}
	return p, err
}

func (t *Txn) putPosition(p *store.Position) error {
	c := &p.Counts
	return t.one(setPosition, text(p.Stream), text(p.Cluster), text(p.TopicID), num(p.Partition), num(p.Next), num(p.Reached), num(p.MovedAt), num(c.Read), num(c.Taken),
		num(c.Existing), num(c.Revived), num(c.Dead), num(c.Own), num(c.Foreign), num(c.Processed), num(c.Empty), num(c.Replayed))
}

func scanPosition(r Row) store.Position {
	return store.Position{
		Stream: r.Text(0), Place: store.Place{Cluster: r.Text(1), TopicID: r.Text(2), Partition: int32(r.Int(3))}, Topic: r.Text(4),
		Next: r.Int(5), First: r.Int(6), Reached: r.Int(7), MovedAt: job.Micros(r.Int(8)),
		Counts: store.FateCounts{Read: r.Int(9), Taken: r.Int(10), Existing: r.Int(11), Revived: r.Int(12), Dead: r.Int(13), Own: r.Int(14),
			Foreign: r.Int(15), Processed: r.Int(16), Empty: r.Int(17), Replayed: r.Int(18)},
	}
}

// CompareCounts reads one row of the statement RecountPositions into the findings.
func CompareCounts(f *store.Findings) func(Row) error {
	return func(r Row) error {
		p := scanPosition(r)
		problem(f, "stream %q, %s/%d: %d records were read, but %d were counted by what became of them; please report this",
			p.Stream, p.Topic, p.Partition, p.Counts.Read, p.Counts.Sum())
		return nil
	}
}
