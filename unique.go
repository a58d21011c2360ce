package redrive

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Unique makes a job unique by its owner, kind and arguments. With the zero value, the job
// is unique while an earlier job with the same owner, kind and arguments is alive, which
// means waiting, retrying or running, also in a paused queue. When that job is completed,
// dead or cancelled, an enqueue makes a new job. A job that a rule of the policy holds for a
// person is dead, too.
//
// Arguments are compared as JSON: the order of fields and white space do not matter.
// Payloads that are not JSON are compared by their bytes. Queue, priority and other
// options are not compared. A middleware that changes the payload changes what is
// compared.
//
// When a dead job is retried, it is alive again. While another job with the same arguments
// is alive, a retry by id fails with store.ErrConflict, and retries by filter and redrives
// skip the dead job.
//
// When a retry changes the payload, the job becomes unique by its new arguments, and the
// old arguments become free. While another living job is unique by the new arguments, the
// retry fails with store.ErrConflict, which names that job. The end of a period does not
// move.
type Unique struct {
	// Period, when it is not 0, makes the job unique for a time instead: in each period at most
	// one job is enqueued, even if that job has ended or was removed. Periods are aligned to
	// 1970-01-01 00:00 UTC, so 24 hours are a day in UTC. The time of the enqueue on the
	// store's clock decides, not RunAt. It is a whole number of microseconds. Jobs that are
	// unique for periods of another length, or while alive, do not count.
	Period time.Duration
}

// check returns an error for options that contradict u or use a reserved key, or nil. The
// error is an ErrInvalid.
func (u *Unique) check(o *Options) error {
	switch {
	case u == nil && strings.HasPrefix(o.Key, job.UniqueKey):
		return fmt.Errorf("key %q: keys that begin with %q are reserved for Options.Unique; use another key: %w",
			o.Key, job.UniqueKey, store.ErrInvalid)
	case u == nil:
		return nil
	case o.Key != "":
		return fmt.Errorf("Options.Unique and Options.Key %q contradict each other: set one of them: %w", o.Key, store.ErrInvalid)
	case !o.KeyUntil.IsZero():
		return fmt.Errorf("Options.Unique and Options.KeyUntil contradict each other: set Unique.Period instead: %w", store.ErrInvalid)
	case u.Period < 0 || u.Period%time.Microsecond != 0:
		return fmt.Errorf("Unique.Period %s: must be a whole number of microseconds, or 0 for as long as the job is alive: %w",
			u.Period, store.ErrInvalid)
	}
	return nil
}

// key returns the key by which a job with this payload is unique.
func (u *Unique) key(payload []byte) string {
	if u.Period == 0 {
		return job.PayloadKey(job.AliveKey, payload)
	}
	return job.PayloadKey(job.UniqueKey+u.Period.String()+":", payload)
}
