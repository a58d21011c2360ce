package redrive_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// cancelling is a store in which a person cancels each job just before the outcome of its run
// is written.
type cancelling struct{ store.Store }

func (s cancelling) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	for _, o := range x.Settle {
		if _, err := s.Cancel(ctx, store.By{Actor: "ann"}, []job.ID{o.ID}); err != nil {
			return store.Exchanged{}, err
		}
	}
	return s.Store.Exchange(ctx, x)
}

// OnOutcome gets the state that was written when a person has cancelled the job while it ran.
func TestOnOutcome_StateOfAJobThatIsCancelledMeanwhile(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		outcomes := make(chan redrive.Outcome, 3)
		s := cancelling{d.open()}
		config := redrive.Config{OnOutcome: func(_ context.Context, o redrive.Outcome) { outcomes <- o }}
		c := outcomeClient(t, s, config, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			switch j.Args.Title {
			case "fail":
				return errors.New("no disk")
			case "snooze":
				return failure.Snooze(time.Hour)
			}
			return nil
		})
		want := map[redrive.JobID]redrive.State{}
		for title, state := range map[string]redrive.State{"fail": job.Cancelled, "snooze": job.Cancelled, "succeed": job.Completed} {
			r, err := c.Enqueue(t.Context(), render.New(renderArgs{Title: title}, nil))
			if err != nil {
				t.Fatal(err)
			}
			want[r.ID] = state
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(outcomes)
		n := 0
		for o := range outcomes {
			n++
			if o.State != want[o.ID] || !o.Final() || o.Delay != 0 {
				t.Errorf("outcome of job %d (%s): got state %s, final %v, delay %s; want state %s, final and no delay",
					o.ID, o.Cause, o.State, o.Final(), o.Delay, want[o.ID])
			}
			if j, err := s.Get(t.Context(), o.ID); err != nil || j.State != o.State {
				t.Errorf("job %d has state %s in the store (error %v), and OnOutcome got state %s; want the same state", o.ID, j.State, err, o.State)
			}
		}
		if n != len(want) {
			t.Errorf("OnOutcome got %d outcomes, want %d", n, len(want))
		}
	})
}

// The failure that OnOutcome gets is the stored one, except for its times, which are 0.
func TestOnOutcome_FailureIsTheStoredOne(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		outcomes := make(chan redrive.Outcome, 2)
		s := d.open()
		config := redrive.Config{OnOutcome: func(_ context.Context, o redrive.Outcome) { outcomes <- o }}
		c := outcomeClient(t, s, config, func(_ context.Context, j *redrive.Job[renderArgs]) error {
			j.AddCost(0.5)
			return failure.Code("NO_DISK", errors.New("no disk"))
		})
		r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, &redrive.Options{Correlation: "req-9"}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(outcomes)
		got := make(map[job.Token]job.Failure)
		for o := range outcomes {
			got[job.Token(o.Run)] = *o.Failure
		}
		stored, err := s.Failures(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[job.Token]job.Failure)
		for _, f := range stored {
			if f.StartedAt == 0 || f.EndedAt < f.StartedAt {
				t.Errorf("stored failure of run %d: got StartedAt %d and EndedAt %d, want the time of the claim and a time that is not before it", f.Token, f.StartedAt, f.EndedAt)
			}
			f.StartedAt, f.EndedAt = 0, 0
			want[f.Token] = f
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) != 2 {
			t.Errorf("OnOutcome got %d failures, want 2 which are equal to the stored ones (-stored +got):\n%s", len(got), diff)
		}
	})
}

// The outcomes of runs that end after a stop are reported, even if the runs have used the whole
// grace time.
func TestOnOutcome_OutcomesAfterAStopAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const grace = 10 * time.Second
		type call struct {
			title string
			at    time.Duration // the time from the stop to the end of this call
			err   error         // the error of the call's context when the call ended
		}
		var stopped time.Time
		calls := make(chan call, 2)
		config := redrive.Config{Grace: grace, OnOutcome: func(ctx context.Context, o redrive.Outcome) {
			elapse(grace / 2)
			calls <- call{o.Cause.String(), time.Since(stopped), ctx.Err()}
		}}
		running := make(chan struct{}, 2)
		c := outcomeClient(t, memory.New(memory.Options{}), config, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
			running <- struct{}{}
			if j.Args.Title == "late" { // this job runs until the end of the grace time
				<-ctx.Done()
				return ctx.Err()
			}
			elapse(grace - time.Second)
			return nil
		})
		for _, title := range []string{"late", "in time"} {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{Title: title}, nil)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		<-running
		<-running
		stopped = time.Now()
		cancel()
		err := <-ended
		if returned, ok := errors.AsType[*redrive.Returned](err); !ok || returned.Jobs != 1 {
			t.Errorf("Run: got error %v, want an error about one job that was handed back", err)
		}
		if took := time.Since(stopped); took != grace+grace/2 {
			t.Errorf("Run returned %s after the stop, want %s: the grace time of the jobs and the rest of the last call", took, grace+grace/2)
		}
		close(calls)
		want := []call{
			{"succeeded", grace - time.Second + grace/2, nil},
			{"interrupted", grace + grace/2, nil},
		}
		if got := slices.Collect(chanSeq(calls)); !slices.Equal(got, want) {
			t.Errorf("got the calls of OnOutcome %+v, want %+v", got, want)
		}
	})
}

// chanSeq returns the values of a channel.
func chanSeq[T any](c <-chan T) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for v := range c {
			if !yield(v) {
				return
			}
		}
	}
}
