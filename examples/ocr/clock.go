package main

import (
	"context"
	"time"

	"github.com/redrive/redrive"
)

// fast is a clock for the demonstration that runs faster than real time by a factor. The store,
// the client and the calls use this clock. Real programs do not need it.
type fast struct {
	start time.Time
	times time.Duration
}

func newFast(times int) *fast { return &fast{time.Now(), time.Duration(times)} }

// Now returns the time of this clock.
func (f *fast) Now() time.Time { return f.start.Add(time.Since(f.start) * f.times) }

// AfterFunc calls a function after a duration of this clock. The client uses it.
func (f *fast) AfterFunc(d time.Duration, call func()) redrive.Timer {
	return fastTimer{time.AfterFunc(d/f.times, call), f.times}
}

// Sleep waits for a duration of this clock. The calls use it.
func (f *fast) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d / f.times)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type fastTimer struct {
	*time.Timer
	times time.Duration
}

func (t fastTimer) Reset(d time.Duration) bool { return t.Timer.Reset(d / t.times) }
