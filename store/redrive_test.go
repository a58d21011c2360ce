package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// at is the store's time in these tests.
const at = job.Micros(1_000_000_000)

func redriveOf(state store.RedriveState, change func(*store.Redrive)) *store.Redrive {
	r := &store.Redrive{ID: 7, State: state, LastAt: at, RedriveSpec: store.RedriveSpec{
		Through: 1000, Total: 1000, Canary: 10, StopShare: 0.2, StopOther: 0.5, StopDead: 0.2,
	}}
	if change != nil {
		change(r)
	}
	return r
}

func answers(released, answered, again int64) func(*store.Redrive) {
	return func(r *store.Redrive) { r.Released, r.Answered, r.Again = released, answered, again }
}

// ended returns a redrive with a canary of 10 jobs whose first attempts have all ended. The
// arguments are the numbers of jobs that completed, that died, and that failed again with the
// same fingerprint.
func ended(completed, dead, again int64) func(*store.Redrive) {
	return func(r *store.Redrive) {
		answers(10, 10, again)(r)
		r.Completed, r.Dead = completed, dead
	}
}

// part of: D7
func TestD7_PlanOfARedrive(t *testing.T) {
	t.Parallel()
	idle := store.RedrivePlan{Wait: store.Never}
	for _, tt := range []struct {
		name  string
		r     *store.Redrive
		limit int
		want  store.RedrivePlan
		state store.RedriveState
	}{
		{"a canary begins", redriveOf(store.RedriveCanary, nil), 500, store.RedrivePlan{Release: 10, Spread: true}, store.RedriveCanary},
		{"a canary larger than the limit is released in parts", redriveOf(store.RedriveCanary, answers(4, 4, 4)), 3, store.RedrivePlan{Release: 3, Spread: true}, store.RedriveCanary},
		{"a canary waits", redriveOf(store.RedriveCanary, answers(10, 9, 9)), 500, idle, store.RedriveCanary},
		{"a canary exactly at the stop share continues", redriveOf(store.RedriveCanary, ended(8, 2, 2)), 500, store.RedrivePlan{Release: 120}, store.RedriveRamping},
		{"a canary waits until one job completes", redriveOf(store.RedriveCanary, ended(0, 2, 0)), 500, idle, store.RedriveCanary},
		{"a canary without a completed job stops", redriveOf(store.RedriveCanary, func(r *store.Redrive) { ended(0, 0, 0)(r); r.Cancelled = 10 }), 500, idle, store.RedriveStopped},
		{"a canary of which too many are dead stops", redriveOf(store.RedriveCanary, ended(7, 3, 0)), 500, idle, store.RedriveStopped},
		{"a canary stops when it is certain that too many are dead", redriveOf(store.RedriveCanary, ended(0, 3, 0)), 500, idle, store.RedriveStopped},
		{"a canary waits while too many of those that ended are dead", redriveOf(store.RedriveCanary, ended(4, 2, 0)), 500, idle, store.RedriveCanary},
		{"a canary goes on when enough have completed", redriveOf(store.RedriveCanary, ended(8, 2, 0)), 500, store.RedrivePlan{Release: 120}, store.RedriveRamping},
		{"a canary exactly at the share of other causes continues", redriveOf(store.RedriveCanary, func(r *store.Redrive) { ended(8, 2, 0)(r); r.Other = 5 }), 500, store.RedrivePlan{Release: 120}, store.RedriveRamping},
		{"a canary above the share of other causes stops", redriveOf(store.RedriveCanary, func(r *store.Redrive) { ended(8, 0, 0)(r); r.Other = 6 }), 500, idle, store.RedriveStopped},
		{"a ramp above the share of other causes stops", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(100, 10, 0)(r); r.Other = 6 }), 500, idle, store.RedriveStopped},
		{"a ramp above the share of deaths stops", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(100, 60, 0)(r); r.Completed, r.Dead = 7, 3 }), 500, idle, store.RedriveStopped},
		{"a ramp exactly at the share of deaths continues", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(50, 50, 0)(r); r.Completed, r.Dead = 40, 10 }), 10, store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"nine ended jobs are too few for the share of deaths", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(50, 50, 0)(r); r.Dead = 9 }), 10, store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"deaths from before a resume do not count", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(50, 50, 0)(r); r.Dead, r.Base.Dead = 50, 50 }), 10, store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"a resumed canary", redriveOf(store.RedriveCanary, func(r *store.Redrive) { answers(90, 80, 0)(r); r.Base.Released = 90 }), 500, store.RedrivePlan{Release: 10, Spread: true}, store.RedriveCanary},
		{"with shares of 1 a failed canary continues", redriveOf(store.RedriveCanary, func(r *store.Redrive) { ended(0, 10, 10)(r); r.RedriveSpec = r.WithoutStop() }), 500,
			store.RedrivePlan{Release: 120}, store.RedriveRamping},
		{"a canary above the stop share stops", redriveOf(store.RedriveCanary, answers(10, 10, 3)), 500, idle, store.RedriveStopped},
		{"a ramp starts with its window of 100", redriveOf(store.RedriveRamping, nil), 500, store.RedrivePlan{Release: 100}, store.RedriveRamping},
		{"a ramp releases at most the limit", redriveOf(store.RedriveRamping, nil), 7, store.RedrivePlan{Release: 7}, store.RedriveRamping},
		{"a ramp with a full window waits", redriveOf(store.RedriveRamping, answers(100, 0, 0)), 500, idle, store.RedriveRamping},
		{"a ramp grows with answers", redriveOf(store.RedriveRamping, answers(100, 100, 0)), 500, store.RedrivePlan{Release: 300}, store.RedriveRamping},
		{"nine answers are too few for the stop rule", redriveOf(store.RedriveRamping, answers(100, 9, 9)), 500, store.RedrivePlan{Release: 27}, store.RedriveRamping},
		{"ten answers are enough for the stop rule", redriveOf(store.RedriveRamping, answers(100, 10, 10)), 500, idle, store.RedriveStopped},
		{"a ramp exactly at the stop share continues", redriveOf(store.RedriveRamping, answers(50, 50, 10)), 10, store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"with shares of 1 a ramp never stops", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(50, 50, 50)(r); r.RedriveSpec = r.WithoutStop() }), 10,
			store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"answers from before a resume do not count", redriveOf(store.RedriveRamping, func(r *store.Redrive) { answers(50, 50, 50)(r); r.Base.Answered, r.Base.Again = 50, 50 }), 10,
			store.RedrivePlan{Release: 10}, store.RedriveRamping},
		{"settling", redriveOf(store.RedriveSettling, func(r *store.Redrive) { r.Released, r.Completed = 3, 2 }), 10, idle, store.RedriveSettling},
		{"all have ended", redriveOf(store.RedriveSettling, func(r *store.Redrive) { r.Released, r.Completed, r.Dead, r.Cancelled = 3, 1, 1, 1 }), 10, idle, store.RedriveEnded},
		{"all have completed", redriveOf(store.RedriveSettling, func(r *store.Redrive) { r.Released, r.Completed = 3, 3 }), 10, idle, store.RedriveCompleted},
		{"paused", redriveOf(store.RedrivePaused, nil), 10, idle, store.RedrivePaused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.r.Plan(at, tt.limit); got != tt.want || tt.r.State != tt.state {
				t.Errorf("got plan %+v and state %s, want plan %+v and state %s", got, tt.r.State, tt.want, tt.state)
			}
			if ended := tt.state == store.RedriveStopped || tt.state == store.RedriveCompleted || tt.state == store.RedriveEnded; ended != (tt.r.EndedAt == at) {
				t.Errorf("redrive in state %s: EndedAt is %d, want it set only when the redrive has ended", tt.r.State, tt.r.EndedAt)
			}
			if (tt.state == store.RedriveStopped) != (strings.Contains(tt.r.Why, "% allowed") || strings.Contains(tt.r.Why, "none of the 10")) {
				t.Errorf("redrive in state %s: Why is %q, want a reason only for a stopped redrive", tt.r.State, tt.r.Why)
			}
		})
	}
}

