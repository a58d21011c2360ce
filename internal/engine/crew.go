package engine

import (
	"runtime/pprof"
	"sync/atomic"
)

// crew is a pool of goroutines that each run one handler after another. A new goroutine for each
// run would have to grow its stack, which takes a quarter of the processor time of a short job. If
// a handler never returns, or calls runtime.Goexit, the crew loses only the goroutine of that
// handler.
type crew struct {
	do    func(*Run)
	most  int32 // the largest number of idle goroutines that the crew keeps
	ended <-chan struct{}
	more  chan *Run
	idle  atomic.Int32 // the number of goroutines that wait for a run
}

func newCrew(most int32, ended <-chan struct{}, do func(*Run)) *crew {
	return &crew{do: do, most: most, ended: ended, more: make(chan *Run)}
}

// give passes a run to a waiting goroutine, or to a new one.
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
		// Remove the profile labels that a handler has set for its goroutine.
		pprof.SetGoroutineLabels(r.ctx.Context)
		r = c.next()
	}
}

// next waits for another run. It returns nil if enough goroutines are already waiting, or
// if the engine has ended.
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
