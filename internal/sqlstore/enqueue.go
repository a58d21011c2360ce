package sqlstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// InlineMax is the maximum size in bytes of a payload that is stored in the job's row.
// Claiming and ending a run rewrite the row, so a large payload in the row would be
// written two more times.
const InlineMax = 1 << 10

var (
	insJob      = ask("insJob")
	insPlainJob = ask("insPlainJob")
	insBody     = ask("insBody")
	selKey      = ask("selKey")
	putKey      = ask("putKey")
)

// enqueue accepts all jobs or none. If it returns an error after it has written something, the
// caller of the transaction rolls it back. enqueue writes the keys first: it may have to wait
// for a key that an open transaction has locked, and during this wait it must not have locks on
// lanes, because other calls may need them.
func (t *Txn) enqueue(jobs []job.New) ([]job.Receipt, error) { return t.enqueueAll(jobs, nil) }

// enqueueAll is enqueue. The records are those of the jobs, or nil. With records, it looks for all conflicts of keys
// before it fails, and returns a *store.TakeConflict instead of the first of them.
func (t *Txn) enqueueAll(jobs []job.New, records []*store.Record) ([]job.Receipt, error) {
	var conflicting []store.KeyConflict
	receipts := make([]job.Receipt, len(jobs))
	var keys map[keyName]newKey // the idempotency keys of the jobs in this call
	var joined joining
	fresh := make([]int, 0, len(jobs))
	ids := repeated(jobs)
	if err := t.readNew(jobs); err != nil {
		return nil, err
	}
	for i := range jobs {
		n := &jobs[i]
		if n.Repeat && ids[n.ID] {
			receipts[i] = job.Receipt{ID: n.ID, State: job.Waiting}
			continue
		}
		found, err := t.known(n, i, &keys, jobs, records, receipts)
		if conflict, ok := errors.AsType[*store.KeyConflict](err); ok && records != nil {
			conflicting = append(conflicting, *conflict)
			continue
		}
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		if q := t.cat.queues[n.Queue]; q != nil && q.Mode == store.Draining {
			return nil, fmt.Errorf("queue %q: takes no new jobs until it is resumed: %w", n.Queue, store.ErrDraining)
		}
		if n.Batch != 0 {
			if err := t.joins(n, &joined); err != nil {
				return nil, err
			}
		}
		receipts[i] = job.Receipt{ID: n.ID, State: job.Waiting}
		fresh = append(fresh, i)
		if ids != nil {
			ids[n.ID] = true
		}
	}
	t.seen = seen{}
	if len(conflicting) > 0 {
		return nil, &store.TakeConflict{Conflicts: conflicting}
	}
	if err := t.takeKeys(jobs, keys); err != nil {
		return nil, err
	}
	if err := t.insertAll(jobs, fresh); err != nil {
		return nil, err
	}
	if joined != nil {
		return receipts, t.addSpans(jobs, fresh)
	}
	return receipts, nil
}

// readNew reads what is stored of the keys and the repeats of a call, where it has several; see readMany.
func (t *Txn) readNew(jobs []job.New) error {
	if !t.many(len(jobs)) {
		return nil
	}
	var ids []job.ID
	for i := range jobs {
		if jobs[i].Repeat {
			ids = append(ids, jobs[i].ID)
		}
	}
	return t.readMany(namesOf(jobs, func(n *job.New) keyName { return keyName{n.Owner, n.Kind, n.Key} }), ids)
}

// namesOf returns the different names of the keys of jobs.
func namesOf(jobs []job.New, name func(*job.New) keyName) (names []keyName) {
	for i := range jobs {
		if jobs[i].Key != "" {
			names = append(names, name(&jobs[i]))
		}
	}
	slices.SortFunc(names, compareKeys)
	return slices.Compact(names)
}

