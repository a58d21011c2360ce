package engine

import "time"

// Clock is where the engine's time comes from. Only differences count: when
// something is due is decided by the store's clock.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call to come; *time.Timer is one.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
