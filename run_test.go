package redrive_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

func TestNew_ReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := redrive.New(nil, &redrive.Config{
		Name:           strings.Repeat("n", 300),
		Queues:         map[string]redrive.Queue{"a b": {Workers: -1}, "c": {Limit: -1, Rate: redrive.Rate{N: 10}}},
		Schedule:       &policy.Schedule{Waits: []time.Duration{-1}},
		MaxAttempts:    -1,
		Resends:        -1,
		MaxAge:         -1,
		PayloadMax:     job.PayloadMax + 1,
		Lease:          time.Millisecond,
		RescueInterval: -1,
		Poll:           -1,
	})
	want := []string{
		"redrive: the store is nil; open a store with sqlite.Open, postgres.Open or memory.New",
		"Config.Name of 300 bytes: at most 256",
		`Config.Queues: queue "a b": only letters, digits and _-.:/ are allowed: invalid`,
		`Config.Queues: queue "a b": -1 workers: must be 1 to 5000`,
		`Config.Queues: queue "c": limit -1: must be 0 to 1000000`,
		`Config.Queues: queue "c": rate 10 per 0s: both must be positive, or both zero for no limit: invalid`,
		"Config.Schedule: wait 1 of the schedule is -1ns: must not be negative",
		"Config.MaxAttempts -1: must be at least 1",
		"Config.Resends -1: must be at least 1",
		"Config.PayloadMax 16777217: must be 1 to 16777216",
		"Config.Lease 1ms: must be 100ms to 1h0m0s",
		"Config.MaxAge -1ns: must not be negative",
		"Config.RescueInterval -1ns: must not be negative",
		"Config.Poll -1ns: must not be negative",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestRun_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "call redrive.Handle before Run") {
		t.Errorf("Run without a handler: got error %v, want the advice to call redrive.Handle", err)
	}
	redrive.Handle(c, render, succeed, &redrive.HandlerOptions{
		Timeout: -1, KillGrace: -1, Schedule: &policy.Schedule{MaxRetries: -2}, Workers: -1, Limit: -1,
		Rate: redrive.Rate{N: 10}, MaxCrashes: 9,
	})
	err = c.Run(t.Context())
	want := []string{
		`redrive: kind "render": HandlerOptions.Timeout -1ns: must not be negative`,
		"HandlerOptions.KillGrace -1ns: must not be negative",
		"HandlerOptions.Schedule: -2 retries: must be a number of retries, 0 for one per wait, or policy.NoRetry",
		"HandlerOptions.Workers -1: must not be negative",
		"HandlerOptions.Limit -1: must be 0 to 1000000",
		"HandlerOptions.Rate: rate 10 per 0s: both must be positive, or both zero for no limit: invalid",
		"HandlerOptions.MaxCrashes 9: must be 1 to 5",
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("Run with wrong options: got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	if err := c.WaitIdle(t.Context()); !errors.Is(err, redrive.ErrNotRunning) {
		t.Errorf("WaitIdle when nothing runs: got error %v, want ErrNotRunning", err)
	}
	c.Halt() // Halt has no effect here, because Run is not running
}

func TestRun_OnceAtATime(t *testing.T) {
	t.Parallel()
	var second error
	var c *redrive.Client
	c = newClient(t, memory.New(memory.Options{}), func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		second = c.Run(ctx)
		return nil
	})
	for range 2 { // a client may run again after it has stopped
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if second == nil || !strings.Contains(second.Error(), "already running") {
		t.Errorf("Run while Run is active: got error %v, want an error", second)
	}
}

// proves: Q8
func TestQ8_AStopHandsBackWithoutBurningAnAttempt(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	c := newClient(t, memory.New(memory.Options{}), func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		started <- struct{}{}
		<-ctx.Done()
		return errors.Join(errors.New("status 503"), ctx.Err())
	})
	r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	<-started
	cancel()
	c.Halt()
	returned, ok := errors.AsType[*redrive.Returned](<-ended)
	if !ok || returned.Jobs != 1 {
		t.Errorf("Run: got error %v, want an error that says that one job was handed back", returned)
	}
	j, err := c.Get(t.Context(), r.ID)
	if err != nil || j.State != job.Waiting || j.Counters != (job.Counters{Interrupts: 1}) {
		t.Errorf("got job state %v, counters %+v, error %v; want state waiting, interrupted once", j.State, j.Counters, err)
	}
	if f, err := c.Failures(t.Context(), r.ID); err != nil || len(f) != 0 {
		t.Errorf("got the failures %+v, error %v; want none", f, err)
	}
}

