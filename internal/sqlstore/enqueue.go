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
	insJob = declare("insJob", `INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life,
		attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
		deadline, owner, correlation, key, batch, attrs, policy, long, payload)
		VALUES (?1, ?2, 1, ?3, ?4, 0, 1, 0, 0, 0, 0, 0, ?5, max(?4, ?5), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
		ON CONFLICT (id) DO NOTHING`)
	insBody = declare("insBody", `INSERT INTO redrive_bodies (job, payload) VALUES (?, ?)`)
	selKey  = declare("selKey", `SELECT job, digest, until, state FROM redrive_keys WHERE owner = ? AND kind = ? AND key = ?`)
	putKey  = declare("putKey", `INSERT INTO redrive_keys (owner, kind, key, job, digest, created_at, until)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT (owner, kind, key) DO UPDATE SET job = ?4, digest = ?5, created_at = ?6, until = ?7, state = NULL
		WHERE redrive_keys.until <= ?6`)
)

// enqueue accepts all jobs or none. When it returns an error after it has written
// something, the writer rolls back the transaction. Keys are written first. A call may
// have to wait for a key that an open transaction holds; while it waits, it must not
// hold locks on lanes, because other calls may need them.
func (t *Txn) enqueue(jobs []job.New) ([]job.Receipt, error) {
	receipts := make([]job.Receipt, len(jobs))
	var keys map[keyName]int // the keys of this call; the value is the index of the job
	fresh := make([]int, 0, len(jobs))
	ids := repeated(jobs)
	for i := range jobs {
		n := &jobs[i]
		if n.Repeat && ids[n.ID] {
			receipts[i] = job.Receipt{ID: n.ID, State: job.Waiting}
			continue
		}
		found, err := t.known(n, i, &keys, jobs, receipts)
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		if q := t.cat.queues[n.Queue]; q != nil && q.Mode == store.Draining {
			return nil, fmt.Errorf("queue %q: takes no new jobs until it is resumed: %w", n.Queue, store.ErrDraining)
		}
		receipts[i] = job.Receipt{ID: n.ID, State: job.Waiting}
		fresh = append(fresh, i)
		if ids != nil {
			ids[n.ID] = true
		}
	}
	if err := t.takeKeys(jobs, keys); err != nil {
		return nil, err
	}
	for _, i := range fresh {
		if err := t.insert(&jobs[i]); err != nil {
			return nil, err
		}
	}
	return receipts, nil
}

// repeated returns the set in which the ids of a call are collected. It returns nil
// when no job of the call is a repeat. A call with repeats may contain an id twice.
func repeated(jobs []job.New) map[job.ID]bool {
	for i := range jobs {
		if jobs[i].Repeat {
			return make(map[job.ID]bool)
		}
	}
	return nil
}

// takeKeys writes the keys of a call. It writes them in a fixed order, so that two
// transactions cannot deadlock.
func (t *Txn) takeKeys(jobs []job.New, keys map[keyName]int) error {
	names := slices.SortedFunc(maps.Keys(keys), func(a, b keyName) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.kind, b.kind), cmp.Compare(a.key, b.key))
	})
	for _, name := range names {
		n := &jobs[keys[name]]
		changed, err := t.exec(putKey, text(n.Owner), text(n.Kind), text(n.Key), num(n.ID), blob(n.Digest),
			num(t.now), setNum(n.KeyUntil))
		if err == nil && changed == 0 {
			err = ErrAgain
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func taken(id job.ID) error { return &store.IDConflict{ID: id} }

func (t *Txn) insert(n *job.New) error {
	ended, err := t.endedUpTo()
	if err != nil {
		return err
	}
	if n.ID <= ended { // no ended job has an id above this one
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
	runAt := n.RunAt
	if runAt == 0 {
		runAt = t.now
	}
	inline, long := setBlob(n.Payload), Value{}
	if len(n.Payload) > InlineMax {
		inline, long = Value{}, num(1)
	}
	changed, err := t.exec(insJob, num(n.ID), num(l.id), num(n.Priority), num(runAt), num(t.now),
		setNum(n.Deadline), setText(n.Owner), setText(n.Correlation), setText(n.Key), setNum(n.Batch),
		setBlob(n.Attrs), setBlob(n.Override), long, inline)
	if err != nil {
		return err
	}
	switch {
	case changed > 0:
	case n.Repeat: // another transaction has written the key in the meantime
		return ErrAgain
	default:
		return taken(n.ID)
	}
	if len(n.Payload) > InlineMax {
		if _, err := t.exec(insBody, num(n.ID), blob(n.Payload)); err != nil {
			return err
		}
	}
	t.count(l, job.Waiting, 1)
	t.batchCount(batchDelta{id: n.Batch, total: 1})
	t.events.Add(&event.Event{Type: event.JobEnqueued, Job: n.ID, Kind: n.Kind, Queue: n.Queue, Owner: n.Owner,
		Batch: n.Batch, To: job.Waiting, Life: 1, DueAt: runAt})
	t.ready(l, n.Priority, runAt)
	return nil
}

// ErrAgain says that another transaction has taken something that was free before. It is
// not a failure: run the transaction again.
var ErrAgain = errors.New("another transaction was faster")

type keyName struct{ owner, kind, key string }

// repeats returns an error when the id of a repeat belongs to a different job.
func (t *Txn) repeats(n *job.New) error {
	j, err := getJob(t.s, n.ID)
	switch {
	case errors.Is(err, store.ErrNotFound): // the job has moved from one table to another in the meantime
		return ErrAgain
	case err != nil:
		return err
	case !storekit.Repeats(&j, n):
		return taken(n.ID)
	}
	return nil
}

// known looks for a job that exists already. It finds a repeat by its id, and other
// jobs by their key. It also searches the earlier jobs of the call.
func (t *Txn) known(n *job.New, i int, keys *map[keyName]int, jobs []job.New, receipts []job.Receipt) (bool, error) {
	if n.Repeat {
		state, _, err := t.find(n.ID)
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
		if !bytes.Equal(jobs[first].Digest, n.Digest) {
			return false, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: jobs[first].ID}
		}
		receipts[i] = job.Receipt{ID: receipts[first].ID, Existing: true, State: job.Waiting}
		return true, nil
	}
	var holder job.ID
	var same bool
	left := job.Completed // The job was removed. The key has its last state; retention only removes jobs that have ended.
	err := t.rows(selKey, func(r Row) error {
		if until := job.Micros(r.Int(2)); until == 0 || until > t.now {
			holder, same = job.ID(r.Int(0)), bytes.Equal(r.Blob(1), n.Digest)
		}
		if !r.Null(3) {
			left = job.State(r.Int(3))
		}
		return nil
	}, text(n.Owner), text(n.Kind), text(n.Key))
	if err != nil {
		return false, err
	}
	if holder == 0 {
		if *keys == nil {
			*keys = make(map[keyName]int)
		}
		(*keys)[name] = i
		return false, nil
	}
	if !same {
		return false, &store.KeyConflict{Index: i, Kind: n.Kind, Owner: n.Owner, Key: n.Key, ID: holder}
	}
	state, _, err := t.find(holder)
	if state == job.None {
		state = left
	}
	receipts[i] = job.Receipt{ID: holder, Existing: true, State: state}
	t.reliesOnEarlier = true
	return true, err
}
