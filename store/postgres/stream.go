package postgres

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Take implements store.Streams. As it may have to wait for the keys of transactions of others, so
// many calls are let in that connections are left.
func (s *Store) Take(ctx context.Context, x store.Taking) ([]store.Taken, error) {
	if err := x.Validate(); err != nil {
		return nil, err
	}
	var highest job.ID
	var terms []job.New // a job for each different terms
	seen := map[string]bool{"": true}
	for i := range x.Parts {
		for k := range x.Parts[i].Records {
			r := &x.Parts[i].Records[k]
			if r.Skips() {
				continue
			}
			highest = max(highest, r.Job.ID)
			if !seen[r.Job.Terms] {
				seen[r.Job.Terms] = true
				terms = append(terms, r.Job)
			}
		}
	}
	if err := s.storeTerms(ctx, terms); err != nil {
		return nil, err
	}
	leave, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	answer, err := s.core.Take(ctx, x)
	raiseTo(&s.intake.used, int64(highest))
	return answer, err
}
