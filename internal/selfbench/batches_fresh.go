package selfbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive"
)

const (
	besideTurns = 5                    // how often each thing is measured; the result is the median
	besidePulse = 5 * time.Millisecond // time between two enqueues of one job each
	besideMost  = 1.5                  // highest accepted ratio of the p99 beside a publication
)

// freshBesideFigures prints how long the enqueue of one job takes beside a publication, compared with beside
// enqueues of as many jobs in calls of as many.
func (b *bencher) freshBesideFigures(ctx context.Context, p *printer, on measuredOn) error {
	var plain, publish []time.Duration
	for range besideTurns {
		for _, drafts := range []bool{false, true} {
			var took time.Duration
			err := b.with(ctx, on, b.folder(), 1, func(ctx context.Context, c *bench) (err error) {
				took, err = c.freshBeside(ctx, b.load.Jobs, c.bytes(b.load.Payload), drafts)
				return err
			})
			switch {
			case err != nil:
				return err
			case drafts:
				publish = append(publish, took)
			default:
				plain = append(plain, took)
			}
		}
	}
	return errors.Join(
		p.tell("enqueue of one job beside enqueues in calls of 2,000 on "+on.name+", p99", milliseconds(median(plain)), "ms"),
		p.atMost("enqueue of one job beside a publication on "+on.name+", p99", float64(median(publish))/float64(median(plain)), "beside enqueues in calls of 2,000", besideMost))
}

// freshBeside returns the p99 of enqueues of one job each while n others are published or enqueued.
func (b *bench) freshBeside(ctx context.Context, n int, body []byte, drafts bool) (time.Duration, error) {
	var h *redrive.BatchHandle
	if drafts {
		var err error
		if h, err = b.drafts(ctx, n, body); err != nil {
			return 0, err
		}
	}
	ended := make(chan error, 1)
	go func() {
		if drafts {
			_, err := h.Publish(ctx, redrive.By{Actor: "bench"})
			ended <- err
			return
		}
		ended <- inCalls(n, 0, false, body, func(specs []redrive.Spec) error { return b.enqueueAll(ctx, specs) })
	}()
	var took histogram
	var calls sync.WaitGroup
	tick := time.NewTicker(besidePulse)
	defer tick.Stop()
	failed := make(chan error, 1)
	for {
		select {
		case err := <-ended:
			calls.Wait()
			if err == nil && took.read().n() == 0 {
				err = fmt.Errorf("no job was enqueued beside %d others: measure with more jobs", n)
			}
			return took.read().at(0.99), err
		case err := <-failed:
			return 0, errors.Join(err, <-ended)
		case <-tick.C:
			calls.Go(func() {
				start := time.Now()
				if _, err := b.client.Enqueue(ctx, redrive.NewRaw("noop", body, &redrive.Options{Queue: "fresh"})); err != nil {
					select {
					case failed <- err:
					default:
					}
					return
				}
				took.add(time.Since(start))
			})
		}
	}
}
