package storetest

import (
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func uniquePromises() []promise {
	return []promise{
		{"I1_AliveKeyGivesTheLivingJob", aliveKeyGivesTheLivingJob},
		{"I1_AliveKeyIsFreeWhenItsJobHasEnded", aliveKeyIsFreeAfterTheEnd},
		{"I1_AliveKeyTwiceInOneCall", aliveKeyTwiceInOneCall},
		{"I1_ConcurrentCallersOfAnAliveKeyMakeOneJob", concurrentCallersOfAnAliveKey},
		{"I1_RetryTakesTheAliveKeyAgain", retryTakesTheAliveKeyAgain},
		{"I1_ChangedRetryTakesTheKeyOfItsPayload", changedRetryTakesTheNewKey},
		{"I1_ChangedRetryMovesTheKeyOfItsPeriod", changedRetryMovesTheKeyOfItsPeriod},
		{"I1_ChangedRetryKeepsAChosenKey", changedRetryKeepsAChosenKey},
		{"I1_RetryOfManyTakesAliveKeysOnce", retryOfManyTakesAliveKeysOnce},
		{"I1_RedriveSkipsJobsWithoutTheirAliveKeys", redriveSkipsJobsWithoutTheirKeys},
		{"I1_RetryAndEnqueueRaceForAnAliveKey", retryAndEnqueueRace},
		{"Q6_AliveKeyGoesWithItsJob", aliveKeyGoesWithItsJob},
		{"I1_KeyPeriodsAreAligned", keyPeriodsAreAligned},
		{"Q6_KeyOfAPeriodOutlivesItsJob", keyOfAPeriodOutlivesItsJob},
		{"I1_KeysWithTwoEndsAreRefused", keysWithTwoEndsAreRefused},
	}
}

// aliveKey gives a job an idempotency key that the job holds until it has ended.
func aliveKey(n *job.New) { n.Key = job.AliveKey + "k" }

// existing checks that the job with the given id holds a key: the enqueue of another job with this
// key must return the id and the state of the holding job.
func (r *rig) existing(id job.ID, state job.State, key func(*job.New)) {
	r.unchanged(func() {
		got := r.enqueue(r.newJob(key))[0]
		same(r, "receipt", got, job.Receipt{ID: id, Existing: true, State: state})
	})
}

// alive returns the ids of the jobs that have the key and have not ended yet.
func (r *rig) alive(key string) (ids []job.ID) {
	jobs := r.dump().Jobs
	for i := range jobs {
		if j := &jobs[i]; j.Key == key && !j.State.Terminal() {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// proves: I1
func aliveKeyGivesTheLivingJob(r *rig) {
	id := r.add(aliveKey)
	r.existing(id, job.Waiting, aliveKey)
	r.set(store.QueueChange{Mode: new(store.Paused)})
	r.existing(id, job.Waiting, aliveKey)
	r.set(store.QueueChange{Mode: new(store.Open)})
	c := r.take()
	r.existing(id, job.Running, aliveKey)
	r.end(failed(c, "NetworkTimeout", 0))
	r.existing(id, job.Retrying, aliveKey)
	r.take()
	r.clock.Advance(lease)
	r.rescue(1)
	r.existing(id, job.Waiting, aliveKey)
	r.take()
	r.ok(r.cancel(id)) // a person has asked the running job to stop, but it has not ended yet
	r.existing(id, job.Running, aliveKey)
	// A key belongs to an owner and a kind: jobs of another owner or kind can hold the same
	// key at the same time.
	other := r.add(aliveKey, func(n *job.New) { n.Owner = "alice" })
	same(r, "keys", len(r.dump().Keys), 2)
	same(r, "another owner has another job", other != id, true)
}

// proves: I1
func aliveKeyIsFreeAfterTheEnd(r *rig) {
	ends := []struct {
		name string
		end  func(id job.ID)
		to   job.State
		with func(*job.New)
	}{
		{"completed", func(id job.ID) { r.end(succeeded(r.takeID(id))) }, job.Completed, nil},
		{"cancelled", func(id job.ID) { r.ok(r.cancel(id)) }, job.Cancelled, nil},
		{"dead", func(id job.ID) { r.end(died(r.takeID(id), "A", job.NonRetriable)) }, job.Dead, nil},
		{"held", func(id job.ID) { r.end(held(r.takeID(id))) }, job.Dead, nil},
		{"expired", func(job.ID) {
			r.clock.Advance(time.Minute)
			r.none()
		}, job.Dead, func(n *job.New) { n.Deadline = r.in(time.Minute) }},
		{"crashed for the last time", func(job.ID) {
			r.beginRun(r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = 1 }))
			r.clock.Advance(lease)
			r.rescue(10)
		}, job.Dead, nil},
	}
	for _, e := range ends {
		with := e.with
		if with == nil {
			with = func(*job.New) {}
		}
		n := r.newJob(aliveKey, with)
		same(r, "receipt before the job is "+e.name, r.enqueue(n)[0], job.Receipt{ID: n.ID, State: job.Waiting})
		e.end(n.ID)
		r.state(n.ID, e.to)
	}
	last := r.newJob(aliveKey)
	same(r, "receipt", r.enqueue(last)[0], job.Receipt{ID: last.ID, State: job.Waiting})
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: job.AliveKey + "k", Job: last.ID}})
	r.existing(last.ID, job.Waiting, aliveKey)
}

