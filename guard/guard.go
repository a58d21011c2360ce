// Package guard does an effect outside of the store once for each key, such as a mail, a payment, or the work for
// a message that another program has consumed. A job needs no guard for its own end: the store writes that
// once. The guard is for what a handler does elsewhere, and for consumers beside redrive.
//
// The store decides: one holder at a time has a key, for the time of a lease, and an effect that was done stays
// done. A fast side, such as Redis, only remembers what was done; if it is lost, the guard is slower, and never wrong.
//
// One repeat cannot be prevented from outside: if a process dies after the effect and before the mark, the
// effect is done again when the lease is over. Give the other side the key, where it takes one.
package guard

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The defaults and times of a guard.
const (
	LeaseDefault = 30 * time.Second
	FastWait     = 50 * time.Millisecond // longest wait for the fast side
	FastPause    = time.Second           // time without the fast side after an error, or when it was slow
	againMin     = 50 * time.Millisecond // first and longest wait after an error of the store
	againMax     = time.Second
)

var (
	// ErrProcessed matches the error of a key whose effect was done.
	ErrProcessed = errors.New("it was processed already")
	// ErrBusy matches the error of a key that another holder has.
	ErrBusy = errors.New("another process works on it")
	// ErrLost is the cause of the end of the context when the key may belong to another holder.
	ErrLost = errors.New("the key may belong to another process: its lease could not be extended")
)

// ProcessedError says that the effect of a key was done. It matches ErrProcessed.
type ProcessedError struct {
	Key     string
	DoneAt  time.Time // zero if the fast side has answered
	Summary string    // the result in short; "" if the fast side has answered
}

func (e *ProcessedError) Error() string { return fmt.Sprintf("guard: key %q: %v", e.Key, ErrProcessed) }

// Is reports that a ProcessedError matches ErrProcessed.
func (e *ProcessedError) Is(target error) bool { return target == ErrProcessed }

// BusyError says that another holder has the key. It matches ErrBusy. A handler that returns it is called again when the
// lease of the holder is over.
type BusyError struct {
	Key    string
	Holder string
	Until  time.Time
	wait   time.Duration
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("guard: key %q: %v until %s", e.Key, ErrBusy, e.Until.UTC().Format(time.RFC3339))
}

// Is reports that a BusyError matches ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// Unwrap returns a snooze until the end of the lease, so that a job waits without an attempt.
func (e *BusyError) Unwrap() error { return failure.Snooze(max(e.wait, time.Second)) }

// Fast remembers which keys were done. Package stream/mark has one on Redis.
type Fast interface {
	// Done reports whether the key was done. "false" may be wrong, "true" must not be.
	Done(ctx context.Context, key string) (bool, error)
	// SetDone remembers a key.
	SetDone(ctx context.Context, key string) error
}

// Config are the settings of a guard. The zero value is fine.
type Config struct {
	Name  string        // names this process in the store; default "guard"
	Lease time.Duration // after a crash others wait so long; default LeaseDefault, at most store.MarkLeaseMax
	Keep  time.Duration // for how long a done key counts; default for ever
	Fast  Fast          // default none
	Log   *slog.Logger  // default slog.Default
	Now   func() time.Time
}

// Guard does effects once.
type Guard struct {
	Config
	marks store.Marks
	rest  atomic.Int64 // until when the fast side is not asked, in microseconds since 1970
}

// New returns a guard on a store.
func New(marks store.Marks, config *Config) (*Guard, error) {
	g := &Guard{marks: marks}
	if config != nil {
		g.Config = *config
	}
	g.Name = cmp.Or(g.Name, "guard")
	g.Lease = cmp.Or(g.Lease, LeaseDefault)
	if g.Lease < time.Second || g.Lease > store.MarkLeaseMax || g.Keep < 0 || len(g.Name) > job.TextMax-len(rand.Text())-1 {
		return nil, fmt.Errorf("guard: Lease is %s and must be 1s to %s; Keep is %s and must not be below 0; Name has %d bytes and must have at most %d",
			g.Lease, store.MarkLeaseMax, g.Keep, len(g.Name), job.TextMax-len(rand.Text())-1)
	}
	if g.Log == nil {
		g.Log = slog.Default()
	}
	if g.Now == nil {
		g.Now = time.Now //nolint:forbidigo // the default clock of a guard
	}
	return g, nil
}

