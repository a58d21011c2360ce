package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func batchEndPromises() []promise {
	return []promise{
		{"B1_EndsAsItsMembersEnd", endsAsItsMembersEnd},
		{"B2_ARetryReopensTheBatch", aRetryReopensTheBatch},
		{"B2_Trap6_EveryEndIsAnOutcome", everyEndIsAnOutcome},
		{"B2_CallbacksAreEnqueuedOnce", callbacksAreEnqueuedOnce},
		{"B1_Trap11_ExpiredIsFinal", expiredIsFinal},
		{"B1_Trap28_ExpiredStaysExpired", expiredStaysExpired},
		{"B2_Trap15_RacingRetriesAreOneLife", racingRetries},
		{"B1_ProcessingDoesNotExpire", processingDoesNotExpire},
		{"B1_SetsWhenItExpires", setsWhenItExpires},
		{"B2_WaitsAreNoEnds", waitsAreNoEnds},
		{"B2_Trap10_OutcomeAsEnqueued", outcomeAsEnqueued},
	}
}

// proves: B1, B2
func endsAsItsMembersEnd(r *rig) {
	for _, c := range []struct {
		dead, cancelled int
		want            job.BatchState
	}{{0, 0, job.BatchReady}, {1, 0, job.BatchPartial}, {0, 1, job.BatchPartial}, {3, 0, job.BatchFailed}, {0, 3, job.BatchFailed}, {1, 2, job.BatchFailed}} {
		b, members := r.published(3)
		var dead []job.ID
		for i, m := range members {
			switch {
			case i < c.dead:
				dead = append(dead, m.ID)
			case i < c.dead+c.cancelled:
				r.ok(r.cancel(m.ID))
			}
		}
		r.endAll(dead...)
		completed := int64(3 - c.dead - c.cancelled)
		r.inState(b.ID, c.want, 3, completed, int64(c.dead), int64(c.cancelled))
		same(r, "outcomes", r.outcomes(b.ID), []store.BatchOutcome{{N: 1, State: c.want, At: r.now(), Total: 3, Completed: completed,
			Dead: int64(c.dead), Cancelled: int64(c.cancelled)}})
		same(r, "time of the end", r.theBatch(b.ID).EndedAt, r.now())
	}
}

// proves: B2, B4
func aRetryReopensTheBatch(r *rig) {
	b, members := r.published(4)
	r.endAll(members[0].ID, members[1].ID)
	r.inState(b.ID, job.BatchPartial, 4, 2, 2, 0)
	r.ok(r.retry(members[0].ID))
	r.inState(b.ID, job.BatchProcessing, 4, 2, 1, 0)
	r.is(r.retry(members[0].ID), store.ErrConflict) // the second of two clicks
	r.inState(b.ID, job.BatchProcessing, 4, 2, 1, 0)
	r.endAll(members[0].ID)
	r.inState(b.ID, job.BatchPartial, 4, 2, 2, 0)
	acted, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Batch: b.ID}, Through: r.newestDeath()})
	r.ok(err)
	same(r, "retried members", acted.Done, int64(2))
	r.inState(b.ID, job.BatchProcessing, 4, 2, 0, 0)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 4, 4, 0, 0)
	var states []job.BatchState
	for i, o := range r.outcomes(b.ID) {
		same(r, "number of an outcome", o.N, int64(i+1))
		states = append(states, o.State)
	}
	same(r, "outcomes", states, []job.BatchState{job.BatchPartial, job.BatchPartial, job.BatchReady})
}

func (r *rig) newestDeath() int64 {
	p, err := r.Preview(ctx(), store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}})
	r.ok(err)
	return p.Through
}

// An end, a retry and an end at the same moment are two outcomes.
//
// proves: B2
func everyEndIsAnOutcome(r *rig) {
	b, members := r.published(1)
	for range 3 {
		r.endAll(members[0].ID)
		r.ok(r.retry(members[0].ID))
	}
	r.endAll()
	same(r, "number of outcomes", len(r.outcomes(b.ID)), 4)
	r.inState(b.ID, job.BatchReady, 1, 1, 0, 0)
}

