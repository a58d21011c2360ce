package sqlstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selAccess   = ask("selAccess")
	allAccess   = ask("allAccess")
	countAccess = ask("countAccess")
	insKey      = ask("insKey")
	setKey      = ask("setKey")
	delAccess   = ask("delAccess")
	setUsed     = ask("setUsed")

	insSecret  = ask("insSecret")
	selSecret  = ask("selSecret")
	allSecrets = ask("allSecrets")
)

// lockedAccess is the name of the lock for changes of access keys.
const lockedAccess = "access"

// PutKey implements store.Access.
func (s *Core) PutKey(ctx context.Context, by store.By, k store.AccessKey) (stored store.AccessKey, err error) {
	if err := errors.Join(by.Validate(), k.Validate()); err != nil {
		return stored, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		stored, err = t.putKey(by, k)
		return err
	})
	if err != nil {
		return store.AccessKey{}, err
	}
	return stored, nil
}

func (t *Txn) putKey(by store.By, k store.AccessKey) (stored store.AccessKey, err error) {
	if err := t.lockName(lockedAccess); err != nil {
		return stored, err
	}
	known := false
	var before store.AccessKey
	err = t.rows(selAccess, func(r Row) error { before, known = scanKey(r), true; return nil }, text(k.ID))
	switch {
	case err != nil:
		return stored, err
	case !known && k.Version > 0:
		return stored, k.ErrNoKey()
	case !known:
		return t.createKey(by, k)
	}
	stored, changed, err := before.Change(k, t.now)
	if err != nil || !changed {
		t.reliesOnEarlier = true
		return stored, err
	}
	n, err := t.exec(setKey, text(k.ID), num(stored.Version), text(stored.Name), blob(stored.Hash), setBlob(stored.OldHash), setNum(stored.OldUntil),
		text(strings.Join(stored.Roles, " ")), setText(stored.Owner), setText(strings.Join(stored.Kinds, " ")), setText(strings.Join(stored.Queues, " ")),
		bit(stored.Delegate), setNum(stored.ExpiresAt), setNum(stored.RevokedAt), setNum(stored.RotatedAt))
	if err == nil && n == 0 {
		err = errors.New("access key: the row was not changed, although it was read in this transaction") // This cannot happen: changes are locked.
	}
	if err != nil {
		return stored, err
	}
	return stored, t.keyChanged(by, &before, &stored)
}

func (t *Txn) createKey(by store.By, k store.AccessKey) (store.AccessKey, error) {
	if err := t.roomForKey(&k); err != nil {
		return k, err
	}
	k = k.Create(by, t.now)
	_, err := t.exec(insKey, text(k.ID), num(k.Version), text(k.Name), blob(k.Hash), setBlob(k.OldHash), setNum(k.OldUntil),
		text(strings.Join(k.Roles, " ")), setText(k.Owner), setText(strings.Join(k.Kinds, " ")), setText(strings.Join(k.Queues, " ")),
		bit(k.Delegate), setNum(k.ExpiresAt), setNum(k.RevokedAt), num(k.CreatedAt), text(k.CreatedBy), setNum(k.RotatedAt))
	if err != nil {
		return k, err
	}
	return k, t.keyChanged(by, nil, &k)
}

// roomForKey removes forgotten keys if the store has the maximum number of keys.
func (t *Txn) roomForKey(k *store.AccessKey) error {
	n, err := ReadInt(t.s, countAccess)
	if err != nil || n < store.KeysMax {
		return err
	}
	keys, err := readKeys(t.s)
	if err != nil {
		return err
	}
	full := true
	for i := range keys {
		if keys[i].Forgotten(t.now) {
			full = false
			if _, err := t.exec(delAccess, text(keys[i].ID), num(keys[i].Version)); err != nil {
				return err
			}
		}
	}
	if full {
		return k.ErrKeysFull()
	}
	return nil
}

func (t *Txn) keyChanged(by store.By, before, after *store.AccessKey) error {
	e, row := store.KeyChanged(by, before, after)
	t.events.Add(&e)
	return t.audit(by, row.Action, row.Target, row.Before, row.After)
}

// AccessKeys implements store.Access.
func (s *Core) AccessKeys(ctx context.Context) (list []store.AccessKey, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readKeys(c)
		return err
	})
	return list, err
}

func readKeys(c Session) (list []store.AccessKey, err error) {
	err = c.Rows(allAccess, func(r Row) error { list = append(list, scanKey(r)); return nil })
	return list, err
}

func scanKey(r Row) store.AccessKey {
	return store.AccessKey{
		ID: r.Text(0), Version: r.Int(1), Name: r.Text(2), Hash: r.Blob(3), OldHash: r.Blob(4), OldUntil: job.Micros(r.Int(5)),
		Roles: strings.Fields(r.Text(6)), Owner: r.Text(7), Kinds: fields(r.Text(8)), Queues: fields(r.Text(9)), Delegate: r.Int(10) != 0,
		ExpiresAt: job.Micros(r.Int(11)), RevokedAt: job.Micros(r.Int(12)), CreatedAt: job.Micros(r.Int(13)), CreatedBy: r.Text(14),
		RotatedAt: job.Micros(r.Int(15)), UsedAt: job.Micros(r.Int(16)),
	}
}

// fields returns the words of a text; nil if it has none.
func fields(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Fields(list)
}

// UsedKeys implements store.Access.
func (s *Core) UsedKeys(ctx context.Context, ids []string) error {
	if err := store.ValidUsedKeys(ids); err != nil || len(ids) == 0 {
		return err
	}
	return s.db.SignWrite(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		for _, id := range ids {
			if _, err := t.exec(setUsed, text(id), num(t.now), num(t.now.Add(-store.KeyUsedEvery))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Secret implements store.Access.
func (s *Core) Secret(ctx context.Context, name string, fresh []byte) (secret []byte, err error) {
	if err := store.ValidSecret(name, fresh); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		n, err := t.exec(insSecret, text(name), blob(fresh))
		if err != nil {
			return err
		}
		t.reliesOnEarlier = n == 0
		return t.rows(selSecret, func(r Row) error { secret = r.Blob(0); return nil }, text(name))
	})
	if err != nil {
		return nil, err
	}
	return secret, nil
}
