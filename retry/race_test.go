//go:build race

package retry_test

// raceDetector is true in builds with the race detector, in which sync.Pool drops objects at random.
const raceDetector = true
