package redrive

import (
	"testing"
	"time"
)

// The same line is logged again exactly one minute later, with the number of times that it was
// suppressed. Another line, and another policy, is logged at once.
func TestALineIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var throttle logThrottle
	for i, tt := range []struct {
		at         time.Duration
		hash, what string
		suppressed int
		ok         bool
	}{
		{0, "a", "x", 0, true},
		{1, "a", "x", 0, false},
		{throttleInterval - 1, "a", "x", 0, false},
		{throttleInterval - 1, "a", "y", 0, true},
		{throttleInterval, "a", "x", 2, true},
		{2*throttleInterval - 2, "a", "y", 0, false},
		{2*throttleInterval - 1, "a", "y", 1, true},
		{9 * throttleInterval, "a", "x", 0, true},
		{9 * throttleInterval, "b", "x", 0, true},
		{9*throttleInterval + 1, "b", "x", 0, false},
	} {
		if suppressed, ok := throttle.allow(time.Unix(0, 0).Add(tt.at), tt.hash, tt.what); suppressed != tt.suppressed || ok != tt.ok {
			t.Errorf("line %d: got %d suppressed lines, allowed %v; want %d suppressed lines, allowed %v", i, suppressed, ok, tt.suppressed, tt.ok)
		}
	}
	for i, want := range []int{1, 0} {
		if got := throttle.rest("x"); got != want {
			t.Errorf("call %d of rest: got %d suppressed lines, want %d", i+1, got, want)
		}
	}
	if got := throttle.rest("unknown"); got != 0 {
		t.Errorf("rest for a line that was never logged: got %d suppressed lines, want 0", got)
	}
}