// proves: B2
func callbacksAreEnqueuedOnce(r *rig) {
	callback := func(on string) store.BatchCallback {
		return store.BatchCallback{On: on, Kind: "report." + on, Queue: "report", Payload: json.RawMessage(`{"on":"` + on + `"}`)}
	}
	b, members := r.published(2, func(n *store.NewBatch) {
		n.Owner, n.Key, n.Name = "alice", "summer", "Summer"
		n.Callbacks = []store.BatchCallback{callback("ready"), callback("partial"), callback("failed"), callback("end")}
	})
	reported := func() (kinds []string) {
		for _, on := range []string{"ready", "partial", "failed", "end"} {
			for _, c := range r.claim(store.Want{Queue: "report", Max: 9, Kinds: []store.KindWant{{Kind: "report." + on, Max: 9, MaxCrashes: 3}}}) {
				outcomes := r.outcomes(b.ID)
				last := outcomes[len(outcomes)-1]
				var got struct {
					Batch struct {
						ID, Outcome, Total, Completed, Dead int64
						Key, Name, Owner                    string
						State                               job.BatchState
					}
					Data struct{ On string }
				}
				r.ok(json.Unmarshal(c.Payload, &got))
				same(r, "payload of a callback", []any{got.Batch.ID, got.Batch.Outcome, got.Batch.State, got.Batch.Total, got.Batch.Completed, got.Batch.Dead, got.Batch.Key, got.Batch.Name, got.Data.On},
					[]any{b.ID, last.N, last.State, last.Total, last.Completed, last.Dead, "summer", "Summer", on})
				same(r, "job of a callback", []any{c.Owner, c.Correlation, c.Batch, c.Priority}, []any{"alice", fmt.Sprintf("batch:%d:%d", b.ID, last.N), int64(0), int8(job.PriorityDefault)})
				kinds = append(kinds, c.Kind)
				r.end(succeeded(c))
			}
		}
		return kinds
	}
	same(r, "callbacks before the end", reported(), nil)
	r.set(store.QueueChange{Name: "report", Mode: new(store.Draining)}) // a draining queue takes them
	r.endAll(members[0].ID)
	same(r, "callbacks of PARTIAL", reported(), []string{"report.partial", "report.end"})
	r.ok(r.retry(members[0].ID))
	r.endAll()
	same(r, "callbacks of READY", reported(), []string{"report.ready", "report.end"})
	r.settleBatches()
	same(r, "callbacks later", reported(), nil)
}

// proves: B1
func expiredIsFinal(r *rig) {
	b, members := r.published(2, func(n *store.NewBatch) { n.ExpiresAt = r.in(time.Minute) })
	r.endAll(members[0].ID)
	r.inState(b.ID, job.BatchPartial, 2, 1, 1, 0)
	step, err := r.StepBatches(ctx(), 1)
	r.ok(err)
	same(r, "wait until the next batch expires", step.Wait, time.Minute)
	r.clock.Advance(time.Minute + time.Microsecond)
	refusedRetry := func() {
		r.unchanged(func() {
			r.refused(r.retry(members[0].ID), store.BatchIsExpired)
			_, err := r.PublishBatch(ctx(), person, b.ID)
			r.refused(err, store.BatchIsExpired)
			acted, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Through: r.newestDeath()})
			r.ok(err)
			same(r, "members that a retry by filter passes over", acted, store.Acted{Through: acted.Through, Skipped: map[string]int64{store.SkippedExpired: 1}})
		})
	}
	refusedRetry() // before a step has written that the batch is expired
	step, err = r.StepBatches(ctx(), 1)
	r.ok(err)
	same(r, "step", step, store.BatchStep{Expired: 1, Wait: store.Never})
	r.inState(b.ID, job.BatchExpired, 2, 1, 1, 0)
	refusedRetry()
	redrive, err := r.StartRedrive(ctx(), person, store.RedriveSpec{Through: r.newestDeath(), Total: 1, Canary: -1})
	r.ok(err)
	_, err = r.StepRedrives(ctx(), store.StepMax)
	r.ok(err)
	redrive, err = r.Redrive(ctx(), redrive.ID)
	r.ok(err)
	same(r, "released and refused jobs of a redrive", []int64{redrive.Released, redrive.Refused}, []int64{0, 1})
	r.unchanged(func() {
		_, err := r.AddMembers(ctx(), b.ID, r.drafts(1))
		r.refused(err, store.BatchIsExpired)
		_, err = r.SetBatch(ctx(), person, b.ID, 0)
		r.refused(err, store.BatchIsExpired)
		_, err = r.CancelBatch(ctx(), person, b.ID)
		r.refused(err, store.BatchIsExpired)
	})
	r.inState(b.ID, job.BatchExpired, 2, 1, 1, 0)
}

// proves: B1
func processingDoesNotExpire(r *rig) {
	b, _ := r.published(1, func(n *store.NewBatch) { n.ExpiresAt = r.in(time.Minute) })
	draft := r.newBatch(func(n *store.NewBatch) { n.ExpiresAt = r.in(time.Minute) })
	r.addMembers(draft.ID, r.drafts(1))
	r.clock.Advance(time.Hour)
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 1, 0, 0, 0)
	r.inState(draft.ID, job.BatchDraft, 0, 0, 0, 0)
	_, err := r.PublishBatch(ctx(), person, draft.ID)
	r.refused(err, store.BatchIsExpired)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 1, 1, 0, 0)
	r.stepAll()
	r.inState(b.ID, job.BatchExpired, 1, 1, 0, 0)
}

