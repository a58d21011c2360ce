package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// entry is a dead letter as the store keeps it, with fields that readers do not see.
type entry struct {
	job.DeadLetter
	attrs     []byte // the attributes of the job
	withGroup bool   // whether the entry stays ignored until the mute of its group ends
	gone      bool   // whether the current call has removed the entry
}

// shown returns the dead letter with the fields that readers see.
func (t *tx) shown(e *entry) job.DeadLetter {
	d := e.DeadLetter
	if g := t.groups[d.Fingerprint]; e.withGroup && g != nil {
		d.ReopenAt = g.MutedUntil
	}
	return d
}

// matches reports whether a filter selects an entry.
func (t *tx) matches(f *store.DeadFilter, e *entry) bool {
	d := t.shown(e)
	return f.Match(&d, e.attrs) && (f.Key == "" || t.holdsKey(e.Job, keyName{f.Owner, f.Kind, f.Key}))
}

// holdsKey reports whether a job holds a key.
func (t *tx) holdsKey(id job.ID, name keyName) bool {
	k := t.keys[name]
	return k != nil && k.Job == id && t.holds(k)
}

// makeDead makes a detached job dead and creates its dead letter. If the job already has a dead
// letter, the dead letter gets the number of the new death. The text notified is that of job.Outcome; the
// failure record must be there.
func (t *tx) makeDead(r *record, cause job.Cause, reason job.Reason, class, fingerprint, notified string) {
	r.State, r.FinishedAt, r.Reason = job.Dead, t.now, reason
	r.RunAt, r.memo = 0, nil
	t.attach(r)
	e := &entry{DeadLetter: job.DeadLetter{
		Job: r.ID, Life: r.Life, Status: job.Pending, Reason: reason, Class: class, Fingerprint: fingerprint,
		Kind: r.Kind, Queue: r.Queue, Owner: r.Owner, Correlation: r.Correlation, Batch: r.Batch, Aside: r.Aside, Holder: r.Holder,
		DiedAt: t.now, Redrive: r.redrive,
	}, attrs: r.Attrs}
	if r.own != 0 {
		r.Priority = r.own
	}
	r.own, r.redrive = 0, 0
	if f := t.failureOf(r); f != nil {
		e.Code, e.Message = f.Code, f.Message
	}
	t.lastDeath++
	e.Death = t.lastDeath
	if before := t.dead[r.ID]; before != nil {
		t.forget(before)
		at, _ := t.deathAt(before.Death)
		t.deaths = slices.Delete(t.deaths, at, at+1)
	}
	t.dead[r.ID] = e
	t.deaths = append(t.deaths, e)
	t.countMember(r, func(c *store.BatchCounts) { c.Dead++ })
	first := t.join(e, cause)
	if t.notices.set != nil {
		t.hear(r, e, cause, first, notified)
	}
	t.countDead(e, 1)
	t.died(r, cause, class)
}

// failureOf returns the failure record of the job's last run. It returns nil when that
// run has no record.
func (t *tx) failureOf(r *record) *job.Failure {
	failures := t.failures[r.ID]
	if n := len(failures); n > 0 && failures[n-1].Token == r.Token {
		return &failures[n-1]
	}
	return nil
}

// deathAt returns the index of the first entry whose death number is at least the given
// number.
func (t *tx) deathAt(death int64) (int, bool) {
	return slices.BinarySearchFunc(t.deaths, death, func(e *entry, n int64) int { return cmp.Compare(e.Death, n) })
}

// newestDeath returns the number of the last death that has a dead letter, or 0 without dead letters.
func (t *tx) newestDeath() int64 {
	if len(t.deaths) == 0 {
		return 0
	}
	return t.deaths[len(t.deaths)-1].Death
}

// between returns the entries whose deaths are above the first number, up to and including the
// second.
func (t *tx) between(after, through int64) []*entry {
	first := sort.Search(len(t.deaths), func(i int) bool { return t.deaths[i].Death > after })
	last := sort.Search(len(t.deaths), func(i int) bool { return t.deaths[i].Death > through })
	return t.deaths[first:max(first, last)]
}

// forget subtracts a dead letter from all counters of dead letters.
func (t *tx) forget(e *entry) {
	t.countDead(e, -1)
	if g := t.groups[e.Fingerprint]; g != nil {
		g.Entries--
		if e.Status == job.Pending {
			g.Pending--
		}
	}
}

// set changes the status of a dead letter, and updates the counters of the statuses.
func (t *tx) set(e *entry, to job.Status, did job.DeadAction) {
	g := t.groups[e.Fingerprint]
	if g != nil && e.Status == job.Pending {
		g.Pending--
	}
	t.countDead(e, -1)
	e.Status, e.Action, e.ActedAt = to, did, t.now
	e.ReopenAt, e.withGroup = 0, false
	t.countDead(e, 1)
	if g != nil && e.Status == job.Pending {
		g.Pending++
	}
}

