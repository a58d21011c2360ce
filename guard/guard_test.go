package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/guard"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// fast is a fast side that can hang.
type fast struct {
	keys  sync.Map
	hangs atomic.Bool
	asked atomic.Int64
}

func (f *fast) Done(ctx context.Context, key string) (bool, error) {
	f.asked.Add(1)
	if f.hangs.Load() {
		<-ctx.Done()
		return false, ctx.Err()
	}
	_, ok := f.keys.Load(key)
	return ok, nil
}

func (f *fast) SetDone(_ context.Context, key string) error {
	if f.hangs.Load() {
		return errors.New("away")
	}
	f.keys.Store(key, true)
	return nil
}

func newGuard(t *testing.T, s store.Marks, c guard.Config) *guard.Guard {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	g, err := guard.New(s, &c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func sent(context.Context) (string, error) { return "sent", nil }

// Sixteen processes do each of 200 effects at once: each effect is done once. Looking, running and marking in three steps
// would let two run.
//
// proves: I2
func TestI2_OneOfSixteenRuns(t *testing.T) {
	t.Parallel()
	const ways, keys = 16, 200
	s := memory.New(memory.Options{})
	var ran [keys]atomic.Int64
	var all sync.WaitGroup
	for range ways {
		g := newGuard(t, s, guard.Config{Fast: &fast{}})
		all.Go(func() {
			for k := range keys {
				_, err := guard.Do(t.Context(), g, "mail:"+strconv.Itoa(k), func(context.Context) (int, error) { ran[k].Add(1); return k, nil })
				if err != nil && !errors.Is(err, guard.ErrProcessed) && !errors.Is(err, guard.ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for k := range ran {
		if n := ran[k].Load(); n != 1 {
			t.Errorf("effect %d ran %d times, want once", k, n)
		}
	}
}

// A key that another holder has is busy, and a handler that returns the error waits for the end of the lease without an
// attempt. After an error of the effect the key is free; after its success it is done, with the result.
//
// part of: I2
func TestI2_BusyFreeAndDone(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memory.New(memory.Options{}), guard.Config{})
	broken := errors.New("connection refused")
	_, err := guard.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		_, err := guard.Do(ctx, g, "k", sent)
		busy, ok := errors.AsType[*guard.BusyError](err)
		if !ok || time.Until(busy.Until) > guard.LeaseDefault {
			t.Errorf("the second call returned %v, want that the key is busy for at most the lease", err)
		}
		if e := failure.Of(err); e.Snooze <= 0 || e.Snooze > guard.LeaseDefault {
			t.Errorf("a job would wait for %s, want the rest of the lease", e.Snooze)
		}
		return "", broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the effect", err)
	}
	if got, err := guard.Do(t.Context(), g, "k", sent); got != "sent" || err != nil {
		t.Errorf("after an error: got %q and %v, want that the effect is done", got, err)
	}
	_, err = guard.Do(t.Context(), g, "k", sent)
	if was, ok := errors.AsType[*guard.ProcessedError](err); !ok || was.Summary != "sent" || was.DoneAt.IsZero() {
		t.Errorf("after its success: got %v, want that it was processed, with the result", err)
	}
}

// pass lets the fake time of a bubble pass.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// A process that is stopped for longer than its lease and wakes up learns that it has lost the key, and its mark is
// refused.
//
// part of: I2
func TestI2_StoppedHolderIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Options{})
		faults := faultstore.New(s, nil)
		first, second := newGuard(t, faults, guard.Config{Lease: 9 * time.Second}), newGuard(t, s, guard.Config{})
		_, err := guard.Do(t.Context(), first, "k", func(ctx context.Context) (string, error) {
			pass(20 * time.Second)
			if _, err := guard.Do(t.Context(), second, "k", sent); !errors.Is(err, guard.ErrBusy) {
				t.Errorf("after two leases: got %v, want that the key is busy: its lease was extended", err)
			}
			faults.Set(faultstore.From("ClaimMark", 1, faultstore.Fault{Hang: true}))
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), guard.ErrLost) {
				t.Errorf("the context ended because of %v, want ErrLost", context.Cause(ctx))
			}
			pass(9 * time.Second)
			if got, err := guard.Do(t.Context(), second, "k", sent); got != "sent" || err != nil {
				t.Errorf("after the lease: got %q and %v, want that the next process does it", got, err)
			}
			return "late", nil
		})
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("the late mark: got %v, want ErrLeaseLost", err)
		}
	})
}

// A fast side that hangs costs one wait of 50 ms, then the store is asked alone for a second.
//
// part of: I2
func TestI2_FastSideHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fast{}
		g := newGuard(t, memory.New(memory.Options{}), guard.Config{Fast: f})
		if _, err := guard.Do(t.Context(), g, "a", sent); err != nil {
			t.Fatal(err)
		}
		if _, err := guard.Do(t.Context(), g, "a", sent); !errors.Is(err, guard.ErrProcessed) {
			t.Errorf("got %v, want ErrProcessed from the fast side", err)
		}
		f.hangs.Store(true)
		begun, asked := time.Now(), f.asked.Load()
		for range 10 {
			if _, err := guard.Do(t.Context(), g, "a", sent); !errors.Is(err, guard.ErrProcessed) {
				t.Errorf("got %v, want ErrProcessed from the store", err)
			}
		}
		if took, n := time.Since(begun), f.asked.Load()-asked; took != guard.FastWait || n != 1 {
			t.Errorf("ten calls took %s and asked the fast side %d times, want %s and one", took, n, guard.FastWait)
		}
		f.hangs.Store(false)
		f.keys.Clear() // it was flushed
		pass(guard.FastPause)
		if _, err := guard.Do(t.Context(), g, "a", sent); !errors.Is(err, guard.ErrProcessed) {
			t.Errorf("got %v, want ErrProcessed although the fast side has forgotten the key", err)
		}
		if _, ok := f.keys.Load("a"); !ok {
			t.Error("the fast side was not filled again")
		}
	})
}

// part of: X3
func TestX3_GuardSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []guard.Config{{Lease: time.Millisecond}, {Lease: 2 * time.Hour}, {Keep: -1}, {Name: string(make([]byte, 300))}} {
		if _, err := guard.New(memory.New(memory.Options{}), &c); err == nil {
			t.Errorf("settings %+v were accepted", c)
		}
	}
	g := newGuard(t, memory.New(memory.Options{}), guard.Config{})
	if _, err := guard.Do(t.Context(), g, "", sent); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an empty key: got %v, want ErrInvalid", err)
	}
}
