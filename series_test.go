package redrive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/redrivetest"
)

// The figures by class say which retries helped, and what they cost.
//
// proves: M4
func TestM4_RetriesAreCountedByTheClassBeforeThem(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	redrive.HandleRaw(e.Client, "call", func(_ context.Context, j *redrive.Job[[]byte]) error {
		j.AddCost(float64(j.Attempt) / 1e5)
		switch {
		case j.Attempt == 1:
			return failure.WithClass(failure.NetworkTimeout, errors.New("slow"))
		case j.Attempt == 2:
			return failure.WithClass(failure.RateLimitExceeded, errors.New("busy"))
		case string(j.Args) == "dies":
			return failure.Permanent(errors.New("gone"))
		}
		return nil
	}, nil)
	for _, payload := range []string{"completes", "dies", "completes"} {
		if _, err := e.EnqueueMany(t.Context(), []redrive.Spec{redrive.NewRaw("call", []byte(payload), nil)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		e.Work()
		e.Advance(time.Hour)
	}
	points, err := e.Series(t.Context(), redrive.SeriesQuery{Since: 1, Step: 365 * 24 * time.Hour, By: redrive.ByClass})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]redrive.Figures)
	for _, p := range points {
		got[p.Name] = p.Figures
	}
	for class, want := range map[failure.Class]redrive.Figures{
		failure.NetworkTimeout:    {Failed: 3, Recovered: 2, Exhausted: 1, Retries: 3, RetryCost: 60},
		failure.RateLimitExceeded: {Failed: 3, Recovered: 2, Exhausted: 1, Retries: 3, RetryCost: 90},
	} {
		if f := got[string(class)]; f.Failed != want.Failed || f.Recovered != want.Recovered || f.Exhausted != want.Exhausted ||
			f.Retries != want.Retries || f.RetryCost != want.RetryCost {
			t.Errorf("%s: got %+v, want %+v", class, f, want)
		}
	}
}
