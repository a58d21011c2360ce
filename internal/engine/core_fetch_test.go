package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestFetchSleepsUntilTheEarliestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		nextDue time.Duration
		want    time.Duration
	}{
		{"poll", store.Never, time.Second},
		{"next due", 300 * time.Millisecond, 300 * time.Millisecond},
		{"due now, and yet not given", 0, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newCore(t, nil)
			r.step(Exchanged{Answer: store.Exchanged{NextDue: tt.nextDue}})
			r.wantQuiet()
			r.wantWake(tt.want)
			r.pass(tt.want - 1)
			r.wantQuiet()
			r.pass(1)
			r.wantExchange(nil, 2)
		})
	}
}

func TestFetchAsksAgainAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("when woken", func(t *testing.T) {
		t.Parallel()
		r := newCore(t, nil)
		r.brings()
		r.step(Woken{})
		r.wantExchange(nil, 2)
	})
	t.Run("when woken while asking", func(t *testing.T) {
		t.Parallel()
		r := newCore(t, nil)
		r.step(Woken{})
		r.wantQuiet()
		r.brings()
		r.wantExchange(nil, 2)
	})
	t.Run("when the answer was full and there is room", func(t *testing.T) {
		t.Parallel()
		r := newCore(t, nil)
		a := r.answer(r.claims(1)...)
		a.Answer.Full = true
		r.step(a)
		r.wantExchange(nil, 1)
	})
	t.Run("but not without room", func(t *testing.T) {
		t.Parallel()
		r := newCore(t, nil)
		a := r.answer(r.claims(2)...)
		a.Answer.Full = true
		r.step(a)
		r.wantQuiet()
		r.pass(time.Second, Woken{})
		r.wantQuiet()
	})
}

// Outcomes of runs that finish while an exchange is under way are in the next exchange,
// together with requests for jobs.
func TestOutcomesGoWithTheNextExchange(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.step(succeed(time.Hour, tasks[0]))
	r.wantExchange([]job.ID{1}, 1)
	r.step(succeed(time.Hour, tasks[1]))
	r.wantQuiet()
	r.brings(r.claims(1)...)
	r.wantExchange([]job.ID{2}, 1)
	if got := ids(r.act.Written); !slices.Equal(got, []job.ID{1}) {
		t.Errorf("got written outcomes of the jobs %v, want job 1", got)
	}
	r.brings()
	if r.wantQuiet(); len(r.core.tasks) != 1 {
		t.Errorf("the core has %d tasks, want only the running task", len(r.core.tasks))
	}
}

// After several notifications that bring no job, the core waits between exchanges. After an
// exchange that brings a job, the next one follows at once.
func TestExchangesWithoutJobsAreSpaced(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	for range emptyFree - 1 {
		r.brings()
		r.step(Woken{})
		r.wantExchange(nil, 2)
	}
	r.brings()
	r.step(Woken{})
	r.wantQuiet()
	r.wantWake(emptyGap)
	r.pass(emptyGap)
	r.wantExchange(nil, 2)
	r.brings(r.claims(1)...)
	r.step(Woken{})
	r.wantExchange(nil, 1)
}

func TestJobsAreHeldAheadOnlyWhenRunsAreShort(t *testing.T) {
	t.Parallel()
	const trip = 10 * time.Millisecond
	for _, tt := range []struct {
		name string
		took time.Duration
		want int // want is the number of jobs that are claimed in addition to those of the two workers.
	}{
		{"slow", 20 * time.Millisecond, 0},
		{"as long as an exchange", trip, 0},
		{"half as long", trip / 2, 8},
		{"a tenth", trip / 10, 40},
		{"no time", 0, aheadMin},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newCore(t, nil)
			r.pass(trip, r.answer(r.claims(2)...))
			tasks := slices.Clone(r.act.Start)
			r.step(succeed(tt.took, tasks...))
			r.wantExchange([]job.ID{1, 2}, 2+tt.want)
		})
	}
}

func TestJobsOfAKindAreHeldAheadByItsOwnRuns(t *testing.T) {
	t.Parallel()
	const trip = 10 * time.Millisecond
	r := newCore(t, func(c *Config) { c.Queues[0].Workers, c.Kinds[0].Workers = 100, 2 })
	r.pass(trip, r.answer(r.claims(2)...))
	r.step(succeed(trip/5, r.act.Start...))
	if got := r.act.Exchange.Want[0].Kinds[0].Max; got != 2+2*2*5 {
		t.Errorf("the exchange requests %d jobs of kind k, want 22 jobs", got)
	}
}