// Do calls run, unless the effect of the key was done (ErrProcessed) or another holder has the key (ErrBusy). While run
// works, the lease is extended; if that fails for too long, run's context ends with the cause ErrLost. When run
// returns no error, the key is marked as done, with the beginning of the result. When it returns an error, the key
// is free again. A panic, like a crash, leaves the key until the end of the lease. Keys have 1 to job.TextMax
// bytes; name what is done in them, such as "mail:" and a number.
func Do[T any](ctx context.Context, g *Guard, key string, run func(ctx context.Context) (T, error)) (T, error) {
	var none T
	if g.fastDone(ctx, key) {
		return none, &ProcessedError{Key: key}
	}
	h := &holding{Guard: g, claim: store.MarkClaim{Key: key, Holder: g.Name + "/" + rand.Text(), Lease: g.Lease}}
	if err := h.take(ctx); err != nil {
		return none, err
	}
	running, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.extend(running, cancel)
	}()
	defer func() { cancel(nil); <-ended }()
	result, err := run(running)
	cancel(nil)
	<-ended
	settling, stop := context.WithTimeout(context.WithoutCancel(ctx), g.Lease)
	defer stop()
	if err != nil {
		if back := g.marks.EndMark(settling, store.MarkEnd{Key: key, Holder: h.claim.Holder, Token: h.token}); back != nil {
			g.Log.WarnContext(ctx, "a key was not given back; it is free at the end of its lease", "key", key, "error", back)
		}
		return none, err
	}
	if err := h.done(settling, summary(result)); err != nil {
		return none, fmt.Errorf("guard: key %q: the effect was done, and its mark was not stored: %w", key, err)
	}
	g.fastSet(settling, key)
	return result, nil
}

// summary returns the beginning of a result.
func summary(result any) string {
	if text, ok := result.(string); ok {
		return job.Summary([]byte(text))
	}
	text, err := json.Marshal(result)
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return ""
	}
	return job.Summary(text)
}

// holding is the time for which a call has a key.
type holding struct {
	*Guard
	claim store.MarkClaim
	token int64
	until time.Time // the end of the lease by this process's clock, with which it began to ask
}

// take claims the key.
func (h *holding) take(ctx context.Context) error {
	from := h.Now()
	m, err := h.marks.ClaimMark(ctx, h.claim)
	if was, ok := errors.AsType[*store.MarkDone](err); ok {
		h.fastSet(ctx, h.claim.Key)
		return &ProcessedError{Key: h.claim.Key, DoneAt: was.Mark.DoneAt.Time(), Summary: was.Mark.Summary}
	}
	if held, ok := errors.AsType[*store.MarkHeld](err); ok {
		until := held.Mark.Until.Time()
		return &BusyError{Key: h.claim.Key, Holder: held.Mark.Holder, Until: until, wait: until.Sub(h.Now())}
	}
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	h.token, h.until = m.Token, from.Add(h.Lease)
	return nil
}

// extend extends the lease until the context ends. When it cannot, it ends the context.
func (h *holding) extend(ctx context.Context, lost context.CancelCauseFunc) {
	ticker := time.NewTicker(h.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		from := h.Now()
		calling, stop := context.WithTimeout(ctx, h.Lease/3)
		m, err := h.marks.ClaimMark(calling, h.claim)
		stop()
		switch {
		case err == nil && m.Token == h.token:
			h.until = from.Add(h.Lease)
		case ctx.Err() != nil:
		case err == nil || errors.Is(err, store.ErrConflict) || !h.Now().Before(h.until.Add(-h.Lease/3)):
			lost(fmt.Errorf("guard: key %q: %w", h.claim.Key, ErrLost))
			return
		}
	}
}

// done stores that the effect was done. Errors of the store are repeated until the context ends.
func (h *holding) done(ctx context.Context, summary string) error {
	end := store.MarkEnd{Key: h.claim.Key, Holder: h.claim.Holder, Token: h.token, Done: true, Summary: summary, Keep: h.Keep}
	for wait := againMin; ; wait = min(2*wait, againMax) {
		err := h.marks.EndMark(ctx, end)
		if err == nil || errors.Is(err, store.ErrLeaseLost) || errors.Is(err, store.ErrInvalid) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// fastDone asks the fast side, unless it has failed or was slow a moment ago.
func (g *Guard) fastDone(ctx context.Context, key string) (done bool) {
	g.quick(ctx, func(ctx context.Context) (err error) {
		done, err = g.Fast.Done(ctx, key)
		return err
	})
	return done
}

func (g *Guard) fastSet(ctx context.Context, key string) {
	g.quick(ctx, func(ctx context.Context) error { return g.Fast.SetDone(ctx, key) })
}

func (g *Guard) quick(ctx context.Context, call func(context.Context) error) {
	now := g.Now()
	if g.Fast == nil || now.UnixMicro() < g.rest.Load() {
		return
	}
	quick, stop := context.WithTimeout(ctx, FastWait)
	defer stop()
	if err := call(quick); err != nil && ctx.Err() == nil {
		g.rest.Store(now.Add(FastPause).UnixMicro())
		g.Log.WarnContext(ctx, "the fast side of the guard does not answer; the store is asked", "error", err, "for", FastPause)
	}
}
