package retry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// ResendsDefault is how often the calls of one run of a job may send again, all
// together.
const ResendsDefault = 50

// JobInfo is what the context of a job says to the retried calls in it.
type JobInfo struct {
	ID          string
	Correlation string
	Deadline    time.Time // for the job to begin: it is not handed over beyond; zero is none
	// Resends bounds what the calls of the run send again, see Ledger.Resends; 0 is
	// ResendsDefault.
	Resends int
	Logger  *slog.Logger // of calls whose strategy has none
}

// Ledger is the account of one run of a job, which all calls in it share. Its
// methods are safe for concurrent use.
type Ledger struct {
	job        JobInfo
	sends      atomic.Int64
	calls      atomic.Int64
	resends    atomic.Int64
	suppressed atomic.Int64
}

// WithJob returns a context for one run of a job, and the account of it. Calls
// under it hand the job over when they run out of retries. The engine does this for
// every handler; other queues can, too, if they heed failure.HandOver.
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

// Sends returns what was sent so far: what transports counted, and one for each
// attempt in which none did.
func (l *Ledger) Sends() int { return int(l.sends.Load()) }

// Resends returns what was sent again: the retries of calls, from when they are
// decided on, and what was counted beyond the first send in an attempt that failed, or
// was a retry. The requests of an operation that succeeds at once are none.
func (l *Ledger) Resends() int { return int(l.resends.Load()) }

// Calls returns the number of calls.
func (l *Ledger) Calls() int { return int(l.calls.Load()) }

// Suppressed returns how many calls ran once because a call around them retries.
func (l *Ledger) Suppressed() int { return int(l.suppressed.Load()) }

// spent reports whether the run has sent as much beyond its first sends as it may.
func (l *Ledger) spent() bool { return l.resends.Load() >= int64(l.job.Resends) }

// reserve takes a send from what is left, and reports whether there was one.
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
