package redrive

import (
	"context"
	"time"

	"github.com/redrive/redrive/job"
)

// The steps of Act. While others enqueue, a step is short and is followed by a
// pause, so that fresh jobs hardly notice: what a step brings back is claimed and
// settled in two exchanges more, and each holds them up. While jobs only run, which
// may be those that it has brought back, steps are larger. Where nobody does
// anything there is nobody to wait for.
const (
	actStep   = 1_000 // dead letters
	actBeside = 200   // while jobs run
	actGentle = 50    // while jobs are enqueued
	actPause  = 25 * time.Millisecond
	// actShare is how many times the time that a step took it waits at least: a
	// store that is slow or has much to do gets longer pauses, up to actPauseMax.
	actShare    = 10
	actPauseMax = time.Second
	// actQuiet is how long nobody must have done anything before steps grow again. One
	// look is no proof: where runs are short, none is running at most times.
	actQuiet = time.Second
)

// actPace says how large the steps of one action by filter are.
type actPace struct {
	most  int           // of a step
	size  int           // of the last one; 0 before the first
	took  time.Duration // the last one
	seen  actSeen
	fresh time.Time // until then others count as enqueueing
	until time.Time // until then others count as busy
}

// actSeen is what shows that others do something: all of it stays when an action
// brings jobs back.
type actSeen struct {
	running    bool
	all, ended int64
}

// next waits as long as it has to and returns how much the next step may do.
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

// look reports whether jobs have been enqueued since the last look, and whether
// anything was done at all: jobs that run, were enqueued or have ended, in whatever
// process.
func (p *actPace) look(ctx context.Context, c *Client) (fresh, busy bool) {
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return true, true // it has more to do than to count
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
