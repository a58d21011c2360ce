package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func keyPromises() []promise {
	return []promise{
		{"I1_SameKeyGivesTheFirstJobAndItsState", sameKeyGivesTheFirstJob},
		{"I1_OtherPayloadIsRefused", otherPayloadIsRefused},
		{"I1_KeysAreScopedByOwnerAndKind", keysAreScoped},
		{"I1_KeyIsForgottenAtItsTime", keyIsForgottenAtItsTime},
		{"I1_SameKeyTwiceInOneCall", sameKeyTwiceInOneCall},
		{"I1_ManyKeysInOneCall", manyKeysInOneCall},
		{"I1_KnownKeyIsAnsweredByADrainingQueue", knownKeyIsAnsweredByADrainingQueue},
		{"I1_DeadJobsKeyDoesNotBlockItsRetry", deadJobsKeyDoesNotBlockItsRetry},
		{"I1_ConcurrentCallersMakeOneJob", concurrentCallersMakeOneJob},
	}
}

func keyed(key, digest string, options ...func(*job.New)) func(*job.New) {
	return func(n *job.New) {
		n.Key, n.Digest = key, []byte(digest)
		for _, o := range options {
			o(n)
		}
	}
}

// proves: I1
func sameKeyGivesTheFirstJob(r *rig) {
	id := r.add(keyed("k", "d"))
	again := func(state job.State) {
		before := len(r.dump().Jobs)
		got := r.enqueue(r.newJob(keyed("k", "d")))[0]
		same(r, "receipt", got, job.Receipt{ID: id, Existing: true, State: state})
		same(r, "number of jobs", len(r.dump().Jobs), before)
	}
	again(job.Waiting)
	c := r.take()
	again(job.Running)
	r.end(failed(c, "NetworkTimeout", 0))
	again(job.Retrying)
	r.end(died(r.take(), "NetworkTimeout", job.MaxRetries))
	again(job.Dead)
	r.ok(r.retry(id))
	again(job.Waiting)
	r.end(succeeded(r.take()))
	again(job.Completed)

	id = r.add(keyed("k2", "d"))
	r.ok(r.cancel(id))
	same(r, "receipt", r.enqueue(r.newJob(keyed("k2", "d")))[0], job.Receipt{ID: id, Existing: true, State: job.Cancelled})
}

// proves: I1
func otherPayloadIsRefused(r *rig) {
	owned := func(n *job.New) { n.Owner = "alice" }
	id := r.add(keyed("k", "d", owned))
	r.unchanged(func() {
		_, err := r.Enqueue(ctx(), []job.New{r.newJob(), r.newJob(keyed("k", "other", owned))})
		r.is(err, store.ErrConflict)
		conflict, ok := errors.AsType[*store.KeyConflict](err)
		if !ok {
			r.fail("got an error of type %T, want a *store.KeyConflict", err)
		}
		same(r, "conflict", *conflict, store.KeyConflict{Index: 1, Kind: kind, Owner: "alice", Key: "k", ID: id})
	})
	r.refuse(store.ErrConflict, r.newJob(keyed("new", "a")), r.newJob(keyed("new", "b")))
}

// proves: I1
func keysAreScoped(r *rig) {
	jobs := []job.New{
		r.newJob(keyed("k", "1")),
		r.newJob(keyed("k", "2", func(n *job.New) { n.Owner = "alice" })),
		r.newJob(keyed("k", "3", func(n *job.New) { n.Kind = "other" })),
		r.newJob(keyed("K", "4")),
		r.newJob(), // two jobs that have no key are not duplicates of each other
		r.newJob(),
	}
	for i, receipt := range r.enqueue(jobs...) {
		same(r, "receipt", receipt, job.Receipt{ID: jobs[i].ID, State: job.Waiting})
	}
	same(r, "number of keys", len(r.dump().Keys), 4)
	// A key applies to all queues, so a job with the same key in another queue is a duplicate.
	got := r.enqueue(r.newJob(keyed("k", "1", func(n *job.New) { n.Queue = "elsewhere" })))[0]
	same(r, "receipt", got, job.Receipt{ID: jobs[0].ID, Existing: true, State: job.Waiting})
}

// proves: I1
func keyIsForgottenAtItsTime(r *rig) {
	day := func(n *job.New) { n.KeyUntil = r.in(24 * time.Hour) }
	first := r.add(keyed("k", "d", day))
	until := r.in(24 * time.Hour)
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: "k", Job: first, Until: until}})

	r.clock.Advance(24*time.Hour - time.Microsecond)
	r.refuse(store.ErrConflict, r.newJob(keyed("k", "other")))
	r.clock.Advance(time.Microsecond)
	second := r.add(keyed("k", "other"))
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: "k", Job: second}})
	same(r, "key of the first job", r.get(first).Key, "k")
}