// Three rules hold for any order in which steps are made and jobs end. The number of released jobs
// whose first attempt has not ended stays within the limit of the ramp. The rate is never exceeded.
// When all jobs of the set have ended, the redrive is completed.
//
// part of: D7
func TestD7_RampStaysInItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]int{0, 1, 3, 10, 999}).Draw(t, "rate")
		left := rapid.Int64Range(1, 2000).Draw(t, "set")
		r := redriveOf(store.RedriveRamping, func(r *store.Redrive) { r.RedriveSpec = r.WithoutStop(); r.Rate = rate })
		now := at
		for range 2000 {
			before := r.Released
			p := r.Plan(now, rapid.IntRange(1, 500).Draw(t, "limit"))
			if p.Release > 0 {
				n := min(int64(p.Release), left)
				left -= n
				r.RecordStep(now, p, store.RedriveDone{Released: n, Cursor: r.Cursor + n, Exhausted: left == 0})
			}
			if out := r.Released - r.Answered; out > 2*r.Answered+100 {
				t.Fatalf("the first attempt of %d released jobs has not ended, that of %d jobs has ended; want at most twice the second number plus 100", out, r.Answered)
			}
			// The rate allows the jobs of one second to be released at once, and the time of each
			// release may be rounded by one microsecond.
			if most := int64(rate) + int64(now-at)*int64(rate)/1_000_000 + 1; rate > 0 && r.Released > most+most/1000 {
				t.Fatalf("%d jobs were released in %s, want fewer at a rate of %d jobs per second", r.Released, now.Sub(at), rate)
			}
			if p.Wait > 0 && p.Wait != store.Never && r.Released == before {
				now = now.Add(p.Wait)
				if again := *r; again.Plan(now, 1).Release == 0 {
					t.Fatalf("Plan asked to wait %s; after this wait it releases no job, want a release", p.Wait)
				}
			}
			n := rapid.Int64Range(0, r.Released-r.Answered).Draw(t, "answers")
			r.Answered += n
			r.Completed += n
			now = now.Add(time.Duration(rapid.IntRange(0, 2_000_000).Draw(t, "microseconds")) * time.Microsecond)
			if r.State == store.RedriveCompleted {
				break
			}
		}
		r.Completed, r.Answered = r.Released, r.Released
		if r.Plan(now, 1); left == 0 && r.State != store.RedriveCompleted {
			t.Fatalf("the redrive is %s after all its jobs have ended, want completed", r.State)
		}
	})
}

