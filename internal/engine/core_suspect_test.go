package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// crashedClaims makes n claims of jobs that have crashed the given number of times.
func (r *rig) crashedClaims(n int, crashes int32) []job.Claim {
	claims := r.claims(n)
	for i := range claims {
		claims[i].Counters.Crashes = crashes
	}
	return claims
}

// begun answers the begin call that is under way. The answer says that this worker still has
// all leases.
func (r *rig) begun() Begun {
	status := make([]store.RunStatus, len(r.core.suspects.flying))
	for i := range status {
		status[i].Held = true
	}
	return Begun{Status: status}
}

func twoCrashes(c *Config) { c.Kinds[0].MaxCrashes = 2 }

// If one more crash would make a job dead, the process runs this job alone: it hands back the other
// buffered jobs, claims no jobs, and waits until the running jobs have ended.
//
// part of: Q3
func TestQ3_ALastChanceHasTheProcessToItself(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { twoCrashes(c); c.Queues[0].Workers = 4 })
	r.brings(r.claims(1)...)
	neighbour := r.act.Start[0]
	r.pass(time.Millisecond, Woken{})
	r.wantExchange(nil, 3)
	r.brings(slices.Concat(r.claims(1), r.crashedClaims(2, 1))...) // the claims of jobs 2, 3 and 4; jobs 3 and 4 have crashed
	if len(r.act.Start)+len(r.act.Begin) != 0 {
		t.Fatalf("got the started jobs %v and a begin call for the jobs %v while another job was running, want none", ids(r.act.Start), ids(r.act.Begin))
	}
	r.wantExchange([]job.ID{4, 2}) // job 3 is the suspect; the others are handed back, and no job is requested
	r.brings()
	r.pass(LeaseDefault / 3)
	if got := ids(r.act.Beat); !slices.Contains(got, 3) {
		t.Errorf("got a heartbeat for the jobs %v, want a heartbeat with job 3, which waits", got)
	}
	r.step(r.held())
	r.wantQuiet()
	r.step(succeed(time.Second, neighbour))
	r.wantExchange([]job.ID{1}) // the suspect waits until this outcome is written
	if len(r.act.Begin) != 0 {
		t.Fatal("the suspect began before the outcome of the other job was written, want it to wait")
	}
	r.brings()
	if got := ids(r.act.Begin); !slices.Equal(got, []job.ID{3}) || len(r.act.Start) != 0 {
		t.Fatalf("got a begin call for the jobs %v and the started jobs %v, want a begin call for job 3 and no started job", got, ids(r.act.Start))
	}
	r.step(r.begun())
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{3}) {
		t.Fatalf("got the started jobs %v, want job 3", got)
	}
	suspect := r.act.Start[0]
	r.pass(time.Second, Woken{})
	r.wantQuiet()
	r.step(succeed(time.Second, suspect))
	r.wantExchange([]job.ID{3})
	r.brings()
	r.wantExchange(nil, 4) // after the suspect's end, the process claims jobs again
}

// A suspect may wait longer than other buffered tasks, because the running tasks may take
// long. It is handed back when its lease is not extended, and at a stop.
//
// part of: Q3
func TestQ3_ASuspectWaitsForLongRuns(t *testing.T) {
	t.Parallel()
	suspectBeside := func(t *testing.T) *rig {
		r := newCore(t, func(c *Config) { twoCrashes(c); c.Queues[0].Workers = 4 })
		r.brings(r.claims(1)...)
		r.brings(r.crashedClaims(1, 1)...)
		return r
	}
	t.Run("an hour", func(t *testing.T) {
		t.Parallel()
		r := suspectBeside(t)
		for range 1200 {
			r.pass(3 * time.Second)
			if len(r.act.Beat) > 0 {
				r.step(r.held())
			}
			r.wantQuiet()
		}
	})
	t.Run("lease", func(t *testing.T) {
		t.Parallel()
		r := suspectBeside(t)
		r.pass(LeaseDefault * 2 / 3)
		r.wantExchange([]job.ID{2}, 3)
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		r := suspectBeside(t)
		r.step(StopAsked{})
		r.wantExchange([]job.ID{2})
	})
}

