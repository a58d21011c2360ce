package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Preview implements store.DeadLetters.
func (s *Store) Preview(ctx context.Context, a store.Action) (store.Acted, error) {
	t, err := s.begin(ctx, "preview")
	if err != nil {
		return store.Acted{}, err
	}
	defer t.end()
	if err := a.Validate(true); err != nil {
		return store.Acted{}, t.errorf("%w", err)
	}
	if a.Filter == nil {
		return t.previewIDs(&a), nil
	}
	if a.Through == 0 {
		a.Through = t.newestDeath()
	}
	entries, next := t.selected(&a, cmp.Or(a.Limit, store.PreviewMax))
	return store.Acted{Done: int64(len(entries)), Through: a.Through, Next: next}, nil
}

func (t *tx) previewIDs(a *store.Action) store.Acted {
	answer := store.Acted{Errors: make([]error, len(a.IDs))}
	counted := make(map[job.ID]bool)
	for i, id := range a.IDs {
		e, err := t.named(a.Do, id)
		if err == nil {
			err = a.CheckLife(i, e.Life)
		}
		if err == nil && a.Do == store.ActRetry {
			err = cmp.Or(t.memberExpired(e), t.keyInUse(t.jobs[e.Job], &a.Change))
		}
		switch answer.Errors[i] = err; {
		case answer.Errors[i] != nil:
		case counted[id]:
			answer.Errors[i] = fmt.Errorf("job %d is in the list twice; name each job once: %w", id, store.ErrConflict)
		default:
			counted[id] = true
			answer.Done++
		}
	}
	return answer
}

// named returns the dead letter of a job if the act may be applied to it. Otherwise it returns an
// ErrNotFound or an ErrConflict that says why not.
func (t *tx) named(do store.Act, id job.ID) (*entry, error) {
	r, e := t.jobs[id], t.dead[id]
	switch {
	case e != nil && do.Takes(&e.DeadLetter, true):
		return e, nil
	case r == nil && (e == nil || do == store.ActRetry):
		return nil, notFound(id)
	case do == store.ActRetry:
		return nil, notDead(r)
	case e == nil:
		return nil, fmt.Errorf("job %d is %s and has no dead letter; nothing to %s: %w", id, r.State, do, store.ErrConflict)
	}
	return nil, fmt.Errorf("dead letter of job %d is %s; cannot %s it: %w", id, e.Status, do, store.ErrConflict)
}

func notDead(r *record) error {
	return fmt.Errorf("job %d is %s; only a dead job can be retried: %w", r.ID, r.State, store.ErrConflict)
}

// selected returns the dead letters that the action's filter selects and to which the act applies:
// at most limit dead letters, the lowest death numbers first. A negative limit means no limit. The
// second result is the value of After for the next step.
func (t *tx) selected(a *store.Action, limit int) (entries []*entry, next int64) {
	f := *a.Filter
	if len(f.Statuses) == 0 {
		f.Statuses = a.Do.Statuses()
	}
	for _, e := range t.between(a.After, a.Through) {
		if !t.matches(&f, e) || !a.Do.Takes(&e.DeadLetter, false) {
			continue
		}
		if len(entries) == limit {
			return entries, entries[limit-1].Death
		}
		entries = append(entries, e)
	}
	return entries, 0
}

// Act implements store.DeadLetters.
func (s *Store) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	t, err := s.begin(ctx, "act on dead letters")
	if err != nil {
		return store.Acted{}, err
	}
	defer t.end()
	if err := cmp.Or(a.ValidateBy(by), a.Validate(false)); err != nil {
		return store.Acted{}, t.errorf("%w", err)
	}
	if a.Filter == nil {
		return t.actIDs(by, &a), nil
	}
	answer, err := t.actFilter(by, &a)
	if err != nil {
		return store.Acted{}, t.errorf("%w", err)
	}
	return answer, nil
}

func (t *tx) actIDs(by store.By, a *store.Action) store.Acted {
	answer := store.Acted{Errors: make([]error, len(a.IDs))}
	for i, id := range a.IDs {
		err := t.moved(&by, id)
		var e *entry
		if err == nil {
			e, err = t.named(a.Do, id)
		}
		if err == nil {
			err = a.CheckLife(i, e.Life)
		}
		if err == nil && a.Do == store.ActRetry {
			err = cmp.Or(t.memberExpired(e), t.roomFor(&a.Change, t.jobs[e.Job]), t.keyInUse(t.jobs[e.Job], &a.Change))
		}
		if answer.Errors[i] = err; err != nil {
			continue
		}
		action, before, after := "dead_letter."+a.Do.String(), e.Status.String(), ""
		t.do(by, a, e, false)
		switch {
		case a.Do == store.ActRetry:
			action, before, after = "job.retry", job.Dead.String(), a.Change.AuditRetry()
		case !e.gone:
			after = e.Status.String()
		}
		t.note(a.AuditBy(by), action, id.String(), before, after)
		answer.Done++
	}
	return answer
}

