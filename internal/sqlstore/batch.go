package sqlstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	// takeBatchRow reads a batch in order to change it. A store with other writers locks the row.
	takeBatchRow = ask("takeBatchRow")
	// joinBatchRow does the same for a job that names the batch. A store with other writers lets
	// others join the batch at the same time, but nobody end it.
	joinBatchRow = ask("joinBatchRow")
	// readBatchRow reads a batch.
	readBatchRow = ask("readBatchRow")
	selBatchKey  = ask("selBatchKey")
	// selBatchCounts returns what is stored of the counts of a batch.
	selBatchCounts = ask("selBatchCounts")
	addBatchCounts = ask("addBatchCounts")
	setBatchRow    = ask("setBatchRow")
	insOutcome     = ask("insOutcome")
)

// signed returns the value of the column batch: it is below 0 for a member that is aside.
func signed(batch int64, aside bool) int64 {
	if aside {
		return -batch
	}
	return batch
}

// unsigned is the inverse of signed.
func unsigned(column int64) (batch int64, aside bool) { return max(column, -column), column < 0 }

func scanBatch(r Row) (b store.Batch, err error) {
	b = store.Batch{
		ID: r.Int(0), NewBatch: store.NewBatch{Owner: r.Text(1), Key: r.Text(2), Name: r.Text(3), Attrs: r.Blob(4), ExpiresAt: job.Micros(r.Int(16))},
		State: job.BatchState(r.Int(6)), Task: store.BatchTask(r.Int(7)), TaskAt: r.Int(8), TaskThrough: r.Int(9), Drafts: r.Int(10),
		AsideDrafts: r.Int(11), Outcome: r.Int(12), CreatedAt: job.Micros(r.Int(13)), PublishedAt: job.Micros(r.Int(14)),
		EndedAt: job.Micros(r.Int(15)), CreatedBy: r.Text(17),
	}
	if packed := r.Blob(5); packed != nil {
		if err = json.Unmarshal(packed, &b.Callbacks); err != nil {
			err = fmt.Errorf("batch %d: the stored callbacks cannot be read: %w", b.ID, err)
		}
	}
	return b, err
}

func scanCounts(r Row) store.BatchCounts {
	return store.BatchCounts{Total: r.Int(0), Completed: r.Int(1), Dead: r.Int(2), Cancelled: r.Int(3)}
}

// oneBatch reads a batch without its counts. It returns ErrNotFound when it does not exist or
// does not belong to the owner in whose name a person acts.
func oneBatch(c Session, q *Query, id int64, owner string) (b store.Batch, err error) {
	found := false
	err = c.Rows(q, func(r Row) (err error) { found = true; b, err = scanBatch(r); return err }, num(id))
	if err == nil && (!found || owner != "" && owner != b.Owner) {
		err = fmt.Errorf("batch %d: %w", id, store.ErrNotFound)
	}
	return b, err
}

// countsOf returns the counts of a batch with everything that this transaction has changed.
func (t *Txn) countsOf(id int64) (c store.BatchCounts, err error) {
	err = t.rows(selBatchCounts, func(r Row) error { c = scanCounts(r); return nil }, num(id))
	if i := slices.Index(t.batch.keys, id); i >= 0 {
		d := &t.batch.values[i]
		c.Total, c.Completed, c.Dead, c.Cancelled = c.Total+d.total, c.Completed+d.completed, c.Dead+d.dead, c.Cancelled+d.cancelled
	}
	return c, err
}

// takeBatch reads a batch in order to change it, or something that depends on its state. If all its
// members have ended, it writes the outcome first, so that what people have seen as ended has one.
func (t *Txn) takeBatch(by store.By, id int64) (*store.Batch, error) {
	b, err := oneBatch(t.s, takeBatchRow, id, by.Owner)
	if err != nil {
		return nil, err
	}
	if b.BatchCounts, err = t.countsOf(id); err != nil {
		return nil, err
	}
	if err := t.evaluate(&b); err != nil {
		return nil, err
	}
	if t.open == nil {
		t.open = make(map[int64]*store.Batch)
	}
	t.open[id] = &b
	return &b, nil
}

