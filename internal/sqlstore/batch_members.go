package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insBatch = ask("insBatch")
	insDraft = ask("insDraft")
	selDraft = ask("selDraft")
	// moveMemberKey gives the key of a member to another job.
	moveMemberKey = ask("moveMemberKey")
	// The spans of a batch are ranges of the ids of its members. They can have ids that are not.
	growSpan = ask("growSpan")
	insSpan  = ask("insSpan")
)

// createBatch creates a batch, or finds the one with the same key.
func (t *Txn) createBatch(by store.By, n *store.NewBatch) (b *store.Batch, existing bool, err error) {
	if err := cmp.Or(n.Validate(), by.ValidateMaybe()); err != nil {
		return nil, false, err
	}
	if n.Key != "" {
		if err := t.lockName("batch\x00" + n.Owner + "\x00" + n.Key); err != nil {
			return nil, false, err
		}
		id, err := ReadInt(t.s, selBatchKey, text(n.Owner), text(n.Key))
		if err != nil {
			return nil, false, err
		}
		if id != 0 {
			if b, err = t.takeBatch(store.By{}, id); err == nil {
				err = store.SameBatch(b, n)
			}
			t.reliesOnEarlier = true
			return b, true, err
		}
	}
	if err := n.ValidateTime(t.now); err != nil {
		return nil, false, err
	}
	for i := range n.Callbacks {
		if _, err := t.lane(n.Callbacks[i].Queue, n.Callbacks[i].Kind, ""); err != nil {
			return nil, false, err
		}
	}
	b = &store.Batch{NewBatch: *n, State: job.BatchDraft, CreatedAt: t.now, CreatedBy: by.Actor}
	if b.ID, err = t.newBatchID(); err != nil {
		return nil, false, err
	}
	callbacks, err := packCallbacks(n.Callbacks)
	if err == nil {
		_, err = t.exec(insBatch, num(b.ID), text(n.Owner), setText(n.Key), setText(n.Name), setBlob(n.Attrs), callbacks,
			num(t.now), setNum(n.ExpiresAt), setText(by.Actor))
	}
	if err == nil && by.Actor != "" {
		err = t.audit(by, "batch.create", store.BatchTarget(b.ID), "", store.StateWord(b.State))
	}
	return b, false, err
}

// CreateBatch implements store.Batches.
func (s *Core) CreateBatch(ctx context.Context, by store.By, n store.NewBatch) (b store.Batch, err error) {
	return s.create(s.write(ctx), by, &n)
}

// CreateBatchTx implements store.BatchTransactor.
func (s *Core) CreateBatchTx(ctx context.Context, tx store.Tx, by store.By, n store.NewBatch) (store.Batch, error) {
	return s.create(s.joined(ctx, tx), by, &n)
}

// within runs a function in a transaction.
type within func(do func(*Txn) error) error

func (s *Core) write(ctx context.Context) within {
	return func(do func(*Txn) error) error { return s.db.AdminWrite(ctx, do) }
}

func (s *Core) joined(ctx context.Context, tx store.Tx) within {
	return func(do func(*Txn) error) error { return s.db.Join(ctx, tx, do) }
}

func (s *Core) create(in within, by store.By, n *store.NewBatch) (made store.Batch, err error) {
	err = in(func(t *Txn) error {
		b, existing, err := t.createBatch(by, n)
		if err != nil {
			return err
		}
		made = *b
		if made.Existing = existing; existing {
			made.Running, err = t.runningOf(b.ID)
		}
		return err
	})
	if err != nil {
		return store.Batch{}, err
	}
	return made, nil
}

// AddMembers implements store.Batches.
func (s *Core) AddMembers(ctx context.Context, batch int64, members []job.New) ([]job.Receipt, error) {
	return s.addMembers(s.write(ctx), batch, members)
}

// AddMembersTx implements store.BatchTransactor.
func (s *Core) AddMembersTx(ctx context.Context, tx store.Tx, batch int64, members []job.New) ([]job.Receipt, error) {
	return s.addMembers(s.joined(ctx, tx), batch, members)
}

