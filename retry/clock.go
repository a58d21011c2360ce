package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Clock is where the time of a strategy comes from.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the error of ctx as soon as that has ended.
	Sleep(ctx context.Context, d time.Duration) error
}

// realClock is the system's; inside a bubble of testing/synctest, the bubble's.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err() // both may have come
	}
}

// draw is a uniform draw from [0, 1).
func draw() float64 { return rand.Float64() }

// number is what idempotency keys are made of: 128 bits that nobody else draws.
func number() [2]uint64 { return [2]uint64{rand.Uint64(), rand.Uint64()} }
