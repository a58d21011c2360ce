package redrive

import (
	"testing"
	"time"
)

// What happens again is told when a minute is over, to the nanosecond, with how often
// it was not; another thing and another policy begin anew.
func TestToldOnceAMinute(t *testing.T) {
	t.Parallel()
	var known told
	for i, tt := range []struct {
		at         time.Duration
		hash, what string
		since      int
		tell       bool
	}{
		{0, "a", "x", 0, true},
		{1, "a", "x", 0, false},
		{toldEvery - 1, "a", "x", 0, false},
		{toldEvery - 1, "a", "y", 0, true},
		{toldEvery, "a", "x", 2, true},
		{2*toldEvery - 2, "a", "y", 0, false},
		{2*toldEvery - 1, "a", "y", 1, true},
		{9 * toldEvery, "a", "x", 0, true},
		{9 * toldEvery, "b", "x", 0, true},
		{9*toldEvery + 1, "b", "x", 0, false},
	} {
		if since, tell := known.again(time.Unix(0, 0).Add(tt.at), tt.hash, tt.what); since != tt.since || tell != tt.tell {
			t.Errorf("%d: %d, %v, want %d, %v", i, since, tell, tt.since, tt.tell)
		}
	}
}
