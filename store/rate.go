package store

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// A rate is enforced by the generic cell rate algorithm (ITU-T I.371). Its whole state is one
// time: the theoretical arrival time of the next start. The algorithm needs no background work
// and no history. It is exact for all processes that share the store.

// Unlimited reports whether the rate sets no limit.
func (r Rate) Unlimited() bool { return r.N <= 0 || r.Per <= 0 }

// Validate returns an ErrInvalid in two cases: N and Per are neither both positive nor both
// zero, or the rate is above one start per microsecond, which is the unit of stored times.
func (r Rate) Validate() error {
	switch {
	case r == Rate{}:
		return nil
	case r.Unlimited():
		return fmt.Errorf("rate %d per %s: both must be positive, or both zero for no limit: %w", r.N, r.Per, ErrInvalid)
	case int64(r.N) > r.Per.Microseconds():
		return fmt.Errorf("rate %d per %s: at most one start per microsecond: %w", r.N, r.Per, ErrInvalid)
	}
	return nil
}

// interval is the time between two starts in microseconds, rounded up so that the
// rate is never exceeded.
func (r Rate) interval() int64 { return ceil(ceil(int64(r.Per), int64(time.Microsecond)), int64(r.N)) }

// ceil returns a divided by b, rounded up. Both must be positive.
func ceil(a, b int64) int64 { return (a-1)/b + 1 }

// burst is the number of starts that the rate allows at once: the starts of one second, and at
// least one.
func (r Rate) burst() int64 {
	const most = float64(time.Second / time.Microsecond)
	return max(1, int64(min(float64(r.N)*float64(time.Second)/float64(r.Per), most)))
}

// due returns the arrival time, limited to the latest value that this rate can have set. A
// later arrival time was set by a slower rate or by a clock that was ahead, and must not delay
// the starts of this rate.
func (r Rate) due(arrival, now job.Micros) job.Micros {
	return max(now, min(arrival, now+job.Micros(r.burst()*r.interval())))
}

// Room returns the number of starts that the rate allows now. The first argument is the stored
// state of the rate.
func (r Rate) Room(arrival, now job.Micros) int {
	ahead := int64(r.due(arrival, now) - now)
	return int(max(0, (r.burst()*r.interval()-ahead)/r.interval()))
}

// Take returns the new state of the rate after n starts at the given time.
func (r Rate) Take(arrival, now job.Micros, n int) job.Micros {
	return r.due(arrival, now) + job.Micros(int64(n)*r.interval())
}

// Next returns the time at which the rate allows the next start. It is never before the given
// time.
func (r Rate) Next(arrival, now job.Micros) job.Micros {
	return max(now, r.due(arrival, now)-job.Micros((r.burst()-1)*r.interval()))
}
