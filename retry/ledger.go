package retry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// ResendsDefault is the number of resends that all calls in one run of a job may make together.
const ResendsDefault = 50

// JobInfo describes a job to the retried calls in its context.
type JobInfo struct {
	ID          string
	Correlation string
	Deadline    time.Time // the latest time at which the job may start, which also limits a hand-over; zero means no limit
	// Resends is the highest number of resends in the run, see Ledger.Resends; 0 means
	// ResendsDefault.
	Resends int
	Logger  *slog.Logger // the logger of calls whose strategy has no logger
}

// Ledger counts the sends of one run of a job; all calls in the run share it. Its
// methods are safe for concurrent use.
type Ledger struct {
	job        JobInfo
	sends      atomic.Int64
	calls      atomic.Int64
	resends    atomic.Int64
	suppressed atomic.Int64
}

// WithJob returns a context for one run of a job, with its Ledger. Calls with this context
// hand the job over to its queue when they run out of retries. The engine uses WithJob for
// every handler; another queue can use it, too, if that queue handles failure.HandOver.
func WithJob(ctx context.Context, j JobInfo) (context.Context, *Ledger) {
	if j.Resends <= 0 {
		j.Resends = ResendsDefault
	}
	of := &struct {
		frame  frame
		base   base
		ledger Ledger
	}{}
	of.ledger.job, of.base.ledger = j, &of.ledger
	of.frame.Context, of.frame.base = ctx, &of.base
	return &of.frame, &of.ledger
}

// Sends returns the number of sends so far: the sends that transports counted, and one
// for each attempt in which no transport counted.
func (l *Ledger) Sends() int { return int(l.sends.Load()) }

// Resends returns the number of repeated sends. A retry of a call counts from the
// decision to retry. In an attempt that failed or was a retry, every send after the first
// counts, too. The requests of an operation that succeeds at once do not count.
func (l *Ledger) Resends() int { return int(l.resends.Load()) }

// Calls returns the number of calls.
func (l *Ledger) Calls() int { return int(l.calls.Load()) }

// Suppressed returns the number of calls that were made only once because an outer call
// retries.
func (l *Ledger) Suppressed() int { return int(l.suppressed.Load()) }

// spent reports whether the run has used up its resends.
func (l *Ledger) spent() bool { return l.resends.Load() >= int64(l.job.Resends) }

// reserve counts one resend in advance if the run has one left, and reports whether it did.
func (l *Ledger) reserve() bool {
	for {
		n := l.resends.Load()
		if n >= int64(l.job.Resends) {
			return false
		}
		if l.resends.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
