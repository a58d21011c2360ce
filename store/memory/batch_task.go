package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// PublishBatch implements store.Batches.
func (s *Store) PublishBatch(ctx context.Context, by store.By, id int64) (store.Published, error) {
	t, err := s.begin(ctx, "publish batch")
	if err != nil {
		return store.Published{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, by)
	if err = cmp.Or(by.Validate(), err); err == nil {
		err = b.Check(job.BatchPublish, t.now)
	}
	if err != nil {
		return store.Published{}, t.errorf("%w", err)
	}
	p := store.Published{Drafts: b.Drafts + b.AsideDrafts}
	for _, e := range t.deaths {
		switch r := t.jobs[e.Job]; {
		case e.Batch != id || e.Aside || r == nil || r.State != job.Dead:
		case e.Status == job.Pending:
			p.Dead++
		default:
			p.Skipped++
		}
	}
	if b.State == job.BatchDraft && b.Drafts == 0 {
		return store.Published{}, t.errorf("%w", store.EmptyBatch(&b.Batch))
	}
	if p.Drafts+p.Dead > 0 {
		t.publish(b, by, &p)
	}
	p.Batch = t.shownBatch(b)
	return p, nil
}

// publish begins to publish a batch that has something to publish.
func (t *tx) publish(b *batch, by store.By, p *store.Published) {
	running := b.Task == store.Publishing
	b.TaskThrough = t.newestDeath()
	if running {
		return
	}
	b.Task, b.TaskAt = store.Publishing, 0
	before := b.State
	if b.Drafts+p.Dead > 0 {
		t.openBatch(b, by)
	} else {
		t.emit(store.BatchChanged(&b.Batch, store.PublishedReason))
	}
	t.note(by, "batch.publish", store.BatchTarget(b.ID), store.StateWord(before), store.AuditPublish(p))
	t.wake = true
}

// openBatch brings a batch to PROCESSING because it is published.
func (t *tx) openBatch(b *batch, by store.By) {
	if b.PublishedAt == 0 {
		b.PublishedAt = t.now
	}
	b.State, b.EndedAt = job.BatchProcessing, 0
	t.emit(store.BatchChanged(&b.Batch, store.PublishedReason))
}

// publishDraft makes a job of a draft.
func (t *tx) publishDraft(b *batch, d *draft) {
	t.dropDraft(b, d)
	if r := t.jobs[d.replaces]; r != nil && !r.Aside {
		b.Total--
		b.Cancelled--
		r.Aside = true // its place is taken, so it does not count any more
	}
	t.insertJob(&d.New)
}

func (t *tx) dropDraft(b *batch, d *draft) {
	delete(b.drafts, d.ID)
	delete(t.drafts, d.ID)
	b.countDraft(d, -1)
}

// sortedDrafts returns the first drafts of a batch by their ids, at most limit.
func (b *batch) sortedDrafts(limit int) []*draft {
	ids := slices.Sorted(maps.Keys(b.drafts))
	first := make([]*draft, 0, limit)
	for _, id := range ids[:min(limit, len(ids))] {
		first = append(first, b.drafts[id])
	}
	return first
}

// CancelBatch implements store.Batches.
func (s *Store) CancelBatch(ctx context.Context, by store.By, id int64) (store.Batch, error) {
	t, err := s.begin(ctx, "cancel batch")
	if err != nil {
		return store.Batch{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, by)
	if err = cmp.Or(by.Validate(), err); err == nil {
		err = b.Check(job.BatchCancel, t.now)
	}
	if err != nil {
		return store.Batch{}, t.errorf("%w", err)
	}
	if b.State == job.BatchProcessing && b.Task != store.Cancelling {
		t.note(by, "batch.cancel", store.BatchTarget(id), store.StateWord(b.State), store.Cancelling.String())
		// TaskThrough says whether the drafts were being published.
		b.TaskAt, b.TaskThrough = 0, int64(b.Task)
		b.Task, t.wake = store.Cancelling, true
	}
	return t.shownBatch(b), nil
}

// DiscardBatch implements store.Batches.
func (s *Store) DiscardBatch(ctx context.Context, by store.By, id int64, ids []job.ID) (store.Batch, error) {
	t, err := s.begin(ctx, "discard drafts")
	if err != nil {
		return store.Batch{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, by)
	if err = cmp.Or(by.Validate(), store.ValidDiscard(ids), err); err == nil {
		err = b.Check(job.BatchDiscard, t.now)
	}
	if err != nil {
		return store.Batch{}, t.errorf("%w", err)
	}
	if ids == nil && b.Task == store.Discarding {
		return t.shownBatch(b), nil
	}
	for _, one := range ids {
		if b.drafts[one] == nil {
			return store.Batch{}, t.errorf("job %d is not a draft of batch %d: %w", one, id, store.ErrNotFound)
		}
	}
	if ids == nil && len(b.drafts) == 0 && b.State != job.BatchDraft {
		return t.shownBatch(b), nil
	}
	t.note(by, "batch.discard", store.BatchTarget(id), store.StateWord(b.State), store.AuditDiscard(&b.Batch, ids))
	switch {
	case ids != nil:
		for _, one := range ids {
			if d := b.drafts[one]; d != nil {
				t.discardDraft(b, d)
			}
		}
		return t.shownBatch(b), nil
	case len(b.drafts) > 0:
		b.Task, b.TaskAt, b.TaskThrough, t.wake = store.Discarding, 0, 0, true
		return t.shownBatch(b), nil
	}
	delete(t.batches, id)
	return store.Batch{}, nil
}

// discardDraft removes a draft. The key of a draft that was to replace a cancelled job goes back to
// that job.
func (t *tx) discardDraft(b *batch, d *draft) {
	t.dropDraft(b, d)
	if d.Key == "" {
		return
	}
	name := memberKey(b.ID, d.Key)
	if d.replaces == 0 {
		delete(t.keys, name)
		return
	}
	t.keys[name].Job, t.keys[name].state = d.replaces, job.Cancelled
}

// SetBatch implements store.Batches.
func (s *Store) SetBatch(ctx context.Context, by store.By, id int64, expiresAt job.Micros) (store.Batch, error) {
	t, err := s.begin(ctx, "set batch")
	if err != nil {
		return store.Batch{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, by)
	if err = cmp.Or(by.Validate(), err); err == nil {
		err = b.Check(job.BatchSet, t.now)
	}
	if err == nil {
		err = (&store.NewBatch{ExpiresAt: expiresAt}).ValidateTime(t.now)
	}
	if err != nil {
		return store.Batch{}, t.errorf("%w", err)
	}
	if b.ExpiresAt != expiresAt {
		t.note(by, "batch.set", store.BatchTarget(id), fmt.Sprint(int64(b.ExpiresAt)), fmt.Sprint(int64(expiresAt)))
		b.ExpiresAt = expiresAt
	}
	return t.shownBatch(b), nil
}

// StepBatches implements store.Batches.
func (s *Store) StepBatches(ctx context.Context, limit int) (store.BatchStep, error) {
	answer := store.BatchStep{Wait: store.Never}
	t, err := s.begin(ctx, "step batches")
	if err != nil {
		return answer, err
	}
	defer func() {
		if t != nil {
			t.end()
		}
	}()
	if limit < 1 || limit > store.StepMax {
		return answer, t.errorf("limit %d: must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	var due, tasks []*batch
	for _, id := range slices.Sorted(maps.Keys(t.batches)) {
		b := t.batches[id]
		if b.Due(t.now) {
			due = append(due, b)
		}
		if b.Task != store.NoTask {
			tasks = append(tasks, b)
		}
	}
	slices.SortStableFunc(due, func(a, b *batch) int { return cmp.Compare(a.ExpiresAt, b.ExpiresAt) })
	for _, b := range due[:min(len(due), store.BatchExpireSteps)] {
		b.State = job.BatchExpired
		t.emit(store.BatchChanged(&b.Batch, store.StateWord(b.State)))
		t.hearOutcome(&b.Batch)
		answer.Expired++
	}
	wait := t.batchWait()
	for _, b := range tasks { // each task makes its step in a separate commit
		t.end()
		if t, err = s.begin(ctx, "step batches"); err != nil {
			return answer, err
		}
		if left := limit - int(answer.Done); left > 0 && t.batches[b.ID] == b {
			answer.Done += int64(t.stepBatch(b, left))
		}
		if b.Task != store.NoTask {
			answer.Active++
		}
	}
	if answer.Wait = wait; answer.Active > 0 {
		answer.Wait = 0
	}
	return answer, nil
}

// stepBatch does one step of a batch's task and returns how many members it has changed.
func (t *tx) stepBatch(b *batch, limit int) (done int) {
	switch b.Task {
	case store.Publishing:
		done = t.stepPublish(b, limit)
	case store.Cancelling:
		done = t.stepCancel(b, limit)
	case store.Discarding:
		for _, d := range b.sortedDrafts(limit) {
			t.discardDraft(b, d)
			done++
		}
		if len(b.drafts) == 0 {
			t.endTask(b)
			if b.State == job.BatchDraft {
				delete(t.batches, b.ID)
			}
		}
	case store.NoTask:
	}
	return done
}

func (t *tx) endTask(b *batch) {
	b.Task, b.TaskAt, b.TaskThrough = store.NoTask, 0, 0
	t.touch(b)
}

func (t *tx) stepPublish(b *batch, limit int) (done int) {
	for _, d := range b.sortedDrafts(limit) {
		t.publishDraft(b, d)
		done++
	}
	if done == limit {
		return done
	}
	pending, next := t.pendingMembers(b, limit-done) // next is 0 if there are no more
	for _, e := range t.withFreeKeys(pending) {
		t.revive(e, store.BatchActor(b.ID), "", &store.Change{}, 0)
		done++
	}
	if b.TaskAt = next; next == 0 {
		t.endTask(b)
	}
	return done
}

// pendingMembers returns pending dead letters of counted members that a publication covers, at most
// limit. The second result is the last of them if there are more.
func (t *tx) pendingMembers(b *batch, limit int) (found []*entry, next int64) {
	for _, e := range t.between(b.TaskAt, b.TaskThrough) {
		r := t.jobs[e.Job]
		if e.Batch != b.ID || e.Aside || e.Status != job.Pending || r == nil || r.State != job.Dead {
			continue
		}
		if len(found) == limit {
			return found, found[limit-1].Death
		}
		found = append(found, e)
	}
	return found, 0
}

func (t *tx) stepCancel(b *batch, limit int) (done int) {
	if b.TaskThrough == int64(store.Publishing) && len(b.drafts) > 0 {
		drafts := b.sortedDrafts(limit)
		for _, d := range drafts {
			t.publishDraft(b, d)
		}
		for _, d := range drafts {
			t.cancel(t.jobs[d.ID])
		}
		return len(drafts)
	}
	for _, id := range t.ids {
		r := t.jobs[id]
		if r == nil || r.Batch != b.ID || r.State.Terminal() || r.CancelAt != 0 || id <= job.ID(b.TaskAt) {
			continue
		}
		if done == limit {
			return done
		}
		if r.State == job.Running {
			t.askToStop(r)
		} else {
			t.cancel(r)
		}
		b.TaskAt = int64(id)
		done++
	}
	t.endTask(b)
	return done
}
