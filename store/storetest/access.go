package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func accessPromises() []promise {
	return []promise{
		{"X2_KeyIsStoredAsItWasPut", keyIsStored},
		{"X2_RotatedKeyKeepsItsOldHashForATime", keyIsRotated},
		{"X2_RevokedKeyStaysRevoked", keyIsRevoked},
		{"X2_ChangeOfAnOldVersionIsRefused", oldVersionIsRefused},
		{"X2_OneOfTwoChangesAtOnceIsRefused", oneChangeAtOnce},
		{"X2_ChangesOfKeysAreAudited", keysAreAudited},
		{"X2_UseIsRecordedOnceAMinute", useIsRecorded},
		{"X2_FullStoreForgetsOldKeysOnly", fullStoreForgets},
		{"X2_SecretIsOfTheFirstCaller", secretIsOfTheFirst},
		{"Q9_AuditNamesTheWay", auditNamesTheWay},
		{"X3_KeyBounds", accessBounds},
	}
}

func accessKey(id string) store.AccessKey {
	return store.AccessKey{
		ID: id, Name: "team ocr", Hash: hash(id + " 1"), Roles: []string{"submit", "work"}, Owner: "alice", Kinds: []string{kind}, Queues: []string{queue, "other"},
		Delegate: true, ExpiresAt: job.At(NewClock().Now()) + job.Micros(time.Hour.Microseconds()),
	}
}

// hash returns the hash of a secret, which differs for each text.
func hash(text string) []byte { return append([]byte(text), make([]byte, store.KeyHash-len(text))...) }

func (r *rig) put(k store.AccessKey) store.AccessKey {
	stored, err := r.PutKey(ctx(), operator, k)
	r.ok(err)
	return stored
}

func (r *rig) accessKeys() []store.AccessKey {
	list, err := r.AccessKeys(ctx())
	r.ok(err)
	return list
}

// part of: X2
func keyIsStored(r *rig) {
	same(r, "number of keys of an empty store", len(r.accessKeys()), 0)
	b, a := accessKey("b"), accessKey("a")
	a.Owner, a.Kinds, a.Queues, a.Delegate, a.ExpiresAt = "", nil, nil, false, 0
	stored := r.put(b)
	b.Version, b.CreatedAt, b.CreatedBy = 1, r.now(), operator.Actor
	same(r, "stored key", stored, b)
	r.unchanged(func() { // the same call again, because its answer was lost
		again := accessKey("b")
		same(r, "stored key, the second time", r.put(again), b)
	})
	r.clock.Advance(time.Second)
	r.put(a)
	a.Version, a.CreatedAt, a.CreatedBy = 1, r.now(), operator.Actor
	same(r, "keys", r.accessKeys(), []store.AccessKey{a, b})
	same(r, "keys in the dump", r.dump().Access, []store.AccessKey{a, b})
	change := b
	change.Name, change.Roles, change.Owner, change.Kinds, change.Queues, change.Delegate, change.ExpiresAt = "x", []string{"view"}, "", nil, []string{"q"}, false, 0
	change.CreatedAt, change.CreatedBy, change.UsedAt, change.OldHash, change.OldUntil = 1, "nobody", 1, hash("old"), 1 // the store sets these
	stored = r.put(change)
	b.Name, b.Roles, b.Owner, b.Kinds, b.Queues, b.Delegate, b.ExpiresAt, b.Version = "x", []string{"view"}, "", nil, []string{"q"}, false, 0, 2
	same(r, "changed key", stored, b)
	same(r, "keys after the change", r.accessKeys(), []store.AccessKey{a, b})
	r.unchanged(func() { same(r, "changed key, the second time", r.put(change), b) })
}

// part of: X2
func keyIsRotated(r *rig) {
	k := r.put(accessKey("a"))
	r.clock.Advance(time.Minute)
	next := k
	next.Hash, next.KeepOld = hash("a 2"), 24*time.Hour
	stored := r.put(next)
	k.Hash, k.OldHash, k.OldUntil, k.RotatedAt, k.Version = hash("a 2"), hash("a 1"), r.in(24*time.Hour), r.now(), 2
	same(r, "rotated key", stored, k)
	same(r, "keys", r.accessKeys(), []store.AccessKey{k})
	next = k
	next.Name = "other"
	same(r, "old hash after another change", r.put(next).OldHash, k.OldHash)
	next.Hash, next.Version = hash("a 3"), 3
	stored = r.put(next)
	same(r, "old hash that is not kept", []any{len(stored.OldHash), stored.OldUntil}, []any{0, job.Micros(0)})
	same(r, "hash", r.accessKeys()[0].Hash, hash("a 3"))
}

