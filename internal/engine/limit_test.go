package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
)

// proves: Q12
func TestQ12_APanicIsAFailedRun(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler func()
		message string
		stack   string
	}{
		{"value", func() { panic("boom") }, "panic: boom", "limit_test.go"},
		{"error", func() { panic(errDead) }, "panic: permanent", "limit_test.go"},
		{"nil", func() { panic(nil) }, "panic: panic called with nil argument", "limit_test.go"},
		{"runtime error", func() { var m map[int]int; m[1] = 1 }, "assignment to entry in nil map", "limit_test.go"},
		{"goexit", runtime.Goexit, "the handler called runtime.Goexit", ""},
		{"deep", deep, "panic: deep", "limit_test.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(_ context.Context, run *engine.Run) error {
					if run.Claim.ID == 1 {
						tt.handler()
					}
					return nil
				}, func(c *engine.Config) { c.Queues[0].Workers = 1 })
				r.start()
				ids := r.enqueue(3)
				r.idle()
				r.wantState(job.Completed, ids[1:]...)
				f := r.failures(ids[0])
				if len(f) != 1 {
					t.Fatalf("got %d failures, want 1", len(f))
				}
				if f[0].How != job.ByPanic || !strings.Contains(f[0].Message, tt.message) || !strings.Contains(f[0].Stack, tt.stack) {
					t.Errorf("got a failure by %q with message %q and stack %.300q, want a failure by panic with the message and the stack of the panic", f[0].How, f[0].Message, f[0].Stack)
				}
				if n := len(f[0].Stack); n > job.EvidenceMax {
					t.Errorf("got a stack of %d bytes, want at most job.EvidenceMax", n)
				}
				if err := r.finish(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func deep() { deepen(5000) }

func deepen(n int) {
	if n == 0 {
		panic("deep")
	}
	deepen(n - 1)
}

// proves: Q5
func TestQ5_TheContextEndsAtTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := newRig(t, func(ctx context.Context, run *engine.Run) error {
			if limit, ok := ctx.Deadline(); !ok || !limit.Equal(began.Add(time.Minute)) {
				t.Errorf("got the deadline %v (set: %t), want one minute after the start", limit, ok)
			}
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			if took := time.Since(began); took != time.Minute {
				t.Errorf("the context ended after %s, want one minute", took)
			}
			for _, c := range []context.Context{ctx, child} {
				if !errors.Is(context.Cause(c), engine.ErrTimeLimit) {
					t.Errorf("got the cause %v, want ErrTimeLimit", context.Cause(c))
				}
			}
			if ctx.Err() != context.DeadlineExceeded || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("got the error %v, want context.DeadlineExceeded", ctx.Err())
			}
			if run.Claim.ID == 2 {
				return nil // A success after the time limit still counts as a success.
			}
			return fmt.Errorf("call: %w", ctx.Err())
		}, func(c *engine.Config) { c.Kinds[0].Timeout = time.Minute })
		ids := r.enqueue(2)
		r.start()
		r.idle()
		r.wantState(job.Retrying, ids[0])
		r.wantState(job.Completed, ids[1])
		if f := r.failures(ids[0]); len(f) != 1 || f[0].How != job.ByTimeout {
			t.Errorf("got the failures %+v, want one failure by timeout", f)
		}
		if err := r.finish(); err != nil {
			t.Error(err)
		}
	})
}

// proves: Q5
func TestQ5_ARunEndsWithoutAHandlerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		logs := &logs{}
		r := newRig(t, func(_ context.Context, run *engine.Run) error {
			if run.Claim.ID == 1 && run.Claim.Token == 1 {
				<-release
				run.Progress(1, 2, "too late")
				run.AddCost(5)
				if _, err := run.TempDir(); err == nil {
					t.Error("TempDir returned a directory after the end of the run, want an error")
				}
				return nil
			}
			return nil
		}, func(c *engine.Config) {
			c.Queues[0].Workers = 1
			c.Kinds[0].Timeout, c.Kinds[0].KillGrace = time.Minute, 2*time.Second
			c.Logger = logs.logger()
		})
		ids := r.enqueue(1)
		r.start()
		time.Sleep(time.Minute + 3*time.Second) // The run has exceeded its time limit, the grace time of its subprocesses and the last second for its return.
		synctest.Wait()
		r.wantState(job.Retrying, ids...)
		f := r.failures(ids[0])
		if len(f) != 1 || f[0].How != job.ByTimeout || !strings.Contains(f[0].Message, "did not return within 3s") {
			t.Errorf("got the failures %+v, want one failure by timeout", f)
		}
		logs.want(t, "ERROR", "handler does not return", "1")

		time.Sleep(10 * time.Minute) // The stuck run still occupies its slot, so no other job runs.
		synctest.Wait()
		r.wantState(job.Retrying, ids...)
		if n := logs.count("handler does not return"); n != 1 {
			t.Errorf("the line about the stuck handler was logged %d times, want once", n)
		}
		close(release)
		time.Sleep(time.Second)
		r.idle()
		r.wantState(job.Completed, ids...)
		if j := r.get(ids[0]); j.Cost != 0 || j.Token != 2 {
			t.Errorf("got the cost %d and %d runs, want cost 0 and 2 runs", j.Cost, j.Token)
		}
		if err := r.finish(); err != nil {
			t.Error(err)
		}
	})
}
