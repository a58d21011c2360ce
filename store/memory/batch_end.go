package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// countMember changes the counts of the batch of a counted member. At the end of the call, the
// batch ends if all its members have ended.
func (t *tx) countMember(r *record, change func(*store.BatchCounts)) {
	b := t.batches[r.Batch]
	if b == nil || r.Aside {
		return
	}
	change(&b.BatchCounts)
	t.touch(b)
}

// touch makes the call evaluate a batch when it ends.
func (t *tx) touch(b *batch) {
	if !slices.Contains(t.touched, b.ID) {
		t.touched = append(t.touched, b.ID)
	}
}

// reopen counts the new life of a dead member and brings its batch back to PROCESSING.
func (t *tx) reopen(r *record) {
	b := t.batches[r.Batch]
	if b == nil || r.Aside {
		return
	}
	b.Dead--
	if b.State.Ended() {
		b.State, b.EndedAt = job.BatchProcessing, 0
		t.emit(store.BatchChanged(&b.Batch, store.StateWord(b.State)))
	}
}

// memberExpired returns an error if a dead member cannot be retried because its batch has expired.
func (t *tx) memberExpired(e *entry) error {
	if b := t.batches[e.Batch]; b != nil && !e.Aside {
		return b.Check(job.BatchRetry, t.now)
	}
	return nil
}

// notExpired returns the entries that can be retried, and how many cannot because their batches have
// expired.
func (t *tx) notExpired(entries []*entry) (kept []*entry, skipped int64) {
	kept = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return t.memberExpired(e) != nil })
	return kept, int64(len(entries) - len(kept))
}

// endBatches writes the outcomes of the batches that the call has ended.
func (t *tx) endBatches() {
	slices.Sort(t.touched)
	for _, id := range t.touched {
		if b := t.batches[id]; b != nil && b.State == job.BatchProcessing && b.Task == store.NoTask && b.AllEnded() {
			t.endBatch(b)
		}
	}
	t.touched = nil
}

func (t *tx) endBatch(b *batch) {
	o := store.BatchOutcome{
		N: b.Outcome + 1, State: job.BatchOutcomeOf(b.Completed, b.Dead, b.Cancelled), At: t.now,
		Total: b.Total, Completed: b.Completed, Dead: b.Dead, Cancelled: b.Cancelled,
	}
	b.outcomes = append(b.outcomes, o)
	b.State, b.Outcome, b.EndedAt = o.State, o.N, t.now
	for i := range b.Callbacks {
		if !b.Callbacks[i].Wants(o.State) {
			continue
		}
		n := store.CallbackJob(&b.Batch, &o, &b.Callbacks[i])
		n.ID = t.nextID
		t.nextID++
		t.insertJob(&n)
	}
	t.emit(store.BatchChanged(&b.Batch, store.StateWord(b.State)))
	t.hearOutcome(&b.Batch)
}

// batchWait returns when the next batch expires.
func (t *tx) batchWait() time.Duration {
	wait := store.Never
	for _, b := range slices.Collect(maps.Values(t.batches)) {
		if b.State.Ended() && b.ExpiresAt != 0 {
			wait = min(wait, max(0, b.ExpiresAt.Sub(t.now)))
		}
	}
	return wait
}