// part of: X2
func keyIsRevoked(r *rig) {
	k := r.put(accessKey("a"))
	k.Hash, k.KeepOld = hash("a 2"), time.Hour
	k = r.put(k)
	r.clock.Advance(time.Minute)
	k.RevokedAt = 1
	stored := r.put(k)
	k.RevokedAt, k.OldHash, k.OldUntil, k.Version = r.now(), nil, 0, 3
	same(r, "revoked key", stored, k)
	r.clock.Advance(time.Minute)
	r.unchanged(func() {
		again := k
		again.RevokedAt = 5
		same(r, "key that is revoked again", r.put(again), k)
		again.RevokedAt = 0
		_, err := r.PutKey(ctx(), operator, again)
		r.is(err, store.ErrConflict)
		again.RevokedAt, again.Hash = 1, hash("a 3")
		_, err = r.PutKey(ctx(), operator, again)
		r.is(err, store.ErrConflict)
	})
	same(r, "keys", r.accessKeys(), []store.AccessKey{k})
}

// part of: X2
func oldVersionIsRefused(r *rig) {
	k := r.put(accessKey("a"))
	changed := k
	changed.Name = "other"
	changed = r.put(changed)
	r.unchanged(func() {
		k.Roles = []string{"administer"}
		_, err := r.PutKey(ctx(), operator, k)
		r.is(err, store.ErrConflict)
		k.Version = 3
		_, err = r.PutKey(ctx(), operator, k)
		r.is(err, store.ErrConflict)
		k.Version = 0 // a new key with an id that is taken
		_, err = r.PutKey(ctx(), operator, k)
		r.is(err, store.ErrConflict)
		missing := accessKey("b")
		missing.Version = 1
		_, err = r.PutKey(ctx(), operator, missing)
		r.is(err, store.ErrNotFound)
	})
	same(r, "keys", r.accessKeys(), []store.AccessKey{changed})
}

// Several people change one key at once. Exactly one change of each version is stored.
//
// part of: X2
func oneChangeAtOnce(r *rig) {
	const people = 8
	k := r.put(accessKey("a"))
	var wg sync.WaitGroup
	failures := make([]error, people)
	for i := range people {
		next := k
		next.Name = fmt.Sprint("name ", i)
		wg.Go(func() { _, failures[i] = r.PutKey(ctx(), operator, next) })
	}
	wg.Wait()
	stored := r.accessKeys()[0]
	same(r, "version", stored.Version, int64(2))
	for i, err := range failures {
		if stored.Name == fmt.Sprint("name ", i) {
			r.ok(err)
		} else {
			r.is(err, store.ErrConflict)
		}
	}
}

// proves: Q9
// part of: X2
func keysAreAudited(r *rig) {
	k := r.put(accessKey("a"))
	k.Name = "new name"
	k = r.put(k)
	k.Hash, k.KeepOld = hash("a 2"), time.Hour
	k = r.put(k)
	k.RevokedAt = 1
	r.put(k)
	var actions, targets []string
	for _, a := range r.audit() {
		actions, targets = append(actions, a.Action), append(targets, a.Target)
		for _, secret := range []string{"a 1", "a 2"} {
			if strings.Contains(a.Before+a.After, secret) {
				r.fail("the audit row %+v contains the hash %q, want no hash", a, secret)
			}
		}
	}
	same(r, "actions", actions, []string{"access.create", "access.change", "access.rotate", "access.revoke"})
	same(r, "targets", targets, []string{"a", "a", "a", "a"})
	row := r.audit()[1]
	same(r, "who and why", []string{row.Actor, row.Reason}, []string{operator.Actor, operator.Reason})
	for _, part := range []string{`"name":"team ocr"`, `"roles":["submit","work"]`, `"owner":"alice"`, `"delegate":true`} {
		if !strings.Contains(row.Before, part) {
			r.fail("audit row of a change: got before %s, want it to contain %s", row.Before, part)
		}
	}
	same(r, "before and after differ in the name only", strings.Replace(row.Before, "team ocr", "new name", 1), row.After)
	var reasons []string
	for _, e := range r.dump().Events {
		if e.Type == event.AccessChanged {
			reasons = append(reasons, e.Reason+" "+e.Note)
		}
	}
	same(r, "events", reasons, []string{"create a", "change a", "rotate a", "revoke a"})
}

