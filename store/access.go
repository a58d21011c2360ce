package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Access keeps the keys with which programs and people sign in to a server, and the secrets that
// all servers on the store share. The store knows keys only by the hashes of their secrets.
type Access interface {
	// PutKey creates a key (Version 0), or replaces the stored key with the same ID and Version,
	// and returns the stored key. A Hash that differs from the stored one rotates the key: the
	// store keeps the old hash until KeepOld has passed. A RevokedAt that is not 0 revokes the key.
	// Each change writes an audit row and the event access.changed. A call that asks for what the
	// last change of the key has already done changes nothing, so that a call can be repeated.
	//
	// ErrConflict means that the ID is taken, that the Version is not the stored one, or that the
	// key is revoked. ErrNotFound means that no key has this ID. A new key in a full store
	// replaces keys that were revoked or have expired at least KeyForgotten ago; ErrTooLarge means
	// that the store has KeysMax keys nevertheless.
	PutKey(ctx context.Context, by By, k AccessKey) (AccessKey, error)
	// AccessKeys returns all keys, sorted by ID, with the revoked and expired ones.
	AccessKeys(ctx context.Context) ([]AccessKey, error)
	// UsedKeys records that the keys were used now. It changes nothing for a key whose last
	// recorded use was less than KeyUsedEvery ago, and for an unknown ID. It writes no event.
	UsedKeys(ctx context.Context, ids []string) error
	// Secret returns the secret with this name. If it does not exist, Secret stores the given bytes
	// as the secret. So all processes on the store get the same bytes. A secret never changes.
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// Limits of keys and secrets.
const (
	KeysMax      = 1_000
	KeyNamesMax  = 4 << 10             // maximum total size in bytes of the kinds of a key, and of its queues; each name counts as its length plus one byte
	KeyHash      = 32                  // size of the hash of a key's secret, in bytes
	KeyKeepMax   = 7 * 24 * time.Hour  // maximum of AccessKey.KeepOld
	KeyUsedEvery = time.Minute         // precision of AccessKey.UsedAt
	KeyForgotten = 30 * 24 * time.Hour // a key that ended this long ago may be replaced by a new one
	SecretMin    = 16                  // minimum size of a secret, in bytes
	SecretMax    = 64                  // maximum size of a secret, in bytes
	keyRolesMax  = 16                  // maximum number of roles of a key
)

// AccessKey is a key with which a program or a person signs in to a server. The store keeps Roles
// as words and does not interpret them.
type AccessKey struct {
	ID   string `json:"id"`   // 1 to job.NameMax letters, digits and _-.:/
	Name string `json:"name"` // the name of the program or person, for the audit log; 1 to job.TextMax bytes
	Hash []byte `json:"-"`    // SHA-256 of the secret, KeyHash bytes

	Roles    []string `json:"roles"`              // what the key allows, such as "view"
	Owner    string   `json:"owner,omitempty"`    // restricts the key to the jobs of this owner; "" means no restriction
	Kinds    []string `json:"kinds,omitempty"`    // restricts the key to jobs of these kinds; none means no restriction
	Queues   []string `json:"queues,omitempty"`   // restricts the key to these queues; none means no restriction
	Delegate bool     `json:"delegate,omitempty"` // the key may act for any owner

	ExpiresAt job.Micros `json:"expires_at,omitempty"` // the key is not accepted from this time on; 0 means never
	// RevokedAt is the time when the key was revoked; 0 means that it was not. PutKey revokes the
	// key if this is not 0, and stores the time of the store.
	RevokedAt job.Micros `json:"revoked_at,omitempty"`
	Version   int64      `json:"version"` // the number of changes of the key, from 1

	// KeepOld says in a call of PutKey that rotates the key how long the old secret is accepted
	// besides the new one, at most KeyKeepMax; 0 means that it is not.
	KeepOld time.Duration `json:"-"`

	// The store sets these fields.
	OldHash   []byte     `json:"-"`                    // hash of the secret before the last rotation
	OldUntil  job.Micros `json:"old_until,omitempty"`  // OldHash is accepted before this time; 0 means that no old hash is kept
	CreatedAt job.Micros `json:"created_at"`           // time of the first PutKey
	CreatedBy string     `json:"created_by"`           // the actor of the first PutKey
	RotatedAt job.Micros `json:"rotated_at,omitempty"` // time of the last rotation
	UsedAt    job.Micros `json:"used_at,omitempty"`    // time of the last use; the real last use is at most KeyUsedEvery later; 0 means never used
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (k *AccessKey) Validate() error {
	if err := ValidName("id of a key", k.ID); err != nil {
		return err
	}
	switch {
	case k.Name == "" || len(k.Name) > job.TextMax:
		return k.wrong(ErrInvalid, "the name has %d bytes: it must have 1 to %d bytes", len(k.Name), job.TextMax)
	case k.Name == SweepActor || len(k.Name) > len(SweepActor) && k.Name[:len(SweepActor)+1] == SweepActor+" ":
		return k.wrong(ErrInvalid, "only redrive itself may use the name %q in the audit log; use another name", k.Name)
	case len(k.Hash) != KeyHash:
		return k.wrong(ErrInvalid, "the hash has %d bytes: it must have %d bytes", len(k.Hash), KeyHash)
	case len(k.Owner) > job.TextMax:
		return k.wrong(ErrTooLarge, "the owner has %d bytes: at most %d bytes are allowed", len(k.Owner), job.TextMax)
	case len(k.Roles) < 1 || len(k.Roles) > keyRolesMax:
		return k.wrong(ErrInvalid, "%d roles: a key has 1 to %d roles", len(k.Roles), keyRolesMax)
	case k.ExpiresAt < 0 || k.RevokedAt < 0:
		return k.wrong(ErrInvalid, "a time before 1970 cannot be stored")
	case k.Version < 0:
		return k.wrong(ErrInvalid, "version %d must not be negative", k.Version)
	case k.KeepOld < 0 || k.KeepOld > KeyKeepMax:
		return k.wrong(ErrInvalid, "the old secret is kept for %s: 0 to %s are allowed", k.KeepOld, KeyKeepMax)
	}
	for _, list := range [...]struct {
		what  string
		names []string
	}{{"role", k.Roles}, {"kind", k.Kinds}, {"queue", k.Queues}} {
		if err := k.validNames(list.what, list.names); err != nil {
			return err
		}
	}
	return nil
}

func (k *AccessKey) validNames(what string, names []string) error {
	size := 0
	for _, name := range names {
		if err := ValidName(what, name); err != nil {
			return fmt.Errorf("key %s: %w", k.ID, err)
		}
		size += len(name) + 1
	}
	if size > KeyNamesMax {
		return k.wrong(ErrTooLarge, "the names of its %d %ss have %d bytes: at most %d bytes are allowed", len(names), what, size, KeyNamesMax)
	}
	return nil
}

func (k *AccessKey) wrong(kind error, format string, args ...any) error {
	return fmt.Errorf("key %s: %s: %w", k.ID, fmt.Sprintf(format, args...), kind)
}

// Create returns the key as the store keeps it after its first PutKey, without the fields of
// other changes.
func (k AccessKey) Create(by By, now job.Micros) AccessKey {
	k.Version, k.CreatedAt, k.CreatedBy = 1, now, by.Actor
	k.KeepOld, k.OldHash, k.OldUntil, k.RotatedAt, k.UsedAt = 0, nil, 0, 0, 0
	if k.RevokedAt > 0 {
		k.RevokedAt = now
	}
	return k
}

// Change returns the key as the store keeps it after PutKey has replaced it by another one. If the
// second result is false, the stored key stays as it is. ErrConflict means that the other key is
// based on another version of the key, or that the key is revoked.
func (k AccessKey) Change(next AccessKey, now job.Micros) (stored AccessKey, changed bool, err error) {
	switch {
	case next.Version+1 == k.Version && k.asks(&next), next.Version == k.Version && k.asks(&next):
		return k, false, nil
	case next.Version == 0:
		return k, false, k.wrong(ErrConflict, "another key has this id")
	case next.Version != k.Version:
		return k, false, k.wrong(ErrConflict, "it was changed meanwhile: its version is %d, not %d; read it again", k.Version, next.Version)
	case k.RevokedAt > 0:
		return k, false, k.wrong(ErrConflict, "it was revoked at %s; create another key", k.RevokedAt.Time())
	}
	old := k
	k.Name, k.Roles, k.Owner, k.Kinds, k.Queues, k.Delegate, k.ExpiresAt = next.Name, next.Roles, next.Owner, next.Kinds, next.Queues, next.Delegate, next.ExpiresAt
	if !bytes.Equal(k.Hash, next.Hash) {
		k.Hash, k.RotatedAt, k.OldHash, k.OldUntil = next.Hash, now, nil, 0
		if next.KeepOld > 0 {
			k.OldHash, k.OldUntil = old.Hash, now.Add(next.KeepOld)
		}
	}
	if next.RevokedAt > 0 {
		k.RevokedAt, k.OldHash, k.OldUntil = now, nil, 0
	}
	k.Version++
	return k, true, nil
}

// asks reports whether a call of PutKey with the other key asks for the key as it is.
func (k *AccessKey) asks(next *AccessKey) bool {
	return k.Name == next.Name && bytes.Equal(k.Hash, next.Hash) && slices.Equal(k.Roles, next.Roles) && k.Owner == next.Owner &&
		slices.Equal(k.Kinds, next.Kinds) && slices.Equal(k.Queues, next.Queues) && k.Delegate == next.Delegate &&
		k.ExpiresAt == next.ExpiresAt && (k.RevokedAt > 0) == (next.RevokedAt > 0)
}

// Ended returns the time when the key ended, because it was revoked or has expired at the given
// time; 0 means that it has not ended.
func (k *AccessKey) Ended(now job.Micros) job.Micros {
	switch {
	case k.RevokedAt > 0:
		return k.RevokedAt
	case k.ExpiresAt > 0 && k.ExpiresAt <= now:
		return k.ExpiresAt
	}
	return 0
}

// Forgotten reports whether a new key may replace this key in a full store.
func (k *AccessKey) Forgotten(now job.Micros) bool {
	ended := k.Ended(now)
	return ended > 0 && now.Sub(ended) >= KeyForgotten
}

// ErrKeysFull returns the error for a new key in a store that has KeysMax keys.
func (k *AccessKey) ErrKeysFull() error {
	return k.wrong(ErrTooLarge, "the store already has %d keys, which is the maximum; revoked and expired keys make room after %d days",
		KeysMax, int(KeyForgotten.Hours()/24))
}

// ErrNoKey returns the error for a change of a key that does not exist.
func (k *AccessKey) ErrNoKey() error { return fmt.Errorf("key %.80q: %w", k.ID, ErrNotFound) }

// KeyChanged returns the event and the audit row for a change of a key. The first of the two keys
// is the key before the change; it is nil for a new key. The row has what the key allows, and no
// hash. The store sets the numbers and times.
func KeyChanged(by By, before, after *AccessKey) (event.Event, Audit) {
	what := "change"
	switch {
	case before == nil:
		what = "create"
	case after.RevokedAt > 0:
		what = "revoke"
	case !bytes.Equal(before.Hash, after.Hash):
		what = "rotate"
	}
	row := Audit{Actor: by.Actor, Action: "access." + what, Target: after.ID, Reason: by.Reason, After: after.grant()}
	if before != nil {
		row.Before = before.grant()
	}
	return event.Event{Type: event.AccessChanged, Note: after.ID, Reason: what}, row
}

// grant returns what the key allows, as JSON for the audit log.
func (k *AccessKey) grant() string {
	text, err := json.Marshal(struct {
		Name      string     `json:"name"`
		Roles     []string   `json:"roles"`
		Owner     string     `json:"owner,omitempty"`
		Kinds     []string   `json:"kinds,omitempty"`
		Queues    []string   `json:"queues,omitempty"`
		Delegate  bool       `json:"delegate,omitempty"`
		ExpiresAt job.Micros `json:"expires_at,omitempty"`
		RevokedAt job.Micros `json:"revoked_at,omitempty"`
		OldUntil  job.Micros `json:"old_until,omitempty"`
	}{k.Name, k.Roles, k.Owner, k.Kinds, k.Queues, k.Delegate, k.ExpiresAt, k.RevokedAt, k.OldUntil})
	if err != nil {
		return "" // strings, numbers and booleans can always be encoded
	}
	return string(text)
}

// ValidUsedKeys returns an ErrTooLarge when UsedKeys is called with too many keys.
func ValidUsedKeys(ids []string) error {
	if len(ids) > KeysMax {
		return fmt.Errorf("%d used keys in one call: at most %d keys are allowed: %w", len(ids), KeysMax, ErrTooLarge)
	}
	return nil
}

// ValidSecret checks the arguments of Secret.
func ValidSecret(name string, fresh []byte) error {
	if err := ValidName("secret", name); err != nil {
		return err
	}
	if len(fresh) < SecretMin || len(fresh) > SecretMax {
		return fmt.Errorf("secret %q: %d bytes: it must have %d to %d bytes: %w", name, len(fresh), SecretMin, SecretMax, ErrInvalid)
	}
	return nil
}
