package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, id job.ID) (job.Job, error) {
	t, err := s.begin(ctx, "get")
	if err != nil {
		return job.Job{}, err
	}
	defer t.end()
	r := t.jobs[id]
	if r == nil {
		return job.Job{}, t.errorf("%w", notFound(id))
	}
	return t.whole(r), nil
}

// whole returns a copy of a job with all its data.
func (t *tx) whole(r *record) job.Job {
	j := r.Job
	j.Attrs, j.Override = bytes.Clone(j.Attrs), bytes.Clone(j.Override)
	j.Payload, j.Result = bytes.Clone(j.Payload), bytes.Clone(j.Result)
	for i := range t.failures[r.ID] {
		j.Cost += t.failures[r.ID][i].Cost
		j.Sends += int64(t.failures[r.ID][i].Sends)
	}
	return j
}

// narrow returns a job without its payload and its result. Lists show jobs in this form.
func narrow(r *record) job.Job {
	j := r.Job
	j.Attrs, j.Override, j.Payload, j.Result = nil, nil, nil, nil
	j.Progress, j.Cost, j.Sends = job.Progress{}, 0, 0
	return j
}

// Failures implements store.Reader.
func (s *Store) Failures(ctx context.Context, id job.ID) ([]job.Failure, error) {
	t, err := s.begin(ctx, "failures")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.failuresOf(id), nil
}

// GetAll implements store.Reader.
func (s *Store) GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	t, err := s.begin(ctx, "get all")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := store.ValidIDs(ids); err != nil {
		return nil, t.errorf("%w", err)
	}
	var jobs []job.Job
	for _, id := range ids {
		if r := t.jobs[id]; r != nil {
			jobs = append(jobs, narrow(r))
		}
	}
	return jobs, nil
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error) {
	t, err := s.begin(ctx, "latest")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := store.ValidIDs(ids); err != nil {
		return nil, t.errorf("%w", err)
	}
	var latest []job.Failure
	for _, id := range ids {
		if all := t.failures[id]; len(all) > 0 {
			latest = append(latest, cloneFailure(all[len(all)-1]))
		}
	}
	return latest, nil
}

// Lookup implements store.Reader.
func (s *Store) Lookup(ctx context.Context, owner, kind, key string) (job.ID, error) {
	t, err := s.begin(ctx, "lookup")
	if err != nil {
		return 0, err
	}
	defer t.end()
	k := t.keys[keyName{owner, kind, key}]
	if k == nil || !t.holds(k) {
		return 0, t.errorf("key %.80q of the owner %.80q and the kind %.80q: no job holds the key: %w", key, owner, kind, store.ErrNotFound)
	}
	return k.Job, nil
}

// Processed implements store.Reader.
func (s *Store) Processed(ctx context.Context, owner, kind, key string) (job.Processed, error) {
	t, err := s.begin(ctx, "processed")
	if err != nil {
		return job.Processed{}, err
	}
	defer t.end()
	k := t.keys[keyName{owner, kind, key}]
	if k == nil || kind == "" || !t.holds(k) {
		return job.Processed{}, t.errorf("%w", store.NoProcessed(owner, kind, key))
	}
	state, result := k.state, []byte(k.Result)
	if r := t.jobs[k.Job]; r != nil {
		state, result = r.State, r.Result
	}
	if state != job.Completed {
		return job.Processed{}, t.errorf("%w", store.NoProcessed(owner, kind, key))
	}
	return job.Processed{ID: k.Job, Summary: job.Summary(result)}, nil
}

func (t *tx) failuresOf(id job.ID) []job.Failure {
	failures := slices.Clone(t.failures[id])
	for i := range failures {
		failures[i] = cloneFailure(failures[i])
	}
	return failures
}

// Counts implements store.Reader.
func (s *Store) Counts(ctx context.Context) ([]store.Count, error) {
	t, err := s.begin(ctx, "counts")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.counts(), nil
}

// counts adds up the counters of all lanes with the same queue and kind.
func (t *tx) counts() []store.Count {
	var counts []store.Count
	for w, lanes := range t.works {
		for _, state := range job.States {
			c := store.Count{Queue: w.queue, Kind: w.kind, State: state}
			for _, l := range lanes {
				c.N += l.counts[state]
			}
			if c.N != 0 {
				counts = append(counts, c)
			}
		}
	}
	slices.SortFunc(counts, func(a, b store.Count) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State))
	})
	return counts
}

// Queues implements store.Reader.
func (s *Store) Queues(ctx context.Context) ([]store.Queue, error) {
	t, err := s.begin(ctx, "queues")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sortedQueues(), nil
}

func (t *tx) sortedQueues() []store.Queue {
	queues := make([]store.Queue, 0, len(t.queues))
	for _, q := range t.queues {
		queues = append(queues, *q)
	}
	slices.SortFunc(queues, func(a, b store.Queue) int { return cmp.Compare(a.Name, b.Name) })
	return queues
}

// Events implements store.Reader. A limit below 1 returns no events.
func (s *Store) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	t, err := s.begin(ctx, "events")
	if err != nil {
		return nil, err
	}
	defer t.end()
	first := sort.Search(len(t.events), func(i int) bool { return after.Before(t.events[i].Cursor) })
	return firstOf(t.events[first:], limit), nil
}

// EventSpan implements store.Reader.
func (s *Store) EventSpan(ctx context.Context) (first, last event.Cursor, err error) {
	t, err := s.begin(ctx, "event span")
	if err != nil {
		return first, last, err
	}
	defer t.end()
	if n := len(t.events); n > 0 {
		last = t.events[n-1].Cursor
	}
	return t.eventGone, last, nil
}

// Audit implements store.Reader. A limit below 1 returns no rows.
func (s *Store) Audit(ctx context.Context, after int64, limit int) ([]store.Audit, error) {
	t, err := s.begin(ctx, "audit")
	if err != nil {
		return nil, err
	}
	defer t.end()
	first := min(max(after, 0), int64(len(t.audit)))
	return firstOf(t.audit[first:], limit), nil
}

// AuditPage implements store.Reader.
func (s *Store) AuditPage(ctx context.Context, f store.AuditFilter) (store.AuditPage, error) {
	t, err := s.begin(ctx, "audit page")
	if err != nil {
		return store.AuditPage{}, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return store.AuditPage{}, t.errorf("%w", err)
	}
	page := store.AuditPage{Last: int64(len(t.audit))}
	rows := t.audit
	if f.Before > 0 {
		rows = rows[:min(f.Before-1, page.Last)] // audit rows are numbered without gaps
	}
	for i := range slices.Backward(rows) {
		a := &rows[i]
		switch {
		case !f.Matches(a):
		case len(page.Entries) == f.Limit:
			last := &page.Entries[f.Limit-1]
			page.Next, page.Searched = last.Seq, last.At
			return page, nil
		default:
			page.Entries = append(page.Entries, *a)
		}
	}
	return page, nil
}

// firstOf returns a copy of the first elements, at most limit.
func firstOf[T any](all []T, limit int) []T {
	return slices.Clone(all[:min(len(all), max(0, limit))])
}
