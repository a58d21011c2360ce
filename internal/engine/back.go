package engine

import (
	"context"
	"errors"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// handBackLate hands back what an exchange has claimed that was still under way when
// the loop ended. Nobody runs these jobs: their leases would end, and each would
// have a crash that was none.
func (e *Engine) handBackLate(ctx context.Context) {
	var b batch
	e.in.swap(&b)
	x := store.Exchange{Holder: e.cfg.Holder, Lease: e.cfg.Lease}
	for _, event := range b.events {
		exchanged, ok := event.(Exchanged)
		if !ok || exchanged.Err != nil {
			continue
		}
		for i := range exchanged.Answer.Claims {
			c := &exchanged.Answer.Claims[i]
			x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Interrupted, To: job.Waiting})
		}
	}
	if len(x.Settle) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeoutMin)
	defer cancel()
	answer, err := e.cfg.Store.Exchange(ctx, x)
	if err = errors.Join(append(answer.Settled, err)...); err != nil {
		e.cfg.Logger.WarnContext(ctx, "jobs that were claimed while the worker stopped could not be handed back; "+
			"they run again when their leases are over", "jobs", len(x.Settle), "error", err)
	}
}