// A run does not begin until the store has written that it begins. If the begin call fails, it
// is repeated until the lease counts as lost; then the job is handed back.
//
// part of: Q3
func TestQ3_ARunDoesNotBeginWithoutItsMark(t *testing.T) {
	t.Parallel()
	begins := func(t *testing.T) *rig {
		r := newCore(t, twoCrashes)
		r.brings(r.crashedClaims(1, 1)...)
		if got := ids(r.act.Begin); !slices.Equal(got, []job.ID{1}) {
			t.Fatalf("got a begin call for the jobs %v, want job 1", got)
		}
		return r
	}
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		r := begins(t)
		for r.act.Exchange == nil {
			if r.now > LeaseDefault {
				t.Fatal("the job was not handed back within its lease, want it handed back")
			}
			if len(r.act.Begin) > 0 || r.now == 0 {
				r.step(Begun{Err: store.ErrUnavailable})
			}
			if len(r.act.Start) > 0 {
				t.Fatal("a run was started although the store has not written that it begins, want no start")
			}
			r.pass(r.act.Wake - r.now)
		}
		r.wantExchange([]job.ID{1}, 2)
		r.brings()
		if r.core.outage {
			t.Error("the core still assumes an outage after the job was handed back, want none, because no call is failing")
		}
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		r := begins(t)
		r.step(Begun{Status: []store.RunStatus{{}}})
		r.wantExchange(nil, 2)
		if len(r.act.Start)+len(r.core.tasks) != 0 {
			t.Errorf("got the started jobs %v and %d tasks in the core, want none", ids(r.act.Start), len(r.core.tasks))
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		r := begins(t)
		r.step(Begun{Status: []store.RunStatus{{Held: true, Cancel: true}}})
		r.wantExchange([]job.ID{1})
		if to := r.act.Exchange.Settle[0].To; to != job.Cancelled {
			t.Errorf("the job ends as %s, want cancelled", to)
		}
	})
	t.Run("stop", func(t *testing.T) {
		t.Parallel()
		r := begins(t)
		r.step(StopAsked{})
		r.step(r.begun())
		r.wantExchange([]job.ID{1})
		r.brings()
		if !r.act.Stopped {
			t.Error("the core has not stopped, want a complete stop")
		}
	})
}

// With a crash limit of 1, the store writes the begin of each run, and one call contains many
// runs. No run waits until it has the process to itself: no job has crashed, so no job is a
// suspect.
//
// part of: Q3
func TestQ3_WithALimitOfOneCrashEachRunBeginsInTheStore(t *testing.T) {
	t.Parallel()
	r := newCore(t, func(c *Config) { c.Kinds[0].MaxCrashes = 1 })
	r.brings(r.claims(2)...)
	if got := ids(r.act.Begin); !slices.Equal(got, []job.ID{1, 2}) {
		t.Fatalf("got a begin call for the jobs %v, want one call for jobs 1 and 2", got)
	}
	r.step(r.begun())
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{1, 2}) {
		t.Fatalf("got the started jobs %v, want jobs 1 and 2", got)
	}
}

// A job that has crashed gets the next free slot, before jobs that were claimed ahead.
//
// part of: Q3
func TestQ3_ACrashedJobGetsTheNextSlot(t *testing.T) {
	t.Parallel()
	r, tasks := withRuns(t, 2, nil)
	r.empty()
	r.core.roundTrip, r.core.queues[0].runs = average(10*time.Millisecond), average(time.Millisecond)
	r.pass(time.Second, Woken{})
	r.brings(slices.Concat(r.claims(3), r.crashedClaims(1, 1))...) // the claims of jobs 3 to 5, which have not crashed, and of job 6, which has crashed
	r.step(succeed(time.Millisecond, tasks[0]))
	if got := ids(r.act.Start); !slices.Equal(got, []job.ID{6}) {
		t.Errorf("got the jobs %v started in the free slot, want job 6, which has crashed", got)
	}
}

// kills is a world in which some jobs kill their process.
type kills struct {
	*world
	max    int
	poison map[job.ID]bool
	own    map[job.ID]int // how many times each job has killed the process
}