// part of: D7
func TestD7_WhatPeopleDoWithARedrive(t *testing.T) {
	t.Parallel()
	const refused, invalid = "refused", "invalid"
	same := func(s store.RedriveState) string { return "same " + string(s) }
	ops := []store.RedriveOp{store.RedrivePause, store.RedriveResume, store.RedriveProceed, store.RedriveCancel, "shout"}
	for from, want := range map[store.RedriveState][]string{
		store.RedriveCanary:    {"paused", same("canary"), "ramping", "cancelled", invalid},
		store.RedriveRamping:   {"paused", same("ramping"), same("ramping"), "cancelled", invalid},
		store.RedriveSettling:  {"paused", same("settling"), same("settling"), "cancelled", invalid},
		store.RedrivePaused:    {same("paused"), "canary", refused, "cancelled", invalid},
		store.RedriveStopped:   {refused, "canary", refused, "cancelled", invalid},
		store.RedriveCompleted: {refused, refused, refused, refused, invalid},
		store.RedriveEnded:     {refused, refused, refused, refused, invalid},
		store.RedriveCancelled: {refused, refused, refused, same("cancelled"), invalid},
	} {
		for i, do := range ops {
			r := redriveOf(from, func(r *store.Redrive) { r.Resume, r.Answered, r.Again = store.RedriveCanary, 5, 3 })
			changed, err := r.Apply(at+1, do)
			got := string(r.State)
			switch {
			case errors.Is(err, store.ErrConflict):
				got = refused
			case errors.Is(err, store.ErrInvalid):
				got = invalid
			case err != nil:
				t.Error(err)
			case !changed:
				got = same(r.State)
			}
			if got != want[i] {
				t.Errorf("operation %s on a redrive in state %s: got state %s, want state %s", do, from, got, want[i])
			}
			if err != nil && r.State != from {
				t.Errorf("operation %s was refused, but the state is now %s; want it unchanged", do, r.State)
			}
			if from == store.RedriveStopped && do == store.RedriveResume && (r.Base.Answered != 5 || r.Base.Again != 3 || r.EndedAt != 0 || r.Why != "") {
				t.Errorf("resumed redrive: got %+v, want EndedAt 0, an empty Why, a Base with 5 answers, 3 of them again", r)
			}
		}
	}
}