// evaluate writes the outcomes of those of the batches whose members have all ended. Their rows are locked, and
// their counts are complete: nobody else can bring a member back or add one.
func (t *Txn) evaluate(batches ...*store.Batch) error {
	ended := slices.DeleteFunc(batches, func(b *store.Batch) bool {
		return b.State != job.BatchProcessing || b.Task != store.NoTask || !b.AllEnded()
	})
	if len(ended) > 0 && t.hooks.FollowsEnds != nil {
		ids := make([]int64, len(ended))
		for i, b := range ended {
			ids[i] = b.ID
		}
		if err := t.hooks.FollowsEnds(idList(ids)); err != nil {
			return err
		}
	}
	for _, b := range ended {
		if err := t.writeOutcome(b); err != nil {
			return err
		}
	}
	return nil
}

// writeOutcome writes the outcome of a batch, whose row is locked.
func (t *Txn) writeOutcome(b *store.Batch) error {
	o := store.BatchOutcome{
		N: b.Outcome + 1, State: job.BatchOutcomeOf(b.Completed, b.Dead, b.Cancelled), At: t.now,
		Total: b.Total, Completed: b.Completed, Dead: b.Dead, Cancelled: b.Cancelled,
	}
	if _, err := t.exec(insOutcome, num(b.ID), num(o.N), num(o.State), num(o.At), num(o.Total), num(o.Completed), num(o.Dead), num(o.Cancelled)); err != nil {
		return err
	}
	b.State, b.Outcome, b.EndedAt = o.State, o.N, t.now
	if err := t.keepBatch(b); err != nil {
		return err
	}
	for i := range b.Callbacks {
		if !b.Callbacks[i].Wants(o.State) {
			continue
		}
		n := store.CallbackJob(b, &o, &b.Callbacks[i])
		var err error
		if n.ID, err = t.callbackID(); err == nil {
			err = t.insert(&n)
		}
		if err != nil {
			return err
		}
	}
	t.batchEvent(b, store.StateWord(b.State))
	t.hearOutcome(b)
	crashpoint.Hit(crashpoint.InOutcome)
	return nil
}

// callbackID returns an id for the job of a callback.
func (t *Txn) callbackID() (job.ID, error) {
	if t.hooks.CallbackID != nil {
		return t.hooks.CallbackID()
	}
	return t.reserve(1)
}

// keepBatch writes those columns of a batch that can change.
func (t *Txn) keepBatch(b *store.Batch) error {
	return t.one(setBatchRow, num(b.ID), num(b.State), num(b.Task), num(b.TaskAt), num(b.TaskThrough), num(b.Drafts), num(b.AsideDrafts),
		num(b.Outcome), setNum(b.PublishedAt), setNum(b.EndedAt), setNum(b.ExpiresAt))
}

func (t *Txn) batchEvent(b *store.Batch, reason string) {
	e := store.BatchChanged(b, reason)
	t.events.Add(&e)
}

// flushBatches writes the changes of the counts of batches, and the outcomes of those that have
// ended. Only a store without other writers calls it.
func (t *Txn) flushBatches() error {
	ids := slices.Sorted(slices.Values(t.batch.keys))
	for _, id := range ids {
		d := *t.batch.at(id)
		var c store.BatchCounts
		err := t.rows(addBatchCounts, func(r Row) error { c = scanCounts(r); return nil },
			num(id), num(d.total), num(d.completed), num(d.dead), num(d.cancelled))
		if err != nil {
			return err
		}
		t.wrote = true
		*t.batch.at(id) = batchDelta{}
		if !c.AllEnded() {
			continue
		}
		b, err := oneBatch(t.s, takeBatchRow, id, "")
		if err != nil {
			return err
		}
		b.BatchCounts = c
		if err := t.evaluate(&b); err != nil {
			return err
		}
	}
	return nil
}

// touchBatch makes Flush evaluate a batch whose task has ended. A store with other writers evaluates
// it at once: the row is locked.
func (t *Txn) touchBatch(b *store.Batch) error {
	if !t.shared() {
		t.batch.at(b.ID)
		return nil
	}
	var err error
	if b.BatchCounts, err = t.countsOf(b.ID); err != nil {
		return err
	}
	return t.evaluate(b)
}

// joining holds the batches that the jobs of a call name, and whether the call may name them.
type joining map[int64]*store.Batch