// proves: I1
func sameKeyTwiceInOneCall(r *rig) {
	a, b := r.newJob(keyed("k", "d")), r.newJob(keyed("k", "d"))
	same(r, "receipts", r.enqueue(a, b), []job.Receipt{
		{ID: a.ID, State: job.Waiting},
		{ID: a.ID, Existing: true, State: job.Waiting},
	})
	same(r, "number of jobs", len(r.dump().Jobs), 1)
}

// A call of many jobs tells each of them what a call of its own would: known in any state, forgotten,
// free because the job has ended, twice in the call, new.
//
// proves: I1
func manyKeysInOneCall(r *rig) {
	name := func(s string) func(*job.New) { return keyed(s, "d") }
	unique := func(n *job.New) { n.Key = job.AliveKey + "u" }
	done := r.add(name("done"))
	r.end(succeeded(r.take()))
	dead := r.dead(name("dead"))
	ended := r.add(unique)
	r.ok(r.cancel(ended))
	over := r.add(keyed("over", "other", func(n *job.New) { n.KeyUntil = r.in(time.Hour) }))
	waiting := r.add(name("waiting"))
	r.clock.Advance(time.Hour)
	var jobs []job.New
	for _, o := range []func(*job.New){name("z"), name("done"), name("dead"), unique, name("over"), name("waiting"), name("a"), name("z"), unique} {
		jobs = append(jobs, r.newJob(o))
	}
	fresh := func(i int) job.Receipt { return job.Receipt{ID: jobs[i].ID, State: job.Waiting} }
	known := func(id job.ID, s job.State) job.Receipt { return job.Receipt{ID: id, Existing: true, State: s} }
	same(r, "receipts", r.enqueue(jobs...), []job.Receipt{
		fresh(0), known(done, job.Completed), known(dead, job.Dead), fresh(3), fresh(4), known(waiting, job.Waiting), fresh(6),
		known(jobs[0].ID, job.Waiting), known(jobs[3].ID, job.Waiting),
	})
	same(r, "new jobs", len(r.alive(jobs[0].Key))+len(r.alive(jobs[3].Key))+len(r.alive("a")), 3)
	same(r, "holder of the key that was forgotten", r.get(over).State, job.Waiting)
	r.refuse(store.ErrConflict, r.newJob(name("new")), r.newJob(name("done")), r.newJob(keyed("a", "other")))
	same(r, "another call", r.enqueue(r.newJob(name("new")))[0].Existing, false)
}

// proves: I1, Q7
//
// A draining queue refuses new jobs. A job whose idempotency key exists is a duplicate and not a
// new job, so its enqueue returns a receipt.
func knownKeyIsAnsweredByADrainingQueue(r *rig) {
	id := r.add(keyed("k", "d"))
	r.set(store.QueueChange{Mode: new(store.Draining)})
	r.unchanged(func() {
		got := r.enqueue(r.newJob(keyed("k", "d")))[0]
		same(r, "receipt", got, job.Receipt{ID: id, Existing: true, State: job.Waiting})
	})
	r.refuse(store.ErrDraining, r.newJob(keyed("k", "d")), r.newJob(keyed("new", "d")))
}

// proves: I1
func deadJobsKeyDoesNotBlockItsRetry(r *rig) {
	id := r.dead(keyed("k", "d"))
	r.ok(r.retry(id))
	r.end(succeeded(r.take()))
	r.state(id, job.Completed)
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: "k", Job: id}})
}

// proves: I1
func concurrentCallersMakeOneJob(r *rig) {
	const callers, keys = 20, 10
	for k := range keys {
		key := fmt.Sprintf("k%d", k)
		jobs := make([]job.New, callers)
		for i := range jobs {
			jobs[i] = r.newJob(keyed(key, "d"))
		}
		receipts, errs := make([][]job.Receipt, callers), make([]error, callers)
		begin := make(chan struct{})
		var all sync.WaitGroup
		for i := range jobs {
			all.Go(func() {
				<-begin
				receipts[i], errs[i] = r.Enqueue(ctx(), jobs[i:i+1])
			})
		}
		close(begin)
		all.Wait()
		made := 0
		for i := range jobs {
			r.ok(errs[i])
			if !receipts[i][0].Existing {
				made++
			}
			same(r, "job that holds the key", receipts[i][0].ID, receipts[0][0].ID)
		}
		same(r, "number of callers that made the job", made, 1)
		same(r, "number of jobs", len(r.dump().Jobs), k+1)
	}
}
