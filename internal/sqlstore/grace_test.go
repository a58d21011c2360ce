package sqlstore

import (
	"testing"
	"time"

	"github.com/redrive/redrive/job"
)

// jumpyClock is a clock for tests. If the field jumped is true, it reports a jump forward;
// the field ago says how long ago. Otherwise, it reports no jump.
type jumpyClock struct {
	ago    time.Duration
	jumped bool
}

func (c *jumpyClock) Now() job.Micros                  { return 0 }
func (c *jumpyClock) SinceJump() (time.Duration, bool) { return c.ago, c.jumped }

// part of: Q3
func TestQ3_RescueWaitsForTheLivingAfterAGap(t *testing.T) {
	t.Parallel()
	const opened = job.Micros(1_800_000_000_000_000)
	for name, c := range map[string]struct {
		leases []time.Duration
		clock  jumpyClock
		newest time.Duration // time between the newest event and the opening of the store; 0 means that there is no event
		open   time.Duration // time since the store was opened
		want   time.Duration
	}{
		"no gap":                        {open: time.Second},
		"a gap":                         {clock: jumpyClock{0, true}, open: time.Hour, want: 15 * time.Second},
		"a while after it":              {clock: jumpyClock{5 * time.Second, true}, open: time.Hour, want: 10 * time.Second},
		"long after it":                 {clock: jumpyClock{15 * time.Second, true}, open: time.Hour},
		"long leases":                   {leases: []time.Duration{time.Second, 10 * time.Minute, time.Minute}, clock: jumpyClock{time.Minute, true}, want: 4 * time.Minute},
		"short leases":                  {leases: []time.Duration{time.Second}, clock: jumpyClock{0, true}, want: 15 * time.Second},
		"a gap before the start":        {newest: time.Hour, open: time.Second, want: 14 * time.Second},
		"the same, with long leases":    {leases: []time.Duration{time.Hour}, newest: time.Hour, open: time.Minute, want: 29 * time.Minute},
		"long after the start":          {newest: time.Hour, open: 15 * time.Second},
		"started again after a kill":    {newest: 10 * time.Second},
		"an event ahead of the clock":   {newest: -time.Hour},
		"a gap before and after start ": {newest: time.Hour, open: 5 * time.Second, clock: jumpyClock{time.Second, true}, want: 14 * time.Second},
	} {
		s := NewCore(DB{Clock: &c.clock})
		newest := job.Micros(0)
		if c.newest != 0 {
			newest = opened.Add(-c.newest)
		}
		NoteOpened(s, opened, newest)
		for _, l := range c.leases {
			NoteLease(s, l)
		}
		if got := s.grace(opened.Add(c.open)); got != c.want {
			t.Errorf("%s: got a grace time of %s, want %s", name, got, c.want)
		}
	}
}
