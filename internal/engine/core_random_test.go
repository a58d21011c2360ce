package engine

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
)

// Whatever calls fail, every job ends, no run ends twice, and every slot becomes free again.
func TestRandomFaultsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	var checks, starts, faults, completed int
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, nil)
		w.step()
		for range rapid.IntRange(10, 150).Draw(t, "actions") {
			w.act()
		}
		w.heal()
		w.verify(false)
		w.step(StopAsked{})
		w.heal()
		if !w.stops || len(w.core.tasks) != 0 {
			t.Fatalf("the core has stopped: %t, with %d tasks left; want true and 0 tasks", w.stops, len(w.core.tasks))
		}
		checks++
		starts, faults, completed = starts+w.starts, faults+w.faults, completed+len(w.completed)
	})
	if min(starts, faults, completed) < checks {
		t.Errorf("got only %d starts, %d faults and %d completed jobs in %d checks, want at least one of each per check", starts, faults, completed, checks)
	}
}

// A stop at any moment hands back all jobs that the core holds.
func TestAStopLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, nil)
		w.step()
		for range rapid.IntRange(10, 80).Draw(t, "actions") {
			w.act()
		}
		w.step([]Event{StopAsked{}, HaltAsked{}}[rapid.IntRange(0, 1).Draw(t, "halt")])
		w.heal()
		w.verify(true)
	})
}

// verify checks all jobs of the store. Each job has ended, unless a stop handed it back,
// and its counters add up to its number of runs.
func (w *world) verify(stopped bool) {
	dump, err := w.store.Dump(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, j := range dump.Jobs {
		if !j.State.Terminal() && !stopped {
			w.t.Fatalf("job %d is %s at the end, want a final state: %+v", j.ID, j.State, j)
		}
		runs := int64(j.Counters.Sum())
		if j.State == job.Running || j.State == job.Cancelled {
			// The job is running, and no counter includes this run yet. Either another process has
			// claimed it, or the answer with the claim was lost.
			runs++
		}
		if runs != int64(j.Token) && (j.State != job.Cancelled || runs != int64(j.Token)+1) {
			w.t.Fatalf("job %d has the token %d, but its counters add up to %d, want the same number: %s", j.ID, j.Token, runs, fmt.Sprintf("%+v", j))
		}
		if w.completed[j.ID] > 1 || w.completed[j.ID] == 1 && j.State != job.Completed {
			w.t.Fatalf("job %d is %s and was written as completed %d times, want once for a completed job", j.ID, j.State, w.completed[j.ID])
		}
	}
}