// purge removes a dead letter with all data of its job. If a later life of the job was
// completed or cancelled, purge keeps the record of that end.
func (t *tx) purge(e *entry) {
	t.forget(e)
	e.gone, t.removed = true, true
	delete(t.dead, e.Job)
	delete(t.failures, e.Job)
	delete(t.originals, e.Job)
	if r := t.jobs[e.Job]; r != nil && r.State == job.Dead {
		t.remove(r)
	}
}

// remove removes an ended job. If the job still holds an idempotency key, the key stays and keeps
// the job's last state. A key that a job holds only while it is alive is removed.
func (t *tx) remove(r *record) {
	if k := t.keys[memberKey(r.Batch, r.Key)]; k != nil && r.Batch != 0 && k.Job == r.ID {
		k.state = r.State
	}
	name := keyName{r.Owner, r.Kind, r.Key}
	switch k := t.keys[name]; {
	case r.Key == "" || k == nil || k.Job != r.ID:
	case job.WhileAlive(r.Key):
		delete(t.keys, name)
	default:
		k.state = r.State
		if r.State == job.Completed {
			k.Result = string(r.Result[:min(len(r.Result), job.SummaryKept)])
		}
	}
	if t.dead[r.ID] == nil { // a dead letter of the job still needs the original values
		delete(t.originals, r.ID)
	}
	t.detach(r)
	delete(t.jobs, r.ID)
	t.removed = true
}

// compact updates the sorted slices after a call has removed jobs or dead letters from the maps.
func (t *tx) compact() {
	t.deaths = slices.DeleteFunc(t.deaths, func(e *entry) bool { return e.gone })
	t.ids = slices.DeleteFunc(t.ids, func(id job.ID) bool { return t.jobs[id] == nil })
}

// DeadLetter implements store.Reader.
func (s *Store) DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error) {
	t, err := s.begin(ctx, "dead letter")
	if err != nil {
		return job.DeadLetter{}, err
	}
	defer t.end()
	e := t.dead[id]
	if e == nil {
		return job.DeadLetter{}, t.errorf("%w", notFound(id))
	}
	return t.shown(e), nil
}

// DeadLetters implements store.DeadLetters.
func (s *Store) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error) {
	t, err := s.begin(ctx, "dead letters")
	if err != nil {
		return store.DeadPage{}, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return store.DeadPage{}, t.errorf("%w", err)
	}
	if p.Limit < 0 || p.Limit > job.PageMax || p.Before < 0 {
		return store.DeadPage{}, t.errorf("page of %d dead letters before death %d: a page has 1 to %d entries: %w", p.Limit, p.Before, job.PageMax, store.ErrInvalid)
	}
	if p.Limit == 0 {
		p.Limit = pageDefault
	}
	end := len(t.deaths)
	if p.Before > 0 {
		end, _ = t.deathAt(p.Before)
	}
	var page store.DeadPage
	for _, e := range slices.Backward(t.deaths[:end]) {
		if !t.matches(&f, e) {
			continue
		}
		if n := len(page.Entries); n == p.Limit {
			page.Next, page.Searched = page.Entries[n-1].Death, page.Entries[n-1].DiedAt
			break
		}
		listed := store.DeadEntry{DeadLetter: t.shown(e)}
		if r := t.jobs[e.Job]; p.Jobs && r != nil && r.State == job.Dead {
			listed.Job = new(t.whole(r))
		}
		page.Entries = append(page.Entries, listed)
	}
	return page, nil
}

// DeadStats implements store.DeadLetters.
func (s *Store) DeadStats(ctx context.Context) (store.DeadStats, error) {
	t, err := s.begin(ctx, "statistics of dead letters")
	if err != nil {
		return store.DeadStats{}, err
	}
	defer t.end()
	stats := store.DeadStats{At: t.now, Counts: t.deadCounts(), Added: trend(t.minutes, t.now, minute, store.AddedMinutes)}
	for _, e := range t.deaths {
		if e.Status == job.Pending {
			stats.OldestPending = e.DiedAt // the slice is sorted by the times of the deaths
			break
		}
	}
	stats.Hours = t.hours()
	return stats, nil
}

// Original implements store.DeadLetters.
func (s *Store) Original(ctx context.Context, id job.ID) (store.Original, error) {
	t, err := s.begin(ctx, "original")
	if err != nil {
		return store.Original{}, err
	}
	defer t.end()
	o, ok := t.originals[id]
	if !ok {
		return store.Original{}, t.errorf("%w", notFound(id))
	}
	return cloneOriginal(o), nil
}

func cloneOriginal(o store.Original) store.Original {
	o.Override, o.Payload = bytes.Clone(o.Override), bytes.Clone(o.Payload)
	return o
}

func (t *tx) sortedOriginals() []store.Original {
	list := make([]store.Original, 0, len(t.originals))
	for _, id := range slices.Sorted(maps.Keys(t.originals)) {
		list = append(list, cloneOriginal(t.originals[id]))
	}
	return list
}
