//go:build linux

package torture

import (
	"context"
	"errors"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// operate does what people do meanwhile: it retries dead jobs and cancels a few
// others, each time as a process that comes and goes. Refusals and a store in
// trouble are no faults here: the events must agree with the audit, whatever
// the answer was.
func (r *round) operate(c int, over <-chan struct{}) {
	random := r.random(r.n, c, 4)
	by := store.By{Actor: "operator", Reason: "torture"}
	for {
		timer := time.NewTimer(time.Duration(200+random.IntN(400)) * time.Millisecond)
		select {
		case <-over:
			timer.Stop()
			return
		case <-timer.C:
		}
		r.withStore(func(ctx context.Context, s *sqlite.Store) {
			dead, live := r.some(ctx, s, 3, job.Dead), r.some(ctx, s, 2, job.Waiting, job.Running)
			if _, err := s.Retry(ctx, by, dead); err == nil {
				r.faulted("manual retry")
			}
			if _, err := s.Cancel(ctx, by, live); err == nil {
				r.faulted("cancellation")
			}
			r.writeLate(ctx, s)
		})
	}
}

// writeLate claims success for the last but one runs of jobs that go on. The
// store must refuse that: their leases are over, however they ended.
func (r *round) writeLate(ctx context.Context, s *sqlite.Store) {
	page, err := s.List(ctx, store.Filter{States: []job.State{job.Waiting, job.Retrying, job.Running}, Limit: 100})
	if err != nil {
		return
	}
	var late []job.Outcome
	for i := range page.Jobs {
		if j := &page.Jobs[i]; j.Token >= 2 {
			late = append(late, job.Outcome{ID: j.ID, Token: j.Token - 1, Cause: job.Succeeded, To: job.Completed})
		}
	}
	out, err := s.Exchange(ctx, store.Exchange{Holder: "ghost", Lease: r.program.lease(), Settle: late})
	if err != nil {
		return
	}
	for i, o := range late {
		if !errors.Is(out.Settled[i], store.ErrLeaseLost) {
			r.Errorf("round %d: job %d took the outcome of run %d, which was over: %v", r.n, o.ID, o.Token, out.Settled[i])
		}
		r.faulted("late write")
	}
}

// some returns the newest jobs of the states that were not retried yet.
func (r *round) some(ctx context.Context, s *sqlite.Store, n int, states ...job.State) (ids []job.ID) {
	page, err := s.List(ctx, store.Filter{States: states, Limit: 50})
	if err != nil {
		return nil
	}
	for i := range page.Jobs {
		if j := &page.Jobs[i]; j.Life == 1 && len(ids) < n {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// withStore opens the database for a moment; when that fails it does nothing.
func (r *round) withStore(do func(ctx context.Context, s *sqlite.Store)) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := sqlite.Open(ctx, r.database, nil)
	if err != nil {
		return
	}
	do(ctx, s)
	_ = s.Close() // a store in trouble is no fault here
}
