//go:build race

package retry_test

// raceDetector says that a sync.Pool drops some of what it is given.
const raceDetector = true
