package sqlstore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// heldKey is the state of an idempotency key.
type heldKey struct {
	job    job.ID // the job that holds the key; 0 when the key is free
	state  job.State
	digest []byte
	ended  job.Micros // for a free key whose last job has ended: the created_at of the key; otherwise 0
}

// heldKey reads a key. The row of the key stores the state of a job that was removed;
// without a stored state, the removed job was completed.
func (t *Txn) heldKey(name keyName) (heldKey, error) {
	k := heldKey{state: job.Completed}
	err := t.rows(selKey, func(r Row) error {
		if until := job.Micros(r.Int(2)); until == 0 || until > t.now {
			k.job, k.digest, k.ended = job.ID(r.Int(0)), bytes.Clone(r.Blob(1)), job.Micros(r.Int(4))
		}
		if !r.Null(3) {
			k.state = job.State(r.Int(3))
		}
		return nil
	}, text(name.owner), text(name.kind), text(name.key))
	if err != nil || k.job == 0 {
		return k, err
	}
	state, _, err := t.find(k.job)
	if state != job.None {
		k.state = state
	}
	if k.state.Terminal() && job.WhileAlive(name.key) {
		k.job = 0
	} else {
		k.ended = 0
	}
	return k, err
}

// keyInUse returns an error when a dead job cannot be retried because another live job
// holds its key. See job.AliveKey.
func (t *Txn) keyInUse(d *deadRow) (own, fatal error) {
	if !job.WhileAlive(d.name) {
		return nil, nil
	}
	held, err := t.heldKey(d.keyName())
	if err == nil && held.job != 0 {
		own = fmt.Errorf("job %d: job %d has the same unique key and has not ended; wait until it ends or cancel it: %w",
			d.Job, held.job, store.ErrConflict)
	}
	return own, err
}

func (d *deadRow) keyName() keyName { return keyName{d.Owner, d.lane.kind, d.name} }

// retakeKeys takes the keys of dead jobs that will be retried. It returns the dead jobs
// whose keys no other job holds. If several of the dead jobs have the same key, the
// first of them takes it. Only keys with the prefix job.AliveKey are taken; other keys
// stay with their jobs.
func (t *Txn) retakeKeys(all []deadRow) ([]deadRow, error) {
	keys := make(map[keyName]job.ID) // by key, the first job that has it
	for i := range all {
		if d := &all[i]; job.WhileAlive(d.name) && keys[d.keyName()] == 0 {
			keys[d.keyName()] = d.Job
		}
	}
	if len(keys) == 0 {
		return all, nil
	}
	for _, name := range slices.SortedFunc(maps.Keys(keys), compareKeys) {
		held, err := t.heldKey(name)
		if err == nil && held.job != 0 {
			delete(keys, name)
			continue
		}
		if err == nil {
			err = t.takeKey(name, keys[name], nil, 0, held.ended)
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(d deadRow) bool {
		return job.WhileAlive(d.name) && keys[d.keyName()] != d.Job
	}), nil
}