func (s *Core) addMembers(in within, batch int64, members []job.New) (receipts []job.Receipt, err error) {
	err = in(func(t *Txn) error {
		t.noDeadLetters = true
		b, err := t.takeBatch(store.By{}, batch)
		if err == nil {
			receipts, _, err = t.addMembers(b, members)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// addMembers adds drafts. The second result has the members that the call has added.
func (t *Txn) addMembers(b *store.Batch, members []job.New) (receipts []job.Receipt, fresh []member, err error) {
	if err := storekit.CheckMembers(b, members); err != nil {
		return nil, nil, err
	}
	if err := b.Check(job.BatchAdd, t.now); err != nil {
		return nil, nil, err
	}
	receipts = make([]job.Receipt, len(members))
	keys := make(map[string]int) // for each key of a new member, the index of the member
	ids := make(map[job.ID]bool)
	if err := t.readMembers(b.ID, members); err != nil {
		return nil, nil, err
	}
	for i := range members {
		m := member{New: storekit.MemberOf(b, &members[i]), index: i}
		known, err := t.knownMember(b, &m, keys, members, receipts, ids)
		if err != nil {
			return nil, nil, fmt.Errorf("member %d of %d: %w", i+1, len(members), err)
		}
		if known {
			continue
		}
		receipts[i] = job.Receipt{ID: m.ID}
		if ids[m.ID] = true; m.Key != "" {
			keys[m.Key] = i
		}
		fresh = append(fresh, m)
	}
	t.seen = seen{}
	if err := t.takeMemberKeys(fresh); err != nil {
		return nil, nil, err
	}
	if err := t.insertMembers(b, fresh); err != nil {
		return nil, nil, err
	}
	if len(fresh) == 0 {
		return receipts, nil, nil
	}
	all := make([]job.ID, len(fresh))
	for i := range fresh {
		all[i] = fresh[i].ID
	}
	if err := t.span(b.ID, all); err != nil {
		return nil, nil, err
	}
	return receipts, fresh, t.keepBatch(b)
}

// member is a member that a call adds.
type member struct {
	job.New
	index    int
	replaces job.ID // the cancelled job whose place it takes; 0 for none
}

// knownMember reports whether a member was added before, and sets its receipt then.
func (t *Txn) knownMember(b *store.Batch, m *member, keys map[string]int, members []job.New, receipts []job.Receipt, ids map[job.ID]bool) (bool, error) {
	i := m.index
	state, isDraft := job.None, false
	if ended, err := t.endedUpTo(); err != nil {
		return false, err
	} else if m.Repeat || m.ID <= ended {
		if state, isDraft, err = t.memberState(b.ID, m.ID); err != nil {
			return false, err
		}
	}
	if m.Repeat && (isDraft || state != job.None || ids[m.ID]) {
		receipts[i], t.reliesOnEarlier = job.Receipt{ID: m.ID, State: state}, true
		if state == job.None {
			return true, nil
		}
		return true, t.repeats(&m.New)
	}
	if m.Key != "" {
		if first, ok := keys[m.Key]; ok {
			if !bytes.Equal(members[first].Digest, m.Digest) {
				return false, &store.KeyConflict{Index: i, Kind: m.Kind, Owner: m.Owner, Key: m.Key, ID: members[first].ID}
			}
			receipts[i] = job.Receipt{ID: receipts[first].ID, Existing: true}
			return true, nil
		}
		held, err := t.memberKey(b.ID, m.Key)
		if err != nil {
			return false, err
		}
		switch {
		case held.job == 0:
		case !bytes.Equal(held.digest, m.Digest):
			return false, &store.KeyConflict{Index: i, Kind: m.Kind, Owner: m.Owner, Key: m.Key, ID: held.job}
		case held.state == job.Cancelled:
			m.replaces = held.job
		default:
			receipts[i], t.reliesOnEarlier = job.Receipt{ID: held.job, Existing: true, State: held.state}, true
			return true, nil
		}
	}
	if q := t.cat.queues[m.Queue]; q != nil && q.Mode == store.Draining {
		return false, fmt.Errorf("queue %q: takes no new jobs until it is resumed: %w", m.Queue, store.ErrDraining)
	}
	if state != job.None || isDraft || ids[m.ID] {
		return false, taken(m.ID)
	}
	return false, nil
}

// memberState returns the state of a job, and whether it is a draft of the batch.
func (t *Txn) memberState(batch int64, id job.ID) (state job.State, isDraft bool, err error) {
	if m, ok := t.seen.ids[id]; ok {
		return m.state, m.state == job.None && m.batch == batch, nil
	}
	if state, _, err = t.find(id); err != nil || state != job.None {
		return state, false, err
	}
	of, err := ReadInt(t.s, selDraft, num(id))
	return job.None, of == batch, err
}

// memberKey reads the key of a member. A draft has the state None.
func (t *Txn) memberKey(batch int64, key string) (heldKey, error) {
	name := keyName{owner: store.BatchMemberKey(batch), key: key}
	if row, ok := t.seen.keys[name]; ok {
		k := heldKey{job: row.job, digest: row.digest, state: cmp.Or(row.now, row.kept, job.Completed)}
		if row.now == job.None && row.draft {
			k.state = job.None
		}
		return k, nil
	}
	k := heldKey{state: job.Completed}
	err := t.rows(selKey, func(r Row) error {
		if k.job, k.digest = job.ID(r.Int(0)), bytes.Clone(r.Blob(1)); !r.Null(3) {
			k.state = job.State(r.Int(3))
		}
		return nil
	}, text(name.owner), text(""), text(key))
	if err != nil || k.job == 0 {
		return k, err
	}
	state, isDraft, err := t.memberState(batch, k.job)
	if state != job.None || isDraft {
		k.state = state
	}
	return k, err
}

// takeMemberKeys writes the keys of new members, in a fixed order. The row of the batch is locked, so
// nobody else takes one of them.
func (t *Txn) takeMemberKeys(fresh []member) error {
	sorted := slices.Clone(fresh)
	slices.SortFunc(sorted, func(a, b member) int { return cmp.Compare(a.Key, b.Key) })
	var free []keyTaker
	for i := range sorted {
		if m := &sorted[i]; m.Key != "" && m.replaces == 0 {
			free = append(free, keyTaker{name: keyName{owner: store.BatchMemberKey(m.Batch), key: m.Key}, id: m.ID, digest: m.Digest})
		}
	}
	if err := t.takeAll(free); err != nil {
		return err
	}
	for i := range sorted {
		m := &sorted[i]
		if m.Key == "" || m.replaces == 0 {
			continue
		}
		name := keyName{owner: store.BatchMemberKey(m.Batch), key: m.Key}
		n, err := t.exec(moveMemberKey, text(name.owner), text(m.Key), num(m.ID), num(m.replaces))
		if err == nil && n != 1 {
			err = ErrAgain
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Txn) insertDraft(b *store.Batch, m *member) error {
	l, err := t.lane(m.Queue, m.Kind, m.Deps)
	if err != nil {
		return err
	}
	terms, err := t.TermsID(m.Terms)
	if err != nil {
		return err
	}
	inline, long := payloadColumns(m.Payload)
	n, err := t.exec(insDraft, num(m.ID), num(b.ID), bit(m.Aside), num(l.id), num(m.Priority), setNum(m.RunAt), setNum(m.Deadline),
		setText(m.Correlation), setText(m.Key), setBlob(m.Attrs), setBlob(m.Override), setNum(terms), long, inline, setNum(m.replaces), num(t.now))
	switch {
	case err != nil:
		return err
	case n == 0:
		return taken(m.ID)
	}
	if len(m.Payload) > InlineMax {
		if _, err := t.exec(insBody, num(m.ID), blob(m.Payload)); err != nil {
			return err
		}
	}
	countDraft(b, m.Aside, 1)
	return nil
}

func countDraft(b *store.Batch, aside bool, by int64) {
	if aside {
		b.AsideDrafts += by
	} else {
		b.Drafts += by
	}
}

// span notes that ids belong to a batch. Ids that follow each other make one span, also with those
// of an earlier call.
func (t *Txn) span(batch int64, ids []job.ID) error {
	slices.Sort(ids)
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		first, last := ids[0], ids[n-1]
		grown, err := t.exec(growSpan, num(batch), num(first), num(last))
		if err == nil && grown == 0 {
			_, err = t.exec(insSpan, num(batch), num(first), num(last))
		}
		if err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// addSpans notes the batches of the new jobs of a call.
func (t *Txn) addSpans(jobs []job.New, fresh []int) error {
	members := make(map[int64][]job.ID)
	for _, i := range fresh {
		if id := jobs[i].Batch; id != 0 {
			members[id] = append(members[id], jobs[i].ID)
		}
	}
	batches := make([]int64, 0, len(members))
	for id := range members {
		batches = append(batches, id)
	}
	slices.Sort(batches)
	for _, id := range batches {
		if err := t.span(id, members[id]); err != nil {
			return err
		}
	}
	return nil
}
