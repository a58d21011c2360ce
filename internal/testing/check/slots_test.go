package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A job that is ready may wait as long as all slots have jobs.
func TestAReadyJobMayWaitWhileNoSlotIsFree(t *testing.T) {
	t.Parallel()
	second := func(n int64) job.Micros { return job.Micros(n * 1_000_000) }
	moves := []event.Event{
		{Job: 1, At: second(1), Type: event.JobEnqueued, To: job.Waiting},
		{Job: 2, At: second(1), Type: event.JobEnqueued, To: job.Waiting},
		{Job: 1, At: second(1), Type: event.JobClaimed, From: job.Waiting, To: job.Running},
		{Job: 1, At: second(9), Type: event.JobSucceeded, From: job.Running, To: job.Completed},
		{Job: 2, At: second(10), Type: event.JobClaimed, From: job.Waiting, To: job.Running},
	}
	for slots, want := range map[int]time.Duration{1: time.Second, 2: 9 * time.Second} {
		h := &check.History{Dump: &store.Dump{Events: moves}, Healed: second(1), Slots: slots, WaitMax: 5 * time.Second}
		if got := check.Count(h).LongestWait; got != want {
			t.Errorf("with %d slots: got a wait of %s beside a free slot, want %s", slots, got, want)
		}
		late := false
		for _, v := range check.Check(h) {
			late = late || v.Invariant == check.PromptStart && v.Job == 2
		}
		if late != (want > h.WaitMax) {
			t.Errorf("with %d slots: the wait of %s was reported: %v, want %v", slots, want, late, want > h.WaitMax)
		}
	}
}

// A rescue may have handed back a run that no handler had begun, before the worker did. The store then
// refuses the worker's hand-back. If a handler had begun the run, or if more crashes were allowed, a
// rescue counts a crash, and such a refusal is a fault.
func TestARescueMayHandBackARunBeforeItsWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		crashes int32
		begun   bool
		fenced  bool
	}{
		{"last chance, not begun", 2, false, true},
		{"last chance, begun", 2, true, false},
		{"one of three, not begun", 3, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := handedBack(t)
			h.Limits = map[string]check.Limits{kind: {Crashes: tt.crashes}}
			if !tt.begun {
				drop(&h.Runs, func(r check.Run) bool { return r.Token == 2 })
			}
			found := check.Check(h)
			for _, v := range found {
				if v.Invariant != check.FencedWrite || tt.fenced {
					t.Errorf("got the violation %v, want it not to be there", v)
				}
			}
			if len(found) == 0 && !tt.fenced {
				t.Error("got no violation, want FencedWrite")
			}
		})
	}
}

// handedBack returns the history of a job that crashes, is claimed again, and is handed back by a
// rescue before its worker does it. Its ledger says that handlers began both runs.
func handedBack(t *testing.T) *check.History {
	t.Helper()
	r := newRecorder(t)
	r.submit(plain)
	var last job.Claim
	for range 2 {
		last = r.claim(plain)[plain]
		r.pass(lease)
		_, err := r.Rescue(r.ctx, 10)
		r.ok(err)
	}
	next := r.claim(plain)[plain]
	r.end(last, interrupted) // the store remembers the outcome of the last run only
	r.end(next, success)
	if got := r.h.Writes[0].Answer; got != check.Refused {
		t.Fatalf("the hand-back after the rescue: got the answer %s, want it refused", got)
	}
	dump, err := r.Dump(r.ctx)
	r.ok(err)
	r.h.Dump = dump
	return &r.h
}

// The store records that the last run begins before the worker calls the handler. A process that dies
// between the two has begun the run.
func TestAProcessMayDieJustBeforeItCallsTheHandler(t *testing.T) {
	t.Parallel()
	for i, own := range []bool{true, false} { // the worker "w" has the run, the process "gone" does not
		for _, reported := range []bool{false, true} { // it was killed after it had reported to the store that the run begins
			h := sound(t)
			last := row(h, toxic).Token
			drop(&h.Runs, func(r check.Run) bool { return r.Job == toxic && r.Token == last })
			h.Processes[0].Disturbed, h.Processes[1].Disturbed = 0, 0
			if reported {
				h.Begins, h.Processes[i].Disturbed = []store.Run{{ID: toxic, Token: last}}, 1
			} else {
				h.Processes[i].AtStart = true
			}
			found := slices.DeleteFunc(check.Check(h), func(v check.Violation) bool { return v.Invariant != check.OwnCrash })
			if (len(found) == 0) != own {
				t.Errorf("the process %s died before the handler, reported %v: got the violations %v, want some only for another process than that of the run", h.Processes[i].Name, reported, found)
			}
		}
	}
}
