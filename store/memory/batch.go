package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// batch is a batch as the store keeps it.
type batch struct {
	store.Batch
	outcomes []store.BatchOutcome
	drafts   map[job.ID]*draft
}

// draft is a member that is not published.
type draft struct {
	job.New
	at       job.Micros // when it was added
	replaces job.ID     // the cancelled job whose place it takes; 0 for none
}

// batchOf returns the batch with the given number for a call of by, as ErrNotFound says.
func (t *tx) batchOf(id int64, by store.By) (*batch, error) {
	b := t.batches[id]
	if b == nil || by.Owner != "" && by.Owner != b.Owner {
		return nil, fmt.Errorf("batch %d: %w", id, store.ErrNotFound)
	}
	return b, nil
}

// shownBatch returns a copy of a batch, with the number of its running members.
func (t *tx) shownBatch(b *batch) store.Batch {
	shown := b.Batch
	shown.Attrs, shown.Callbacks = bytes.Clone(b.Attrs), slices.Clone(b.Callbacks)
	for _, r := range t.leases.jobs {
		if r.Batch == b.ID && !r.Aside {
			shown.Running++
		}
	}
	return shown
}

// CreateBatch implements store.Batches.
func (s *Store) CreateBatch(ctx context.Context, by store.By, n store.NewBatch) (store.Batch, error) {
	t, err := s.begin(ctx, "create batch")
	if err != nil {
		return store.Batch{}, err
	}
	defer t.end()
	b, existing, err := t.createBatch(by, &n)
	if err != nil {
		return store.Batch{}, t.errorf("%w", err)
	}
	made := t.shownBatch(b)
	made.Existing = existing
	return made, nil
}

// createBatch creates a batch, or finds the one with the same key.
func (t *tx) createBatch(by store.By, n *store.NewBatch) (b *batch, existing bool, err error) {
	if err := cmp.Or(n.Validate(), by.ValidateMaybe()); err != nil {
		return nil, false, err
	}
	if b := t.batchWithKey(n); b != nil {
		return b, true, store.SameBatch(&b.Batch, n)
	}
	if err := n.ValidateTime(t.now); err != nil {
		return nil, false, err
	}
	fresh := make(map[laneName]bool)
	for i := range n.Callbacks {
		name := laneName{n.Callbacks[i].Queue, n.Callbacks[i].Kind, ""}
		if t.lanes[name] != nil {
			continue
		}
		if fresh[name] = true; len(t.lanes)+len(fresh) > job.LanesMax {
			return nil, false, tooManyLanes(name)
		}
	}
	for i := range n.Callbacks {
		t.lane(laneName{n.Callbacks[i].Queue, n.Callbacks[i].Kind, ""})
	}
	t.lastBatch++
	b = &batch{drafts: make(map[job.ID]*draft), Batch: store.Batch{
		ID: t.lastBatch, NewBatch: *n, State: job.BatchDraft, CreatedAt: t.now, CreatedBy: by.Actor,
	}}
	b.Attrs, b.Callbacks = bytes.Clone(n.Attrs), slices.Clone(n.Callbacks)
	t.batches[b.ID] = b
	if by.Actor != "" {
		t.note(by, "batch.create", store.BatchTarget(b.ID), "", store.StateWord(b.State))
	}
	return b, false, nil
}

func (t *tx) batchWithKey(n *store.NewBatch) *batch {
	if n.Key == "" {
		return nil
	}
	for _, b := range t.batches {
		if b.Owner == n.Owner && b.Key == n.Key {
			return b
		}
	}
	return nil
}

// Batch implements store.Batches.
func (s *Store) Batch(ctx context.Context, id int64) (store.Batch, error) {
	t, err := s.begin(ctx, "batch")
	if err != nil {
		return store.Batch{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, store.By{})
	if err != nil {
		return store.Batch{}, t.errorf("%w", err)
	}
	return t.shownBatch(b), nil
}

// BatchList implements store.Batches.
func (s *Store) BatchList(ctx context.Context, f store.BatchFilter) (page store.BatchPage, err error) {
	t, err := s.begin(ctx, "batch list")
	if err != nil {
		return page, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return page, t.errorf("%w", err)
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(t.batches))) {
		b := t.batches[id]
		if f.Before != 0 && id >= f.Before || f.State != 0 && f.State != b.State || f.Owner != "" && f.Owner != b.Owner ||
			f.Key != "" && f.Key != b.Key || !strings.Contains(strings.ToLower(b.Name), strings.ToLower(f.Name)) {
			continue
		}
		if len(page.Batches) == cmp.Or(f.Limit, pageDefault) {
			page.Next = page.Batches[len(page.Batches)-1].ID
			break
		}
		page.Batches = append(page.Batches, t.shownBatch(b))
	}
	return page, nil
}