// proves: B1
func setsWhenItExpires(r *rig) {
	b, _ := r.published(1)
	r.endAll()
	_, err := r.SetBatch(ctx(), person, b.ID, r.now())
	r.is(err, store.ErrInvalid)
	set, err := r.SetBatch(ctx(), person, b.ID, r.in(time.Second))
	r.ok(err)
	same(r, "time", set.ExpiresAt, r.in(time.Second))
	set, err = r.SetBatch(ctx(), person, b.ID, 0)
	r.ok(err)
	same(r, "no time", set.ExpiresAt, 0)
	r.clock.Advance(time.Hour)
	r.stepAll()
	r.inState(b.ID, job.BatchReady, 1, 1, 0, 0)
	rows := r.audit()
	same(r, "last audit row", []string{rows[len(rows)-1].Action, rows[len(rows)-1].Target}, []string{"batch.set", store.BatchTarget(b.ID)})
}

// A job that waits again has not ended, whatever made it wait.
//
// proves: B2
func waitsAreNoEnds(r *rig) {
	b, _ := r.published(1)
	for i := range 6 {
		c := r.take()
		if i == 5 {
			r.clock.Advance(lease + time.Second)
			r.rescue(1)
		} else {
			r.end([]job.Outcome{outcome(c, job.Snoozed, job.Waiting), outcome(c, job.Deferred, job.Waiting), outcome(c, job.Interrupted, job.Waiting),
				failed(c, "NetworkTimeout", 0), outcome(c, job.Snoozed, job.Waiting)}[i])
		}
		r.settleBatches()
		r.inState(b.ID, job.BatchProcessing, 1, 0, 0, 0)
		r.clock.Advance(time.Hour)
	}
	r.endAll()
	same(r, "outcomes", len(r.outcomes(b.ID)), 1)
}

// Whether a member is aside was decided when it was added: a later policy changes nothing.
//
// proves: B2, R7
func outcomeAsEnqueued(r *rig) {
	b := r.newBatch()
	members := r.drafts(2)
	members[1].Aside = true
	r.addMembers(b.ID, members)
	r.publish(b.ID)
	r.stepAll()
	c := r.claim(want(2))
	r.end(died(c[1], "InvalidInput", job.NonRetriable))
	r.settleBatches()
	r.inState(b.ID, job.BatchProcessing, 1, 0, 0, 0)
	r.end(succeeded(c[0]))
	r.settleBatches()
	r.inState(b.ID, job.BatchReady, 1, 1, 0, 0)
}

// A member that is aside is taken and ends after the batch has expired, and changes nothing of it.
//
// proves: B1
func expiredStaysExpired(r *rig) {
	b, members := r.published(2, func(n *store.NewBatch) { n.ExpiresAt = r.in(time.Minute) })
	r.endAll(members[0].ID)
	r.clock.Advance(2 * time.Minute)
	r.stepAll()
	for _, dies := range []bool{false, true} {
		id := r.add(func(n *job.New) { n.Batch, n.Aside = b.ID, true })
		r.inState(b.ID, job.BatchExpired, 2, 1, 1, 0)
		if dies {
			r.endAll(id)
			r.ok(r.retry(id))
		}
		r.endAll()
		r.state(id, job.Completed)
		r.inState(b.ID, job.BatchExpired, 2, 1, 1, 0)
	}
	counted := r.newJob()
	counted.Batch = b.ID
	r.refuse(store.ErrConflict, counted)
	r.refused(r.retry(members[0].ID), store.BatchIsExpired)
	_, err := r.PublishBatch(ctx(), person, b.ID)
	r.refused(err, store.BatchIsExpired)
	same(r, "outcomes", len(r.outcomes(b.ID)), 1)
}

// Many people retry a dead member at once: it gets one life, and all but one of them get the error that it is
// not dead.
//
// proves: B2
func racingRetries(r *rig) {
	b, members := r.published(2)
	r.endAll(members[0].ID)
	r.inState(b.ID, job.BatchPartial, 2, 1, 1, 0)
	const people = 20
	errs := make(chan error, people)
	for range people {
		go func() {
			did, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: []job.ID{members[0].ID}})
			if err == nil {
				err = did.Errors[0]
			}
			errs <- err
		}()
	}
	lives := 0
	for range people {
		if err := <-errs; err == nil {
			lives++
		} else {
			r.is(err, store.ErrConflict)
		}
	}
	same(r, "retries that were taken", lives, 1)
	same(r, "life", r.get(members[0].ID).Life, int32(2))
	r.inState(b.ID, job.BatchProcessing, 2, 1, 0, 0)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	same(r, "outcomes", len(r.outcomes(b.ID)), 2)
}
