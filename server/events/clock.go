package events

import "time"

// afterIdle calls f when nobody has listened for the time of linger.
func afterIdle(f func()) *time.Timer {
	return time.AfterFunc(linger, f)
}
