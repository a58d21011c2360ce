package engine

import "time"

// Clock is the clock of an engine. The engine only uses differences between its times: the
// store's clock decides when a job is due. The time must always advance.
type Clock interface {
	Now() time.Time
	// AfterFunc calls the function f in a new goroutine after the duration d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a scheduled call that can be stopped; *time.Timer implements it.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
