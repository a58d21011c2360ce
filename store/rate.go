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

// In any period of one second, a rate of N starts per second allows at most N+1 starts. A worker that
// asks late must not lose the starts of that time, so a start may come earlier than its turn by a slack. Up to
// paceExact starts per second, the interval between two starts is exact, and the slack is less than an
// interval. Above, the interval is longer by at most paceSlower, which leaves room for a slack of up to
// slackMost; so at least 0.95 of the rate is sustained. Above paceBound starts per second, an interval is too few
// microseconds for that: a period of one second may have 5 % more starts.
const (
	second     = int64(time.Second / time.Microsecond)
	slackMost  = second / 20
	paceExact  = 24
	paceSlower = 1.045
	paceBound  = 40_000
)

// pace returns the interval between two starts, and the slack, both in microseconds. A rate below
// one start per second has no slack.
func (r Rate) pace() (interval, slack int64) {
	interval = ceil(ceil(int64(r.Per), int64(time.Microsecond)), int64(r.N)) // rounded up, so that the rate is never exceeded
	switch n := float64(r.N) * float64(time.Second) / float64(r.Per); {
	case n < 1:
		return interval, 0
	case n < paceExact:
		return interval, min(interval-1, slackMost)
	case n > paceBound:
		return interval, slackMost
	default:
		interval = max(interval, int64(paceSlower*float64(second)/n))
		return interval, min((int64(n)+1)*interval-second-1, slackMost)
	}
}

// ceil returns a divided by b, rounded up. Both must be positive.
func ceil(a, b int64) int64 { return (a-1)/b + 1 }

// due returns the arrival time, limited to the latest value that this rate can have set. A
// later arrival time was set by a slower rate or by a clock that was ahead, and must not delay
// the starts of this rate.
func (r Rate) due(arrival, now job.Micros) job.Micros {
	interval, slack := r.pace()
	return max(now, min(arrival, now+job.Micros(slack+interval)))
}

// Room returns the number of starts that the rate allows now. The first argument is the stored
// state of the rate.
func (r Rate) Room(arrival, now job.Micros) int {
	interval, slack := r.pace()
	ahead := int64(r.due(arrival, now) - now)
	return int(max(0, (slack+interval-ahead)/interval))
}

// Take returns the new state of the rate after n starts at the given time.
func (r Rate) Take(arrival, now job.Micros, n int) job.Micros {
	interval, _ := r.pace()
	return r.due(arrival, now) + job.Micros(int64(n)*interval)
}

// Next returns the time at which the rate allows the next start. It is never before the given
// time.
func (r Rate) Next(arrival, now job.Micros) job.Micros {
	_, slack := r.pace()
	return max(now, r.due(arrival, now)-job.Micros(slack))
}
