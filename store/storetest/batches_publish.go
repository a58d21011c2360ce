package storetest

import (
	"slices"
	"sync"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func batchPublishPromises() []promise {
	return []promise{
		{"B2_Trap7_NoEndWhileAStepIsLeft", noEndWhileAStepIsLeft},
		{"B4_Trap8_PublishedTwiceAtOnce", publishedTwiceAtOnce},
		{"B4_Trap9_PublishingAgain", publishingAgain},
		{"B4_PublishSkipsWhatAPersonHasDecided", publishSkipsDecided},
		{"B4_CancelOfABatch", cancelOfABatch},
		{"B4_CancelReachesDrafts", cancelReachesDrafts},
		{"B4_DiscardDrafts", discardDrafts},
		{"B4_MembersThatComeLaterWait", laterMembersWait},
		{"B4_LongPayloadsAndTimesOfDrafts", longDrafts},
	}
}

// step makes one step of batches of at most n members.
func (r *rig) stepBatch(n int) store.BatchStep {
	s, err := r.StepBatches(ctx(), n)
	r.ok(err)
	return s
}

// proves: B2
func noEndWhileAStepIsLeft(r *rig) {
	b := r.newBatch()
	r.addMembers(b.ID, r.drafts(5))
	r.publish(b.ID)
	for range 2 {
		same(r, "step", r.stepBatch(2), store.BatchStep{Done: 2, Active: 1})
		r.endAll()
		same(r, "outcomes", len(r.outcomes(b.ID)), 0)
	}
	same(r, "progress", r.theBatch(b.ID).Drafts, int64(1))
	same(r, "last step", r.stepBatch(2), store.BatchStep{Done: 1, Wait: store.Never})
	same(r, "outcomes", len(r.outcomes(b.ID)), 0)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 5, 5, 0, 0)
	// The members have all ended before the last step: it ends the batch.
	b = r.newBatch()
	r.addMembers(b.ID, r.drafts(2))
	r.publish(b.ID)
	r.stepBatch(2)
	r.endAll()
	same(r, "outcomes before the last step", len(r.outcomes(b.ID)), 0)
	r.stepBatch(2)
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
}

// A caller is gone between two steps, another one does the same again, and several publish and step at
// once: each member is there once.
//
// proves: B4
func publishedTwiceAtOnce(r *rig) {
	b := r.newBatch()
	list := r.drafts(30)
	r.addMembers(b.ID, list[:20]) // and the caller is gone
	r.publish(b.ID)
	r.stepBatch(7) // and the next one is gone, too
	for i := range list {
		list[i].Repeat = true
	}
	r.addMembers(b.ID, list)
	again := r.drafts(30) // the same keys with other ids
	for i, receipt := range r.addMembers(b.ID, again) {
		same(r, "receipt", []any{receipt.ID, receipt.Existing}, []any{list[i].ID, true})
	}
	var all sync.WaitGroup
	errs := make(chan error, 40)
	for range 4 {
		all.Go(func() {
			_, err := r.PublishBatch(ctx(), person, b.ID)
			errs <- err
			for range 6 {
				_, err := r.StepBatches(ctx(), 3)
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		r.ok(err)
	}
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 30, 0, 0, 0)
	ids := make(map[job.ID]bool)
	for _, j := range r.dump().Jobs {
		ids[j.ID] = true
	}
	for i := range list {
		if !ids[list[i].ID] {
			r.fail("member %d is not a job", i+1)
		}
	}
	same(r, "number of jobs", len(ids), 30)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 30, 30, 0, 0)
	same(r, "outcomes", len(r.outcomes(b.ID)), 1)
}

// proves: B4
func publishingAgain(r *rig) {
	b := r.newBatch()
	list := r.drafts(50)
	r.addMembers(b.ID, slices.Concat(list[:30], list[33:])) // three are missing
	r.publish(b.ID)
	r.stepAll()
	r.ok(r.cancel(list[49].ID))
	r.endAll(list[0].ID, list[1].ID, list[2].ID, list[3].ID)
	r.inState(b.ID, job.BatchPartial, 47, 42, 4, 1)
	again := r.drafts(50)
	known := 0
	for i, receipt := range r.addMembers(b.ID, again) {
		if receipt.Existing {
			known++
		} else if i < 30 && i != 49 {
			r.fail("member %d was added a second time", i+1)
		}
	}
	same(r, "known members", known, 46)
	p := r.publish(b.ID)
	same(r, "what goes out", []int64{p.Drafts, p.Dead, p.Skipped}, []int64{4, 4, 0})
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 50, 42, 0, 0)
	same(r, "claims", len(r.claim(want(50))), 8)
	r.clock.Advance(lease * 2)
	r.rescue(100)
	r.clock.Advance(lease * 100)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 50, 50, 0, 0)
	r.unchanged(func() { // nothing is left to publish
		p := r.publish(b.ID)
		same(r, "what goes out", []int64{p.Drafts, p.Dead, p.Skipped}, []int64{0, 0, 0})
	})
	r.state(list[49].ID, job.Cancelled)
	m, err := r.Member(ctx(), b.ID, "k50")
	r.ok(err)
	same(r, "the member that came back", []any{m.ID, m.State}, []any{again[49].ID, job.Completed})
}

// proves: B4
func publishSkipsDecided(r *rig) {
	b, members := r.published(3)
	r.endAll(members[0].ID, members[1].ID)
	r.ok(r.actOn(store.ActResolve, members[0].ID))
	p := r.publish(b.ID)
	same(r, "what goes out", []int64{p.Drafts, p.Dead, p.Skipped}, []int64{0, 1, 1})
	r.stepAll()
	r.endAll()
	r.inState(b.ID, job.BatchPartial, 3, 2, 1, 0)
}