func TestRunUntilEmpty_EndsWhenEverythingHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		c := newClient(t, memory.New(memory.Options{}), func(_ context.Context, j *redrive.Job[renderArgs]) error {
			last = time.Now()
			if j.Attempt < 3 {
				return errors.New("oops")
			}
			return nil
		})
		start := time.Now()
		specs := []redrive.Spec{
			render.New(renderArgs{}, nil),
			render.New(renderArgs{}, &redrive.Options{RunAt: start.Add(time.Hour)}),
			redrive.NewRaw("of-somebody-else", nil, nil),
			render.New(renderArgs{}, &redrive.Options{Queue: "of-somebody-else"}),
		}
		receipts, err := c.EnqueueMany(t.Context(), specs)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := last.Sub(start); took < time.Hour+time.Minute || took > time.Hour+2*time.Minute {
			t.Errorf("the last run began after %v, want an hour plus the waits of 30 s and 1 min, each ±20 %%", took)
		}
		for i, want := range []job.State{job.Completed, job.Completed, job.Waiting, job.Waiting} {
			if j, err := c.Get(t.Context(), receipts[i].ID); err != nil || j.State != want {
				t.Errorf("job %d: got state %v, error %v; want state %v", i, j.State, err, want)
			}
		}
	})
}

// uncountable is a store whose counts fail the first few times, or always.
type uncountable struct {
	*memory.Store
	errs []error
}

func (u *uncountable) Counts(ctx context.Context) ([]store.Count, error) {
	if len(u.errs) > 0 {
		err := u.errs[0]
		u.errs = u.errs[1:]
		return nil, err
	}
	return u.Store.Counts(ctx)
}

func TestRunUntilEmpty_OutlivesAStoreThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lasting := errors.New("counters damaged")
		passing := []error{store.ErrUnavailable, store.ErrUnknown, store.ErrFull}
		for _, want := range []error{nil, lasting} {
			s := &uncountable{memory.New(memory.Options{}), slices.Clone(passing)}
			if want != nil {
				s.errs = append(s.errs, want)
			}
			c := newClient(t, s, succeed)
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
			if err := c.RunUntilEmpty(t.Context()); !errors.Is(err, want) || len(s.errs) != 0 {
				t.Errorf("RunUntilEmpty: got error %v, with %d errors of the store not yet returned; want error %v and no error left", err, len(s.errs), want)
			}
		}
	})
}

func TestRunUntilEmpty_StopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient(t, memory.New(memory.Options{}), func(context.Context, *redrive.Job[renderArgs]) error {
		cancel()
		return errors.New("oops")
	})
	if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntilEmpty(ctx); err != nil {
		t.Errorf("RunUntilEmpty after the end of its context: got error %v, want none", err)
	}
}

// Many jobs end in every possible way. Each job ends once, no job is lost, and the stored counters
// agree with the counts of the handlers.
func TestRun_ManyJobsThatEndInEveryWay(t *testing.T) {
	t.Parallel()
	const jobs = 2000
	var runs, broken atomic.Int64
	var mu sync.Mutex
	seen := map[redrive.JobID]int{}
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{
		TempDir: t.TempDir(), Logger: quiet,
		Queues:   map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 16}},
		Schedule: &policy.Schedule{Waits: []time.Duration{0, time.Millisecond}, MaxRetries: 4},
		Lease:    time.Hour, // with a shorter lease, leases could expire on a busy machine without a crash
	})
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(c, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		runs.Add(1)
		mu.Lock()
		seen[j.ID] = max(seen[j.ID], j.Run)
		mu.Unlock()
		draw := rand.New(rand.NewPCG(uint64(j.Args.Scene), uint64(j.Run))).IntN(20)
		if draw < 5 {
			broken.Add(1)
		}
		switch draw {
		case 0:
			panic("exploded")
		case 1, 2:
			return errors.New("oops")
		case 3:
			return failure.Permanent(errors.New("gone"))
		case 4:
			return failure.RetryAfter(2*time.Millisecond, errors.New("slow down"))
		case 5:
			return failure.Snooze(time.Millisecond)
		case 6:
			return failure.Cancel("obsolete")
		case 7:
			return j.SetResult(j.Args)
		}
		return nil
	}, nil)
	specs := make([]redrive.Spec, jobs)
	for i := range specs {
		specs[i] = render.New(renderArgs{Scene: int64(i)}, &redrive.Options{Priority: i%4 + 1})
	}
	receipts, err := c.EnqueueMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntilEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tokens, failures int64
	states := map[redrive.State]int{}
	for _, r := range receipts {
		j, err := c.Get(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Failures(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if !j.State.Terminal() || int(j.Token) != seen[j.ID] {
			t.Errorf("job %d has state %v and %d stored runs; want a final state and the %d runs that its handler counted", j.ID, j.State, j.Token, seen[j.ID])
		}
		tokens += int64(j.Token)
		states[j.State]++
		for _, f := range f {
			if f.Class != string(failure.Cancelled) {
				failures++
			}
		}
	}
	if tokens != runs.Load() || failures != broken.Load() {
		t.Errorf("got %d stored runs and %d stored failures; want %d runs and %d failures, as counted by the handlers", tokens, failures, runs.Load(), broken.Load())
	}
	if len(states) != 3 || states[job.Dead] == 0 || states[job.Cancelled] == 0 {
		t.Errorf("got jobs with the final states %v, want all three final states", states)
	}
}
