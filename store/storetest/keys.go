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
