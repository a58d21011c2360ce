package redrive_test

import (
	"context"
	"errors"
	"log/slog"
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
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// crashesSeen records the largest number of crashes that claims allow for each kind.
type crashesSeen struct {
	store.Store
	of map[string]int
}

func (s *crashesSeen) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	for _, w := range x.Want {
		for _, k := range w.Kinds {
			s.of[k.Kind] = k.MaxCrashes
		}
	}
	return s.Store.Exchange(ctx, x)
}

// Limits of runs come from the handler, or else from the policy, or else they are the defaults. A
// new policy acts on the next run.
//
// proves: R2, F9
func TestR2_RunLimitsOfThePolicy(t *testing.T) {
	t.Parallel()
	limits := func(timeout time.Duration, crashes int) *policy.Policy {
		return policyOf(t, policy.Spec{
			Name: "t", Runs: policy.RunSpec{Timeout: timeout, MaxCrashes: crashes},
			Kinds: map[string]policy.KindSpec{"slow": {Runs: policy.RunSpec{Timeout: 5 * timeout}}},
		})
	}
	s := &crashesSeen{memory.New(memory.Options{}), map[string]int{}}
	c, err := redrive.New(s, &redrive.Config{TempDir: t.TempDir(), Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]time.Duration{}
	for kind, o := range map[string]*redrive.HandlerOptions{
		"own": {Timeout: time.Hour, MaxCrashes: 4}, "half": {Timeout: time.Hour}, "open": nil, "slow": nil, "fallback": {TimeoutDefault: 3 * time.Hour},
	} {
		redrive.HandleRaw(c, kind, func(ctx context.Context, j *redrive.Job[[]byte]) error {
			seen[j.Kind] = 0
			if d, ok := ctx.Deadline(); ok {
				seen[j.Kind] = time.Until(d).Round(time.Minute)
			}
			return nil
		}, o)
	}
	for _, tt := range []struct {
		policy  *policy.Policy
		limits  map[string]time.Duration
		crashes map[string]int
	}{
		{nil, map[string]time.Duration{"own": time.Hour, "half": time.Hour, "open": 0, "slow": 0, "fallback": 3 * time.Hour},
			map[string]int{"own": 4, "half": 5, "open": 5, "slow": 5, "fallback": 5}},
		{limits(2*time.Hour, 2), map[string]time.Duration{"own": time.Hour, "half": time.Hour, "open": 2 * time.Hour, "slow": 10 * time.Hour, "fallback": 2 * time.Hour},
			map[string]int{"own": 4, "half": 2, "open": 2, "slow": 2, "fallback": 2}},
		{limits(4*time.Hour, 1), map[string]time.Duration{"own": time.Hour, "half": time.Hour, "open": 4 * time.Hour, "slow": 20 * time.Hour, "fallback": 4 * time.Hour},
			map[string]int{"own": 4, "half": 1, "open": 1, "slow": 1, "fallback": 1}},
	} {
		if err := c.SetPolicy(t.Context(), redrive.By{Actor: "ann"}, tt.policy); err != nil {
			t.Fatal(err)
		}
		for kind := range tt.limits {
			if _, err := c.Enqueue(t.Context(), redrive.NewRaw(kind, nil, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.limits, seen); diff != "" {
			t.Errorf("time limits (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(tt.crashes, s.of); diff != "" {
			t.Errorf("numbers of crashes (-want +got):\n%s", diff)
		}
	}
}

// The waits of a job do not count against the time limit of its runs. By the preset transcribe, five
// failures by a rate limit have waits of 7,260 s together, and each run may take 7,200 s.
//
// proves: R15
func TestR15_WaitsDoNotCountAgainstTheTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, err := policyfile.Parse("test.yaml", []byte("extends: transcribe\n"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Policy: file.Policy, TempDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		analyze := redrive.Kind[int]("analyze")
		redrive.Handle(c, analyze, func(ctx context.Context, j *redrive.Job[int]) error {
			pass(30 * time.Minute)
			if ctx.Err() == nil && j.Attempt < 6 {
				return errors.New("rate limit exceeded")
			}
			return ctx.Err()
		}, nil)
		receipt, err := c.Enqueue(t.Context(), analyze.New(1, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		j, err := c.Get(t.Context(), receipt.ID)
		if err != nil {
			t.Fatal(err)
		}
		waited := j.FinishedAt.Sub(j.CreatedAt) - 6*30*time.Minute
		if j.State != job.Completed || j.Counters.Attempts != 6 || waited < 7260*time.Second*8/10 {
			t.Errorf("the job is %s after %d attempts and waits of %s, want completed after 6 attempts and waits of about 7,260 s", j.State, j.Counters.Attempts, waited)
		}
	})
}

// By the preset render, the second stall ends a life. The workers of this test cannot reach the store any
// more when the run has begun, as if they were killed.
//
// proves: P2
func TestP2_TheSecondStallEndsALife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, err := policyfile.Parse("test.yaml", []byte("extends: render\n"))
		if err != nil {
			t.Fatal(err)
		}
		st := memory.New(memory.Options{})
		keeper, stopKeeper := keep(t, st, redrive.Config{Logger: quiet})
		defer stopKeeper()
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		defer workers.Wait()
		defer stop()
		receipt, err := keeper.Enqueue(ctx, render.New(renderArgs{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		for stall, want := range []job.State{job.Waiting, job.Dead} {
			var cut atomic.Bool
			away := func(faultstore.Call) faultstore.Fault {
				if cut.Load() {
					return faultstore.Fault{Before: store.ErrUnavailable}
				}
				return faultstore.Fault{}
			}
			c, err := redrive.New(faultstore.New(st, away), &redrive.Config{Policy: file.Policy, TempDir: t.TempDir(), Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			redrive.Handle(c, render, func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
				cut.Store(true)
				<-ctx.Done()
				return ctx.Err()
			}, nil)
			workers.Go(func() { _ = c.Run(ctx) }) // its error says that the outcome is not written
			pass(2 * time.Minute)
			j, err := st.Get(ctx, receipt.ID)
			if err != nil || j.State != want || int(j.Counters.Crashes) != stall+1 || j.Counters.Attempts != 0 {
				t.Fatalf("after %d stalls: got a job that is %s, counters %+v, error %v; want it %s", stall+1, j.State, j.Counters, err, want)
			}
		}
		if d, err := st.DeadLetter(ctx, receipt.ID); err != nil || d.Reason != job.Stalled {
			t.Errorf("got the reason %s, error %v; want %s", d.Reason, err, job.Stalled)
		}
	})
}

// By the preset render, a download that exceeds its own limit of 30 s is an IMAGE_DOWNLOAD_FAILED and is retried after 1 s, in
// the 300 s of the run. The SDK of the storage sends an upload 3 times by itself; redrive adds no retry to those, and the run
// counts as one execution.
//
// proves: P2
func TestP2_ADownloadHas30SecondsAndTheSDKRetriesByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, err := policyfile.Parse("test.yaml", []byte("extends: render\n"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Policy: file.Policy, TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		var limit time.Duration
		sends := 0
		redrive.Handle(c, render, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
			deadline, _ := ctx.Deadline()
			limit = time.Until(deadline)
			if j.Attempt == 1 { // the host of the image does not answer
				download, cancel := context.WithTimeout(ctx, 30*time.Second)
				defer cancel()
				<-download.Done()
				return failure.Code("IMAGE_DOWNLOAD_FAILED", download.Err())
			}
			for range 3 { // the SDK: two answers are 503, the third takes the video
				sends++
			}
			return nil
		}, nil)
		receipt, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		j, err := c.Get(t.Context(), receipt.ID)
		if err != nil || j.State != job.Completed || j.Counters != (job.Counters{Attempts: 2}) || sends != 3 || limit != 5*time.Minute {
			t.Errorf("got job %s, counters %+v, %d sends, a limit of %s, error %v; want completed by the second execution, 3 sends of the SDK, 5m",
				j.State, j.Counters, sends, limit, err)
		}
		if took := j.FinishedAt.Sub(j.CreatedAt).Round(time.Second); took != 31*time.Second {
			t.Errorf("the job took %s, want 30 s of the download and a wait of 1 s", took)
		}
		f, err := c.Failures(t.Context(), receipt.ID)
		if err != nil || len(f) != 1 || f[0].Code != "IMAGE_DOWNLOAD_FAILED" || f[0].Class != "ImageDownloadFailed" {
			t.Errorf("got the failures %+v, error %v; want one of the class ImageDownloadFailed", f, err)
		}
	})
}