// part of: X2
func useIsRecorded(r *rig) {
	r.put(accessKey("a"))
	r.put(accessKey("b"))
	events := len(r.dump().Events)
	used := func(ids ...string) []job.Micros {
		r.ok(r.UsedKeys(ctx(), ids))
		list := r.accessKeys()
		return []job.Micros{list[0].UsedAt, list[1].UsedAt}
	}
	same(r, "no use", used(), []job.Micros{0, 0})
	first := r.now()
	same(r, "first use", used("a", "unknown"), []job.Micros{first, 0})
	r.clock.Advance(store.KeyUsedEvery - time.Microsecond)
	same(r, "use within a minute", used("a", "b"), []job.Micros{first, r.now()})
	second := r.now()
	r.clock.Advance(time.Microsecond)
	same(r, "use after a minute", used("a", "b"), []job.Micros{r.now(), second})
	same(r, "version after uses", r.accessKeys()[0].Version, int64(1))
	same(r, "number of events", len(r.dump().Events), events)
	same(r, "number of audit rows", len(r.audit()), 2)
}

// part of: X2, X3
func fullStoreForgets(r *rig) {
	expired, revoked, late := accessKey("expired"), accessKey("revoked"), accessKey("late")
	late.ExpiresAt = expired.ExpiresAt + 1
	r.put(expired)
	revoked.ExpiresAt = 0
	revoked = r.put(revoked)
	r.put(late)
	for i := range store.KeysMax - 3 {
		k := accessKey(fmt.Sprintf("k%04d", i))
		k.ExpiresAt = 0
		r.put(k)
	}
	next := accessKey("next")
	refused := func(when string) {
		r.unchanged(func() {
			if _, err := r.PutKey(ctx(), operator, next); err == nil {
				r.fail("%s: a key beyond the maximum was accepted, want ErrTooLarge", when)
			} else {
				r.is(err, store.ErrTooLarge)
			}
		})
	}
	refused("full store")
	r.clock.Set(expired.ExpiresAt.Time())
	revoked.RevokedAt = 1
	r.put(revoked)
	r.clock.Advance(store.KeyForgotten - time.Microsecond)
	refused("just before the time")
	same(r, "number of keys", len(r.accessKeys()), store.KeysMax)
	r.clock.Advance(time.Microsecond)
	next.ExpiresAt = 0
	r.put(next)
	list := r.accessKeys()
	same(r, "number of keys afterwards", len(list), store.KeysMax-1)
	for _, k := range list {
		if k.ID == "expired" || k.ID == "revoked" {
			r.fail("the key %q is still there, want it to be forgotten", k.ID)
		}
	}
	if !slices.ContainsFunc(list, func(k store.AccessKey) bool { return k.ID == "late" }) {
		r.fail("the key %q is gone, want it to be there until its time", "late")
	}
}

// part of: X2
func secretIsOfTheFirst(r *rig) {
	const callers = 8
	var wg sync.WaitGroup
	got, failures := make([][]byte, callers), make([]error, callers)
	for i := range callers {
		wg.Go(func() { got[i], failures[i] = r.Secret(ctx(), "login", hash(fmt.Sprint("fresh ", i))) })
	}
	wg.Wait()
	for i := range callers {
		r.ok(failures[i])
		same(r, "secret of each caller", got[i], got[0])
	}
	if !bytes.HasPrefix(got[0], []byte("fresh ")) {
		r.fail("secret: got %q, want the bytes of one of the callers", got[0])
	}
	other, err := r.Secret(ctx(), "runs", hash("another"))
	r.ok(err)
	same(r, "secret with another name", other, hash("another"))
	other[0] = 'x' // the caller owns the bytes
	other, err = r.Secret(ctx(), "runs", hash("third"))
	r.ok(err)
	same(r, "secret, the second time", other, hash("another"))
	same(r, "names in the dump", r.dump().Secrets, []string{"login", "runs"})
}

// proves: Q9
func auditNamesTheWay(r *rig) {
	by := operator
	by.Via = "key a from 10.0.0.7 request 1"
	r.ok(r.Declare(ctx(), []string{queue}))
	r.ok(r.setMode(by, store.Paused))
	r.ok(r.setMode(operator, store.Open))
	rows := r.audit()
	same(r, "Via of the rows in the audit log", []string{rows[0].Via, rows[1].Via}, []string{by.Via, ""})
	page, err := r.AuditPage(ctx(), store.AuditFilter{Actor: operator.Actor, Target: queue})
	r.ok(err)
	same(r, "Via of a row in a page of the audit log", page.Entries[1].Via, by.Via)
	page, err = r.AuditPage(ctx(), store.AuditFilter{Actor: operator.Actor})
	r.ok(err)
	same(r, "way in a page by the actor", page.Entries[1].Via, by.Via)
	by.Via = strings.Repeat("v", job.TextMax)
	r.ok(r.setMode(by, store.Draining))
	by.Via += "v"
	r.unchanged(func() { r.is(r.setMode(by, store.Open), store.ErrTooLarge) })
}