// Outcomes implements store.Batches.
func (s *Store) Outcomes(ctx context.Context, id, after int64) ([]store.BatchOutcome, error) {
	t, err := s.begin(ctx, "outcomes")
	if err != nil {
		return nil, err
	}
	defer t.end()
	b, err := t.batchOf(id, store.By{})
	if err != nil {
		return nil, t.errorf("%w", err)
	}
	first := min(max(after, 0), int64(len(b.outcomes)))
	return firstOf(b.outcomes[first:], job.PageMax), nil
}

// Members implements store.Batches.
func (s *Store) Members(ctx context.Context, id int64, f store.MemberFilter, after job.ID) (page store.MemberPage, err error) {
	t, err := s.begin(ctx, "members")
	if err != nil {
		return page, err
	}
	defer t.end()
	b, err := t.batchOf(id, store.By{})
	if err = cmp.Or(f.Validate(), err); err != nil {
		return page, t.errorf("%w", err)
	}
	all := t.membersOf(b, &f)
	all = slices.DeleteFunc(all, func(m store.Member) bool { return m.ID <= after })
	limit := cmp.Or(f.Limit, pageDefault)
	if len(all) > limit {
		all, page.Next = all[:limit], all[limit-1].ID
	}
	page.Members = all
	return page, nil
}

// membersOf returns the members of a batch that a filter selects, sorted by their ids.
func (t *tx) membersOf(b *batch, f *store.MemberFilter) (all []store.Member) {
	if f.State == job.None {
		for _, d := range b.drafts {
			all = append(all, d.member())
		}
	}
	if !f.Drafts {
		for _, r := range t.jobs {
			if r.Batch == b.ID && (f.State == job.None || f.State == r.State) {
				all = append(all, store.Member{Job: narrow(r)})
			}
		}
	}
	slices.SortFunc(all, func(a, b store.Member) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// member returns a draft as readers see it.
func (d *draft) member() store.Member {
	return store.Member{Job: job.Job{
		ID: d.ID, Kind: d.Kind, Queue: d.Queue, Priority: d.Priority, CreatedAt: d.at, RunAt: d.RunAt, Deadline: d.Deadline,
		Owner: d.Owner, Correlation: d.Correlation, Key: d.Key, Batch: d.Batch, Aside: d.Aside,
	}, Replaces: d.replaces}
}

// Member implements store.Batches.
func (s *Store) Member(ctx context.Context, id int64, key string) (store.Member, error) {
	t, err := s.begin(ctx, "member")
	if err != nil {
		return store.Member{}, err
	}
	defer t.end()
	b, err := t.batchOf(id, store.By{})
	if err != nil {
		return store.Member{}, t.errorf("%w", err)
	}
	if k := t.keys[memberKey(id, key)]; k != nil {
		if d := b.drafts[k.Job]; d != nil {
			return d.member(), nil
		}
		if r := t.jobs[k.Job]; r != nil {
			return store.Member{Job: narrow(r)}, nil
		}
	}
	return store.Member{}, t.errorf("batch %d has no member with the key %.80q: %w", id, key, store.ErrNotFound)
}

// memberKey returns the full name of the key of a batch's member.
func memberKey(batch int64, name string) keyName {
	return keyName{owner: store.BatchMemberKey(batch), key: name}
}

// dumpBatches adds the batches, their outcomes and their drafts to a dump.
func (t *tx) dumpBatches(d *store.Dump) {
	d.Outcomes = make(map[int64][]store.BatchOutcome)
	for _, id := range slices.Sorted(maps.Keys(t.batches)) {
		b := t.batches[id]
		shown := t.shownBatch(b)
		shown.Running = 0
		d.Batches = append(d.Batches, shown)
		if len(b.outcomes) > 0 {
			d.Outcomes[id] = slices.Clone(b.outcomes)
		}
		d.Drafts = append(d.Drafts, t.membersOf(b, &store.MemberFilter{Drafts: true})...)
	}
	slices.SortFunc(d.Drafts, func(a, b store.Member) int { return cmp.Compare(a.ID, b.ID) })
}
