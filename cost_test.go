package redrive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// The cost of runs that are snoozed or handed over stays with the job, and counts in the figures once.
//
// proves: R11
func TestR11_CostsSurviveSnoozesAndHandOvers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		runs  []error // what the runs return; each costs ten cents
		state job.State
		cost  int64
	}{
		"snoozed, then completed":          {[]error{failure.Snooze(time.Second), failure.Snooze(time.Second), nil}, job.Completed, 300_000},
		"snoozed, then dead":               {[]error{failure.Snooze(time.Second), failure.Permanent(errors.New("no"))}, job.Dead, 200_000},
		"handed over, then completed":      {[]error{failure.HandOver(time.Second, "", errors.New("busy")), nil}, job.Completed, 200_000},
		"snoozed, failed, snoozed, passed": {[]error{failure.Snooze(time.Second), errors.New("oops"), failure.Snooze(time.Second), nil}, job.Completed, 400_000},
		"snoozed, then cancelled":          {[]error{failure.Snooze(time.Second), failure.Cancel("enough")}, job.Cancelled, 200_000},
		"failed, then completed":           {[]error{errors.New("oops"), nil}, job.Completed, 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
				j.AddCost(0.10)
				n++
				return tt.runs[n-1]
			}, nil)
			id := enqueue(t, e, render.New(renderArgs{}, nil))
			for range tt.runs {
				e.Work()
				e.Advance(time.Hour)
			}
			j := get(t, e, id)
			if n != len(tt.runs) || j.State != tt.state || j.Cost != tt.cost {
				t.Errorf("got state %v and a cost of %d after %d runs, want %v and %d after %d", j.State, j.Cost, n, tt.state, tt.cost, len(tt.runs))
			}
			points, err := e.Series(t.Context(), redrive.SeriesQuery{Since: job.At(e.Now().Add(-24 * time.Hour)), Until: job.At(e.Now().Add(time.Hour)), Step: 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			var cost int64
			for i := range points {
				cost += points[i].Cost
			}
			if tt.state != job.Cancelled && cost != tt.cost {
				t.Errorf("the figures have a cost of %d, want %d", cost, tt.cost)
			}
		})
	}
}
