package claims

import (
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// Runs are those that this process has claimed, as they were then: what they hold
// cannot change under one token, and the statement that ends a run checks that.
type Runs struct {
	mu      sync.Mutex
	claimed map[job.ID]*sqlstore.Run
}

// NewRuns returns an empty memory.
func NewRuns() *Runs { return &Runs{claimed: make(map[job.ID]*sqlstore.Run)} }

// runsMax bounds the runs that are remembered. Those of lost leases are not taken
// out one by one.
const runsMax = 2 * job.ExchangeMax

// Recall returns the run that an outcome ends, nil when the row has to be read. It
// is a copy: a transaction may be tried again.
func (r *Runs) Recall(o *job.Outcome) *sqlstore.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.claimed[o.ID]
	if run == nil || run.Token() != o.Token {
		return nil
	}
	again := *run
	return &again
}

// Remember keeps runs whose claim is committed.
func (r *Runs) Remember(all []*sqlstore.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.claimed)+len(all) > runsMax {
		clear(r.claimed)
	}
	for _, run := range all {
		r.claimed[run.ID()] = run
	}
}

// Forget drops runs whose end is committed.
func (r *Runs) Forget(outcomes []job.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range outcomes {
		delete(r.claimed, outcomes[i].ID)
	}
}
