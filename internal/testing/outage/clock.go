package outage

import (
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
)

// clock runs like the system's clock, but is behind it.
type clock struct{ behind atomic.Int64 }

// set makes the clock show a time that is so far behind the system's.
func (c *clock) set(behind time.Duration) { c.behind.Store(int64(behind)) }

// Now implements redrive.Clock.
func (c *clock) Now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// AfterFunc implements redrive.Clock.
func (*clock) AfterFunc(d time.Duration, f func()) redrive.Timer { return time.AfterFunc(d, f) }
