package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Store has the methods of a store that package access needs. A *redrive.Client and a store.Store
// implement it.
type Store interface {
	AccessKeys(ctx context.Context) ([]store.AccessKey, error)
	UsedKeys(ctx context.Context, ids []string) error
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// Times of the copy of the keys that each server keeps.
const (
	refreshEvery = time.Second            // how old the copy becomes before it is read again
	staleMax     = 5 * time.Second        // how old it may be while the store does not answer
	usedTimeout  = 250 * time.Millisecond // how long recording a use may take
)

// keys is a copy of the store's keys that is never older than staleMax.
type keys struct {
	store Store
	now   func() time.Time
	log   *slog.Logger

	reading sync.Mutex // held by the request that reads the copy anew
	copy    atomic.Pointer[keyCopy]

	using sync.Mutex
	used  map[string]time.Time // when a key's use was recorded last, by its id
}

// keyCopy contains the keys as they were at one time.
type keyCopy struct {
	at   time.Time
	byID map[string]*store.AccessKey
}

func newKeys(s Store, now func() time.Time, log *slog.Logger) *keys {
	return &keys{store: s, now: now, log: log, used: make(map[string]time.Time)}
}

// changed makes the next request read the keys again.
func (k *keys) changed() { k.copy.Store(nil) }

// current returns the copy, after reading it again if it is old. While one request reads, others
// use the old copy if it is not too old.
func (k *keys) current(ctx context.Context) (*keyCopy, error) {
	now := k.now()
	c := k.copy.Load()
	if c != nil && now.Sub(c.at) < refreshEvery {
		return c, nil
	}
	usable := c != nil && now.Sub(c.at) < staleMax
	if !usable {
		k.reading.Lock()
	} else if !k.reading.TryLock() {
		return c, nil
	}
	defer k.reading.Unlock()
	if again := k.copy.Load(); again != nil && again != c && k.now().Sub(again.at) < refreshEvery {
		return again, nil // another request has read it while this one waited
	}
	list, err := k.store.AccessKeys(ctx)
	if err != nil {
		if usable {
			return c, nil
		}
		return nil, fmt.Errorf("read the access keys: %w", err)
	}
	fresh := &keyCopy{at: now, byID: make(map[string]*store.AccessKey, len(list))}
	for i := range list {
		fresh.byID[list[i].ID] = &list[i]
	}
	k.copy.Store(fresh)
	return fresh, nil
}

// unknownKey is compared with the secrets of unknown ids, so that an unknown id takes as long as a
// wrong secret. No secret has these hashes.
var unknownKey = store.AccessKey{Hash: make([]byte, sha256.Size), OldHash: make([]byte, sha256.Size)}

// check returns the key whose text a client has sent, and the hash of its secret. The error is
// ErrUnauthenticated for each sort of key that is not accepted, or an error of the store.
func (k *keys) check(ctx context.Context, text string) (*store.AccessKey, []byte, error) {
	id, secret, err := ParseKey(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnauthenticated, err)
	}
	all, err := k.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := job.At(k.now())
	known, found := all.byID[id]
	if !found {
		known = &unknownKey
	}
	hash := secret.hash()
	switch {
	case !accepts(known, hash, now):
		return nil, nil, fmt.Errorf("%w: key %s is unknown, or its secret is wrong", ErrUnauthenticated, id)
	case known.Ended(now) > 0:
		return nil, nil, fmt.Errorf("%w: key %s was revoked or has expired", ErrUnauthenticated, id)
	}
	k.use(ctx, id)
	return known, hash, nil
}

// accepts reports whether a hash is that of the key's secret, or of the secret before a rotation
// that is still accepted. It takes the same time for each hash.
func accepts(k *store.AccessKey, hash []byte, now job.Micros) bool {
	old := k.OldHash
	if len(old) == 0 {
		old = unknownKey.OldHash
	}
	is, was := subtle.ConstantTimeCompare(k.Hash, hash), subtle.ConstantTimeCompare(old, hash)
	return is == 1 || was == 1 && now < k.OldUntil
}

// use records that a key was used, at most once a minute. A use that cannot be written is lost: it
// must not fail the request.
func (k *keys) use(ctx context.Context, id string) {
	now := k.now()
	k.using.Lock()
	at, recorded := k.used[id]
	due := !recorded || now.Sub(at) >= store.KeyUsedEvery
	if due {
		k.used[id] = now
	}
	k.using.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, usedTimeout)
	defer cancel()
	if err := k.store.UsedKeys(ctx, []string{id}); err != nil {
		k.log.DebugContext(ctx, "the last use of an access key was not recorded", "key", id, "error", err)
	}
}
