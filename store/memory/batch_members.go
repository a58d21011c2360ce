package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// joins returns an error unless a new job may name its batch.
func (t *tx) joins(n *job.New) error {
	if n.Batch == 0 {
		return nil
	}
	b, err := t.batchOf(n.Batch, store.By{})
	if err != nil {
		return err
	}
	return b.Check(storekit.JoinEvent(n), t.now)
}

// AddMembers implements store.Batches.
func (s *Store) AddMembers(ctx context.Context, id int64, members []job.New) ([]job.Receipt, error) {
	t, err := s.begin(ctx, "add members")
	if err != nil {
		return nil, err
	}
	defer t.end()
	b, err := t.batchOf(id, store.By{})
	var receipts []job.Receipt
	if err == nil {
		receipts, err = t.addMembers(b, members)
	}
	if err != nil {
		return nil, t.errorf("%w", err)
	}
	return receipts, nil
}

func (t *tx) addMembers(b *batch, members []job.New) ([]job.Receipt, error) {
	a, err := t.lookMembers(b, members)
	if err != nil {
		return nil, err
	}
	for _, d := range a.fresh {
		t.lane(laneName{d.Queue, d.Kind, d.Deps})
		d.Attrs, d.Override, d.Payload, d.Digest = bytes.Clone(d.Attrs), bytes.Clone(d.Override), bytes.Clone(d.Payload), bytes.Clone(d.Digest)
		b.drafts[d.ID] = d
		t.drafts[d.ID] = b
		b.countDraft(d, 1)
		t.takeMemberKey(d)
	}
	return a.receipts, nil
}

func (b *batch) countDraft(d *draft, by int64) {
	if d.Aside {
		b.AsideDrafts += by
	} else {
		b.Drafts += by
	}
}

func (t *tx) takeMemberKey(d *draft) {
	if d.Key != "" {
		name := memberKey(d.Batch, d.Key)
		t.keys[name] = &key{Key: store.Key{Owner: name.owner, Key: d.Key, Job: d.ID}, digest: d.Digest}
	}
}

// adding is the result of looking at the members of one call.
type adding struct {
	receipts []job.Receipt
	fresh    []*draft // the members that the call adds
}

// lookMembers checks the members of one call before any is written.
func (t *tx) lookMembers(b *batch, members []job.New) (a adding, err error) {
	if err := storekit.CheckMembers(&b.Batch, members); err != nil {
		return a, err
	}
	if err := b.Check(job.BatchAdd, t.now); err != nil {
		return a, err
	}
	c := intake{tx: t, newIDs: make(map[job.ID]bool), newKeys: make(map[keyName]*key), newLanes: make(map[laneName]bool)}
	for i := range b.Callbacks { // those of a batch that is not stored yet are new lanes, too
		if name := (laneName{b.Callbacks[i].Queue, b.Callbacks[i].Kind, ""}); t.lanes[name] == nil {
			c.newLanes[name] = true
		}
	}
	a.receipts = make([]job.Receipt, len(members))
	for i := range members {
		d := &draft{New: storekit.MemberOf(&b.Batch, &members[i]), at: t.now}
		known, err := c.lookMember(b, i, d)
		switch {
		case err != nil:
			return a, fmt.Errorf("member %d of %d: %w", i+1, len(members), err)
		case known != nil:
			a.receipts[i] = *known
		default:
			a.receipts[i] = job.Receipt{ID: d.ID}
			a.fresh = append(a.fresh, d)
		}
	}
	return a, nil
}

