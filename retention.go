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
)

// Forever is a duration of Retention that keeps things for ever. Any negative duration
// means the same.
const Forever time.Duration = -1

// Retention is how long things are kept. A zero field means its default, a negative one
// means for ever. Running clients remove what is older, a little at a time. All clients
// of a store should have the same Retention, because each uses its own.
type Retention struct {
	// Completed applies to completed and cancelled jobs with their results, counted
	// from the end of the job; default CompletedDefault. An idempotency key outlives
	// its job.
	Completed time.Duration
	// Failures applies to failure records; default FailuresDefault. The records of a
	// live job, or of a job with a dead letter, are kept as long as the job.
	Failures time.Duration
	// Dead applies to resolved and ignored dead letters with their jobs and failure
	// records, counted from the death or the last action; default DeadDefault.
	Dead time.Duration
	// DropPending also removes pending dead letters when they are old enough. The audit
	// log records each such removal. By default pending dead letters are kept.
	DropPending bool
	// Events applies to events; default EventsDefault.
	Events time.Duration
}

// stored returns the retention in the store's form, where 0 means for ever.
func (r Retention) stored() store.Retention {
	span := func(d, byDefault time.Duration) time.Duration { return max(cmp.Or(d, byDefault), 0) }
	return store.Retention{
		Completed: span(r.Completed, CompletedDefault), Failures: span(r.Failures, FailuresDefault),
		Dead: span(r.Dead, DeadDefault), DropPending: r.DropPending, Events: span(r.Events, EventsDefault),
	}
}
