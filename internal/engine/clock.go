package engine

import "time"

// Clock is the clock of an engine. The engine only uses differences between its times,
// because the clock of the store decides when a job is due. The clock must not stand still.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a new goroutine when Now has advanced by d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that is planned for the future. *time.Timer implements it.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
