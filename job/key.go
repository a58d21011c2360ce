package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/canonical"
)

const (
	// UniqueKey begins every key that a client makes of a job's arguments. Keys that
	// callers choose must not begin with it.
	UniqueKey = "unique:"
	// AliveKey begins the keys that a job holds only while it is alive, which means not
	// completed, dead or cancelled. When the job has ended, another job can take the
	// key. The key is removed together with the job that took it last.
	AliveKey = UniqueKey + "alive:"
)

// WhileAlive reports whether a key is held only while its job is alive. See AliveKey.
func WhileAlive(key string) bool { return strings.HasPrefix(key, AliveKey) }

// PayloadKey returns the key that begins with the prefix, which begins with UniqueKey, and
// ends with a digest of the payload. Payloads of equal JSON have the same digest.
func PayloadKey(prefix string, payload []byte) string {
	sum := sha256.Sum256(canonical.JSON(payload))
	return prefix + hex.EncodeToString(sum[:16])
}

// ChangedKey returns the key that a job with the key gets when a retry gives it the
// payload. A key that begins with UniqueKey keeps its beginning, up to the last colon, and
// gets the digest of the payload. Other keys were chosen by callers and do not change.
func ChangedKey(key string, payload []byte) string {
	if !strings.HasPrefix(key, UniqueKey) {
		return key
	}
	return PayloadKey(key[:strings.LastIndexByte(key, ':')+1], payload)
}

// KeyEnd returns when the key of a job that is enqueued at the store's time now is
// forgotten; 0 means never. With a KeyPeriod that is the end of the current period.
func (n *New) KeyEnd(now Micros) Micros {
	if n.KeyPeriod == 0 {
		return n.KeyUntil
	}
	period := Micros(n.KeyPeriod / time.Microsecond)
	return now - now%period + period
}
