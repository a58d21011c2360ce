package engine

import (
	"runtime/pprof"
	"sync/atomic"
)

// crew is goroutines that work for one run after another. A new one for each would
// grow its stack anew, which costs more than all else that is done in it: a quarter
// of what a short job takes of this process. One that does not come back, or that
// a handler ends with runtime.Goexit, holds up nobody else.
type crew struct {
	do    func(*Run)
	most  int32 // that may wait for more
	ended <-chan struct{}
	more  chan *Run
	idle  atomic.Int32 // that wait for more
}

func newCrew(most int32, ended <-chan struct{}, do func(*Run)) *crew {
	return &crew{do: do, most: most, ended: ended, more: make(chan *Run)}
}

// give has one of the crew work for a run.
func (c *crew) give(r *Run) {
	select {
	case c.more <- r:
	default:
		go c.work(r)
	}
}

func (c *crew) work(r *Run) {
	for r != nil {
		c.do(r)
		// The labels that a handler has given its goroutine are not the next one's.
		pprof.SetGoroutineLabels(r.ctx.Context)
		r = c.next()
	}
}

// next waits for another run; nil when there are enough who do, or none will come.
func (c *crew) next() *Run {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > c.most {
		return nil
	}
	select {
	case r := <-c.more:
		return r
	case <-c.ended:
		return nil
	}
}