// proves: B4
func cancelOfABatch(r *rig) {
	b := r.newBatch()
	r.unchanged(func() {
		_, err := r.CancelBatch(ctx(), person, b.ID)
		r.refused(err, store.BatchIsDraft)
	})
	b, members := r.published(5)
	c := r.claim(want(2))
	r.end(succeeded(c[0]))
	_, err := r.CancelBatch(ctx(), person, b.ID)
	r.ok(err)
	r.unchanged(func() {
		_, err := r.CancelBatch(ctx(), person, b.ID)
		r.ok(err)
		_, err = r.PublishBatch(ctx(), person, b.ID)
		r.refused(err, store.BatchBusy)
	})
	same(r, "first step", r.stepBatch(2).Active, 1)
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 5, 1, 0, 3)
	if j := r.get(members[1].ID); j.CancelAt == 0 {
		r.fail("the running member was not asked to stop")
	}
	r.end(outcome(c[1], job.Cancel, job.Cancelled))
	r.settleBatches()
	r.inState(b.ID, job.BatchPartial, 5, 1, 0, 4)
	r.unchanged(func() {
		_, err := r.CancelBatch(ctx(), person, b.ID)
		r.ok(err)
	})
}

// proves: B4
func cancelReachesDrafts(r *rig) {
	b := r.newBatch()
	members := r.drafts(5)
	r.addMembers(b.ID, members)
	r.publish(b.ID)
	r.stepBatch(2)
	_, err := r.CancelBatch(ctx(), person, b.ID)
	r.ok(err)
	r.stepAll()
	r.inState(b.ID, job.BatchFailed, 5, 0, 0, 5)
	for _, m := range members {
		r.state(m.ID, job.Cancelled)
	}
}

// proves: B4
func discardDrafts(r *rig) {
	b := r.newBatch()
	members := r.drafts(3, func(n *job.New) { n.Payload = make([]byte, 2000) })
	r.addMembers(b.ID, members)
	r.unchanged(func() {
		_, err := r.DiscardBatch(ctx(), person, b.ID, []job.ID{members[0].ID, 9999})
		r.is(err, store.ErrNotFound)
	})
	left, err := r.DiscardBatch(ctx(), person, b.ID, []job.ID{members[0].ID})
	r.ok(err)
	same(r, "drafts that are left", left.Drafts, int64(2))
	again := r.drafts(1)
	same(r, "the key is free again", r.addMembers(b.ID, again)[0].Existing, false)
	_, err = r.DiscardBatch(ctx(), person, b.ID, nil)
	r.ok(err)
	same(r, "first step", r.stepBatch(1).Active, 1)
	_, err = r.AddMembers(ctx(), b.ID, r.drafts(1))
	r.refused(err, store.BatchBusy)
	r.stepAll()
	_, err = r.Batch(ctx(), b.ID)
	r.is(err, store.ErrNotFound)
	same(r, "keys that are left", len(r.dump().Keys), 0)

	b, _ = r.published(1)
	late := r.drafts(2)
	r.addMembers(b.ID, late)
	_, err = r.DiscardBatch(ctx(), person, b.ID, nil)
	r.ok(err)
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 1, 0, 0, 0)
	same(r, "drafts", r.theBatch(b.ID).Drafts, int64(0))
}

// Members that are added to a published batch are drafts until it is published again.
//
// proves: B4
func laterMembersWait(r *rig) {
	b, _ := r.published(1)
	late := r.drafts(2)
	late[0].Key, late[1].Key = "late", "later"
	late[1].Aside = true
	r.addMembers(b.ID, late[:1])
	r.endAll()
	r.inState(b.ID, job.BatchReady, 1, 1, 0, 0)
	r.publish(b.ID)
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 2, 1, 0, 0)
	r.endAll()
	r.addMembers(b.ID, late[1:])
	r.publish(b.ID) // a member that is aside goes out without a change of state
	r.stepAll()
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	r.state(late[1].ID, job.Waiting)
	same(r, "outcomes", len(r.outcomes(b.ID)), 2)
}

// proves: B4
func longDrafts(r *rig) {
	b := r.newBatch()
	members := r.drafts(2)
	members[0].Payload, members[0].Attrs, members[0].Override = make([]byte, 4000), []byte(`{"a":1}`), []byte(`{"max_retries":1}`)
	members[0].RunAt, members[0].Deadline, members[0].Correlation, members[0].Deps = r.in(lease), r.in(2*lease), "req-7", "s3"
	r.addMembers(b.ID, members)
	added := r.now()
	r.clock.Advance(lease / 2)
	r.publish(b.ID)
	r.stepAll()
	m := members[0]
	same(r, "published member", r.get(m.ID), job.Job{
		ID: m.ID, Kind: kind, Queue: queue, State: job.Waiting, Priority: job.PriorityDefault, Life: 1, CreatedAt: added.Add(lease / 2), LifeAt: m.RunAt,
		RunAt: m.RunAt, Deadline: m.Deadline, Correlation: "req-7", Key: "k1", Batch: b.ID, Attrs: m.Attrs, Override: m.Override, Payload: m.Payload,
	})
	c := r.take()
	same(r, "first claim", c.ID, members[1].ID)
	r.clock.Advance(lease)
	r.end(succeeded(r.take()))
}
