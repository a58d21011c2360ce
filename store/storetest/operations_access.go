package storetest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// access puts an access key, often one that is stored, and then records uses and reads a secret.
func (d *duel) access() {
	t, by := d.t, d.by()
	k := store.AccessKey{ID: pick(t, "key id", "k1", "k2", "k3", "k 4")}
	for i := range d.last.Access {
		if d.last.Access[i].ID == k.ID && !chance(t, "new key", 4) {
			k = d.last.Access[i]
		}
	}
	k.Name, k.Hash = pick(t, "key name", "ops", "ops", "ci", "ci", ""), hash(pick(t, "hash", "h1", "h2"))
	k.Roles = pick(t, "roles", []string{"view"}, []string{"submit", "work"})
	k.Owner, k.Delegate = pick(t, "key owner", "", "alice"), chance(t, "delegate", 2)
	k.Kinds, k.Queues = pick(t, "key kinds", nil, []string{kind}), pick(t, "key queues", nil, []string{queue, "other"})
	k.ExpiresAt = pick(t, "expiry", 0, d.now().Add(time.Minute))
	k.Version -= pick(t, "older", int64(0), 0, 1, -1)
	k.KeepOld = pick(t, "keep", 0, time.Hour)
	if chance(t, "revoke", 2) {
		k.RevokedAt = 1
	}
	if stored, ok := d.putKey(by, k); ok && stored.RevokedAt == 0 && chance(t, "rotate", 2) {
		stored.Hash, stored.KeepOld = hash(pick(t, "next hash", "h3", "h4")), k.KeepOld
		d.putKey(by, stored)
	}
	used := some(t, "used keys", 2, func(int) string { return rapid.SampledFrom([]string{"k1", "k2", "k9"}).Draw(t, "used") })
	d.each("UsedKeys", func(s store.Store) (any, error) { return nil, s.UsedKeys(ctx(), used) })
	d.ask("AccessKeys", func(s store.Store) (any, error) { return s.AccessKeys(ctx()) })
	name, fresh := pick(t, "secret", "s1", "s2", ""), hash(pick(t, "fresh", "f1", "f2"))
	d.each("Secret", func(s store.Store) (any, error) { return s.Secret(ctx(), name, fresh) })
}

// putKey puts a key and reports whether it was stored.
func (d *duel) putKey(by store.By, k store.AccessKey) (stored store.AccessKey, ok bool) {
	before := d.last.Access
	got := d.each("PutKey", func(s store.Store) (any, error) { return s.PutKey(ctx(), by, k) })
	if stored, ok = got.Value.(store.AccessKey); !ok || got.Err != "" {
		return stored, false
	}
	d.noteKey(before, &stored)
	return stored, true
}

// noteKey counts the rotations and revocations that the run has covered.
func (d *duel) noteKey(before []store.AccessKey, stored *store.AccessKey) {
	revoked, rotated := job.Micros(0), job.Micros(0)
	for i := range before {
		if before[i].ID == stored.ID {
			revoked, rotated = before[i].RevokedAt, before[i].RotatedAt
		}
	}
	if stored.RevokedAt != revoked {
		d.did("key that is revoked", 1)
	}
	if stored.RotatedAt != rotated {
		d.did("key that is rotated", 1)
	}
}
