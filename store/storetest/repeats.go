package storetest

import (
	"errors"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// After ErrUnknown a caller makes the same call again. Two things must be true whether or not
// the first call was committed: both calls together have the effect of one successful call,
// and the second call returns the answer of that call.

func repeatPromises() []promise {
	return []promise{
		{"I1_EnqueueCanBeAskedAgain", enqueueCanBeAskedAgain},
		{"I1_RepeatedEnqueueKnowsItsOwnKey", repeatedEnqueueKnowsItsOwnKey},
		{"I1_RepeatedEnqueueIntoADrainingQueue", repeatedEnqueueIntoDraining},
		{"I1_ARepeatIsNoOtherJob", repeatIsNoOtherJob},
		{"I1_EndCanBeWrittenAgain", endCanBeWrittenAgain},
		{"I1_EndTwiceInOneCall", endTwiceInOneCall},
		{"I1_CancelAndSettingsCanBeAskedAgain", cancelAndSettingsCanBeAskedAgain},
	}
}

// proves: I1
func enqueueCanBeAskedAgain(r *rig) {
	a, b := r.newJob(func(n *job.New) { n.Repeat = true }), r.newJob(func(n *job.New) { n.Repeat = true })
	want := []job.Receipt{{ID: a.ID, State: job.Waiting}, {ID: b.ID, State: job.Waiting}}
	same(r, "first answer, of a commit that never was", r.enqueue(a, b), want)
	r.unchanged(func() { same(r, "answer to the repeat", r.enqueue(a, b), want) })

	// The repeated call returns the same receipt in each state of the job.
	c := r.take()
	want[0].State = job.Running
	r.unchanged(func() { same(r, "answer to the repeat", r.enqueue(a, b), want) })
	r.end(succeeded(c))
	want[0].State = job.Completed
	r.end(died(r.take(), "InvalidInput", job.NonRetriable))
	want[1].State = job.Dead
	r.unchanged(func() { same(r, "answer to the repeat", r.enqueue(a, b), want) })
}

// proves: I1
//
// A job that holds its idempotency key is not its own duplicate. So the receipt of a repeated
// enqueue must not have Existing set.
func repeatedEnqueueKnowsItsOwnKey(r *rig) {
	n := r.newJob(keyed("k", "d"))
	r.enqueue(n)
	n.Repeat = true
	r.unchanged(func() { same(r, "receipt", r.enqueue(n)[0], job.Receipt{ID: n.ID, State: job.Waiting}) })

	// When an earlier job holds the idempotency key, the repeated call returns the same answer
	// as the first call.
	other := r.newJob(keyed("k", "d"), func(n *job.New) { n.Repeat = true })
	r.unchanged(func() {
		same(r, "receipt", r.enqueue(other)[0], job.Receipt{ID: n.ID, Existing: true, State: job.Waiting})
	})
}

// proves: I1
//
// The queue is set to draining after the job was enqueued. A repeated enqueue must still return the
// receipt of the job.
func repeatedEnqueueIntoDraining(r *rig) {
	n := r.newJob()
	r.enqueue(n)
	r.set(store.QueueChange{Mode: new(store.Draining)})
	n.Repeat = true
	r.unchanged(func() { same(r, "receipt", r.enqueue(n)[0], job.Receipt{ID: n.ID, State: job.Waiting}) })
}

// proves: I1
//
// After a fail-over that has lost a reservation of ids, two processes may use the same ids. Then an
// enqueue of the second process must fail, and must not be taken for a repeat because a job of the
// first process has the same id.
func repeatIsNoOtherJob(r *rig) {
	long := func(n *job.New) { n.Payload = make([]byte, 2000) }
	n, m := r.newJob(keyed("k", "d")), r.newJob(long)
	r.enqueue(n, m)
	repeats := func(n job.New, change func(*job.New)) error {
		n.Repeat = true
		change(&n)
		_, err := r.Enqueue(ctx(), []job.New{n})
		if err != nil && !errors.As(err, new(*store.IDConflict)) {
			r.fail("enqueue of another job with the same id: got error %v, want an IDConflict", err)
		}
		return err
	}
	others := map[string]func(*job.New){
		"kind":        func(n *job.New) { n.Kind = "other" },
		"owner":       func(n *job.New) { n.Owner = "bob" },
		"correlation": func(n *job.New) { n.Correlation = "req-8" },
		"batch":       func(n *job.New) { n.Batch = 8 },
		"key":         func(n *job.New) { n.Key, n.Digest = "other", nil },
		"payload":     func(n *job.New) { n.Payload = append([]byte("x"), n.Payload...) },
	}
	each := func(gone bool) {
		for what, change := range others {
			for _, n := range []job.New{n, m} {
				want := store.ErrConflict
				if what == "payload" && gone {
					want = nil
				}
				r.unchanged(func() {
					if err := repeats(n, change); !errors.Is(err, want) {
						r.fail("repeated enqueue with another %s: got error %v, want %v", what, err, want)
					}
				})
			}
		}
		r.unchanged(func() { r.ok(repeats(n, func(*job.New) {})); r.ok(repeats(m, func(*job.New) {})) })
	}
	each(false)
	a, b := r.take(), r.take()
	each(false)
	r.end(succeeded(a))
	r.end(succeeded(b))
	each(true)
}

// proves: I1, Q4, F1
func endCanBeWrittenAgain(r *rig) {
	for i := range ended(job.Claim{}) {
		id := r.add()
		c := r.take()
		o := ended(c)[i]
		o.Cost = 5
		r.end(o)
		r.unchanged(func() { r.is(r.settle(o), nil) })
		r.clock.Advance(time.Hour)
		if r.get(id).State.Ready() { // after the next claim, the store refuses the outcome of the earlier run
			next := r.take()
			r.unchanged(func() { r.is(r.settle(o), store.ErrLeaseLost) })
			r.end(succeeded(next))
			r.unchanged(func() { r.is(r.settle(o), store.ErrLeaseLost) })
		} else {
			r.unchanged(func() { r.is(r.settle(o), nil) })
		}
	}
}

// proves: I1
func endTwiceInOneCall(r *rig) {
	a, b := r.takeID(r.add()), r.takeID(r.add())
	x := r.exchange(store.Exchange{Settle: []job.Outcome{
		failed(a, "NetworkTimeout", 0), failed(a, "NetworkTimeout", 0), succeeded(b), succeeded(b),
	}})
	for _, err := range x.Settled {
		r.ok(err)
	}
	same(r, "attempts", []int32{r.get(a.ID).Counters.Attempts, r.get(b.ID).Counters.Attempts}, []int32{1, 1})
	same(r, "number of failures", len(r.failures(a.ID)), 1)
}

// proves: I1, D5
func cancelAndSettingsCanBeAskedAgain(r *rig) {
	waiting, running := r.add(func(n *job.New) { n.Queue = "other" }), r.takeID(r.add()).ID
	r.ok(r.cancel(waiting))
	r.ok(r.cancel(running))
	r.unchanged(func() { r.ok(r.cancel(waiting)) })
	r.unchanged(func() { r.ok(r.cancel(running)) })

	change := store.QueueChange{Mode: new(store.Paused), Workers: new(3)}
	first := r.set(change)
	r.unchanged(func() { same(r, "queue after the repeat", r.set(change), first) })

	dead := r.dead(func(n *job.New) { n.Queue = "third" })
	r.ok(r.retry(dead))
	r.unchanged(func() { r.is(r.retry(dead), store.ErrConflict) })
}
