package events

import "time"

// afterIdle calls f when nobody has listened for the time of linger.
func afterIdle(f func()) *time.Timer {
	return time.AfterFunc(linger, f)
}

// newTimer returns a timer that is not set.
func newTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func newTicker(every time.Duration) *time.Ticker { return time.NewTicker(every) }
