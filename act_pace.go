package redrive

import (
	"context"
	"time"

	"github.com/redrive/redrive/job"
)

// Act changes dead letters in steps. These constants are the numbers of dead letters in one
// step. The jobs that a step releases compete with the jobs that other clients enqueue. So
// steps are small while other clients enqueue jobs, larger while jobs run but no client
// enqueues any, and largest while the store is idle. Jobs that Act itself has released count
// as running jobs, too.
const (
	actStep   = 1_000 // size of a step while the store is idle
	actBeside = 200   // size of a step while jobs run, but no client enqueues any
	actGentle = 50    // size of a step while other clients enqueue jobs
	actPause  = 25 * time.Millisecond
	// actShare sets the pause after a step: the pause is the duration of the step times
	// actShare, but at most actPauseMax. So a slow or busy store gets longer pauses.
	actShare    = 10
	actPauseMax = time.Second
	// actQuiet is how long a store must be idle before steps grow again. Reading the counters
	// once is not enough: if runs are short, there are moments without a running job even in a
	// busy store.
	actQuiet = time.Second
)

// actPace computes the size of the next step of an Act with a filter, and the pause before
// that step.
type actPace struct {
	most  int           // the largest size of a step
	size  int           // the size of the last step; 0 before the first step
	took  time.Duration // the duration of the last step
	seen  actSeen
	fresh time.Time // until this time, other clients are assumed to enqueue jobs
	until time.Time // until this time, other clients are assumed to use the store in some way
}

// actSeen holds the counters as they were last read. actPace.look compares them with the
// present counters to notice the work of other clients.
type actSeen struct {
	running    bool
	all, ended int64
}

// next waits for the pause after the last step and returns the size of the next one.
func (p *actPace) next(ctx context.Context, c *Client) (int, error) {
	fresh, busy := p.look(ctx, c)
	now := c.config.now()
	if fresh {
		p.fresh = now.Add(actQuiet)
	}
	if busy {
		p.until = now.Add(actQuiet)
	}
	first := p.size == 0
	switch {
	case first || now.Before(p.fresh):
		p.size = min(p.most, actGentle)
	case now.Before(p.until):
		p.size = min(p.most, actBeside)
	default:
		p.size = min(p.most, 2*p.size)
	}
	if first || !now.Before(p.until) {
		return p.size, nil
	}
	return p.size, c.sleep(ctx, min(max(actPause, actShare*p.took), actPauseMax))
}

// look reports whether jobs have been enqueued since its last call (fresh), and whether any
// process has run, enqueued or ended jobs since then (busy).
func (p *actPace) look(ctx context.Context, c *Client) (fresh, busy bool) {
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return true, true // if the counters cannot be read, the store is assumed to be busy
	}
	was := p.seen
	p.seen = actSeen{}
	for _, n := range counts {
		p.seen.all += n.N
		if n.State == job.Running && n.N > 0 {
			p.seen.running = true
		}
		if n.State == job.Completed || n.State == job.Cancelled {
			p.seen.ended += n.N
		}
	}
	fresh = p.size > 0 && p.seen.all > was.all
	return fresh, fresh || p.seen.running || p.size > 0 && p.seen.ended != was.ended
}