// quick makes a core whose two workers are busy and that has claimed three more jobs ahead.
func quick(t *testing.T) (r *rig, busy []*Task) {
	t.Helper()
	const trip = 10 * time.Millisecond
	r = newCore(t, nil)
	r.pass(trip, r.answer(r.claims(2)...))
	tasks := slices.Clone(r.act.Start)
	r.step(succeed(trip/2, tasks...))
	r.pass(trip, r.answer(r.claims(5)...))
	if len(r.act.Start) != 2 || len(r.core.queues[0].buffer) != 3 {
		t.Fatalf("got %d started and %d buffered jobs, want 2 started and 3 buffered jobs", len(r.act.Start), len(r.core.queues[0].buffer))
	}
	return r, slices.Clone(r.act.Start)
}

func TestABufferedJobTakesTheFreeSlot(t *testing.T) {
	t.Parallel()
	r, busy := quick(t)
	r.step(succeed(time.Millisecond, busy[0]))
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{5}) {
		t.Errorf("got the started jobs %v, want job 5, the oldest in the buffer", got)
	}
}

func TestABufferedJobIsHandedBack(t *testing.T) {
	t.Parallel()
	third := LeaseDefault / 3
	for _, tt := range []struct {
		name string
		do   func(r *rig)
	}{
		{"when it waits too long", func(r *rig) {
			r.brings() // This answers the exchange that is under way.
			r.pass(third)
		}},
		{"when its queue is paused", func(r *rig) {
			r.brings()
			r.step(SignalsRead{Signals: store.Signals{Queues: []store.Queue{{Name: "q", Mode: store.Paused}}}})
		}},
		{"at a stop", func(r *rig) {
			r.brings()
			r.step(StopAsked{})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := quick(t)
			if r.act.Exchange == nil {
				r.step(Woken{})
			}
			tt.do(r)
			if r.act.Exchange == nil {
				t.Fatal("got no exchange, want an exchange that hands back the buffered jobs")
			}
			for i, o := range r.act.Exchange.Settle {
				if want := job.ID(5 + i); o.ID != want || o.Cause != job.Interrupted || o.To != job.Waiting {
					t.Errorf("the exchange settles the outcome %+v, want job %d handed back as interrupted", o, want)
				}
				if err := o.Validate(); err != nil {
					t.Error(err)
				}
			}
			if len(r.act.Exchange.Settle) != 3 {
				t.Errorf("the exchange hands back %d jobs, want 3", len(r.act.Exchange.Settle))
			}
			if len(r.act.Exchange.Want) != 0 {
				t.Errorf("the exchange requests %+v, want no jobs: all slots are busy and no jobs are claimed ahead", r.act.Exchange.Want)
			}
		})
	}
}

func TestADeadlineThatPassesInTheBufferKeepsTheJobFromStarting(t *testing.T) {
	t.Parallel()
	r, busy := quick(t)
	next := r.core.queues[0].buffer[0]
	next.Claim.Deadline = next.Claim.ClaimedAt.Add(time.Second)
	r.pass(time.Second+time.Microsecond, succeed(time.Millisecond, busy[0]))
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{6}) {
		t.Errorf("got the started jobs %v, want job 6, the second in the buffer", got)
	}
	if next.Outcome.Cause != job.Interrupted {
		t.Errorf("the first job of the buffer has the outcome %v, want interrupted", next.Outcome.Cause)
	}
}

// The store took 300 ms to answer the exchange. The job's deadline was 200 ms after the time
// at which the store began to claim it.
func TestADeadlineThatPassesDuringTheClaimKeepsTheJobFromStarting(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond} {
		r := newCore(t, nil)
		claims := r.claims(1)
		claims[0].Deadline = claims[0].ClaimedAt.Add(200 * time.Millisecond)
		r.now += wait
		r.brings(claims...)
		if got, want := len(r.act.Start), map[bool]int{true: 1}[wait < 200*time.Millisecond]; got != want {
			t.Errorf("got %d started jobs %s after the exchange was sent, want %d with a deadline of 200 ms", got, wait, want)
		}
	}
}

