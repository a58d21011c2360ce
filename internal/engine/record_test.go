package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: Q11
func TestQ11_ProgressResultAndCostAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, run *engine.Run) error {
			if run.Claim.Attempt() == 1 {
				run.Progress(3, 10, strings.Repeat("ä", 200))
				run.AddCost(7)
				time.Sleep(2 * time.Second)
				return errors.New("once more")
			}
			time.Sleep(5 * time.Second)
			if err := run.SetResult(make([]byte, job.ResultMax+1)); !errors.Is(err, store.ErrTooLarge) {
				t.Errorf("a result that is too large: got the error %v, want store.ErrTooLarge", err)
			}
			result := []byte("first")
			run.AddCost(2)
			run.AddCost(3)
			err := run.SetResult(result)
			copy(result, "xxxxx") // The handler may reuse its buffer after SetResult.
			return err
		}, nil)
		ids := r.enqueue(1)
		r.start()
		time.Sleep(time.Second)
		synctest.Wait()
		if p := r.get(ids[0]).Progress; p.Done != 3 || p.Total != 10 || p.Note != strings.Repeat("ä", 128) {
			t.Errorf("got the progress %+v, want 3 of 10 with the shortened note", p)
		}
		time.Sleep(time.Minute + 4*time.Second)
		synctest.Wait()
		if j := r.get(ids[0]); j.State != job.Running || j.Progress != (job.Progress{}) {
			t.Errorf("the job is %s with progress %+v, want a second run without progress", j.State, j.Progress)
		}
		r.idle()
		j := r.get(ids[0])
		if string(j.Result) != "first" || j.Cost != 5 && j.Cost != 12 {
			t.Errorf("got the result %q and the cost %d, want first and 5 or 12", j.Result, j.Cost)
		}
		if f := r.failures(ids[0]); len(f) != 1 || f[0].Cost != 7 {
			t.Errorf("got the failures %+v, want one failure with the cost 7", f)
		}
		_ = r.finish()
	})
}

func TestAnOutcomeThatCannotBeWrittenIsAFailure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		decide func(*job.Claim, *job.Ending) job.Outcome
		why    string
	}{
		{"panic", func(*job.Claim, *job.Ending) job.Outcome { panic("policy") }, "the decision panicked: policy"},
		{"illegal", func(c *job.Claim, e *job.Ending) job.Outcome { return e.Outcome(c, job.Crashed, job.Waiting) }, "cannot end in state"},
		{"no failure", func(c *job.Claim, e *job.Ending) job.Outcome { return e.Outcome(c, job.Failed, job.Retrying) }, "has no failure record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logs := &logs{}
				r := newRig(t, func(context.Context, *engine.Run) error { return nil }, func(c *engine.Config) {
					c.Decide, c.Logger = tt.decide, logs.logger()
					c.Store = strictStore{c.Store, t}
				})
				ids := r.enqueue(1)
				r.start()
				r.idle()
				r.wantState(job.Dead, ids...)
				f := r.failures(ids[0])
				if len(f) != 1 || f[0].Code != job.CodeInvalidOutcome || !strings.Contains(f[0].Message, tt.why) {
					t.Errorf("got the failures %+v, want one failure with the text %q", f, tt.why)
				}
				logs.want(t, "ERROR", "cannot be written", "1")
				_ = r.finish()
			})
		})
	}
}

// The failure record has all facts about the run.
func TestAFailureRecordIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { time.Sleep(time.Second); return errDead }, nil)
		id, _ := r.store.ReserveIDs(t.Context(), 1)
		began := time.Now()
		if _, err := r.store.Enqueue(t.Context(), []job.New{
			{ID: id, Kind: "k", Queue: "q", Priority: 1, Correlation: "request-7"},
		}); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.idle()
		f := r.failures(id)
		if len(f) != 1 {
			t.Fatalf("got %d failures, want 1", len(f))
		}
		want := job.Failure{
			Job: id, Token: 1, Life: 1, Attempt: 1, StartedAt: job.At(began), EndedAt: job.At(began.Add(time.Second)),
			How: job.ByError, Class: "Test", Message: "permanent", Holder: "test", Correlation: "request-7",
		}
		if got := fmt.Sprintf("%+v", f[0]); got != fmt.Sprintf("%+v", want) {
			t.Errorf("got the failure  %s\nwant the failure %+v", got, want)
		}
		_ = r.finish()
	})
}

