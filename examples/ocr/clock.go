package main

import (
	"context"
	"time"

	"github.com/redrive/redrive"
)

// fast is a clock on which time passes so many times faster, for a demonstration: of
// the store, the client and the calls alike. A program of your own needs none.
type fast struct {
	start time.Time
	times time.Duration
}

func newFast(times int) *fast { return &fast{time.Now(), time.Duration(times)} }

// Now is the time by this clock.
func (f *fast) Now() time.Time { return f.start.Add(time.Since(f.start) * f.times) }

// AfterFunc is a call to come, as the client wants it.
func (f *fast) AfterFunc(d time.Duration, call func()) redrive.Timer {
	return fastTimer{time.AfterFunc(d/f.times, call), f.times}
}

// Sleep waits as the calls do.
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
