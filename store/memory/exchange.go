package memory

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Exchange implements store.Worker.
func (s *Store) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	t, err := s.begin(ctx, "exchange")
	if err != nil {
		return store.Exchanged{}, err
	}
	defer t.end()
	if err := x.Validate(); err != nil {
		return store.Exchanged{}, t.errorf("%w", err)
	}
	answer := store.Exchanged{Settled: make([]error, len(x.Settle)), NextDue: store.Never}
	for i := range x.Settle {
		o := &x.Settle[i]
		answer.Settled[i] = t.settle(o)
		if answer.Settled[i] == nil && o.To.Ready() && t.jobs[o.ID].State == job.Cancelled {
			answer.Cancelled = append(answer.Cancelled, i)
		}
	}
	c := claims{tx: t, holder: x.Holder, until: t.now.Add(x.Lease), answer: &answer}
	for i := range x.Want {
		if !c.enough() {
			c.serve(&x.Want[i])
		}
	}
	return answer, nil
}
