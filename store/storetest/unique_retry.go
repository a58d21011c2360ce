package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: I1
func retryTakesTheAliveKeyAgain(r *rig) {
	id := r.dead(aliveKey)
	r.ok(r.retry(id))
	r.existing(id, job.Waiting, aliveKey)
	r.end(died(r.takeID(id), "A", job.NonRetriable))

	other := r.add(aliveKey)
	r.unchanged(func() {
		r.is(r.only(r.preview(store.Action{Do: store.ActRetry, IDs: []job.ID{id}}).Errors, nil), store.ErrConflict)
		r.is(r.retry(id), store.ErrConflict)
	})
	r.end(succeeded(r.takeID(other)))
	r.ok(r.retry(id)) // the other job has ended, so no living job holds the key
	r.existing(id, job.Waiting, aliveKey)
	r.end(died(r.takeID(id), "A", job.NonRetriable))

	// Now a sweep removes another job with the key, together with its key.
	r.ok(r.cancel(r.add(aliveKey)))
	r.complete()
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Completed: time.Hour}, 10)
	same(r, "keys", r.dump().Keys, nil)
	r.ok(r.retry(id))
	r.existing(id, job.Waiting, aliveKey)
}

// payloadKey gives a job the payload and the key that job.PayloadKey makes from the prefix and
// this payload.
func payloadKey(prefix, payload string) func(*job.New) {
	return func(n *job.New) { n.Payload, n.Key = []byte(payload), job.PayloadKey(prefix, []byte(payload)) }
}

// retryWith retries a dead job with another payload, after a preview of the retry. It returns the
// error for this job.
func (r *rig) retryWith(id job.ID, payload string) error {
	a := store.Action{Do: store.ActRetry, IDs: []job.ID{id}, Change: store.Change{Payload: []byte(payload)}}
	preview := r.preview(a)
	answer, err := r.Act(ctx(), person, a)
	r.ok(err)
	same(r, "whether the preview and the retry refuse the job", preview.Errors[0] != nil, answer.Errors[0] != nil)
	return answer.Errors[0]
}

// After a retry with another payload, the job holds the key of the new payload. The key of the
// old payload is free.
//
// proves: I1
func changedRetryTakesTheNewKey(r *rig) {
	was, is := payloadKey(job.AliveKey, `{"a":1,"b":2}`), payloadKey(job.AliveKey, `{"b":3,"a":1}`)
	var named job.New
	is(&named)
	id, other := r.dead(was), r.add(is)
	r.unchanged(func() {
		err := r.retryWith(id, `{"a": 1, "b": 3}`)
		r.is(err, store.ErrConflict)
		if !strings.Contains(err.Error(), other.String()) {
			r.fail("the error of the retry is %q, want an error that names job %d, which holds the key", err, other)
		}
	})
	r.end(succeeded(r.takeID(other)))
	r.ok(r.retryWith(id, `{"a": 1, "b": 3}`)) // the other job has ended, so no living job holds the key
	same(r, "key of the job", r.get(id).Key, named.Key)
	r.existing(id, job.Waiting, is)
	same(r, "keys", r.dump().Keys, []store.Key{{Kind: kind, Key: named.Key, Job: id}})

	fresh := r.newJob(was)
	same(r, "receipt of the old arguments", r.enqueue(fresh)[0], job.Receipt{ID: fresh.ID, State: job.Waiting})
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	r.unchanged(func() { r.is(r.retryWith(id, `{"a":1,"b":2}`), store.ErrConflict) }) // this retry uses the first payload again, but the job in the variable fresh holds its key
	r.ok(r.cancel(fresh.ID))
	r.ok(r.retryWith(id, `{"a":1,"b":2}`))
	r.existing(id, job.Waiting, was)
	next := r.newJob(is)
	same(r, "receipt of the arguments in between", r.enqueue(next)[0], job.Receipt{ID: next.ID, State: job.Waiting})
}