// lookMember returns the receipt of a member that is known already, or nil.
func (c *intake) lookMember(b *batch, i int, d *draft) (*job.Receipt, error) {
	state, isDraft := c.state(d.ID), c.drafts[d.ID] == b
	if d.Repeat && (isDraft || state != job.None) {
		if r := c.jobs[d.ID]; r != nil && !storekit.Repeats(&r.Job, &d.New, c.originals[d.ID].Payload != nil) {
			return nil, &store.IDConflict{ID: d.ID}
		}
		return &job.Receipt{ID: d.ID, State: c.memberState(d.ID)}, nil
	}
	name := memberKey(b.ID, d.Key)
	if k := c.newKeys[name]; d.Key != "" && k != nil {
		return c.existingMember(i, d, k, job.None)
	}
	if k := c.keys[name]; d.Key != "" && k != nil {
		state := k.state
		if c.jobs[k.Job] != nil || c.drafts[k.Job] != nil {
			state = c.memberState(k.Job)
		}
		known, err := c.existingMember(i, d, k, state)
		if err != nil || state != job.Cancelled {
			return known, err
		}
		d.replaces = k.Job
	}
	if q := c.queues[d.Queue]; q != nil && q.Mode == store.Draining {
		return nil, fmt.Errorf("queue %q takes no new jobs until a person resumes it: %w", d.Queue, store.ErrDraining)
	}
	if state != job.None || c.drafts[d.ID] != nil {
		return nil, &store.IDConflict{ID: d.ID}
	}
	lane := laneName{d.Queue, d.Kind, d.Deps}
	if c.lanes[lane] == nil {
		c.newLanes[lane] = true
		if len(c.lanes)+len(c.newLanes) > job.LanesMax {
			return nil, tooManyLanes(lane)
		}
	}
	c.newIDs[d.ID] = true
	if d.Key != "" {
		c.newKeys[name] = &key{Key: store.Key{Job: d.ID}, digest: d.Digest}
	}
	return nil, nil
}

// memberState returns the state of a job; None for a draft.
func (t *tx) memberState(id job.ID) job.State {
	if r := t.jobs[id]; r != nil {
		return r.State
	}
	return job.None
}

func (c *intake) existingMember(i int, d *draft, k *key, state job.State) (*job.Receipt, error) {
	if !bytes.Equal(k.digest, d.Digest) {
		return nil, &store.KeyConflict{Index: i, Kind: d.Kind, Owner: d.Owner, Key: d.Key, ID: k.Job}
	}
	return &job.Receipt{ID: k.Job, Existing: true, State: state}, nil
}

// StartBatch implements store.Batches.
func (s *Store) StartBatch(ctx context.Context, by store.By, n store.NewBatch, members []job.New) (store.Batch, []job.Receipt, error) {
	t, err := s.begin(ctx, "start batch")
	if err != nil {
		return store.Batch{}, nil, err
	}
	defer t.end()
	if err := storekit.CheckStart(&n, members); err != nil {
		return store.Batch{}, nil, t.errorf("%w", err)
	}
	// The members are checked against a batch that is not stored yet, so that nothing is left
	// behind if one of them is refused.
	if known := t.batchWithKey(&n); known == nil {
		if err := cmp.Or(by.ValidateMaybe(), n.ValidateTime(t.now)); err != nil {
			return store.Batch{}, nil, t.errorf("%w", err)
		}
		trial := &batch{Batch: store.Batch{NewBatch: n, ID: t.lastBatch + 1, State: job.BatchDraft}}
		if _, err := t.lookMembers(trial, members); err != nil {
			return store.Batch{}, nil, t.errorf("%w", err)
		}
	}
	b, existing, err := t.createBatch(by, &n)
	if err != nil {
		return store.Batch{}, nil, t.errorf("%w", err)
	}
	receipts, err := t.addMembers(b, members)
	if err != nil {
		return store.Batch{}, nil, t.errorf("%w", err)
	}
	if !existing {
		t.openBatch(b, by)
		for i := range receipts {
			if d := b.drafts[receipts[i].ID]; d != nil {
				t.publishDraft(b, d)
			}
			receipts[i].State = t.memberState(receipts[i].ID)
		}
	}
	return t.shownBatch(b), receipts, nil
}