func (r *rig) setMode(by store.By, mode store.Mode) error {
	_, err := r.SetQueue(ctx(), by, store.QueueChange{Name: queue, Mode: &mode})
	return err
}

// part of: X3
func accessBounds(r *rig) {
	long := func(n int) string { return strings.Repeat("n", n) }
	names := func() (list []string) { // each name counts as 64 bytes: its length of 63 bytes plus 1 byte
		for range store.KeyNamesMax / 64 {
			list = append(list, long(63))
		}
		return list
	}
	largest := accessKey("a")
	largest.ID = long(job.NameMax)
	largest.Hash = bytes.Repeat([]byte{0xff}, store.KeyHash)
	largest.Name, largest.Owner, largest.Kinds, largest.Queues = "\x00\xff"+long(job.TextMax-2), "\x00\xff"+long(job.TextMax-2), names(), names()
	largest.Roles = strings.Fields(strings.Repeat("role ", 16))
	stored := r.put(largest)
	largest.Version, largest.CreatedAt, largest.CreatedBy = 1, r.now(), operator.Actor
	same(r, "the largest key", stored, largest)
	same(r, "keys", r.accessKeys(), []store.AccessKey{largest})
	r.unchanged(func() {
		for what, change := range map[string]func(*store.AccessKey){
			"no id": func(k *store.AccessKey) { k.ID = "" }, "long id": func(k *store.AccessKey) { k.ID += "n" }, "bad id": func(k *store.AccessKey) { k.ID = "a b" },
			"no name": func(k *store.AccessKey) { k.Name = "" }, "long name": func(k *store.AccessKey) { k.Name += "n" },
			"name of redrive": func(k *store.AccessKey) { k.Name = store.SweepActor },
			"short hash":      func(k *store.AccessKey) { k.Hash = k.Hash[1:] }, "no roles": func(k *store.AccessKey) { k.Roles = nil },
			"many roles": func(k *store.AccessKey) { k.Roles = append(k.Roles, "role") }, "bad role": func(k *store.AccessKey) { k.Roles = []string{"a b"} },
			"long owner": func(k *store.AccessKey) { k.Owner += "n" }, "bad kind": func(k *store.AccessKey) { k.Kinds = []string{""} },
			"many kinds": func(k *store.AccessKey) { k.Kinds = append(names(), "n") }, "many queues": func(k *store.AccessKey) { k.Queues = append(names(), "n") },
			"negative expiry": func(k *store.AccessKey) { k.ExpiresAt = -1 }, "negative end": func(k *store.AccessKey) { k.RevokedAt = -1 },
			"negative version": func(k *store.AccessKey) { k.Version = -1 }, "negative time to keep": func(k *store.AccessKey) { k.KeepOld = -1 },
			"long time to keep": func(k *store.AccessKey) { k.KeepOld = store.KeyKeepMax + 1 },
		} {
			k := largest
			change(&k)
			if _, err := r.PutKey(ctx(), operator, k); err == nil {
				r.fail("a key with %s was accepted, want an error", what)
			} else {
				r.is(err, store.ErrInvalid, store.ErrTooLarge)
			}
		}
		_, err := r.PutKey(ctx(), store.By{}, largest)
		r.is(err, store.ErrInvalid)
		r.is(r.UsedKeys(ctx(), make([]string, store.KeysMax+1)), store.ErrTooLarge)
		for what, size := range map[string]int{"short": store.SecretMin - 1, "long": store.SecretMax + 1} {
			if _, err := r.Secret(ctx(), "login", make([]byte, size)); err == nil {
				r.fail("a %s secret was accepted, want ErrInvalid", what)
			} else {
				r.is(err, store.ErrInvalid)
			}
		}
		_, err = r.Secret(ctx(), "", make([]byte, store.SecretMin))
		r.is(err, store.ErrInvalid)
	})
	r.ok(r.UsedKeys(ctx(), make([]string, store.KeysMax)))
	_, err := r.Secret(ctx(), long(job.NameMax), make([]byte, store.SecretMax))
	r.ok(err)
}