func (t *tx) actFilter(by store.By, a *store.Action) (store.Acted, error) {
	if by.Seen != nil && a.After == 0 {
		g := t.groups[a.Filter.Group]
		if g == nil {
			return store.Acted{}, fmt.Errorf("group %.80q: %w", a.Filter.Group, store.ErrNotFound)
		}
		if err := by.CheckGroup(&g.Group); err != nil {
			return store.Acted{}, err
		}
	}
	entries, next := t.selected(a, cmp.Or(a.Limit, store.StepMax))
	var skipped map[string]int64
	if a.Do == store.ActRetry {
		var n int64
		if entries, n = t.notExpired(entries); n > 0 {
			skipped = map[string]int64{store.SkippedExpired: n}
		}
		entries = t.withFreeKeys(entries)
		if err := t.roomFor(&a.Change, t.jobsOf(entries)...); err != nil {
			return store.Acted{}, err
		}
	}
	withGroup := a.Do == store.ActIgnore && (a.Until != 0 || a.Count != 0) && a.Filter.WholeGroup()
	muted := false
	for _, name := range a.Filter.Fingerprints() {
		switch g := t.groups[name]; {
		case g == nil || a.After != 0:
		case withGroup:
			changed := g.mute(by, a)
			muted = muted || changed
		case a.Do == store.ActReopen && a.Filter.WholeGroup() && g.Muted:
			g.unmute()
			muted = true
		}
	}
	for _, e := range entries {
		t.do(by, a, e, withGroup)
	}
	done := int64(len(entries))
	if done > 0 || muted {
		t.note(a.AuditBy(by), "dead_letter."+a.Do.String(), asJSON(a.Filter), "", a.AuditStep(done))
	}
	return store.Acted{Done: done, Through: a.Through, Next: next, Skipped: skipped}, nil
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // this cannot happen: structs of checked values can always be written as JSON
	}
	return string(text)
}

// jobsOf returns the jobs of dead letters.
func (t *tx) jobsOf(entries []*entry) []*record {
	jobs := make([]*record, len(entries))
	for i, e := range entries {
		jobs[i] = t.jobs[e.Job]
	}
	return jobs
}

// roomFor returns an ErrTooLarge when the store has no room for the lanes that the changed jobs
// need.
func (t *tx) roomFor(c *store.Change, jobs ...*record) error {
	if c.Queue == "" {
		return nil
	}
	fresh := make(map[laneName]bool)
	for _, r := range jobs {
		to := r.lane.laneName
		to.queue = c.Queue
		if t.lanes[to] == nil {
			fresh[to] = true
		}
		if len(t.lanes)+len(fresh) > job.LanesMax {
			return tooManyLanes(to)
		}
	}
	return nil
}

// do applies the act to one dead letter. The argument withGroup says that an ignored dead letter
// stays ignored until the mute of its group ends.
func (t *tx) do(by store.By, a *store.Action, e *entry, withGroup bool) {
	switch a.Do {
	case store.ActRetry:
		t.revive(e, by.Actor, a.Note, &a.Change, 0)
		return
	case store.ActPurge:
		t.purge(e)
		t.emit(store.PurgeEvent(&e.DeadLetter, "purge"))
		return
	case store.ActResolve:
		t.set(e, job.Resolved, job.ActionResolved)
	case store.ActIgnore:
		t.set(e, job.Ignored, job.ActionIgnored)
		if e.withGroup = withGroup; !withGroup {
			e.ReopenAt = a.Until
		}
	case store.ActReopen:
		t.set(e, job.Pending, job.ActionReopened)
	}
	e.ActedBy, e.Note = by.Actor, a.Note
	t.emit(store.DeadLetterEvent(&e.DeadLetter, e.Action))
}

// keyInUse returns an ErrConflict when another live job holds the key that the job r would have
// after a retry or Alter with the change c. See job.AliveKey and job.ChangedKey.
func (t *tx) keyInUse(r *record, c *store.Change) error {
	name := r.changedKey(c)
	if !job.WhileAlive(name.key) && name.key == r.Key {
		return nil
	}
	k := t.keys[name]
	if k == nil || !t.holds(k) || !t.alive(k.Job) || k.Job == r.ID {
		return nil
	}
	return fmt.Errorf("job %d: job %d has the same unique key and has not ended; wait until it ends or cancel it: %w",
		r.ID, k.Job, store.ErrConflict)
}