func (t *Txn) insertAll(jobs []job.New, fresh []int) error {
	if t.many(len(fresh)) {
		return t.insertMany(jobs, fresh)
	}
	for _, i := range fresh {
		if err := t.insert(&jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

// repeated returns an empty set for the ids of a call's jobs. It returns nil when no job of the
// call is a repeat. A call with repeats may contain the same id twice.
func repeated(jobs []job.New) map[job.ID]bool {
	for i := range jobs {
		if jobs[i].Repeat {
			return make(map[job.ID]bool)
		}
	}
	return nil
}

// takeKeys writes the idempotency keys of a call. It writes them in a fixed order, so that two
// transactions cannot deadlock.
func (t *Txn) takeKeys(jobs []job.New, keys map[keyName]newKey) error {
	if len(keys) == 0 {
		return nil
	}
	all := make([]keyTaker, 0, len(keys))
	for _, name := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		k := keys[name]
		n := &jobs[k.index]
		all = append(all, keyTaker{name: name, id: n.ID, digest: n.Digest, until: n.KeyEnd(t.now), ended: k.ended})
	}
	return t.takeAll(all)
}

// takeKey writes an idempotency key that was free when it was read. If the key's last job has
// ended, the last argument is the created_at value of the key; otherwise it is 0.
func (t *Txn) takeKey(name keyName, id job.ID, digest []byte, until, ended job.Micros) error {
	changed, err := t.exec(putKey, text(name.owner), text(name.kind), text(name.key), num(id), blob(digest),
		num(t.now), setNum(until), setNum(ended))
	if err == nil && changed == 0 {
		err = ErrAgain
	}
	return err
}

func taken(id job.ID) error { return &store.IDConflict{ID: id} }

func (t *Txn) insert(n *job.New) error {
	ended, err := t.endedUpTo()
	if err != nil {
		return err
	}
	if n.ID <= ended { // no job with an id above this id has ended
		state, _, err := t.find(n.ID)
		if err != nil {
			return err
		}
		if state != job.None {
			return taken(n.ID)
		}
	}
	l, err := t.lane(n.Queue, n.Kind, n.Deps)
	if err != nil {
		return err
	}
	terms, err := t.TermsID(n.Terms)
	if err != nil {
		return err
	}
	runAt := n.RunAt
	if runAt == 0 {
		runAt = t.now
	}
	inline, long := payloadColumns(n.Payload)
	var changed int
	if terms == 0 && plain(n) {
		changed, err = t.exec(insPlainJob, num(n.ID), num(l.id), num(n.Priority), num(runAt), num(t.now), inline)
	} else {
		changed, err = t.exec(insJob, num(n.ID), num(l.id), num(n.Priority), num(runAt), num(t.now),
			setNum(n.Deadline), setText(n.Owner), setText(n.Correlation), setText(n.Key), setNum(signed(n.Batch, n.Aside)),
			setBlob(n.Attrs), setBlob(n.Override), long, inline, setNum(terms))
	}
	if err != nil {
		return err
	}
	switch {
	case changed > 0:
	case n.Repeat: // the key is taken: another transaction has written it in the meantime
		return ErrAgain
	default:
		return taken(n.ID)
	}
	if len(n.Payload) > InlineMax {
		if _, err := t.exec(insBody, num(n.ID), blob(n.Payload)); err != nil {
			return err
		}
	}
	t.inserted(n, l, runAt)
	return nil
}

// payloadColumns returns what the row of a job has of its payload: the payload, or the mark that a
// longer one has a row of its own.
func payloadColumns(payload []byte) (inline, long Value) {
	if len(payload) > InlineMax {
		return Value{}, num(1)
	}
	return setBlob(payload), Value{}
}

// inserted records that a job was added to a lane.
func (t *Txn) inserted(n *job.New, l *Lane, runAt job.Micros) {
	t.count(l, job.Waiting, 1)
	t.of(l).Enqueued++
	t.batchCount(signed(n.Batch, n.Aside), batchDelta{total: 1})
	t.events.Add(&event.Event{Type: event.JobEnqueued, Job: n.ID, Kind: n.Kind, Queue: n.Queue, Owner: n.Owner,
		Batch: n.Batch, To: job.Waiting, Life: 1, DueAt: runAt, Correlation: n.Correlation})
	t.ready(l, n.Priority, runAt)
}

// plain reports whether insPlainJob can insert the job: the job needs no optional column,
// except the column for its terms.
func plain(n *job.New) bool {
	return len(n.Payload) <= InlineMax && n.Deadline == 0 && n.Owner == "" && n.Correlation == "" && n.Key == "" && n.Batch == 0 &&
		len(n.Attrs) == 0 && len(n.Override) == 0
}

// ErrAgain says that another transaction was faster: for example, it has taken a key that was
// free before. This is not a failure: the store must run the transaction again.
var ErrAgain = errors.New("another transaction was faster: run this transaction again")

type keyName struct{ owner, kind, key string }

func compareKeys(a, b keyName) int {
	return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
}

// newKey is an idempotency key that a job of the present call takes.
type newKey struct {
	index int        // index of the job in the call
	ended job.Micros // if the key's last job has ended: created_at of the key; otherwise 0
}

// repeats checks a job that the caller enqueues again with the same id. It returns an error
// when the id belongs to a different job.
func (t *Txn) repeats(n *job.New) error {
	j, err := getJob(t.s, n.ID)
	switch {
	case errors.Is(err, store.ErrNotFound): // another transaction has moved the job to another table in the meantime
		return ErrAgain
	case err != nil:
		return err
	case storekit.Repeats(&j, n, false):
		return nil
	}
	replaced := false
	err = t.rows(selOriginal, func(r Row) error { replaced = !r.Null(6); return nil }, num(n.ID))
	if err == nil && !storekit.Repeats(&j, n, replaced) {
		err = taken(n.ID)
	}
	return err
}

// known finds the job if it was enqueued before. It finds a repeat by its id, and other jobs
// by their idempotency key. It also searches the earlier jobs of the same call.
func (t *Txn) known(n *job.New, i int, keys *map[keyName]newKey, jobs []job.New, records []*store.Record, receipts []job.Receipt) (bool, error) {
	if n.Repeat {
		state, err := t.stateOf(n.ID)
		if err != nil {
			return false, err
		}
		if state != job.None {
			receipts[i] = job.Receipt{ID: n.ID, State: state}
			t.reliesOnEarlier = true
			return true, t.repeats(n)
		}
	}
	if n.Key == "" {
		return false, nil
	}
	name := keyName{n.Owner, n.Kind, n.Key}
	if first, ok := (*keys)[name]; ok {
		if !bytes.Equal(jobs[first.index].Digest, n.Digest) {
			return false, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: jobs[first.index].ID}
		}
		receipts[i] = job.Receipt{ID: receipts[first.index].ID, Existing: true, State: job.Waiting}
		return true, nil
	}
	held, err := t.heldKey(name)
	if err != nil {
		return false, err
	}
	held = held.given(records != nil && records[i].Revive)
	if held.job == 0 {
		if *keys == nil {
			*keys = make(map[keyName]newKey)
		}
		(*keys)[name] = newKey{i, held.ended}
		return false, nil
	}
	if !bytes.Equal(held.digest, n.Digest) {
		return false, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: held.job}
	}
	receipts[i] = job.Receipt{ID: held.job, Existing: true, State: held.state}
	t.reliesOnEarlier = true
	return true, nil
}
