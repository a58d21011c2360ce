package redrivetest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// Outcome describes how one run of a job ended.
type Outcome struct {
	ID      redrive.JobID
	Kind    string
	Attempt int           // the number of the attempt within the life, from 1
	Cause   job.Cause     // why the job's state changed, such as job.Failed
	State   redrive.State // the state of the job after the run
	Wait    time.Duration // the time until the job is due again; 0 when it does not run again
	Reason  job.Reason    // why the job is dead; "" when it is not
	Result  []byte        // the result of a completed job
	Cost    int64         // the cost of the run, in millionths of a US dollar
	Failure *job.Failure  // the failure record of a failed run; StartedAt and EndedAt are 0
	// Decision is the decision about the failure with its reasons.
	Decision policy.Record

	// TempFiles and Processes are what the handler left behind: paths, and commands with their
	// process ids. Only Attempt fills them.
	TempFiles []string
	Processes []string
}

// recorder is a store that records the outcomes that are written to it.
type recorder struct {
	*memory.Store

	mu       sync.Mutex
	claims   map[store.Run]job.Claim
	outcomes []Outcome
}

// Exchange implements store.Worker.
func (r *recorder) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	answer, err := r.Store.Exchange(ctx, x)
	if err != nil {
		return answer, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, settled := range answer.Settled {
		if settled == nil {
			o := x.Settle[i]
			if slices.Contains(answer.Cancelled, i) {
				o.To, o.Delay = job.Cancelled, 0
			}
			r.record(&o)
		}
	}
	if r.claims == nil {
		r.claims = make(map[store.Run]job.Claim)
	}
	for _, c := range answer.Claims {
		r.claims[store.Run{ID: c.ID, Token: c.Token}] = c
	}
	return answer, nil
}

// record stores a copy of one outcome, because the engine reuses the memory.
func (r *recorder) record(o *job.Outcome) {
	run := store.Run{ID: o.ID, Token: o.Token}
	claim, known := r.claims[run]
	if !known {
		return // the outcome was already recorded
	}
	delete(r.claims, run)
	kept := Outcome{
		ID: o.ID, Kind: claim.Kind, Attempt: int(claim.Attempt()), Cause: o.Cause, State: o.To, Wait: o.Delay,
		Reason: o.Reason, Result: bytes.Clone(o.Result), Cost: o.Cost,
	}
	if o.Failure != nil {
		f := *o.Failure
		kept.Failure = &f
		kept.Decision, _ = policy.ParseRecord(f.Decision) // the error is ignored, because a failure that the engine makes has no decision
	}
	r.outcomes = append(r.outcomes, kept)
}

// take returns the outcomes that were recorded since the last call of take.
func (r *recorder) take() []Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.outcomes
	r.outcomes = nil
	return taken
}
