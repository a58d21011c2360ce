package redrive_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// Two clients write events. A reader that is interrupted again and again continues from the
// last cursor that it has kept. It must see the same events as a reader of the whole log: no
// event may be missing or appear twice.
func TestEvents_AReaderGoesOnFromItsCursor(t *testing.T) {
	t.Parallel()
	onEachStore(t, readersGoOnFromTheirCursors)
}

func readersGoOnFromTheirCursors(t *testing.T, d database) {
	open := func() *redrive.Client {
		return newClient(t, d.open(), func(_ context.Context, j *redrive.Job[renderArgs]) error {
			if j.Args.Scene%7 == 0 && j.Run == 1 {
				return failure.Snooze(time.Millisecond)
			}
			return nil
		})
	}
	const jobs = 60 // the number of jobs that each writer enqueues
	var writers sync.WaitGroup
	for range 2 {
		c := open()
		writers.Go(func() {
			for i := range jobs {
				if _, err := c.Enqueue(t.Context(), render.New(renderArgs{Scene: int64(i)}, nil)); err != nil {
					t.Error(err)
					return
				}
				if i%20 == 19 {
					if err := c.RunUntilIdle(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			if err := c.RunUntilEmpty(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	var read []event.Event
	var after event.Cursor
	completed, turns := 0, 0
	for completed < 2*jobs { // each round starts a new reader after an interruption, as after a restart
		turns++
		n := 0
		for e, err := range open().Events(t.Context(), after, nil) {
			if err != nil {
				t.Fatal(err)
			}
			read, after = append(read, e), e.Cursor
			if e.Type == event.JobSucceeded {
				completed++
			}
			if n++; n == 50 || completed == 2*jobs {
				break
			}
		}
	}
	writers.Wait()
	if turns < 3 {
		t.Errorf("the reader was interrupted only %d times, want more interruptions for a useful test", turns)
	}
	i := 0
	for e, err := range open().Events(t.Context(), event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if i < len(read) && read[i] != e {
			t.Fatalf("event %d: the reader saw %+v, want %+v", i, read[i], e)
		}
		i++
	}
	if i < len(read) {
		t.Errorf("the reader saw %d events, want the %d events of the log", len(read), i)
	}
}

// unreliable is a store whose Events method fails.
type unreliable struct {
	*memory.Store
	mu    sync.Mutex
	errs  []error
	asked int
}

func (u *unreliable) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	if len(u.errs) > 0 {
		err := u.errs[0]
		u.errs = u.errs[1:]
		return nil, err
	}
	return u.Store.Events(ctx, after, limit)
}

func TestEvents_AsksAgainWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		damaged := errors.New("row damaged")
		s := &unreliable{Store: memory.New(memory.Options{}), errs: []error{store.ErrUnavailable, store.ErrUnavailable, nil, damaged}}
		c := newClient(t, s, succeed)
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var got []string
		for e, err := range c.Events(t.Context(), event.Cursor{Seq: 0, Index: 0}, nil) {
			if err != nil {
				got = append(got, err.Error())
				continue // the loop must end after an error
			}
			got = append(got, e.Type.String())
		}
		if text := strings.Join(got, "; "); text != "read events after 0.0: row damaged" {
			t.Errorf("got error %s, want the error of the damaged row", text)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("the reader got the events after %s, want a delay of three times Config.Poll", took)
		}
	})
}

func TestEvents_ToTheEndReturnsThatTheStoreIsAway(t *testing.T) {
	t.Parallel()
	s := &unreliable{Store: memory.New(memory.Options{}), errs: []error{store.ErrUnavailable}}
	n := 0
	for _, err := range newClient(t, s, succeed).Events(t.Context(), event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if n++; !errors.Is(err, redrive.ErrUnavailable) {
			t.Errorf("got error %v, want ErrUnavailable", err)
		}
	}
	if n != 1 || s.asked != 1 {
		t.Errorf("the reader got %d answers in %d reads of the store, want one answer in one read", n, s.asked)
	}
}

// A waiting reader gets the event of an enqueue at once, and the event of the end of a run after at
// most Config.Poll. The reader ends when its context ends.
func TestEvents_WaitsForMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, memory.New(memory.Options{}), succeed)
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan event.Event)
		var ended sync.WaitGroup
		ended.Go(func() {
			for e, err := range c.Events(ctx, event.Cursor{}, nil) {
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case seen <- e:
				case <-ctx.Done():
				}
			}
		})
		next := func(want event.Type, within time.Duration) {
			t.Helper()
			start := time.Now()
			e := <-seen
			if took := time.Since(start); e.Type != want || took > within {
				t.Errorf("got the event %s after %s, want the event %s within %s", e.Type, took, want, within)
			}
		}
		synctest.Wait()
		if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		next(event.JobEnqueued, 0)
		ended.Go(func() {
			if err := c.RunUntilEmpty(ctx); err != nil {
				t.Error(err)
			}
		})
		for {
			e := <-seen
			if e.Type == event.JobSucceeded {
				break
			}
		}
		cancel()
		ended.Wait()
	})
}