// A retry with another payload takes the key of the new payload for the rest of the period,
// and releases the key of the old payload.
//
// proves: I1
func changedRetryMovesTheKeyOfItsPeriod(r *rig) {
	const prefix = job.UniqueKey + "1h0m0s:"
	r.toNextHour(30 * time.Minute)
	end := r.in(30 * time.Minute)
	unique := func(payload string) func(*job.New) {
		return func(n *job.New) {
			payloadKey(prefix, payload)(n)
			n.KeyPeriod = time.Hour
		}
	}
	id, other := r.dead(unique("a")), r.add(unique("b"))
	r.unchanged(func() { r.is(r.retryWith(id, "b"), store.ErrConflict) })
	r.ok(r.retryWith(id, "c"))
	key := func(payload string, id job.ID) store.Key {
		return store.Key{Kind: kind, Key: job.PayloadKey(prefix, []byte(payload)), Job: id, Until: end}
	}
	want := []store.Key{key("b", other), key("c", id)}
	slices.SortFunc(want, func(a, b store.Key) int { return strings.Compare(a.Key, b.Key) })
	same(r, "keys", r.dump().Keys, want)
	r.existing(id, job.Waiting, unique("c"))

	// A job that has ended keeps its key until the end of the key's period, but does not
	// prevent the retry.
	r.end(died(r.takeID(id), "A", job.NonRetriable), succeeded(r.takeID(other)))
	r.ok(r.retryWith(id, "b"))
	same(r, "key of the job", r.get(id).Key, job.PayloadKey(prefix, []byte("b")))
	same(r, "keys", r.dump().Keys, []store.Key{key("b", other)})

	// If the period of the job's key is over, the retried job takes no key.
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	r.toNextHour(time.Hour)
	r.ok(r.retryWith(id, "d"))
	fresh := r.newJob(unique("d"))
	same(r, "receipt in the next period", r.enqueue(fresh)[0], job.Receipt{ID: fresh.ID, State: job.Waiting})
}

// proves: I1
func changedRetryKeepsAChosenKey(r *rig) {
	chosen := func(n *job.New) { n.Key = "order:7" }
	id := r.dead(chosen)
	r.ok(r.retryWith(id, "other"))
	same(r, "key of the job", r.get(id).Key, "order:7")
	r.existing(id, job.Waiting, chosen)
}

// proves: I1
func retryOfManyTakesAliveKeysOnce(r *rig) {
	first, second := r.dead(aliveKey), r.dead(aliveKey)
	third := r.dead(func(n *job.New) { n.Key = job.AliveKey + "other" })
	taken := func(n *job.New) { n.Key = job.AliveKey + "taken" }
	fourth := r.dead(taken)
	plain := r.dead()
	holder := r.add(taken)
	same(r, "retried", r.act(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}), int64(3))
	for id, want := range map[job.ID]job.State{
		first: job.Waiting, second: job.Dead, third: job.Waiting, fourth: job.Dead, holder: job.Waiting, plain: job.Waiting,
	} {
		r.state(id, want)
	}
	r.existing(first, job.Waiting, aliveKey)
	same(r, "status of a skipped dead letter", r.letter(second).Status, job.Pending)

	answer, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: []job.ID{second, fourth}})
	r.ok(err)
	for _, err := range answer.Errors {
		r.is(err, store.ErrConflict)
	}
}

// proves: I1, D7
func redriveSkipsJobsWithoutTheirKeys(r *rig) {
	const n = 6
	keyOf := func(i int) func(*job.New) {
		return func(n *job.New) { n.Key = fmt.Sprintf("%s%d", job.AliveKey, i) }
	}
	var dead []job.ID
	for i := range n {
		dead = append(dead, r.dead(keyOf(i)))
	}
	for i := range n - 1 { // all keys are taken except the key of the last dead job
		r.add(keyOf(i))
	}
	id := r.startRedrive(canaryOf(2)).ID
	for range 2 * n {
		r.step(2)
		if j := r.get(dead[n-1]); j.State == job.Waiting {
			r.end(succeeded(r.takeID(j.ID)))
		}
	}
	d := r.redrive(id)
	same(r, "state and numbers", []any{d.State, d.Released, d.Completed}, []any{store.RedriveCompleted, int64(1), int64(1)})
	for _, id := range dead[:n-1] {
		r.state(id, job.Dead)
	}
}

// Retries of dead jobs run concurrently with enqueues. All of these jobs have the same
// idempotency key.
//
// proves: I1
func retryAndEnqueueRace(r *rig) {
	const callers, rounds = 20, 4
	for range rounds {
		dead := []job.ID{r.dead(aliveKey), r.dead(aliveKey)}
		jobs := make([]job.New, callers)
		for i := range jobs {
			jobs[i] = r.newJob(aliveKey)
		}
		errs := make([]error, callers)
		race(callers, func(i int) {
			if i%4 == 0 {
				_, errs[i] = r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: dead[i/4%2 : i/4%2+1]})
			} else {
				_, errs[i] = r.Enqueue(ctx(), jobs[i:i+1])
			}
		})
		r.ok(errors.Join(errs...))
		alive := r.alive(job.AliveKey + "k")
		same(r, "number of living jobs with the key", len(alive), 1)
		same(r, "job in the receipt", r.enqueue(r.newJob(aliveKey))[0].ID, alive[0])
		r.ok(r.cancel(alive[0]))
	}
}
