package check_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// The jobs of the sound history, in the order of their enqueues.
const (
	plain      job.ID = 1 + iota // a job that its first run completes, with a result
	keyed                        // a job that is submitted twice with one key
	unsure                       // a job whose enqueue got no answer and was not repeated
	askedAgain                   // a job whose enqueue got no answer and was repeated
	flaky                        // a job that fails and then completes
	revived                      // a job that dies, is retried by hand and then completes
	buried                       // a job that dies and stays dead
	orphan                       // a job whose worker is killed and whose outcome comes too late
	patient                      // a job that is snoozed, deferred and interrupted before it completes
	unwanted                     // a job that is cancelled while it waits
	stopped                      // a job that is cancelled while it runs
	late                         // a job whose deadline passes before it can start
	returned                     // a job that dies and is brought back by a redrive
	bulky                        // a job that dies, is retried with its whole group and then completes
	aside                        // a job that dies and is then ignored
	purged                       // a job that dies, is resolved and then removed
	toxic                        // a job whose every run kills its worker
)

const (
	kind  = "k"
	queue = "q"
	lease = 10 * time.Second
	// readyMax is how long a job may be ready while a slot is free.
	readyMax = 2 * time.Second
	// retryWait is the wait before each retry.
	retryWait = time.Second
)

// recorder makes a history by using a store as clients and workers do.
type recorder struct {
	*memory.Store
	t   *testing.T
	ctx context.Context
	now time.Time
	h   check.History

	worked bool // whether the redrive has released its jobs
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{t: t, ctx: t.Context(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.Store = memory.New(memory.Options{Clock: func() time.Time { return r.now }})
	_, err := r.ReserveIDs(r.ctx, 100)
	r.ok(err)
	return r
}

// sound returns a sound history in which jobs end in every possible way.
func sound(t *testing.T) *check.History {
	t.Helper()
	r := newRecorder(t)
	r.h.Limits = map[string]check.Limits{kind: {Attempts: 2, Crashes: 2, WaitMin: retryWait, WaitMax: retryWait}}
	r.h.Drained = true
	for id := plain; id < toxic; id++ {
		r.submit(id)
	}
	r.h.Enqueues[unsure-1].Answer = check.Unknown
	r.h.Enqueues[unsure-1].ID = 0
	r.h.Enqueues[askedAgain-1].Again = true
	r.again(keyed)
	r.h.Enqueues = append(r.h.Enqueues, check.Enqueue{Name: "refused", Kind: kind, Answer: check.Refused})
	_, err := r.Cancel(r.ctx, r.acts("job.cancel", unwanted.String()), []job.ID{unwanted})
	r.ok(err)
	r.pass(time.Minute) // the deadline of the job late passes

	claims := r.claim(orphan)
	r.h.Processes = []check.Process{{Name: "w", Disturbed: job.At(r.now)}}
	r.pass(lease)
	_, err = r.Rescue(r.ctx, 10)
	r.ok(err)
	r.end(claims[orphan], success) // this outcome comes too late
	r.work()
	r.people()
	r.h.Healed, r.h.Slots, r.h.WaitMax = job.At(r.now), 100, readyMax
	r.pass(readyMax / 2)
	r.work()
	r.submit(toxic)
	for range 2 {
		c := r.claim(toxic)[toxic]
		_, err = r.Heartbeat(r.ctx, store.Beat{Lease: lease, Runs: []store.Run{{ID: c.ID, Token: c.Token}}, Begin: true})
		r.ok(err)
		r.pass(lease)
		_, err = r.Rescue(r.ctx, 10)
		r.ok(err)
	}
	r.h.Troubles = []check.Trouble{{What: "outage", From: job.At(r.now), To: job.At(r.now.Add(time.Second))}}
	r.h.Children = []check.Child{
		{Worker: "w", PID: 7, First: job.At(r.now), Last: job.At(r.now.Add(time.Hour))}, // the worker has not ended
		{Worker: "gone", PID: 8, First: job.At(r.now), Last: job.At(r.now.Add(3*time.Second + time.Second/2))},
		{PID: 9, First: job.At(r.now), Last: job.At(r.now.Add(time.Second))},
	}
	r.h.Processes = append(r.h.Processes, check.Process{Name: "gone", Ended: job.At(r.now.Add(2 * time.Second))})
	dump, err := r.Dump(r.ctx)
	r.ok(err)
	r.h.Dump = dump
	return &r.h
}

// acts records that a person does an action and gets an answer. It returns the person with a reason
// that no other action has.
func (r *recorder) acts(action, target string) store.By {
	reason := fmt.Sprintf("action %d", len(r.h.Acts)+1)
	r.h.Acts = append(r.h.Acts, check.Act{Reason: reason, Action: action, Target: target, Answer: check.Written})
	return store.By{Actor: "ann", Reason: reason}
}

func (r *recorder) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorder) pass(d time.Duration) { r.now = r.now.Add(d) }

func payload(id job.ID) []byte { return fmt.Appendf(nil, "payload of %d", id) }

func (r *recorder) newJob(id job.ID) job.New {
	n := job.New{ID: id, Kind: kind, Queue: queue, Priority: job.PriorityDefault,
		Correlation: "s" + id.String(), Payload: payload(id)}
	switch id {
	case keyed:
		n.Key, n.Digest = "once", []byte("digest")
	case late:
		n.Deadline = job.At(r.now.Add(time.Second))
	case flaky:
		n.Deadline = job.At(r.now.Add(time.Hour))
	}
	return n
}

func (r *recorder) submit(id job.ID) {
	n := r.newJob(id)
	receipts, err := r.Enqueue(r.ctx, []job.New{n})
	r.ok(err)
	r.h.Enqueues = append(r.h.Enqueues, check.Enqueue{Name: n.Correlation, ID: receipts[0].ID, Kind: kind, Key: n.Key,
		Digest: check.Digest(n.Payload), Answer: check.Written, Existing: receipts[0].Existing, Deadline: n.Deadline})
}

// again enqueues a job a second time, with an idempotency key that exists.
func (r *recorder) again(id job.ID) {
	n := r.newJob(id)
	n.ID, n.Correlation = 50, "again"
	receipts, err := r.Enqueue(r.ctx, []job.New{n})
	r.ok(err)
	r.h.Enqueues = append(r.h.Enqueues, check.Enqueue{Name: n.Correlation, ID: receipts[0].ID, Kind: kind, Key: n.Key,
		Digest: check.Digest(n.Payload), Answer: check.Written, Existing: receipts[0].Existing})
}

// claim claims jobs until it has claimed the wanted job, hands the other jobs back, and returns all
// claims.
func (r *recorder) claim(wanted job.ID) map[job.ID]job.Claim {
	answer, err := r.Exchange(r.ctx, store.Exchange{Holder: "w", Lease: lease, Want: []store.Want{{Queue: queue, Max: 100,
		Kinds: []store.KindWant{{Kind: kind, Max: 100, MaxCrashes: 2}}}}})
	r.ok(err)
	claims := make(map[job.ID]job.Claim)
	for _, c := range answer.Claims {
		claims[c.ID] = c
		r.begin(c)
		if c.ID != wanted && wanted != 0 {
			r.end(c, interrupted)
		}
	}
	return claims
}

func (r *recorder) begin(c job.Claim) {
	r.h.Runs = append(r.h.Runs, check.Run{Job: c.ID, Life: c.Life, Token: c.Token, Holder: "w",
		Start: job.At(r.now), Digest: check.Digest(c.Payload)})
}

// ended records the end of a run as its handler saw it.
func (r *recorder) ended(c job.Claim, result []byte, err string) {
	for i := range r.h.Runs {
		if run := &r.h.Runs[i]; run.Job == c.ID && run.Token == c.Token {
			run.End, run.Error = job.At(r.now), err
			if result != nil {
				run.Result = check.Digest(result)
			}
		}
	}
}

// The outcomes that runs in the sound history have.
var (
	success     = job.Outcome{Cause: job.Succeeded, To: job.Completed}
	failed      = job.Outcome{Cause: job.Failed, To: job.Retrying, Delay: retryWait}
	died        = job.Outcome{Cause: job.Failed, To: job.Dead, Reason: job.NonRetriable}
	snoozed     = job.Outcome{Cause: job.Snoozed, To: job.Waiting}
	deferred    = job.Outcome{Cause: job.Deferred, To: job.Waiting}
	interrupted = job.Outcome{Cause: job.Interrupted, To: job.Waiting}
	cancelled   = job.Outcome{Cause: job.Cancel, To: job.Cancelled}
	held        = job.Outcome{Cause: job.Held, To: job.Dead, Reason: job.ManualReview}
)

// died1 is the plan of a job that dies in its first run.
var died1 = []job.Outcome{died}

// people does every possible action on dead letters.
func (r *recorder) people() {
	act := func(do store.Act, id job.ID) {
		answer, err := r.Act(r.ctx, r.acts("dead_letter."+do.String(), id.String()), store.Action{Do: do, IDs: []job.ID{id}})
		r.ok(err)
		r.ok(answer.Errors[0])
	}
	act(store.ActIgnore, aside)
	act(store.ActResolve, purged)
	act(store.ActPurge, purged)

	all := store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Group: "boom|" + bulky.String()}}
	frozen, err := r.Preview(r.ctx, all)
	r.ok(err)
	all.Through = frozen.Through
	answer, err := r.Act(r.ctx, r.acts("dead_letter.retry", ""), all)
	r.ok(err)
	r.h.Acts[len(r.h.Acts)-1].Done = answer.Done

	_, err = r.StartRedrive(r.ctx, r.acts("redrive.start", "1"), store.RedriveSpec{
		Filter: store.DeadFilter{Group: "boom|" + returned.String()}, Through: frozen.Through, Total: 1,
	})
	r.ok(err)
	_, err = r.StepRedrives(r.ctx, 10)
	r.ok(err)

	k := store.AccessKey{ID: "k1", Name: "ops", Hash: make([]byte, store.KeyHash), Roles: []string{"view"}}
	k, err = r.PutKey(r.ctx, r.acts("access.create", k.ID), k)
	r.ok(err)
	k.RevokedAt = 1
	_, err = r.PutKey(r.ctx, r.acts("access.revoke", k.ID), k)
	r.ok(err)
}

