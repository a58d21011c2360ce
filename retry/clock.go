package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Clock is the source of the time for a strategy.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after the duration d, or the error of ctx as soon as ctx has ended.
	Sleep(ctx context.Context, d time.Duration) error
}

// realClock is the system's clock; inside a testing/synctest bubble it is the clock of
// the bubble.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err() // the timer and the context may both have ended
	}
}

// draw returns a random number, uniform in [0, 1).
func draw() float64 { return rand.Float64() }

// number returns 128 random bits for an idempotency key.
func number() [2]uint64 { return [2]uint64{rand.Uint64(), rand.Uint64()} }
