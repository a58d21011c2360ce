package engine

import "time"

// Clock is the clock of an engine. The engine uses differences of its times only: the
// store's clock decides when a job is due. It must not stand still.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a new goroutine when Now has advanced by d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call in the future; *time.Timer is one.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