// proves: Q9
func TestQ9_EveryTransitionIsLoggedWithItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logs{}
		r := newRig(t, func(ctx context.Context, run *engine.Run) error {
			switch run.Claim.ID {
			case 2:
				if run.Claim.Attempt() == 1 {
					return errors.New("once more")
				}
				return errDead
			case 3, 4:
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}, func(c *engine.Config) { c.Logger = logs.logger() })
		id, _ := r.store.ReserveIDs(t.Context(), 5)
		for i := range job.ID(5) {
			n := job.New{ID: id + i, Kind: "k", Queue: "q", Priority: 1, Correlation: fmt.Sprintf("request-%d", id+i)}
			if i == 4 {
				n.Deadline = 1 // The deadline is in the distant past.
			}
			if _, err := r.store.Enqueue(t.Context(), []job.New{n}); err != nil {
				t.Fatal(err)
			}
		}
		r.start()
		synctest.Wait()
		if _, err := r.store.Cancel(t.Context(), store.By{Actor: "test"}, []job.ID{3}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		r.stop()
		r.engine.Halt()
		<-r.ended
		about := func(id int) []string {
			return []string{fmt.Sprintf(`"correlation":"request-%d"`, id), `"kind":"k"`, `"queue":"q"`}
		}
		logs.want(t, "DEBUG", "job started", "1", about(1)...)
		logs.want(t, "DEBUG", "job completed", "1", about(1)...)
		logs.want(t, "INFO", "job failed and will be retried", "2", append(about(2), `"due_in":60000000000`, `"attempt":1`, "once more")...)
		logs.want(t, "ERROR", "job is dead", "2", append(about(2), `"reason":"max_retries_exceeded"`, `"run":2`)...)
		logs.want(t, "INFO", "job cancelled", "3", about(3)...)
		logs.want(t, "INFO", "job interrupted", "4", about(4)...)
		logs.want(t, "ERROR", "job is dead", "5", `"reason":"expired"`)
	})
}

// strictStore fails the test when it gets an invalid outcome.
type strictStore struct {
	store.Worker
	t *testing.T
}

func (s strictStore) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	for _, o := range x.Settle {
		if err := o.Validate(); err != nil {
			s.t.Errorf("the engine sent an invalid outcome to the store, want a valid one: %v", err)
		}
	}
	return s.Worker.Exchange(ctx, x)
}

// stuckError is an error whose text is not available until a channel is closed.
type stuckError struct{ release <-chan struct{} }

func (e stuckError) Error() string {
	<-e.release
	return "it took a while"
}

// part of: F2
func TestF2_AnErrorWhoseTextBlocksDelaysNoOtherJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, func(_ context.Context, run *engine.Run) error {
			if run.Claim.ID%10 == 1 {
				return errors.Join(stuckError{release}, errDead)
			}
			return errDead
		}, nil)
		ids := r.enqueue(25) // Three of these jobs block. There are four workers.
		r.start()
		synctest.Wait()
		var stuck, others []job.ID
		for _, id := range ids {
			if id%10 == 1 {
				stuck = append(stuck, id)
			} else {
				others = append(others, id)
			}
		}
		if len(stuck) != 3 {
			t.Fatalf("got the blocked jobs %v, want three", stuck)
		}
		r.wantState(job.Running, stuck...)
		r.wantState(job.Dead, others...)
		close(release)
		r.idle()
		r.wantState(job.Dead, ids...)
		_ = r.finish()
	})
}
