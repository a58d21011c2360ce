package redrive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// outcomeClient returns a client with an OnOutcome hook in its configuration and a handler.
func outcomeClient(t *testing.T, s store.Store, config redrive.Config, h func(context.Context, *redrive.Job[renderArgs]) error) *redrive.Client {
	t.Helper()
	config.TempDir = t.TempDir()
	if config.Logger == nil {
		config.Logger = quiet
	}
	c, err := redrive.New(s, &config)
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(c, render, h, &redrive.HandlerOptions{Schedule: &policy.Schedule{Waits: []time.Duration{time.Millisecond}}})
	return c
}

// OnOutcome is called once for each run that has ended, with the decision about the run, also when
// the job is retried.
func TestOnOutcome_ReportsEachRun(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var mu sync.Mutex
		got := map[int64][]string{}
		st := d.open()
		config := redrive.Config{OnOutcome: func(_ context.Context, o redrive.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			if j, err := st.Get(t.Context(), o.ID); err != nil || o.Final() && j.State != o.State {
				t.Errorf("job %d has state %s in the store (error %v), but OnOutcome got state %s; want the same state", o.ID, j.State, err, o.State)
			}
			text := fmt.Sprintf("run %d, attempt %d: %s, %s, final %v", o.Run, o.Attempt, o.Cause, o.State, o.Final())
			if f := o.Failure; f != nil {
				d, err := o.Decision()
				if err != nil {
					t.Errorf("decision of the outcome: got error %v, want none", err)
				}
				text += fmt.Sprintf(", %s %s %q: %s %s", f.Class, f.Code, f.Message, d.Action, o.Reason)
			}
			if o.Kind != "render" || o.Queue != "default" || o.Owner != "ann" || o.Correlation != "req-9" || o.Batch != 1 || o.Life != 1 {
				t.Errorf("got the outcome %+v, want the kind, queue, owner, correlation, batch and life of the job", o)
			}
			got[int64(o.ID)] = append(got[int64(o.ID)], text)
		}}
		c := outcomeClient(t, st, config, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			switch {
			case j.Args.Title == "snooze" && j.Run == 1:
				return failure.Snooze(time.Millisecond)
			case j.Args.Title == "fail":
				return failure.Code("NO_DISK", errors.New("password=hunter2"))
			case j.Args.Title == "panic":
				panic("oh")
			case j.Args.Title == "cancel":
				return failure.Cancel("not wanted")
			}
			return nil
		})
		batch := openBatch(t, c)
		var specs []redrive.Spec
		for _, title := range []string{"succeed", "snooze", "fail", "panic", "cancel"} {
			specs = append(specs, render.New(renderArgs{Title: title}, &redrive.Options{Owner: "ann", Correlation: "req-9", Batch: batch}))
		}
		receipts, err := c.EnqueueMany(t.Context(), specs)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := [][]string{
			{"run 1, attempt 1: succeeded, completed, final true"},
			{"run 1, attempt 1: snoozed, waiting, final false", "run 2, attempt 1: succeeded, completed, final true"},
			{
				`run 1, attempt 1: failed, retrying, final false, ResourceConstraint NO_DISK "password=[REDACTED]": retry `,
				`run 2, attempt 2: failed, dead, final true, ResourceConstraint NO_DISK "password=[REDACTED]": dead max_retries_exceeded`,
			},
			{
				`run 1, attempt 1: failed, retrying, final false, Panic  "panic: oh": retry `,
				`run 2, attempt 2: failed, dead, final true, Panic  "panic: oh": dead max_retries_exceeded`,
			},
			{`run 1, attempt 1: cancelled, cancelled, final true, Cancelled  "not wanted": cancel `},
		}
		for i, r := range receipts {
			slices.Sort(got[int64(r.ID)]) // the calls of OnOutcome are concurrent, so their order can differ
			if diff := cmp.Diff(want[i], got[int64(r.ID)]); diff != "" {
				t.Errorf("wrong outcomes of job %d (-want +got):\n%s", i+1, diff)
			}
		}
	})
}

