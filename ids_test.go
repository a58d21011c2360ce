package redrive_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestIDs_ConcurrentEnqueuesShareOneBlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{Store: memory.New(memory.Options{}), gate: make(chan struct{})}
		c, err := redrive.New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		seen := map[redrive.JobID]bool{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					receipts, err := c.EnqueueMany(t.Context(), slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, 7))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, r := range receipts {
						if seen[r.ID] {
							t.Errorf("job id %d was given out twice, want each id once", r.ID)
						}
						seen[r.ID] = true
					}
					mu.Unlock()
				}
			})
		}
		synctest.Wait() // one goroutine is reserving ids, and the others wait for it
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("an enqueue whose context has ended while it waits for ids: got error %v, want context.Canceled", err)
		}
		close(s.gate)
		all.Wait()
		// The blocks have 7, 8, 64, 512 and 4,096 ids. No caller reserves a block for itself.
		if len(seen) != 8*50*7 || s.reserved != 5 {
			t.Errorf("got %d different ids from %d blocks, want %d ids from 5 blocks", len(seen), s.reserved, 8*50*7)
		}
	})
}

// sink is a store that accepts all jobs but does not store them.
type sink struct {
	*memory.Store
	gate     chan struct{} // if it is not nil, a reservation waits until this channel is closed
	mu       sync.Mutex
	reserved int
	last     redrive.JobID
}

func (s *sink) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved++
	return s.Store.ReserveIDs(ctx, n)
}

func (s *sink) Enqueue(_ context.Context, jobs []job.New) ([]job.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	receipts := make([]job.Receipt, len(jobs))
	for i := range jobs {
		receipts[i].ID = jobs[i].ID
		s.last = jobs[i].ID
	}
	return receipts, nil
}

func TestIDs_TheNextBlockIsReservedWhenOneIsUsedUp(t *testing.T) {
	t.Parallel()
	s := &sink{Store: memory.New(memory.Options{})}
	c, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(n int) {
		t.Helper()
		for n > 0 {
			step := min(n, job.EnqueueMax)
			n -= step
			if _, err := c.EnqueueMany(t.Context(), slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, step)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Blocks grow and are used up to their last id. A call that needs more ids than the next block
	// has gets a block of its size.
	for _, step := range []struct {
		n, blocks int
		last      redrive.JobID
	}{{1, 1, 1}, {8, 2, 9}, {1, 3, 10}, {10_000, 4, 10_073}, {1, 5, 10_074}, {4095, 5, 14_169}, {1, 6, 14_170}} {
		enqueue(step.n)
		if s.reserved != step.blocks || s.last != step.last {
			t.Errorf("after %d more jobs: got %d blocks and the last id %d, want %d blocks and the last id %d", step.n, s.reserved, s.last, step.blocks, step.last)
		}
	}
}

// forgetful is a store that has once lost all reservations of ids in a fail-over. After that it
// gives out the same ids again.
type forgetful struct {
	*memory.Store
	next    job.ID // the first id that the store gives out again
	unknown bool   // whether the first enqueue fails with ErrUnknown and stores nothing
}

func (s *forgetful) ReserveIDs(_ context.Context, n int) (first job.ID, err error) {
	first = s.next
	s.next += job.ID(n)
	return first, nil
}

func (s *forgetful) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	if s.unknown {
		s.unknown = false
		return nil, store.ErrUnknown
	}
	return s.Store.Enqueue(ctx, jobs)
}

// part of: I1
func TestI1_NoJobIsLostToAnotherWithItsID(t *testing.T) {
	t.Parallel()
	for _, unknown := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			shared := memory.New(memory.Options{})
			s := &forgetful{Store: shared, next: 1, unknown: unknown}
			for n := range 100 { // these ids belong to jobs of another process
				_, err := shared.Enqueue(t.Context(), []job.New{{ID: job.ID(n + 1), Kind: "render", Queue: "default", Priority: 2, Payload: []byte("another")}})
				if err != nil {
					t.Fatal(err)
				}
			}
			c, err := redrive.New(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			receipt, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
			if err != nil {
				t.Fatal(err)
			}
			j, err := c.Get(t.Context(), receipt.ID)
			if err != nil || receipt.ID <= 100 || string(j.Payload) == "another" {
				t.Errorf("got receipt %+v, payload %s, error %v; want an id above 100 and the payload of this job", receipt, j.Payload, err)
			}
		})
	}
}
