package retry

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// Call holds the data of a call for the operation of that call. From returns it.
type Call struct {
	Operation string
	Attempt   int // number of the attempt, from 1
	// Key is an idempotency key, the same in all attempts: the key of WithKey, or one
	// that the call makes. Outside a job, a call has a key only with WithKey,
	// Options.Keyed or an attempt limit; otherwise Key is "".
	Key string
	// Job and Correlation are the ids of the job, or the ids that WithAttrs has set.
	Job, Correlation string
	Last             error     // error of the previous attempt; nil in the first attempt
	Deadline         time.Time // deadline of the attempt's context; zero means no deadline
}

// From returns what is known about the innermost call that ctx belongs to. For a
// context outside any call it returns the values of a first attempt.
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

// WithKey gives the calls under ctx an idempotency key. Use it for a step that has a
// key already, such as one from redrive's Info.StepKey. All calls under ctx share the
// key, so use one context per step.
func WithKey(ctx context.Context, key string) context.Context {
	b := &base{key: key}
	if up := frameOf(ctx); up != nil {
		b.up, b.ledger = up, up.ledger
	}
	return &frame{Context: ctx, base: b}
}

// frame is the value that the context of a call carries. It belongs to an attempt, to a
// job or to a key; a frame of a job or a key has no strategy.
type frame struct {
	context.Context //nolint:containedctx // a frame is itself a context
	*base
	last     error
	attempt  int32
	physical atomic.Int32 // sends counted in this attempt, including those of calls within it
	direct   atomic.Int32 // sends counted in this attempt itself
}

// base holds what all attempts of a call share.
type base struct {
	up       *frame // the frame of the caller's context
	ledger   *Ledger
	strategy *Strategy // the strategy of the call; nil if the frame belongs to a job or a key
	key      string
	number   [2]uint64 // the key is made from this number when no other key is set; zero means no key
}

type frameKey struct{}

// Value implements context.Context.
func (f *frame) Value(key any) any {
	if _, own := key.(frameKey); own {
		return f
	}
	return f.Context.Value(key)
}

// frameOf returns the innermost frame of a context, or nil.
func frameOf(ctx context.Context) *frame {
	f, _ := ctx.Value(frameKey{}).(*frame)
	return f
}

// within reports whether a new call in the context of f is part of an attempt of another
// call that retries and has the same dependency.
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

// CountSend records one request that was sent in the attempt that ctx belongs to. Transports
// and interceptors call it for every request, so that retries below Do are counted. If
// CountSend is not called, Do counts one send per attempt.
func CountSend(ctx context.Context) {
	f := frameOf(ctx)
	if f == nil {
		return
	}
	if f.ledger != nil {
		f.ledger.sends.Add(1)
	}
	f.note(1)
	for f != nil && f.strategy == nil { // skip the frames that belong to keys
		f = f.up
	}
	if f != nil && f.direct.Add(1) > 1 && f.attempt > 1 && f.ledger != nil {
		f.ledger.resends.Add(1)
	}
}

// note adds n sends to an attempt and to the outer attempts that contain it.
func (f *frame) note(n int32) {
	for ; f != nil; f = f.up {
		f.physical.Add(n)
	}
}
