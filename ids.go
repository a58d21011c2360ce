package redrive

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// The first reservation of a process is for one id. So the jobs of a command that
	// enqueues one job per process have the ids 1, 2, 3. Each further reservation of a
	// process is idGrowth times as large, up to idBlockMax.
	idBlockMin = 1
	idBlockMax = 1 << 16
	idGrowth   = 8
	// reserveTries is how often a reservation with an unknown outcome is repeated. If
	// the first reservation was made after all, its ids stay unused.
	reserveTries = 3
)

// idPool hands out job ids from reserved blocks, so that a job has its id before the
// commit that creates it. Taking ids costs one atomic addition.
type idPool struct {
	reserve func(ctx context.Context, n int) (job.ID, error)
	block   atomic.Pointer[idRange]
	turn    chan struct{} // a channel of capacity 1: its token is the right to reserve
	size    int           // the size of the next block; only the caller that has the token changes it
}

// idRange is a reserved block of ids. The ids are used in ascending order.
type idRange struct {
	last  atomic.Int64 // the last id that was taken
	first int64        // the first id of the block
	end   int64        // the last id of the block
}

func newIDPool(reserve func(context.Context, int) (job.ID, error)) *idPool {
	return &idPool{reserve: reserve, turn: make(chan struct{}, 1), size: idBlockMin}
}

// take returns the first of n consecutive ids; n is at most job.EnqueueMax.
func (p *idPool) take(ctx context.Context, n int) (job.ID, error) {
	for {
		block := p.block.Load()
		if first, ok := block.take(n); ok {
			return first, nil
		}
		if err := p.refill(ctx, block, n); err != nil {
			return 0, err
		}
	}
}

// take returns the first of n consecutive ids of the block. It returns false when fewer
// than n ids are left; these ids are then never used.
func (b *idRange) take(n int) (job.ID, bool) {
	if b == nil {
		return 0, false
	}
	last := b.last.Add(int64(n))
	return job.ID(last - int64(n) + 1), last <= b.end
}

// takeNow takes ids only if the present block has enough of them.
func (p *idPool) takeNow(n int) (job.ID, bool) { return p.block.Load().take(n) }

// drop removes the present block if it contains an id that another job already has. Another
// process has then reserved the same block. This can happen after a fail-over in which the
// database has lost a reservation.
func (p *idPool) drop(id job.ID) {
	if b := p.block.Load(); b != nil && int64(id) >= b.first && int64(id) <= b.end {
		p.block.CompareAndSwap(b, nil)
	}
}

// lost reports whether err says that another job has an id of this pool. If so, it
// drops the block of that id.
func (p *idPool) lost(err error) bool {
	conflict, ok := errors.AsType[*store.IDConflict](err)
	if ok {
		p.drop(conflict.ID)
	}
	return ok
}

// refill replaces a used-up block by a block of at least n ids, unless another caller
// has already replaced the block.
func (p *idPool) refill(ctx context.Context, used *idRange, n int) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("reserve job ids: %w", context.Cause(ctx))
	}
	if p.block.Load() != used {
		return nil
	}
	size := max(p.size, n)
	var first job.ID
	var err error
	for range reserveTries {
		if first, err = p.reserve(ctx, size); !errors.Is(err, store.ErrUnknown) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("reserve job ids: %w", err)
	}
	p.size = min(p.size*idGrowth, idBlockMax)
	block := &idRange{first: int64(first), end: int64(first) + int64(size) - 1}
	block.last.Store(int64(first) - 1)
	p.block.Store(block)
	return nil
}
