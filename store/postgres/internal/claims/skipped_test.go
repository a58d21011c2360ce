package claims

import (
	"testing"
	"time"
)

// Claims that find only locked rows are repeated less and less often; one that takes a job, or finds no such rows,
// starts again.
func TestSkippedRowsAreAskedForLessOften(t *testing.T) {
	t.Parallel()
	var s Skipped
	for i, c := range []struct {
		took int
		none bool
		want time.Duration
	}{
		{0, false, 5 * time.Millisecond}, {0, false, 10 * time.Millisecond}, {0, false, 20 * time.Millisecond},
		{1, false, 5 * time.Millisecond}, {0, false, 5 * time.Millisecond}, {0, false, 10 * time.Millisecond},
		{0, true, 5 * time.Millisecond}, {0, false, 10 * time.Millisecond}, {0, false, 20 * time.Millisecond},
		{0, false, 40 * time.Millisecond}, {0, false, 80 * time.Millisecond}, {0, false, 160 * time.Millisecond},
		{0, false, 320 * time.Millisecond}, {0, false, 640 * time.Millisecond}, {0, false, 1_280 * time.Millisecond},
		{0, false, 1_280 * time.Millisecond},
	} {
		if c.none {
			s.None()
		}
		if got := s.Again(c.took); got != c.want {
			t.Errorf("claim %d: again after %s, want %s", i, got, c.want)
		}
	}
}