// restart replaces the core, as if the process had been killed and started again. Calls that the
// killed process has made may still take effect.
func (k *kills) restart() {
	for _, c := range k.calls {
		if c.event == nil && rapid.Bool().Draw(k.t, "call takes effect") {
			c.run()
		}
	}
	fresh := newWorld(k.t, func(cfg *Config) {
		for i := range cfg.Kinds {
			cfg.Kinds[i].MaxCrashes = k.max
		}
	})
	k.core, k.calls, k.runs, k.stuck = fresh.core, nil, nil, nil
	k.step()
}

// kill makes a running job kill the process.
func (k *kills) kill(t *Task) {
	k.own[t.Claim.ID]++
	if t.endsJob() && len(k.core.tasks)-len(k.core.late.tasks)-len(k.core.late.flying) != 1 && t.crashed() {
		k.t.Fatalf("job %d, which is dead after one more crash, was running beside %d other tasks, want it to run alone", t.Claim.ID, len(k.core.tasks)-1)
	}
	k.restart()
}

// Some jobs kill their process at random times. Each of these jobs dies after its last allowed
// crash, and it has caused this crash itself. All other jobs complete.
//
// part of: Q3
func TestQ3_TheCrashThatEndsAJobIsItsOwn(t *testing.T) {
	t.Parallel()
	var killed, dead, checks int
	rapid.Check(t, func(t *rapid.T) {
		k := &kills{max: rapid.IntRange(2, 5).Draw(t, "crash limit"), poison: map[job.ID]bool{}, own: map[job.ID]int{}}
		k.world = newWorld(t, nil)
		k.restart()
		const jobs = 24
		k.enqueue(jobs)
		for id := range job.ID(jobs) {
			k.poison[id+1] = rapid.IntRange(0, 9).Draw(t, "poisonous") == 0
		}
		for round := 0; ; round++ {
			if round > 100_000 {
				t.Fatal("the jobs have not ended after 100,000 actions, want all of them ended")
			}
			if len(k.runs) == 0 && len(k.calls) == 0 {
				if k.over() {
					break
				}
				k.now = max(k.now+time.Millisecond, k.core.nextWake())
				k.step()
				continue
			}
			i := rapid.IntRange(0, len(k.runs)+len(k.calls)-1).Draw(t, "next")
			switch {
			case i >= len(k.runs):
				fault := 0
				if rapid.IntRange(0, 19).Draw(t, "faulty") == 0 {
					fault = rapid.IntRange(1, 2).Draw(t, "fault")
				}
				k.advance(k.calls[i-len(k.runs)], fault)
			case k.poison[k.runs[i].Claim.ID]:
				k.kill(k.runs[i])
			default:
				k.finish(k.runs[i], job.Succeeded)
			}
		}
		for id, poisonous := range k.poison {
			j, err := k.store.Get(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case poisonous && (j.State != job.Dead || j.Reason != job.Stalled || int(j.Counters.Crashes) != k.max || k.own[id] == 0 || k.own[id] > k.max):
				t.Fatalf("job %d, which kills its process: got state %s, reason %s, %d crashes and %d kills of its process; want it dead as stalled with %d crashes and 1 to %d kills",
					id, j.State, j.Reason, j.Counters.Crashes, k.own[id], k.max, k.max)
			case !poisonous && j.State != job.Completed:
				t.Fatalf("job %d, which kills no process, is %s with %d crashes, want completed", id, j.State, j.Counters.Crashes)
			}
			killed += k.own[id]
			if poisonous {
				dead++
			}
		}
		checks++
	})
	if killed < checks || dead < checks {
		t.Errorf("got only %d kills and %d dead jobs in %d checks, want at least one of each per check", killed, dead, checks)
	}
}

// over reports whether all jobs have ended.
func (k *kills) over() bool {
	counts, err := k.store.Counts(context.Background())
	if err != nil {
		k.t.Fatal(err)
	}
	return !slices.ContainsFunc(counts, func(c store.Count) bool { return !c.State.Terminal() && c.N > 0 })
}
