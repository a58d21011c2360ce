package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	firstDrafts  = ask("firstDrafts")
	insPublished = ask("insPublished")
	delPublished = ask("delPublished")
	selDraftOf   = ask("selDraftOf")
	delDraft     = ask("delDraft")
	delKeyOf     = ask("delKeyOf")
	giveKeyBack  = ask("giveKeyBack")
	// setReplaced takes a cancelled job out of the counts, because another one has its place.
	setReplaced = ask("setReplaced")
	delBatch    = ask("delBatch")
	delSpans    = ask("delSpans")
	delCounts   = ask("delCounts")
	delOutcomes = ask("delOutcomes")

	selDueBatches  = ask("selDueBatches")
	selNextExpires = ask("selNextExpires")
	selTasks       = ask("selTasks")
	// walkMembers reads the live members of a batch above an id, by its spans.
	walkMembers = askWalk("walkMembers")
)

// draftRow is a draft that a step publishes or discards.
type draftRow struct {
	id          job.ID
	lane        *Lane
	priority    int8
	runAt       job.Micros
	correlation string
	aside, long bool
	replaces    job.ID
	key         string
}

func (t *Txn) drafts(q *Query, args ...Value) (all []draftRow, err error) {
	err = t.rows(q, func(r Row) error {
		all = append(all, draftRow{id: job.ID(r.Int(0)), lane: t.laneOf(r.Int(1)), priority: int8(r.Int(2)), runAt: job.Micros(r.Int(3)),
			correlation: r.Text(4), aside: r.Int(5) != 0, replaces: job.ID(r.Int(6)), key: r.Text(7), long: r.Int(8) != 0})
		return nil
	}, args...)
	return all, err
}

// publishDrafts makes jobs of the first drafts of a batch, at most limit. The caller writes the row
// of the batch.
func (t *Txn) publishDrafts(b *store.Batch, limit int) (all []draftRow, err error) {
	all, err = t.drafts(firstDrafts, num(b.ID), num(limit))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	last := num(all[len(all)-1].id)
	n, err := t.exec(insPublished, num(b.ID), last, num(t.now), setText(b.Owner))
	if err != nil {
		return nil, err
	}
	m, err := t.exec(delPublished, num(b.ID), last)
	if err == nil && (n != len(all) || m != n) {
		err = fmt.Errorf("batch %d: %d drafts were read, but %d jobs were written and %d drafts removed", b.ID, len(all), n, m) // This cannot happen: the row of the batch is locked.
	}
	for i := range all {
		if err == nil {
			err = t.published(b, &all[i])
		}
	}
	return all, err
}

// published records that a draft has become a job.
func (t *Txn) published(b *store.Batch, d *draftRow) error {
	countDraft(b, d.aside, -1)
	if d.replaces != 0 {
		n, err := t.exec(setReplaced, num(d.replaces))
		if err != nil {
			return err
		}
		if n > 0 {
			t.batchCount(b.ID, batchDelta{total: -1, endings: endings{cancelled: -1}})
		}
	}
	due := cmp.Or(d.runAt, t.now)
	t.count(d.lane, job.Waiting, 1)
	t.of(d.lane).Enqueued++
	t.batchCount(signed(b.ID, d.aside), batchDelta{total: 1})
	t.events.Add(&event.Event{Type: event.JobEnqueued, Job: d.id, Kind: d.lane.kind, Queue: d.lane.queue, Owner: b.Owner,
		Batch: b.ID, To: job.Waiting, Life: 1, DueAt: due, Correlation: d.correlation})
	t.ready(d.lane, d.priority, due)
	return nil
}

// openBatch brings a batch to PROCESSING because it is published. The caller writes the row.
func (t *Txn) openBatch(b *store.Batch) error {
	b.PublishedAt = cmp.Or(b.PublishedAt, t.now)
	b.State, b.EndedAt = job.BatchProcessing, 0
	t.batchEvent(b, store.PublishedReason)
	return nil
}

// PublishBatch implements store.Batches.
func (s *Core) PublishBatch(ctx context.Context, by store.By, id int64) (store.Published, error) {
	return s.publish(s.write(ctx), by, id, 0)
}

// PublishBatchTx implements store.BatchTransactor.
func (s *Core) PublishBatchTx(ctx context.Context, tx store.Tx, by store.By, id int64) (store.Published, error) {
	return s.publish(s.joined(ctx, tx), by, id, store.StepMax)
}

func (s *Core) publish(in within, by store.By, id int64, first int) (p store.Published, err error) {
	if err := by.Validate(); err != nil {
		return p, err
	}
	err = in(func(t *Txn) error {
		p, err = t.publishBatch(by, id, first)
		return err
	})
	if err != nil {
		return store.Published{}, err
	}
	return p, nil
}

func (t *Txn) publishBatch(by store.By, id int64, first int) (p store.Published, err error) {
	b, err := t.takeBatch(by, id)
	if err != nil {
		return p, err
	}
	if err := b.Check(job.BatchPublish, t.now); err != nil {
		return p, err
	}
	p.Drafts = b.Drafts + b.AsideDrafts
	through, err := t.countDead(b.ID, &p)
	if err != nil {
		return p, err
	}
	if b.State == job.BatchDraft && b.Drafts == 0 {
		return p, store.EmptyBatch(b)
	}
	if p.Drafts+p.Dead > 0 {
		if err := t.beginPublish(b, by, &p, through); err != nil {
			return p, err
		}
		if first > 0 {
			if _, err := t.stepBatch(b, first); err != nil {
				return p, err
			}
		}
	}
	p.Batch = *b
	p.Batch.Running, err = t.runningOf(b.ID)
	return p, err
}

// countDead counts the dead members that a publication retries, and those that it does not. It
// returns the number of the last death.
func (t *Txn) countDead(batch int64, p *store.Published) (through int64, err error) {
	for _, status := range []job.Status{job.Pending, job.Resolved, job.Ignored} {
		m, err := t.deadMembers(batch, status)
		if err != nil {
			return 0, err
		}
		if through, err = ReadInt(t.s, selNewest); err != nil {
			return 0, err
		}
		found, err := search(m, true, 1, through, store.PreviewMax, store.PreviewMax, func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
		if err != nil {
			return 0, err
		}
		if n := int64(len(found.found)); status == job.Pending {
			p.Dead = n
		} else {
			p.Skipped += n
		}
	}
	return through, nil
}

// deadMembers selects the counted members of a batch whose jobs are dead and whose dead letters have
// the given status.
func (t *Txn) deadMembers(batch int64, status job.Status) (*matcher, error) {
	m, err := newMatcher(t.s, &store.DeadFilter{Batch: batch, Statuses: []job.Status{status}}, t.now, false)
	if err == nil {
		m.takes = func(d *job.DeadLetter) bool { return !d.Aside && !d.Revived }
	}
	return m, err
}

func (t *Txn) beginPublish(b *store.Batch, by store.By, p *store.Published, through int64) error {
	running := b.Task == store.Publishing
	if b.TaskThrough = through; running {
		return t.keepBatch(b)
	}
	before := b.State
	b.Task, b.TaskAt = store.Publishing, 0
	if b.Drafts+p.Dead > 0 {
		if err := t.openBatch(b); err != nil {
			return err
		}
	} else {
		t.batchEvent(b, store.PublishedReason)
	}
	t.wake = true
	return errors.Join(t.keepBatch(b), t.audit(by, "batch.publish", store.BatchTarget(b.ID), store.StateWord(before), store.AuditPublish(p)))
}
