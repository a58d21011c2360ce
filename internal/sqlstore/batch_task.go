package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/crashpoint"
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
	t.batchEvent(b, "published")
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
		t.batchEvent(b, "published")
	}
	t.wake = true
	return errors.Join(t.keepBatch(b), t.audit(by, "batch.publish", store.BatchTarget(b.ID), store.StateWord(before), store.AuditPublish(p)))
}

// StepBatches implements store.Batches.
func (s *Core) StepBatches(ctx context.Context, limit int) (answer store.BatchStep, err error) {
	if limit < 1 || limit > store.StepMax {
		return answer, fmt.Errorf("step of batches of up to %d members: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	var due, tasks []int64
	next := int64(0)
	now := s.db.Clock.Now()
	err = s.db.Read(ctx, func(c Session) (err error) {
		due, tasks = due[:0], tasks[:0]
		ids := func(into *[]int64) func(Row) error {
			return func(r Row) error { *into = append(*into, r.Int(0)); return nil }
		}
		if err = errors.Join(c.Rows(selDueBatches, ids(&due), num(now)), c.Rows(selTasks, ids(&tasks))); err == nil {
			next, err = ReadInt(c, selNextExpires)
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	answer.Wait = store.Never
	if len(due) > 0 {
		if answer.Expired, err = s.expireBatches(ctx, due); err != nil {
			return answer, err
		}
		next = 0
		if err = s.db.Read(ctx, func(c Session) (err error) { next, err = ReadInt(c, selNextExpires); return err }); err != nil {
			return answer, err
		}
	}
	if next != 0 {
		answer.Wait = max(0, job.Micros(next).Sub(now))
	}
	return answer, s.stepTasks(ctx, tasks, limit, &answer)
}

func (s *Core) expireBatches(ctx context.Context, ids []int64) (n int64, err error) {
	err = s.db.BackgroundWrite(ctx, func(t *Txn) error {
		n = 0
		for _, id := range ids {
			b, err := t.takeBatch(store.By{}, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if !b.Due(t.now) {
				continue
			}
			n++
			b.State = job.BatchExpired
			t.batchEvent(b, store.StateWord(b.State))
			if err := t.keepBatch(b); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// stepTasks does one step of each task, each in a transaction.
func (s *Core) stepTasks(ctx context.Context, tasks []int64, limit int, answer *store.BatchStep) error {
	for _, id := range tasks {
		left := limit - int(answer.Done)
		if left <= 0 {
			answer.Active++
			continue
		}
		done, active := 0, false
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			done, active = 0, false
			b, err := oneBatch(t.s, readBatchRow, id, "")
			if errors.Is(err, store.ErrNotFound) { // another process has discarded it
				return nil
			}
			if err != nil {
				return err
			}
			if done, err = t.stepBatch(&b, left); err == nil {
				crashpoint.Hit(crashpoint.InBatchStep)
			}
			active = b.Task != store.NoTask
			return err
		})
		if errors.Is(err, ErrDeadLettersLocked) {
			active, err = true, nil
		}
		if err != nil {
			return err
		}
		answer.Done += int64(done)
		if active {
			answer.Active++
		}
	}
	if answer.Active > 0 {
		answer.Wait = 0
	}
	return nil
}

// stepBatch does one step of the task that a batch has, and returns how many members it has changed.
// It locks live jobs and dead letters before the batch. If the batch is not as it was read, another
// process has done the step.
func (t *Txn) stepBatch(seen *store.Batch, limit int) (done int, err error) {
	var cancels []waiting
	var found picked
	p := &picker{}
	switch seen.Task {
	case store.Publishing:
		if err := t.lockDeadLetters(); err != nil {
			return 0, err
		}
	case store.Cancelling:
		p = newPicker(t, &store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Batch: seen.ID}, Through: math.MaxInt64})
		if found, err = p.members(seen.ID, job.ID(seen.TaskAt), limit); err != nil {
			return 0, err
		}
		if cancels, err = p.lock(found.jobs); err != nil {
			return 0, err
		}
	case store.Discarding, store.NoTask:
	}
	b, err := t.takeBatch(store.By{}, seen.ID)
	if err != nil {
		return 0, err
	}
	if b.Task != seen.Task || b.TaskAt != seen.TaskAt {
		*seen = *b
		return 0, nil
	}
	switch b.Task {
	case store.Publishing:
		done, err = t.stepPublish(b, limit)
	case store.Cancelling:
		done, err = t.stepCancel(b, limit, cancels, &found)
	case store.Discarding:
		done, err = t.stepDiscard(b, limit)
	case store.NoTask:
	}
	*seen = *b
	return done, err
}

// endTask ends the task of a batch, writes its row and evaluates it.
func (t *Txn) endTask(b *store.Batch) error {
	b.Task, b.TaskAt, b.TaskThrough = store.NoTask, 0, 0
	if err := t.keepBatch(b); err != nil {
		return err
	}
	return t.touchBatch(b)
}

func (t *Txn) stepPublish(b *store.Batch, limit int) (int, error) {
	all, err := t.publishDrafts(b, limit)
	done := len(all)
	if err != nil || done == limit {
		return done, errors.Join(err, t.keepBatch(b))
	}
	m, err := t.deadMembers(b.ID, job.Pending)
	if err != nil {
		return done, err
	}
	p, err := t.search(m, b.TaskAt, b.TaskThrough, limit-done)
	if err != nil {
		return done, err
	}
	free, err := t.retakeKeys(p.found)
	if err == nil {
		err = t.reviveAll(store.By{Actor: store.BatchActor(b.ID)}, free, &store.Change{}, 0)
	}
	if err != nil {
		return done, err
	}
	done += len(free)
	if !p.more {
		return done, t.endTask(b)
	}
	b.TaskAt = p.edge
	return done, t.keepBatch(b)
}

func (t *Txn) stepCancel(b *store.Batch, limit int, jobs []waiting, found *picked) (done int, err error) {
	if b.TaskThrough == int64(store.Publishing) && b.Drafts+b.AsideDrafts > 0 {
		all, err := t.publishDrafts(b, limit)
		if err != nil {
			return 0, err
		}
		for i := range all {
			r, err := t.live(all[i].id)
			if err == nil {
				err = t.cancelReady(r, job.Waiting)
			}
			if err != nil {
				return 0, err
			}
		}
		return len(all), t.keepBatch(b)
	}
	if err := t.cancelAll(jobs); err != nil {
		return 0, err
	}
	if !found.more {
		return len(jobs), t.endTask(b)
	}
	b.TaskAt = int64(found.edge)
	return len(jobs), t.keepBatch(b)
}

// members finds the live members of a batch above an id that can be cancelled.
func (p *picker) members(batch int64, after job.ID, want int) (found picked, err error) {
	look := 0
	err = p.rows(walkMembers, func(r Row) error { return p.examine(r, &found, &look, want) }, num(batch), num(after))
	if errors.Is(err, errEnough) {
		err = nil
	}
	found.limit(want)
	return found, err
}

func (t *Txn) stepDiscard(b *store.Batch, limit int) (int, error) {
	all, err := t.drafts(firstDrafts, num(b.ID), num(limit))
	for i := range all {
		if err == nil {
			err = t.discardDraft(b, &all[i])
		}
	}
	switch {
	case err != nil:
		return 0, err
	case b.Drafts+b.AsideDrafts > 0:
		return len(all), t.keepBatch(b)
	case b.State != job.BatchDraft:
		return len(all), t.endTask(b)
	}
	b.Task = store.NoTask
	return len(all), t.removeBatch(b.ID)
}

func (t *Txn) removeBatch(id int64) error {
	for _, q := range []*Query{delBatch, delSpans, delCounts, delOutcomes} {
		if _, err := t.exec(q, num(id)); err != nil {
			return err
		}
	}
	return nil
}

// discardDraft removes a draft. The key of a draft that was to replace a cancelled job goes back to
// that job.
func (t *Txn) discardDraft(b *store.Batch, d *draftRow) error {
	if err := t.one(delDraft, num(d.id), num(b.ID)); err != nil {
		return err
	}
	countDraft(b, d.aside, -1)
	if d.long {
		if _, err := t.exec(delBody, num(d.id)); err != nil {
			return err
		}
	}
	if d.key == "" {
		return nil
	}
	owner := text(strconv.FormatInt(b.ID, 10))
	if d.replaces == 0 {
		_, err := t.exec(delKeyOf, owner, text(d.key), num(d.id))
		return err
	}
	_, err := t.exec(giveKeyBack, owner, text(d.key), num(d.replaces), num(d.id))
	return err
}
