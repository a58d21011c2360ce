package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// sweeping is the state that the store keeps between sweeps: the positions at which the next sweep
// continues, and the removals since the last audit row.
type sweeping struct {
	failure store.Run // the failure record that the next sweep examines first
	death   int64     // number of the last death that was examined
	note    int64     // number of the last note that was examined
	batch   int64     // number of the last batch that was examined
	// memberKeys is the number of a batch that is gone and may still have keys.
	memberKeys int64
	removed    map[string]*removal
}

// removal counts the removed rows of one kind of data, since the last audit row.
type removal struct {
	n     int64
	since job.Micros // when the first of these rows was removed
}

// Sweep implements store.Keeper.
func (s *Store) Sweep(ctx context.Context, keep store.Retention, limit int) (store.Swept, error) {
	t, err := s.begin(ctx, "sweep")
	if err != nil {
		return store.Swept{}, err
	}
	defer t.end()
	if err := keep.Validate(); err != nil {
		return store.Swept{}, t.errorf("%w", err)
	}
	if limit < 1 || limit > store.SweepMax {
		return store.Swept{}, t.errorf("limit %d: must be 1 to %d: %w", limit, store.SweepMax, store.ErrInvalid)
	}
	w := sweep{tx: t, keep: keep, limit: limit}
	// The order is that of the other stores: a batch goes one sweep after its last dead letter.
	w.sweepEnded()
	w.sweepFailures()
	w.sweepKeys()
	w.sweepRequests()
	w.sweepEvents()
	w.sweepFigures()
	w.sweepBatches()
	w.sweepDead()
	w.sweepNotes()
	w.reopen()
	w.prune()
	w.auditRemovals()
	return w.swept, nil
}

// sweep is the state of one sweep.
type sweep struct {
	*tx
	keep  store.Retention
	limit int
	swept store.Swept
}

// sweepEnded removes completed and cancelled jobs, the earliest end first.
func (w *sweep) sweepEnded() {
	if w.keep.Completed == 0 {
		return
	}
	until := w.now.Add(-w.keep.Completed)
	n := 0
	for ; n < len(w.ended) && w.jobs[w.ended[n]].FinishedAt <= until; n++ {
		if n == w.limit {
			w.swept.More = true
			break
		}
		w.remove(w.jobs[w.ended[n]])
	}
	w.ended = slices.Delete(w.ended, 0, n)
	w.swept.Completed = int64(n)
}

// sweepFailures examines failure records. It removes a record if the record's retention time is
// over, the job is not live, and the job has no dead letter.
func (w *sweep) sweepFailures() {
	if w.keep.Failures == 0 {
		return
	}
	until, looked := w.now.Add(-w.keep.Failures), 0
	from := w.sweeping.failure
	w.sweeping.failure = store.Run{}
	for _, id := range slices.Sorted(maps.Keys(w.failures)) {
		if id < from.ID {
			continue
		}
		r := w.jobs[id]
		kept := r != nil && !r.State.Terminal() || w.dead[id] != nil
		w.failures[id] = slices.DeleteFunc(w.failures[id], func(f job.Failure) bool {
			if id == from.ID && f.Token < from.Token {
				return false
			}
			if looked++; looked > w.limit {
				if looked == w.limit+1 {
					w.sweeping.failure = store.Run{ID: id, Token: f.Token}
				}
				return false
			}
			if kept || f.EndedAt > until {
				return false
			}
			w.swept.Failures++
			return true
		})
		if len(w.failures[id]) == 0 {
			delete(w.failures, id)
		}
		if looked > w.limit {
			w.swept.More = true
			return
		}
	}
}

// sweepDead examines dead letters and removes those whose retention time is over. It does not
// remove an ignored dead letter that will become pending again.
func (w *sweep) sweepDead() {
	if w.keep.Dead == 0 {
		return
	}
	until := w.now.Add(-w.keep.Dead)
	left := w.between(w.sweeping.death, math.MaxInt64)
	w.sweeping.death = 0
	if len(left) > w.limit {
		left = left[:w.limit]
		w.sweeping.death, w.swept.More = left[w.limit-1].Death, true
	}
	for _, e := range left {
		if max(e.DiedAt, e.ActedAt) > until || !w.droppable(e) {
			continue
		}
		if e.Status == job.Pending {
			w.swept.Pending++
		}
		w.swept.Dead++
		w.purge(e)
		w.emit(store.PurgeEvent(&e.DeadLetter, "retention"))
	}
	for fingerprint, g := range w.groups {
		if g.Entries == 0 && !g.Muted && g.LastAt <= until {
			delete(w.groups, fingerprint)
		}
	}
	if w.swept.Pending > 0 {
		w.note(store.By{Actor: store.SweepActor}, "retention.remove", "pending_dead_letters", "", fmt.Sprintf(`{"n":%d}`, w.swept.Pending))
	}
}