// end writes the outcome of a run and records the answer.
func (r *recorder) end(c job.Claim, o job.Outcome) {
	o.ID, o.Token = c.ID, c.Token
	text := ""
	if o.Cause == job.Failed || o.Cause == job.Held {
		text = "boom " + c.ID.String()
		o.Failure = &job.Failure{How: job.ByError, Class: "Boom", Message: text, Fingerprint: "boom|" + c.ID.String()}
	}
	if o.Cause == job.Succeeded {
		o.Result = fmt.Appendf(nil, "run %d", c.Token)
	}
	r.ended(c, o.Result, text)
	answer, err := r.Exchange(r.ctx, store.Exchange{Holder: "w", Lease: lease, Settle: []job.Outcome{o}})
	r.ok(err)
	w := check.Write{Run: store.Run{ID: c.ID, Token: c.Token}, Cause: o.Cause, To: o.To, Answer: check.Written}
	if answer.Settled[0] != nil {
		w.Answer = check.Refused
	}
	r.h.Writes = append(r.h.Writes, w)
}

// work runs jobs until no job is due.
func (r *recorder) work() {
	plan := map[job.ID][]job.Outcome{
		flaky:   {failed},
		revived: {failed, died},
		buried:  {held},
		patient: {snoozed, deferred},
		stopped: {cancelled},
	}
	if !r.worked {
		plan[returned], plan[bulky], plan[aside], plan[purged] = died1, died1, died1, died1
	}
	r.worked = true
	for {
		claims := r.claim(0)
		if len(claims) == 0 {
			return
		}
		wait := time.Duration(0)
		for id := plain; id < toxic; id++ {
			c, ok := claims[id]
			if !ok {
				continue
			}
			o := success
			if left := plan[id]; len(left) > 0 {
				o, plan[id] = left[0], left[1:]
			}
			wait = max(wait, o.Delay)
			if id == stopped {
				_, err := r.Cancel(r.ctx, r.acts("job.cancel", id.String()), []job.ID{id})
				r.ok(err)
			}
			r.end(c, o)
			if id == revived && o.To == job.Dead {
				_, err := r.Act(r.ctx, r.acts("job.retry", id.String()), store.Action{Do: store.ActRetry, IDs: []job.ID{id}})
				r.ok(err)
			}
		}
		r.pass(wait)
	}
}