// joins returns an error unless a new job may name its batch.
func (t *Txn) joins(n *job.New, known *joining) error {
	b := (*known)[n.Batch]
	if b == nil {
		var err error
		if slices.Contains(t.batch.keys, n.Batch) { // an earlier call of the transaction may have ended the batch
			b, err = t.takeBatch(store.By{}, n.Batch)
		} else {
			var read store.Batch
			read, err = oneBatch(t.s, joinBatchRow, n.Batch, "")
			b = &read
		}
		if err != nil {
			return err
		}
		if *known == nil {
			*known = make(joining)
		}
		(*known)[n.Batch] = b
	}
	return b.Check(storekit.JoinEvent(n), t.now)
}

// reopen brings the batch of a dead member that was retried back to PROCESSING.
func (t *Txn) reopen(id int64) error {
	b := t.open[id]
	if b == nil {
		var err error
		if b, err = t.takeBatch(store.By{}, id); err != nil {
			return err
		}
	}
	if !b.State.Ended() {
		return nil
	}
	b.State, b.EndedAt = job.BatchProcessing, 0
	t.batchEvent(b, store.StateWord(b.State))
	return t.keepBatch(b)
}

// retryable returns its first error if a dead job cannot be retried because its batch has expired.
// It takes the batch, so that the retry can bring it back to PROCESSING.
func (t *Txn) retryable(d *deadRow) (own, fatal error) {
	if d.batch <= 0 {
		return nil, nil
	}
	b, err := t.batchForRetry(d.batch)
	if err != nil {
		return nil, err
	}
	return b.Check(job.BatchRetry, t.now), nil
}

func (t *Txn) batchForRetry(id int64) (*store.Batch, error) {
	if t.preview {
		b, err := oneBatch(t.s, readBatchRow, id, "")
		return &b, err
	}
	return t.takeBatch(store.By{}, id)
}

// notExpired returns the dead letters that can be retried, and how many cannot because the batches
// of their jobs have expired. It takes the batches of the others, in the order of their numbers.
func (t *Txn) notExpired(all []deadRow) (kept []deadRow, skipped int64, err error) {
	var ids []int64
	for i := range all {
		if id := all[i].batch; id > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return all, 0, nil
	}
	slices.Sort(ids)
	expired := make(map[int64]bool)
	for _, id := range slices.Compact(ids) {
		b, err := t.takeBatch(store.By{}, id)
		if err != nil {
			return nil, 0, err
		}
		expired[id] = b.Check(job.BatchRetry, t.now) != nil
	}
	kept = slices.DeleteFunc(slices.Clone(all), func(d deadRow) bool { return expired[d.batch] })
	return kept, int64(len(all) - len(kept)), nil
}

// packCallbacks returns the value of the column callbacks.
func packCallbacks(all []store.BatchCallback) (Value, error) {
	if len(all) == 0 {
		return Value{}, nil
	}
	packed, err := json.Marshal(all)
	return blob(packed), err
}

// Batches are numbered without gaps. A number is not used again when its batch is removed.
var nextBatch = ask("nextBatch")

func (t *Txn) newBatchID() (id int64, err error) {
	t.wrote = true
	err = t.rows(nextBatch, func(r Row) error { id = r.Int(0); return nil })
	if err == nil && id == 0 {
		err = ErrNoMeta
	}
	return id, err
}

// EndBatches writes the outcomes of those batches whose members have all ended. The statement unmark
// takes the marks that the batches may have ended away and returns their rows, locked, with which
// nobody else is about to do the same. The counts are read after that, by the statement counts. Both
// get the batches as their argument. Only a store with other writers calls it.
func (t *Txn) EndBatches(batches Value, unmark, counts *Query) error {
	t.noDeadLetters = true
	var ripe []*store.Batch
	err := t.rows(unmark, func(r Row) error {
		b, err := scanBatch(r)
		ripe = append(ripe, &b)
		return err
	}, batches)
	if err != nil || len(ripe) == 0 {
		return err
	}
	t.wrote = true
	crashpoint.Hit(crashpoint.BeforeBatchEnd)
	of := make(map[int64]store.BatchCounts, len(ripe))
	err = t.rows(counts, func(r Row) error {
		of[r.Int(4)] = scanCounts(r)
		return nil
	}, batches)
	if err != nil {
		return err
	}
	slices.SortFunc(ripe, func(a, b *store.Batch) int { return cmp.Compare(a.ID, b.ID) })
	for _, b := range ripe {
		b.BatchCounts = of[b.ID]
	}
	return t.evaluate(ripe...)
}
