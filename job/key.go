package job

import (
	"strings"
	"time"
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

// KeyEnd returns when the key of a job that is enqueued at the store's time now is
// forgotten; 0 means never. With a KeyPeriod that is the end of the current period.
func (n *New) KeyEnd(now Micros) Micros {
	if n.KeyPeriod == 0 {
		return n.KeyUntil
	}
	period := Micros(n.KeyPeriod / time.Microsecond)
	return now - now%period + period
}
