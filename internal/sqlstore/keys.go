package sqlstore

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// heldKey is the row of an idempotency key in the database.
type heldKey struct {
	job    job.ID // the job that holds the key; 0 when no job holds it
	state  job.State
	digest []byte
	ended  job.Micros // if no job holds the key because its last job has ended: the created_at value of the key; otherwise 0
	since  job.Micros // the created_at value of the key that the job holds
}

// given returns the key as free, if a record may take it: it is published again, and the job that holds the key was
// cancelled. A job that is cancelled never runs again, so a repeat would be lost to it.
func (k heldKey) given(revive bool) heldKey {
	if revive && k.job != 0 && k.state == job.Cancelled {
		k.job, k.ended = 0, k.since
	}
	return k
}

// heldKey reads an idempotency key. If the job of the key was removed, the row of the key has
// the job's last state. A row without a state means that the removed job was completed.
func (t *Txn) heldKey(name keyName) (_ heldKey, err error) {
	k, row := heldKey{state: job.Completed}, keyRow{}
	if seen, ok := t.seen.keys[name]; ok {
		row = seen
	} else if row, err = t.keyRow(name); err != nil {
		return k, err
	}
	if row.job == 0 {
		return k, nil
	}
	if row.until == 0 || row.until > t.now {
		k.job, k.digest, k.ended = row.job, row.digest, row.created
	}
	k.state = cmp.Or(row.now, row.kept, k.state)
	if k.job == 0 {
		return k, nil
	}
	if k.state.Terminal() && job.WhileAlive(name.key) {
		k.job = 0
	} else {
		k.since, k.ended = k.ended, 0
	}
	return k, nil
}

// keyRow reads the row of a key, and the state of its job if the key is not free.
func (t *Txn) keyRow(name keyName) (row keyRow, err error) {
	err = t.rows(selKey, func(r Row) error {
		row = keyRow{job: job.ID(r.Int(0)), digest: bytes.Clone(r.Blob(1)), until: job.Micros(r.Int(2)), kept: job.State(r.Int(3)),
			created: job.Micros(r.Int(4))}
		return nil
	}, text(name.owner), text(name.kind), text(name.key))
	if err == nil && row.job != 0 && (row.until == 0 || row.until > t.now) {
		row.now, _, err = t.find(row.job)
	}
	return row, err
}

// keyInUse returns its first error if a dead job cannot be retried, because another live job
// holds the key that the retried job would have. See job.AliveKey and job.ChangedKey. The
// second error ends the transaction.
func (t *Txn) keyInUse(d *deadRow, c *store.Change) (own, fatal error) {
	name := d.changedKey(c)
	if !job.WhileAlive(name.key) && name.key == d.name {
		return nil, nil
	}
	held, err := t.heldKey(name)
	if err == nil && held.job != 0 && held.job != d.Job && !held.state.Terminal() {
		own = fmt.Errorf("job %d: job %d has the same unique key and has not ended; wait until it ends or cancel it: %w",
			d.Job, held.job, store.ErrConflict)
	}
	return own, err
}

func (d *deadRow) keyName() keyName { return keyName{d.Owner, d.lane.kind, d.name} }

// changedKey returns the idempotency key that the job has after a retry with the given change.
func (d *deadRow) changedKey(c *store.Change) keyName {
	name := d.keyName()
	if c.Payload != nil {
		name.key = job.ChangedKey(name.key, c.Payload)
	}
	return name
}

// retakeKey takes the key that a dead job has after its retry with the change c. It returns
// ErrAgain if another transaction has taken the key after keyInUse found it free.
func (t *Txn) retakeKey(d *deadRow, c *store.Change) error {
	old, name := d.keyName(), d.changedKey(c)
	var until job.Micros
	if name != old {
		held, end, err := t.giveUpKey(old, d.Job)
		if err != nil || !held && !job.WhileAlive(name.key) { // the period for which the job holds the key is over
			return err
		}
		until = end
	}
	if !job.WhileAlive(name.key) && name == old {
		return nil
	}
	held, err := t.heldKey(name)
	switch {
	case err != nil:
		return err
	case held.job == 0:
		return t.takeKey(name, d.Job, nil, until, held.ended)
	case held.job == d.Job || held.state.Terminal(): // a job that has ended keeps the key until the end of the key's period
		return nil
	}
	return ErrAgain
}

// giveUpKey removes a key if the job still holds it, and reports whether it did. It also
// returns the time at which the key would have become free; 0 means never.
func (t *Txn) giveUpKey(name keyName, id job.ID) (held bool, end job.Micros, err error) {
	err = t.rows(selKey, func(r Row) error {
		end = job.Micros(r.Int(2))
		held = job.ID(r.Int(0)) == id && (end == 0 || end > t.now)
		return nil
	}, text(name.owner), text(name.kind), text(name.key))
	if err == nil && held {
		_, err = t.exec(delAlive, text(name.owner), text(name.kind), text(name.key), num(id))
	}
	return held, end, err
}

// retakeKeys takes the keys of dead jobs that will be retried. It returns the dead jobs
// whose keys no other job holds. If several of the dead jobs have the same key, the
// first of them takes it. Only keys with the prefix job.AliveKey are taken; other keys
// stay with their jobs.
func (t *Txn) retakeKeys(all []deadRow) ([]deadRow, error) {
	keys := make(map[keyName]job.ID) // for each key, the first job in the list that has the key
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
