package redrive

import (
	"cmp"
	"time"

	"github.com/redrive/redrive/store"
)

// The defaults of Retention.
const (
	CompletedDefault = 24 * time.Hour
	FailuresDefault  = 7 * 24 * time.Hour
	DeadDefault      = 30 * 24 * time.Hour
	EventsDefault    = 7 * 24 * time.Hour
	BatchesDefault   = 30 * 24 * time.Hour
)

// Forever is a value for the durations of Retention. It means that nothing is removed.
// Any negative duration means the same.
const Forever time.Duration = -1

// Retention says how long a store keeps jobs, failures, dead letters and events. A zero
// field means its default; a negative field means for ever. Running clients remove
// older data in small steps. Each client uses its own Retention, so all clients of a
// store should have the same one.
type Retention struct {
	// Completed applies to completed and cancelled jobs with their results, counted
	// from the end of the job; default CompletedDefault. An idempotency key is kept
	// after its job is removed.
	Completed time.Duration
	// Failures applies to failure records; default FailuresDefault. The failure records
	// of a live job, or of a job with a dead letter, are kept as long as the job.
	Failures time.Duration
	// Dead applies to resolved and ignored dead letters with their jobs and failure
	// records, counted from the death or the last action; default DeadDefault.
	Dead time.Duration
	// If DropPending is true, pending dead letters that are older than Dead are also
	// removed. The audit log records each such removal. By default pending dead letters
	// are kept.
	DropPending bool
	// Events applies to events; the default is EventsDefault.
	Events time.Duration
	// Batches applies to batches that have ended, with their outcomes and the keys of their
	// members, counted from the last end or from the time at which the batch has expired; the
	// default is BatchesDefault. A batch is kept as long as one of its members.
	Batches time.Duration
}

// stored returns the retention as a store.Retention, in which 0 means for ever.
func (r Retention) stored() store.Retention {
	span := func(d, byDefault time.Duration) time.Duration { return max(cmp.Or(d, byDefault), 0) }
	return store.Retention{
		Completed: span(r.Completed, CompletedDefault), Failures: span(r.Failures, FailuresDefault),
		Dead: span(r.Dead, DeadDefault), DropPending: r.DropPending, Events: span(r.Events, EventsDefault),
		Batches: span(r.Batches, BatchesDefault),
	}
}