// part of: D7
func TestD7_SpreadCoversTheRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1<<61).Draw(t, "first")
		last := first + rapid.SampledFrom([]int64{0, 1, 2, 9, 1000, 1 << 61}).Draw(t, "range")
		n := rapid.IntRange(1, store.CanaryMax).Draw(t, "n")
		if got := store.SpreadTarget(first, last, 0, n); got != first {
			t.Fatalf("the target of the first canary is death %d, want death %d", got, first)
		}
		if got := store.SpreadTarget(first, last, n-1, n); n > 1 && got != last {
			t.Fatalf("the target of the last canary is death %d, want death %d", got, last)
		}
		before := first
		for i := 1; i < n; i++ {
			got := store.SpreadTarget(first, last, i, n)
			if step := (last - first) / int64(n-1); got < before+step || got > before+step+1 {
				t.Fatalf("the target of canary %d of %d is death %d, after a target at death %d; want a distance of about %d deaths", i, n, got, before, step)
			}
			before = got
		}
	})
}

// The rate limit already applies to the first canary.
//
// part of: D7
func TestD7_CanaryIsPaced(t *testing.T) {
	t.Parallel()
	r := redriveOf(store.RedriveCanary, func(r *store.Redrive) { r.Canary, r.Rate = 500, 4 })
	if p := r.Plan(at, 500); p != (store.RedrivePlan{Wait: time.Second / 4}) {
		t.Errorf("plan at the start: got %+v, want no release and a wait of 250 ms", p)
	}
	now := at.Add(time.Hour)
	p := r.Plan(now, 500)
	if p != (store.RedrivePlan{Release: 4, Spread: true}) {
		t.Errorf("plan after an hour: got %+v, want Release 4 and Spread true, because the rate is 4 jobs per second", p)
	}
	r.RecordStep(now, p, store.RedriveDone{Released: 4})
	if p := r.Plan(now, 500); p.Release != 0 || p.Wait != time.Second/4 {
		t.Errorf("plan directly after a release: got %+v, want no release and a wait of 250 ms", p)
	}
}

// If a step of a redrive makes no progress, the redrive stops and names a reason. Otherwise
// the step would be repeated for ever.
//
// part of: D7
func TestD7_AStepWithoutProgressStops(t *testing.T) {
	t.Parallel()
	spread, ramp := store.RedrivePlan{Release: 5, Spread: true}, store.RedrivePlan{Release: 5}
	for _, tt := range []struct {
		name string
		plan store.RedrivePlan
		did  store.RedriveDone
		want store.RedriveState
		why  string
	}{
		{"a spread release that releases nothing", spread, store.RedriveDone{}, store.RedriveStopped, "not reach the end of the set"},
		{"a cursor that does not move", ramp, store.RedriveDone{Cursor: 50}, store.RedriveStopped, "not reach the end of the set"},
		{"a search", ramp, store.RedriveDone{Cursor: 51}, store.RedriveRamping, ""},
		{"nothing is left", ramp, store.RedriveDone{Cursor: 50, Exhausted: true}, store.RedriveSettling, ""},
		{"no room", ramp, store.RedriveDone{Released: 2, Cursor: 60, Exhausted: true, Blocked: storekit.TooManyLanes("night", "k", "")},
			store.RedriveStopped, `5 of 1000 jobs are released; the next job cannot be released: queue "night"`},
	} {
		r := redriveOf(store.RedriveRamping, func(r *store.Redrive) { r.Cursor, r.Released = 50, 3 })
		r.RecordStep(at, tt.plan, tt.did)
		if r.State != tt.want || !strings.Contains(r.Why, tt.why) || (r.Why == "") != (tt.why == "") {
			t.Errorf("%s: got state %s with Why %q, want state %s with a Why that contains %q", tt.name, r.State, r.Why, tt.want, tt.why)
		}
		if r.State != store.RedriveStopped {
			continue
		}
		if changed, err := r.Apply(at, store.RedriveResume); err != nil || !changed || r.State != store.RedriveCanary || r.Base.Released != r.Released {
			t.Errorf("%s: after resuming: got state %s, error %v; want another canary", tt.name, r.State, err)
		}
	}
}
