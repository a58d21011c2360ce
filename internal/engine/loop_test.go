package engine_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestJobsRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		r := newRig(t, func(context.Context, *engine.Run) error { runs.Add(1); return nil }, nil)
		r.start()
		ids := r.enqueue(1000)
		r.idle()
		r.wantState(job.Completed, ids...)
		if got := runs.Load(); got != 1000 {
			t.Errorf("got %d runs of 1000 jobs, want 1000", got)
		}
		if err := r.finish(); err != nil {
			t.Error(err)
		}
		if err := r.engine.Run(t.Context()); err == nil {
			t.Error("a second call of Run returned no error, want an error")
		}
	})
}

// proves: R15
func TestR15_AWaitingJobOccupiesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, run *engine.Run) error {
			if run.Claim.ID == 1 && run.Claim.Attempt() == 1 {
				return errors.New("later")
			}
			return nil
		}, func(c *engine.Config) { c.Queues[0].Workers, c.Kinds[0].Timeout = 1, time.Second })
		ids := r.enqueue(5)
		r.start()
		r.idle()
		r.wantState(job.Completed, ids[1:]...)
		r.wantState(job.Retrying, ids[0])
		time.Sleep(time.Minute + time.Second) // The retry is due after a minute.
		r.idle()
		r.wantState(job.Completed, ids[0])
		if j := r.get(ids[0]); j.Counters.Attempts != 2 {
			t.Errorf("got %d attempts, want 2", j.Counters.Attempts)
		}
		_ = r.finish()
	})
}

func TestIdleWaitsForJobsThatWereEnqueuedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { return nil }, nil)
		r.start()
		for range 100 {
			ids := r.enqueue(3)
			r.idle()
			r.wantState(job.Completed, ids...)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		paused := store.Paused
		if _, err := r.store.SetQueue(t.Context(), store.By{Actor: "test"}, store.QueueChange{Name: "q", Mode: &paused}); err != nil {
			t.Fatal(err)
		}
		if err := r.engine.Idle(cut); err == nil {
			synctest.Wait() // Idle may have found the engine idle before it checked its context.
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("Idle with an ended context: got the error %v, want context.Canceled", err)
		}
		_ = r.finish()
		if err := r.engine.Idle(t.Context()); err != nil {
			t.Errorf("Idle after the end of Run: got the error %v, want none", err)
		}
	})
}

// Two workers run a thousand quick jobs. No slot stays free while jobs wait, and the engine
// makes few calls of the store.
func TestQuickJobsAreFetchedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { time.Sleep(time.Millisecond); return nil }, nil)
		slow := &slowStore{Worker: r.store}
		r2 := newRig(t, func(context.Context, *engine.Run) error { time.Sleep(time.Millisecond); return nil },
			func(c *engine.Config) { c.Store, c.Queues[0].Workers = slow, 2 })
		ids := r.enqueue(1000)
		r2.start()
		began := time.Now()
		if err := r2.engine.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wantState(job.Completed, ids...)
		if took := time.Since(began); took > 700*time.Millisecond {
			t.Errorf("two workers needed %s for 1000 jobs of 1 ms, want at most 700 ms", took)
		}
		_ = r2.finish()
	})
}

// slowStore is a store that takes 10 ms for each exchange.
type slowStore struct{ store.Worker }

func (s *slowStore) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	time.Sleep(10 * time.Millisecond)
	return s.Worker.Exchange(ctx, x)
}

// A long run must not keep the payloads of other jobs in memory, although the claims of one answer
// share a slice.
func TestALongRunDoesNotKeepThePayloadsOfOthers(t *testing.T) {
	t.Parallel()
	payload := make(chan weak.Pointer[byte], 1)
	release := make(chan struct{})
	r := newRig(t, func(_ context.Context, run *engine.Run) error {
		if run.Claim.ID == 1 {
			<-release
		} else {
			payload <- weak.Make(&run.Claim.Payload[0])
		}
		return nil
	}, nil)
	ids := r.enqueue(2)
	r.start()
	p := <-payload
	for r.get(ids[1]).State != job.Completed {
		runtime.Gosched()
	}
	for try := 0; p.Value() != nil; try++ {
		if try == 1000 {
			t.Fatal("the payload of an ended job is still in memory, want it freed")
		}
		runtime.GC()
		runtime.Gosched()
	}
	close(release)
	r.idle()
	_ = r.finish()
}

// skipClock is the clock of an engine. A test can move it forward.
type skipClock struct {
	mu    sync.Mutex
	ahead time.Duration
	wake  func()
}

func (h *skipClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.ahead)
}

func (h *skipClock) AfterFunc(d time.Duration, f func()) engine.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake = f
	return time.AfterFunc(d, f)
}

// skip moves the clock forward and wakes the engine.
func (h *skipClock) skip(d time.Duration) {
	h.mu.Lock()
	h.ahead += d
	wake := h.wake
	h.mu.Unlock()
	wake()
}

// early is a clock whose timers fire too early, as timers may when the clock is set back.
type early struct{}

type earlyTimer struct{ *time.Timer }

func (early) Now() time.Time { return time.Now() }

func (early) AfterFunc(d time.Duration, f func()) engine.Timer {
	return earlyTimer{time.AfterFunc(d, f)}
}

func (t earlyTimer) Reset(d time.Duration) bool { return t.Timer.Reset(max(d*9/10, 1)) }

func TestATimerThatFiresTooEarlyIsSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan struct{}, 2)
		r := newRig(t, func(context.Context, *engine.Run) error {
			ran <- struct{}{}
			return errors.New("later")
		}, func(c *engine.Config) { c.Clock = early{} })
		r.enqueue(1)
		r.start()
		<-ran
		began := time.Now()
		<-ran // The retry is due after a minute. Only the timer wakes the engine.
		if took := time.Since(began); took > time.Minute+time.Second {
			t.Errorf("the retry began after %s, want one minute", took)
		}
		_ = r.finish()
	})
}