// After an OnOutcome that panics or ends its goroutine, OnOutcome is still called for the next
// outcome.
func TestOnOutcome_APanicIsContained(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var log lockedBuffer
		var calls atomic.Int64
		config := redrive.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), OnOutcome: func(context.Context, redrive.Outcome) {
			if calls.Add(1)%2 == 0 {
				runtime.Goexit()
			}
			panic("hook broke")
		}}
		c := outcomeClient(t, d.open(), config, succeed)
		const jobs = 5 * redrive.OutcomeCalls
		if _, err := c.EnqueueMany(t.Context(), slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, jobs)); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls.Load() != jobs {
			t.Errorf("OnOutcome that panics: got %d calls, want %d", calls.Load(), jobs)
		}
		if n := strings.Count(log.String(), `msg="Config.OnOutcome panicked"`); n != jobs/2 {
			t.Errorf("got %d logged panics, want %d:\n%s", n, jobs/2, log.String())
		}
		if n := countIn(t, c, job.Completed); n != jobs {
			t.Errorf("got %d completed jobs, want %d", n, jobs)
		}
	})
}

// All jobs run although the first calls of OnOutcome do not return.
func TestOnOutcome_AHookThatBlocksHoldsUpNoJob(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		called, release := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		c := outcomeClient(t, d.open(), redrive.Config{OnOutcome: func(context.Context, redrive.Outcome) {
			if calls.Add(1) == 1 {
				close(called)
			}
			<-release
		}}, succeed)
		const jobs = 10 * redrive.OutcomeCalls
		if _, err := c.EnqueueMany(t.Context(), slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, jobs)); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		<-called
		if err := c.WaitIdle(ctx); err != nil {
			t.Fatal(err)
		}
		if n := countIn(t, c, job.Completed); n != jobs {
			t.Errorf("got %d completed jobs while OnOutcome blocks, want %d", n, jobs)
		}
		if n := calls.Load(); n > redrive.OutcomeCalls {
			t.Errorf("got %d running calls of OnOutcome, want at most %d", n, redrive.OutcomeCalls)
		}
		close(release)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := calls.Load(); n != jobs {
			t.Errorf("got %d calls of OnOutcome, want one for each of the %d jobs", n, jobs)
		}
	})
}

// countIn returns the number of jobs in a state.
func countIn(t *testing.T, c *redrive.Client, state redrive.State) (n int64) {
	t.Helper()
	counts, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, count := range counts {
		if count.State == state {
			n += count.N
		}
	}
	return n
}

// If each call of OnOutcome takes a minute, no job is delayed or lost. Outcomes that do not fit
// into its queue are skipped, and the log gives their number.
func TestOnOutcome_ASlowHookHoldsUpNoJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		var calls, ran atomic.Int64
		config := redrive.Config{
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Grace:  time.Hour,
			OnOutcome: func(context.Context, redrive.Outcome) {
				calls.Add(1)
				elapse(time.Minute)
			},
		}
		var last atomic.Int64 // the time from the start of the test to the end of the last run
		start := time.Now()
		c := outcomeClient(t, memory.New(memory.Options{}), config, func(context.Context, *redrive.Job[renderArgs]) error {
			ran.Add(1)
			last.Store(int64(time.Since(start)))
			return nil
		})
		const beyond = 100
		const jobs = redrive.OutcomeBuffer + redrive.OutcomeCalls + beyond
		specs := slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, jobs)
		for chunk := range slices.Chunk(specs, job.EnqueueMax) {
			if _, err := c.EnqueueMany(t.Context(), chunk); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		if err := c.WaitIdle(ctx); err != nil {
			t.Fatal(err)
		}
		if late := time.Duration(last.Load()); ran.Load() != jobs || late > time.Second {
			t.Errorf("%d of %d jobs ran, the last one after %s; want all jobs without a delay", ran.Load(), jobs, late)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 59*time.Minute || took > 61*time.Minute {
			t.Errorf("Run returned %s after the stop, want the grace time of an hour", took)
		}
		if n := calls.Load(); n < 59*redrive.OutcomeCalls || n > 61*redrive.OutcomeCalls {
			t.Errorf("got %d calls of OnOutcome in an hour, want about one per minute for each of its goroutines", n)
		}
		if n := skippedIn(t, log.String(), "skipped="); n < beyond || n > beyond+redrive.OutcomeCalls {
			t.Errorf("the log counts %d skipped outcomes, want %d or a few more:\n%s", n, beyond, log.String())
		}
		if want := int(jobs-calls.Load()) - skippedIn(t, log.String(), "skipped=") - skippedIn(t, log.String(), "under_way="); skippedIn(t, log.String(), "not_reported=") < want {
			t.Errorf("the log counts too few outcomes as not reported, want at least %d:\n%s", want, log.String())
		}
		elapse(time.Hour) // wait until the last calls of OnOutcome have ended
	})
}