// proves: I1
func aliveKeyTwiceInOneCall(r *rig) {
	twice := func() job.ID {
		a, b := r.newJob(aliveKey), r.newJob(aliveKey)
		same(r, "receipts", r.enqueue(a, b), []job.Receipt{
			{ID: a.ID, State: job.Waiting},
			{ID: a.ID, Existing: true, State: job.Waiting},
		})
		return a.ID
	}
	r.ok(r.cancel(twice()))
	r.ok(r.cancel(twice())) // this call takes the key of a job that has ended
}

// race calls the function f n times concurrently and waits until all calls have returned.
func race(n int, f func(i int)) {
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

// proves: I1
func concurrentCallersOfAnAliveKey(r *rig) {
	const callers, rounds = 20, 6
	for round := range rounds { // from the second round on, the job that had the key in the round before has ended
		jobs := make([]job.New, callers)
		for i := range jobs {
			jobs[i] = r.newJob(aliveKey)
		}
		receipts, errs := make([][]job.Receipt, callers), make([]error, callers)
		race(callers, func(i int) { receipts[i], errs[i] = r.Enqueue(ctx(), jobs[i:i+1]) })
		made := 0
		for i := range jobs {
			r.ok(errs[i])
			if !receipts[i][0].Existing {
				made++
			}
			same(r, "job that holds the key", receipts[i][0].ID, receipts[0][0].ID)
		}
		same(r, "number of callers that made the job", made, 1)
		same(r, "number of jobs", len(r.dump().Jobs), round+1)
		if round%2 == 0 {
			r.end(succeeded(r.take()))
		} else {
			r.ok(r.cancel(receipts[0][0].ID))
		}
	}
}

// proves: Q6, I1
func aliveKeyGoesWithItsJob(r *rig) {
	alive := func(key string) func(*job.New) {
		return func(n *job.New) { n.Key = job.AliveKey + key }
	}
	completed := r.complete(alive("completed"))
	cancelled := r.add(alive("cancelled"))
	r.ok(r.cancel(cancelled))
	dead := r.die("A", alive("dead"))
	r.ok(r.actOn(store.ActResolve, dead))
	purged := r.die("A", alive("purged"))
	r.ok(r.actOn(store.ActResolve, purged))
	r.removed = true
	r.ok(r.actOn(store.ActPurge, purged))
	replaced := r.complete(alive("again")) // a later job takes the key from this job and keeps it
	r.complete()
	living := r.add(alive("again"))
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Completed: time.Hour, Dead: time.Hour}, 10)
	r.gone(completed, cancelled, dead, purged, replaced)
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: job.AliveKey + "again", Job: living}})
	r.existing(living, job.Waiting, alive("again"))
}

// ofAnHour gives a job an idempotency key for the current hour.
func ofAnHour(n *job.New) { n.Key, n.KeyPeriod = "hourly", time.Hour }

// toNextHour moves the clock to the time d before the start of the next hour.
func (r *rig) toNextHour(d time.Duration) {
	r.clock.Advance(r.clock.Now().Truncate(time.Hour).Add(time.Hour - d).Sub(r.clock.Now()))
}

// proves: I1
func keyPeriodsAreAligned(r *rig) {
	r.toNextHour(time.Minute)
	// the due time of the job has no influence on the key's period
	first := r.add(ofAnHour, func(n *job.New) { n.RunAt = r.in(3 * time.Hour) })
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: "hourly", Job: first, Until: r.in(time.Minute)}})
	r.ok(r.cancel(first))
	r.toNextHour(time.Microsecond)
	r.existing(first, job.Cancelled, ofAnHour)
	r.clock.Advance(time.Microsecond)
	second := r.add(ofAnHour)
	same(r, "another job in the next period", second != first, true)
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: "hourly", Job: second, Until: r.in(time.Hour)}})
	r.toNextHour(time.Microsecond)
	r.existing(second, job.Waiting, ofAnHour)
}

// proves: Q6, I1
func keyOfAPeriodOutlivesItsJob(r *rig) {
	ofADay := func(n *job.New) { n.Key, n.KeyPeriod = "daily", 24*time.Hour }
	r.clock.Advance(r.clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(r.clock.Now()))
	id := r.complete(ofADay)
	r.complete()
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Completed: time.Hour}, 10)
	r.gone(id)
	same(r, "receipt", r.enqueue(r.newJob(ofADay))[0], job.Receipt{ID: id, Existing: true, State: job.Completed})
	r.clock.Advance(23 * time.Hour)
	same(r, "swept", r.sweep(store.Retention{}, 10).Keys, int64(1))
	same(r, "keys", r.dump().Keys, nil)
}

// proves: I1, X3
func keysWithTwoEndsAreRefused(r *rig) {
	for _, wrong := range []func(*job.New){
		func(n *job.New) { n.Key, n.KeyPeriod = "k", -time.Hour },
		func(n *job.New) { n.Key, n.KeyPeriod = "k", time.Nanosecond },
		func(n *job.New) { n.KeyPeriod = time.Hour },
		func(n *job.New) { n.Key, n.KeyPeriod, n.KeyUntil = "k", time.Hour, r.in(time.Hour) },
		func(n *job.New) { n.Key, n.KeyPeriod = job.AliveKey+"k", time.Hour },
		func(n *job.New) { n.Key, n.KeyUntil = job.AliveKey+"k", r.in(time.Hour) },
	} {
		r.refuse(store.ErrInvalid, r.newJob(wrong))
	}
	if slices.ContainsFunc(r.dump().Jobs, func(j job.Job) bool { return j.Key != "" }) {
		r.fail("the store accepted a job with a key that is not valid, want ErrInvalid")
	}
}
