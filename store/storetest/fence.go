package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func fencePromises() []promise {
	return []promise{
		{"Q4_LostRunCannotEnd", lostRunCannotEnd},
		{"Q4_RescuedRunCannotEnd", rescuedRunCannotEnd},
		{"Q4_LostRunLearnsItFromItsHeartbeat", lostRunLearnsItFromItsHeartbeat},
		{"Q4_RunThatNeverWasCannotEnd", runThatNeverWasCannotEnd},
		{"Q4_RunOfAnEarlierLifeCannotEnd", runOfAnEarlierLifeCannotEnd},
		{"Q4_LostLeaseHoldsUpNothing", lostLeaseHoldsUpNothing},
	}
}

// lose begins a run, advances the clock until the lease has expired, and rescues the run. If the
// job is not dead then, lose advances the clock until the job is due again.
func (r *rig) lose(c job.Claim) {
	r.beginRun(c)
	r.clock.Advance(lease)
	rescued := r.rescue(10).Jobs
	if len(rescued) != 1 || rescued[0].Run != runOf(c) {
		r.fail("rescued %+v, want run %d of job %d", rescued, c.Token, c.ID)
	}
	if rescued[0].To == job.Waiting {
		r.clock.Advance(defaults.CrashDelay(c.ID, rescued[0].Crashes))
	}
}

func (r *rig) refusesEveryEnd(c job.Claim) {
	r.unchanged(func() {
		for _, o := range ended(c) {
			r.is(r.settle(o), store.ErrLeaseLost)
		}
	})
}

// proves: Q4
func lostRunCannotEnd(r *rig) {
	r.add()
	sleeper := r.take()
	r.lose(sleeper)
	winner := r.take()
	r.refusesEveryEnd(sleeper)
	r.end(succeeded(winner))
	r.refusesEveryEnd(sleeper)
	r.state(winner.ID, job.Completed)
}

// proves: Q4
//
// A rescued run may not write any more, even if no worker has claimed the job again.
func rescuedRunCannotEnd(r *rig) {
	r.add()
	c := r.take()
	r.lose(c)
	r.refusesEveryEnd(c)

	// If the job is dead after the rescue, the store must refuse the outcomes of the lost run, too.
	r.add(func(n *job.New) { n.Queue = "other" })
	c = r.take(func(w *store.Want) { w.Queue, w.Kinds[0].MaxCrashes = "other", 1 })
	r.lose(c)
	r.state(c.ID, job.Dead)
	r.refusesEveryEnd(c)
}

// proves: Q4
func lostRunLearnsItFromItsHeartbeat(r *rig) {
	r.add()
	sleeper := r.take()
	r.lose(sleeper)
	tell := func(held bool, c job.Claim) {
		status, err := r.Heartbeat(ctx(), store.Beat{
			Lease: time.Hour, Runs: []store.Run{runOf(c)},
			Progress: []job.Progress{{ID: c.ID, Token: c.Token, Done: int64(c.Token), Total: 9}},
		})
		r.ok(err)
		same(r, "status", status, []store.RunStatus{{Held: held}})
	}
	r.unchanged(func() { tell(false, sleeper) })
	winner := r.take()
	r.unchanged(func() { tell(false, sleeper) })
	tell(true, winner)
	r.unchanged(func() { tell(false, sleeper) })
	same(r, "progress", r.get(winner.ID).Progress.Done, int64(2))
	r.end(succeeded(winner))
	r.unchanged(func() { tell(false, winner) })
}

// proves: Q4
func runThatNeverWasCannotEnd(r *rig) {
	id := r.add()
	r.refusesEveryEnd(job.Claim{ID: id, Token: 1})     // a job that exists but was never claimed
	r.refusesEveryEnd(job.Claim{ID: id + 9, Token: 1}) // a job that does not exist
	c := r.take()
	c.Token++
	r.refusesEveryEnd(c)
	same(r, "status", r.beat(runOf(c), store.Run{ID: id + 9, Token: 1}), []store.RunStatus{{}, {}})
}

// proves: Q4
func runOfAnEarlierLifeCannotEnd(r *rig) {
	r.add()
	early := r.take()
	r.lose(early)
	last := r.take()
	r.end(died(last, "InvalidInput", job.NonRetriable))
	r.ok(r.retry(last.ID))
	r.refusesEveryEnd(early)
	c := r.take()
	same(r, "run of the new life", c.Token, job.Token(3))
	r.refusesEveryEnd(early)
	r.refusesEveryEnd(last)
	r.end(succeeded(c))
}

// proves: Q4
func lostLeaseHoldsUpNothing(r *rig) {
	r.add()
	sleeper := r.take()
	r.lose(sleeper)
	winner := r.take()
	other := r.takeID(r.add())
	x := r.exchange(store.Exchange{Settle: []job.Outcome{succeeded(sleeper), succeeded(other), succeeded(winner)}})
	r.is(x.Settled[0], store.ErrLeaseLost)
	r.ok(x.Settled[1])
	r.ok(x.Settled[2])
	r.state(winner.ID, job.Completed)
	r.state(other.ID, job.Completed)
}
