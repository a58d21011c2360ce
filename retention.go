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

// Forever is a Retention that removes nothing. Any negative one means the same.
const Forever time.Duration = -1

// Retention is how long things are kept. A zero field is its default, a negative one
// is for ever. Clients that run remove what is past its time, a little at a time;
// they should all say the same, because each goes by its own.
type Retention struct {
	// Completed is for completed and cancelled jobs with their results, from their
	// ends on; default CompletedDefault. An idempotency key outlives its job.
	Completed time.Duration
	// Failures is for failure records; default FailuresDefault. Those of a live job
	// and of one with a dead letter stay as long as that.
	Failures time.Duration
	// Dead is for dead letters that are resolved or ignored, with their jobs and
	// failure records, from the death or what was done last on; default DeadDefault.
	Dead time.Duration
	// DropPending removes dead letters by their age, even if nobody has ever done
	// anything about them. Each such removal is in the audit. Default false: a
	// pending dead letter stays.
	DropPending bool
	// Events is for events; default EventsDefault.
	Events time.Duration
}

// stored returns the retention as a store takes it, where 0 is for ever.
func (r Retention) stored() store.Retention {
	span := func(d, byDefault time.Duration) time.Duration { return max(cmp.Or(d, byDefault), 0) }
	return store.Retention{
		Completed: span(r.Completed, CompletedDefault), Failures: span(r.Failures, FailuresDefault),
		Dead: span(r.Dead, DeadDefault), DropPending: r.DropPending, Events: span(r.Events, EventsDefault),
	}
}