func (r *record) keyName() keyName { return keyName{r.Owner, r.Kind, r.Key} }

// changedKey returns the idempotency key that the job has after the given change.
func (r *record) changedKey(c *store.Change) keyName {
	name := r.keyName()
	if c.Payload != nil {
		name.key = job.ChangedKey(name.key, c.Payload)
	}
	return name
}

// retakeKey updates the key of a job for a retry or Alter with the change c: if the payload
// changes, the key may change, too. Call keyInUse first, which checks that no other live job holds
// the new key.
func (t *tx) retakeKey(r *record, c *store.Change) {
	old, name := r.keyName(), r.changedKey(c)
	taken := &key{Key: store.Key{Owner: r.Owner, Kind: r.Kind, Key: name.key, Job: r.ID}}
	takes := job.WhileAlive(name.key)
	if r.Key = name.key; name != old {
		if k := t.keys[old]; k != nil && k.Job == r.ID && (k.Until == 0 || k.Until > t.now) {
			taken.Until, takes = k.Until, true
			delete(t.keys, old)
		}
		if k := t.keys[name]; k != nil && t.holds(k) { // a job that has ended keeps the key until the end of the key's period
			takes = false
		}
	}
	if takes {
		t.keys[name] = taken
	}
}

// withFreeKeys returns the dead letters whose jobs can take their keys again. If several of the
// jobs have the same key, it returns the dead letter of only the first of these jobs.
func (t *tx) withFreeKeys(entries []*entry) []*entry {
	taken := make(map[keyName]bool)
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool {
		r := t.jobs[e.Job]
		if !job.WhileAlive(r.Key) {
			return false
		}
		if taken[r.keyName()] || t.keyInUse(r, &store.Change{}) != nil {
			return true
		}
		taken[r.keyName()] = true
		return false
	})
}

// revive makes a dead job live again and begins its next life, for a person or for a redrive.
func (t *tx) revive(e *entry, actor, note string, c *store.Change, redrive int64) {
	t.set(e, job.Redriven, job.ActionRetried)
	if g := t.groups[e.Fingerprint]; g != nil {
		g.Retried++
	}
	e.Revived, e.ActedBy, e.Note, e.Redrive = true, actor, note, redrive

	r := t.jobs[e.Job]
	t.retakeKey(r, c)
	t.detach(r)
	t.change(r, actor, c, redrive)
	r.released = r.released || r.Reason == job.ManualReview
	r.Life++
	r.Counters = job.Counters{}
	r.LifeAt, r.ClaimedAt, r.FinishedAt = t.now, 0, 0
	r.Holder, r.Reason = "", ""
	if r.Deadline <= t.now {
		r.Deadline = 0
	}
	t.wait(r, job.Waiting, c.DueAt(t.now))
	t.transition(r, job.Dead, job.Retried, "")
	t.reopen(r)
}

// change applies the change of a retry to a detached job, and stores the old values. A priority for
// one life does not replace the job's permanent priority.
func (t *tx) change(r *record, actor string, c *store.Change, redrive int64) {
	if r.own, r.redrive = 0, redrive; c.OneLifePriority() {
		r.own = r.Priority
	}
	before := store.Original{Job: r.ID, At: t.now, By: actor, Queue: r.Queue, Priority: r.Priority, Override: r.Override}
	changed := false
	if c.Payload != nil && !bytes.Equal(c.Payload, r.Payload) {
		before.Payload = append([]byte{}, r.Payload...)
		r.Payload, changed = bytes.Clone(c.Payload), true
	}
	if c.Override != nil && !bytes.Equal(c.Override, r.Override) {
		r.Override, changed = bytes.Clone(c.Override), true
	}
	if c.Queue != "" && c.Queue != r.Queue {
		to := r.lane.laneName
		to.queue = c.Queue
		r.lane, r.Queue, changed = t.lane(to), c.Queue, true
	}
	if c.Priority != 0 && c.Priority != r.Priority {
		r.Priority = c.Priority
		changed = changed || !c.Once
	}
	if changed {
		t.keepOriginal(before)
	}
}

// keepOriginal stores the values that a job had before its first change; later calls do not replace
// them. Only the payload is stored later, at the first change of the payload.
func (t *tx) keepOriginal(before store.Original) {
	switch known, ok := t.originals[before.Job]; {
	case !ok:
		t.originals[before.Job] = before
	case known.Payload == nil && before.Payload != nil:
		known.Payload = before.Payload
		t.originals[before.Job] = known
	}
}