// If OnOutcome does not return, Run waits for it after a stop, but only during the grace
// time. After Halt, Run does not wait. In both cases the context of the calls has ended when
// Run returns.
func TestOnOutcome_AStopWaitsForTheGraceTime(t *testing.T) {
	t.Parallel()
	for _, halt := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			called := make(chan struct{})
			var ended atomic.Int64
			config := redrive.Config{Grace: 10 * time.Second, OnOutcome: func(ctx context.Context, _ redrive.Outcome) {
				close(called)
				<-ctx.Done()
				ended.Add(1)
			}}
			c := outcomeClient(t, memory.New(memory.Options{}), config, succeed)
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- c.Run(ctx) }()
			<-called
			start := time.Now()
			cancel()
			want := 10 * time.Second
			if halt {
				synctest.Wait()
				c.Halt()
				want = 0
			}
			if err := <-stopped; err != nil {
				t.Errorf("Run: %v", err)
			}
			if took := time.Since(start); took != want {
				t.Errorf("Halt %v: Run returned %s after the stop, want %s", halt, took, want)
			}
			synctest.Wait()
			if ended.Load() != 1 {
				t.Error("the context of the call of OnOutcome is still active after Run has returned, want it ended")
			}
		})
	}
}

// skippedIn returns the sum of the values of one attribute in all lines of a log.
func skippedIn(t *testing.T, log, attr string) (sum int) {
	t.Helper()
	for line := range strings.Lines(log) {
		if _, after, ok := strings.Cut(line, attr); ok {
			var n int
			if _, err := fmt.Sscan(after, &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// lockedBuffer is a buffer for a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// If a handler's own transaction has written the success of its run, the run is not reported
// to OnOutcome. If that transaction was rolled back, the run is reported as a failure.
func TestOnOutcome_CompleteTx(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		if d.tx == nil {
			t.Skip("the memory store has no transactions")
		}
		errRolledBack := errors.New("rolled back on purpose")
		for _, rollback := range []bool{false, true} {
			var reported []job.State
			s := d.open()
			c := clientWith(t, s, redrive.Config{
				MaxAttempts: 1, Logger: quiet,
				OnOutcome: func(_ context.Context, o redrive.Outcome) { reported = append(reported, o.State) },
			})
			kind := redrive.Kind[int](fmt.Sprintf("rollback-%v", rollback))
			redrive.Handle(c, kind, func(ctx context.Context, j *redrive.Job[int]) error {
				err := d.tx(ctx, s, func(ctx context.Context, tx store.Tx) error {
					if err := j.CompleteTx(ctx, tx); err != nil || !rollback {
						return err
					}
					return errRolledBack
				})
				if errors.Is(err, errRolledBack) {
					return nil
				}
				return err
			}, nil)
			if _, err := c.Enqueue(t.Context(), kind.New(1, nil)); err != nil {
				t.Fatal(err)
			}
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			var want []job.State
			if rollback {
				want = []job.State{job.Dead}
			}
			if !slices.Equal(reported, want) {
				t.Errorf("rollback %v: OnOutcome reported the states %v, want %v", rollback, reported, want)
			}
		}
	})
}
