package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/canonical"
)

const (
	// UniqueKey is the prefix of every key that a client computes from a job's arguments. A key
	// that a caller chooses must not begin with it.
	UniqueKey = "unique:"
	// AliveKey is the prefix of the keys that a job holds only while it is alive: until it is
	// completed, dead or cancelled. When the job has ended, another job can take the key. The
	// key is removed together with the job that took it last.
	AliveKey = UniqueKey + "alive:"
)

// WhileAlive reports whether a key is held only while its job is alive. See AliveKey.
func WhileAlive(key string) bool { return strings.HasPrefix(key, AliveKey) }

// PayloadKey returns the prefix followed by a digest of the payload. The prefix must begin with
// UniqueKey. Payloads with equal JSON have the same digest.
func PayloadKey(prefix string, payload []byte) string {
	sum := sha256.Sum256(canonical.JSON(payload))
	return prefix + hex.EncodeToString(sum[:16])
}

// ChangedKey returns the new key of a job whose payload is replaced when it is retried. If the
// old key begins with UniqueKey, the part up to the last colon stays, and the digest of the new
// payload follows. Any other key was chosen by a caller and does not change.
func ChangedKey(key string, payload []byte) string {
	if !strings.HasPrefix(key, UniqueKey) {
		return key
	}
	return PayloadKey(key[:strings.LastIndexByte(key, ':')+1], payload)
}

// KeyEnd returns the time at which the store forgets the key of a job that is enqueued at the
// given time; 0 means never. If KeyPeriod is set, this is the end of the current period.
func (n *New) KeyEnd(now Micros) Micros {
	if n.KeyPeriod == 0 {
		return n.KeyUntil
	}
	period := Micros(n.KeyPeriod / time.Microsecond)
	return now - now%period + period
}