// Crashes and expired jobs are events, although no process reports them to OnOutcome.
func TestEvents_HaveCrashesAndExpiries(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var ahead atomic.Int64
		st := d.openAt(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		config := redrive.Config{OnOutcome: func(_ context.Context, o redrive.Outcome) {
			if o.Run != 2 {
				t.Errorf("OnOutcome was called with cause %s for job %s, want no call for a crash or an expiry", o.Cause, o.ID)
			}
		}}
		c := outcomeClient(t, st, config, succeed)
		specs := []redrive.Spec{
			render.New(renderArgs{}, nil),
			render.New(renderArgs{}, &redrive.Options{RunAt: time.Now().Add(time.Hour), Deadline: time.Now().Add(90 * time.Minute)}),
		}
		r, err := c.EnqueueMany(t.Context(), specs)
		if err != nil {
			t.Fatal(err)
		}
		// A worker claims the first job and then crashes.
		claimed, err := st.Exchange(t.Context(), store.Exchange{Holder: "lost", Lease: time.Minute, Want: []store.Want{{
			Queue: redrive.DefaultQueue, Max: 1, Kinds: []store.KindWant{{Kind: "render", Max: 1, MaxCrashes: 3}},
		}}})
		if err != nil || len(claimed.Claims) != 1 {
			t.Fatalf("Exchange: got the claims %+v, error %v; want one claim", claimed.Claims, err)
		}
		ahead.Store(int64(2 * time.Hour))
		if _, err := st.Rescue(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[redrive.JobID][]event.Type{
			r[0].ID: {event.JobEnqueued, event.JobClaimed, event.JobCrashed, event.JobClaimed, event.JobSucceeded},
			r[1].ID: {event.JobEnqueued, event.JobExpired},
		}
		// On PostgreSQL, events stay hidden while a transaction of another test is open.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, left := map[redrive.JobID][]event.Type{}, len(want[r[0].ID])+len(want[r[1].ID])
		for e, err := range c.Events(ctx, event.Cursor{}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Job != 0 { // events without a job are about queues and policies
				got[e.Job] = append(got[e.Job], e.Type)
				left--
			}
			if left == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("wrong types of events by job (-want +got):\n%s", diff)
		}
	})
}

// A loop that waits for events or audit entries ends when the store is closed.
func TestEvents_EndWhenTheStoreIsClosed(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		st := d.open()
		c := clientWith(t, st, redrive.Config{Poll: time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var ended sync.WaitGroup
		loop := func(what string, read func() error) {
			ended.Go(func() {
				if err := read(); !errors.Is(err, redrive.ErrClosed) || !errors.Is(err, redrive.ErrUnavailable) || ctx.Err() != nil {
					t.Errorf("%s: the loop ended with the error %v (context: %v), want an ErrClosed, which is an ErrUnavailable", what, err, ctx.Err())
				}
			})
		}
		loop("Events", func() (last error) {
			for _, err := range c.Events(ctx, event.Cursor{}, nil) {
				last = err
			}
			return last
		})
		loop("FollowAudit", func() (last error) {
			for _, err := range c.FollowAudit(ctx, 0, redrive.AuditFilter{}) {
				last = err
			}
			return last
		})
		if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		ended.Wait()
	})
}
