package retry

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// Call is what an operation can know about its call; see From.
type Call struct {
	Operation string
	Attempt   int // from 1
	// Key is an idempotency key, the same in all attempts: that of WithKey, else one
	// of the call's own. Outside a job, calls have one with WithKey, with
	// Options.Keyed or with an attempt limit; else it is "".
	Key string
	// Job and Correlation are those of the job, or those of WithAttrs.
	Job, Correlation string
	Last             error     // of the attempt before; nil in the first
	Deadline         time.Time // of the attempt's context; zero is none
}

// From returns what is known about the innermost call that ctx belongs to. A
// context of no call is as that of a first attempt.
func From(ctx context.Context) Call {
	c := Call{Attempt: 1}
	c.Deadline, _ = ctx.Deadline()
	c.Correlation, c.Job = attrIDs(ctx)
	f := frameOf(ctx)
	if f == nil {
		return c
	}
	if f.strategy != nil {
		c.Operation, c.Attempt, c.Last = f.strategy.o.Operation, int(f.attempt), f.last
		c.Key = f.keyed()
	} else {
		c.Key = f.key
	}
	if l := f.ledger; l != nil {
		c.Job, c.Correlation = l.job.ID, l.job.Correlation
	}
	return c
}

// WithKey gives the calls under ctx an idempotency key, for a step that has one:
// for a job's, redrive's Info.StepKey. All calls under ctx have it, so it should be
// given to one.
func WithKey(ctx context.Context, key string) context.Context {
	b := &base{key: key}
	if up := frameOf(ctx); up != nil {
		b.up, b.ledger = up, up.ledger
	}
	return &frame{Context: ctx, base: b}
}

// frame is what the contexts of calls carry: of a job (no strategy), a key (no
// strategy), or an attempt.
type frame struct {
	context.Context //nolint:containedctx // it is one
	*base
	last     error
	attempt  int32
	physical atomic.Int32 // sends that were counted in this attempt, in calls within it too
	direct   atomic.Int32 // those that were counted in this attempt itself
}

// base is what all attempts of a call have in common.
type base struct {
	up       *frame // that of the caller's context
	ledger   *Ledger
	strategy *Strategy // nil: not of a call
	key      string
	number   [2]uint64 // a key is made of it if there is none; zero: there is none
}

type frameKey struct{}

// Value implements context.Context.
func (f *frame) Value(key any) any {
	if _, own := key.(frameKey); own {
		return f
	}
	return f.Context.Value(key)
}

// frameOf returns the innermost frame of a context.
func frameOf(ctx context.Context) *frame {
	f, _ := ctx.Value(frameKey{}).(*frame)
	return f
}

// within reports whether a call of the same dependency is under way that retries, and
// whose attempt this call is a part of.
func (f *frame) within(dependency string) bool {
	for ; f != nil; f = f.up {
		if f.strategy != nil && f.strategy.retries > 0 && f.strategy.o.Dependency == dependency {
			return true
		}
	}
	return false
}

func (f *frame) keyed() string {
	if f.key != "" || f.number == [2]uint64{} {
		return f.key
	}
	return strconv.FormatUint(f.number[0], 36) + "-" + strconv.FormatUint(f.number[1], 36)
}

// CountSend notes that something was really sent in the attempt that ctx belongs
// to. Transports and interceptors call it for every request, so that retries below
// Do are seen; where none does, Do counts one send for each attempt.
func CountSend(ctx context.Context) {
	f := frameOf(ctx)
	if f == nil {
		return
	}
	if f.ledger != nil {
		f.ledger.sends.Add(1)
	}
	f.note(1)
	for f != nil && f.strategy == nil { // of a key
		f = f.up
	}
	if f != nil && f.direct.Add(1) > 1 && f.attempt > 1 && f.ledger != nil {
		f.ledger.resends.Add(1)
	}
}

// note tells an attempt, and those around it, of sends.
func (f *frame) note(n int32) {
	for ; f != nil; f = f.up {
		f.physical.Add(n)
	}
}