func (w *sweep) droppable(e *entry) bool {
	switch e.Status {
	case job.Pending:
		return w.keep.DropPending
	case job.Ignored:
		// if ReopenAt is set or the group is muted, the dead letter will become pending again
		return w.keep.DropPending || !e.withGroup && e.ReopenAt == 0
	case job.Resolved:
		return true
	case job.Redriven: // the job was retried and is live again
	}
	return false
}

// returns reports whether an ignored dead letter must become pending again now.
func (w *sweep) returns(e *entry) bool {
	if e.withGroup {
		g := w.groups[e.Fingerprint]
		return g == nil || !g.Muted || g.over(w.now)
	}
	return e.Status == job.Ignored && e.ReopenAt != 0 && e.ReopenAt <= w.now
}

// sweepEvents removes the events of old commits, but never the events of the newest commit.
func (w *sweep) sweepEvents() {
	if w.keep.Events == 0 {
		return
	}
	until, n, at := w.now.Add(-w.keep.Events), 0, 0
	for at < w.from {
		end := at
		for end < w.from && w.events[end].Cursor.Seq == w.events[at].Cursor.Seq {
			end++
		}
		if end == w.from || w.events[at].At > until {
			break
		}
		if n == w.limit {
			w.swept.More = true
			break
		}
		n++
		at = end
	}
	if at > 0 {
		w.eventGone = w.events[at-1].Cursor
	}
	w.events = slices.Delete(w.events, 0, at)
	w.from -= at
	w.swept.Events = int64(n)
}

// sweepKeys removes idempotency keys whose time is over.
func (w *sweep) sweepKeys() {
	var over []keyName
	for name, k := range w.keys {
		if k.Until != 0 && k.Until <= w.now {
			over = append(over, name)
		}
	}
	slices.SortFunc(over, func(a, b keyName) int {
		return cmp.Or(cmp.Compare(w.keys[a].Until, w.keys[b].Until), cmp.Compare(a.owner, b.owner), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
	})
	if len(over) > w.limit {
		over, w.swept.More = over[:w.limit], true
	}
	for _, name := range over {
		delete(w.keys, name)
	}
	w.swept.Keys = int64(len(over))
}

// reopen makes ignored dead letters pending when their time has come. It reopens them in the
// order of their deaths.
func (w *sweep) reopen() {
	for _, g := range w.groups {
		if g.over(w.now) {
			g.unmute()
		}
	}
	for _, e := range w.deaths {
		if e.gone || !w.returns(e) {
			continue
		}
		if w.swept.Reopened == int64(w.limit) {
			w.swept.More = true
			return
		}
		w.set(e, job.Pending, job.ActionReopened)
		e.ActedBy, e.Note = store.SweepActor, ""
		w.emit(store.DeadLetterEvent(&e.DeadLetter, job.ActionReopened))
		w.swept.Reopened++
	}
}

// prune removes statistics that are too old to be shown.
func (w *sweep) prune() {
	drop := func(counts map[job.Micros]int64, until job.Micros) {
		maps.DeleteFunc(counts, func(at job.Micros, _ int64) bool { return at <= until })
	}
	drop(w.minutes, start(w.now, minute)-minute*store.AddedMinutes)
	for _, g := range w.groups {
		drop(g.deaths, start(w.now, hour)-hour*store.TrendHours)
	}
}

// auditRemovals counts the removed rows. If store.SweepAuditEvery has passed, it also writes audit
// rows about them. Removed pending dead letters already have audit rows, which were written with
// their removal.
func (w *sweep) auditRemovals() {
	for _, r := range [...]struct {
		what string
		n    int64
	}{
		{"completed", w.swept.Completed}, {"failures", w.swept.Failures}, {"dead_letters", w.swept.Dead - w.swept.Pending},
		{"events", w.swept.Events}, {"keys", w.swept.Keys}, {"batches", w.swept.Batches},
	} {
		sum := w.sweeping.removed[r.what]
		if sum == nil {
			sum = &removal{}
			w.sweeping.removed[r.what] = sum
		}
		if sum.n == 0 {
			sum.since = w.now
		}
		sum.n += r.n
		if sum.n > 0 && w.now >= sum.since.Add(store.SweepAuditEvery) {
			w.note(store.By{Actor: store.SweepActor}, "retention.remove", r.what, "", fmt.Sprintf(`{"n":%d}`, sum.n))
			sum.n = 0
		}
	}
}
