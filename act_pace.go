package redrive

import (
	"context"
	"time"

	"github.com/redrive/redrive/job"
)

// The sizes of one step of Act, in dead letters. The jobs that a step brings back are
// claimed and completed by later exchanges, which delays the jobs that others enqueue.
// So steps are small and followed by a pause while others enqueue, larger while jobs
// only run, and largest while the store is idle. Running jobs may be the ones that Act
// itself has brought back.
const (
	actStep   = 1_000 // the store is idle
	actBeside = 200   // jobs run, and none is enqueued
	actGentle = 50    // others enqueue jobs
	actPause  = 25 * time.Millisecond
	// actShare is the factor between the time that a step took and the pause after it.
	// A slow or busy store so gets longer pauses, up to actPauseMax.
	actShare    = 10
	actPauseMax = time.Second
	// actQuiet is how long a store must be idle before steps grow again. A single look
	// is not enough: where runs are short, no job is running at most moments.
	actQuiet = time.Second
)

// actPace computes the size of the next step of an action by filter.
type actPace struct {
	most  int           // the largest size of a step
	size  int           // the size of the last step; 0 before the first
	took  time.Duration // how long the last step took
	seen  actSeen
	fresh time.Time // others count as enqueueing until this time
	until time.Time // others count as busy until this time
}

// actSeen holds what actPace.look compares to notice the work of others.
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

// look reports whether jobs have been enqueued since the last look (fresh), and whether
// any process did anything: ran, enqueued or ended jobs (busy).
func (p *actPace) look(ctx context.Context, c *Client) (fresh, busy bool) {
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return true, true // a store that cannot count is taken to be busy
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