// part of: Q7
func TestQ7_WorkersOfAKindHoldOverItsQueues(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) {
		c.Queues = []Queue{{Name: "a", Workers: 5}, {Name: "b", Workers: 5}}
		c.Kinds = append(c.Kinds, Kind{Name: "rare", Workers: 3, Handler: c.Kinds[0].Handler})
	})
	asked := map[string]int{}
	for _, w := range r.act.Exchange.Want {
		if w.Max != 5 || len(w.Kinds) != 2 || w.Kinds[0].Max != 5 {
			t.Errorf("the exchange requests %+v, want 5 jobs that may all be of kind k", w)
		}
		asked[w.Queue] = w.Kinds[1].Max
	}
	if asked["a"]+asked["b"] != 3 || asked["a"] == 0 || asked["b"] == 0 {
		t.Errorf("got requests for these numbers of jobs of the kind rare: %v; want 3 jobs in total, and at least 1 from each of the queues a and b", asked)
	}
	// The store has returned all jobs that were requested from queue "a", and there is room for
	// more, so the core requests more jobs at once.
	r.brings(r.claimsOf("a", "rare", asked["a"])...)
	if len(r.act.Start) != asked["a"] || r.act.Exchange == nil {
		t.Fatalf("got %d started jobs and the exchange %v, want all jobs started and an exchange", len(r.act.Start), r.act.Exchange)
	}
	for r.act.Exchange != nil {
		claims := []job.Claim{}
		for _, w := range r.act.Exchange.Want {
			for _, k := range w.Kinds {
				if w.Queue == "a" && k.Kind == "rare" {
					claims = append(claims, r.claimsOf("a", "rare", k.Max)...)
				}
			}
		}
		r.brings(claims...)
	}
	if got := r.core.kinds[1].busy; got != 3 {
		t.Errorf("got %d running jobs of kind rare, want 3 jobs", got)
	}
}

// If a store returns more jobs than requested, the process does not run more jobs than it has
// workers.
func TestMoreThanWasAskedForWaits(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.Queues[0].Workers, c.Kinds[0].Workers = 4, 2 })
	r.brings(r.claims(3)...)
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{1, 2}) {
		t.Errorf("got the started jobs %v, want jobs 1 and 2", got)
	}
	r.step(succeed(time.Second, r.core.tasks[0]))
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{3}) {
		t.Errorf("got the started jobs %v, want job 3", got)
	}
}

// Jobs of a kind with one worker are requested once from each queue in turn.
//
// part of: Q7
func TestQ7_QueuesTakeTurnsForAKindWithOneWorker(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) {
		c.Queues = []Queue{{Name: "a", Workers: 5}, {Name: "b", Workers: 5}, {Name: "c", Workers: 5}}
		c.Kinds[0].Workers = 1
	})
	var asked []string
	for r.act.Exchange != nil {
		for _, w := range r.act.Exchange.Want {
			asked = append(asked, w.Queue)
		}
		r.brings()
	}
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"a", "b", "c"}) {
		t.Errorf("jobs were requested from the queues %v, want one request to each of the three queues", asked)
	}
	r.wantWake(time.Second)
}

// part of: Q7
func TestQ7_ConcurrencyOfAQueueChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	setWorkers := func(n int) SignalsRead {
		return SignalsRead{Signals: store.Signals{Queues: []store.Queue{{Name: "q", Workers: n}}}}
	}
	r.step(setWorkers(1))
	r.wantQuiet()
	r.step(succeed(time.Hour, tasks[0]))
	r.wantExchange([]job.ID{1}) // One job still runs, so there is no room for another.
	r.brings()
	r.step(setWorkers(4))
	r.wantExchange(nil, 3)
	r.brings()
	// The setting was removed, so the two workers of the configuration apply again.
	r.step(setWorkers(0))
	r.wantExchange(nil, 1)
}

// part of: Q7
func TestQ7_APausedQueueIsNotAskedUntilItIsResumed(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.brings()
	r.step(SignalsRead{Signals: store.Signals{Queues: []store.Queue{{Name: "q", Mode: store.Paused}}}})
	r.step(Woken{})
	r.wantQuiet()
	r.pass(time.Minute)
	r.wantQuiet()
	r.step(SignalsRead{Signals: store.Signals{Queues: []store.Queue{{Name: "q"}}}})
	r.wantExchange(nil, 2)
}

func TestAJobThatWasNotRequestedIsHandedBack(t *testing.T) {
	t.Parallel()
	r := newCore(t, nil)
	r.brings(r.claimsOf("q", "other", 1)...)
	r.wantNotes(ClaimUnknown)
	if r.act.Exchange == nil || r.act.Exchange.Settle[0].Cause != job.Interrupted {
		t.Errorf("got the exchange %+v, want an exchange that hands the unrequested job back", r.act.Exchange)
	}
}
