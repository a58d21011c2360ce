package storetest

import (
	"errors"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func batchPromises() []promise {
	return []promise{
		{"B1_DraftsAreNoJobs", draftsAreNoJobs},
		{"B1_ABatchIsCreatedOnce", aBatchIsCreatedOnce},
		{"B2_AnEmptyBatchIsNotPublished", anEmptyBatchIsNotPublished},
		{"B2_JobsJoinAPublishedBatch", jobsJoinAPublishedBatch},
		{"B2_Trap27_MembersAsideDoNotCount", membersAsideDoNotCount},
		{"B4_AKeyIsOneMember", aKeyIsOneMember},
		{"B4_KeysOfRemovedMembersKeepTheirStates", keysOfRemovedMembers},
		{"B4_BadMembersLeaveNothing", badMembersLeaveNothing},
		{"B3_CountsAndMembers", countsAndMembers},
		{"B1_ListOfBatches", listOfBatches},
		{"B4_StartBatchIsOneCall", startBatchIsOneCall},
		{"Q6_EndedBatchesGo", endedBatchesGo},
	}
}

func asRefused(err error) (*store.BatchRefused, bool) { return errors.AsType[*store.BatchRefused](err) }

// proves: B1
func draftsAreNoJobs(r *rig) {
	b := r.newBatch(func(n *store.NewBatch) { n.Name, n.Owner, n.Attrs = "summer", "alice", []byte(`{"a":1}`) })
	same(r, "new batch", b, store.Batch{ID: b.ID, NewBatch: b.NewBatch, State: job.BatchDraft, CreatedAt: r.now(), CreatedBy: person.Actor})
	members := r.drafts(3)
	for i, receipt := range r.addMembers(b.ID, members) {
		same(r, "receipt of a draft", receipt, job.Receipt{ID: members[i].ID})
	}
	_, err := r.Get(ctx(), members[0].ID)
	r.is(err, store.ErrNotFound)
	r.none()
	same(r, "drafts", r.theBatch(b.ID).Drafts, int64(3))
	before := r.cursor()
	p := r.publish(b.ID)
	same(r, "answer of the publication", []int64{p.Drafts, p.Dead, p.Skipped}, []int64{3, 0, 0})
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 3, 0, 0, 0)
	for _, m := range members {
		j := r.get(m.ID)
		same(r, "published member", []any{j.State, j.Batch, j.Aside, j.Owner, j.Key, j.CreatedAt, j.Payload},
			[]any{job.Waiting, b.ID, false, "alice", m.Key, r.now(), m.Payload})
	}
	events := r.events(before)
	e := events[0]
	e.Cursor = event.Cursor{}
	same(r, "first event", e, event.Event{Type: event.BatchChanged, At: r.now(), Batch: b.ID, Owner: "alice", Reason: store.PublishedReason, Total: 3})
	same(r, "number of events", len(events), 4)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 3, 3, 0, 0)
}

// proves: B1
func aBatchIsCreatedOnce(r *rig) {
	n := store.NewBatch{Owner: "alice", Key: "summer", Name: "Summer", Callbacks: []store.BatchCallback{{On: "end", Kind: "mail", Queue: "mail"}}}
	b, err := r.CreateBatch(ctx(), store.By{}, n)
	r.ok(err)
	r.unchanged(func() {
		again, err := r.CreateBatch(ctx(), store.By{}, n)
		r.ok(err)
		same(r, "which batch existed", []bool{b.Existing, again.Existing}, []bool{false, true})
		again.Existing = false
		same(r, "batch with a known key", again, b)
		other := n
		other.Name = "Winter"
		_, err = r.CreateBatch(ctx(), store.By{}, other)
		r.is(err, store.ErrConflict)
	})
	n.Owner = "bob"
	other, err := r.CreateBatch(ctx(), store.By{}, n)
	r.ok(err)
	same(r, "number of another owner's batch", other.ID, b.ID+1)
	r.unchanged(func() {
		for _, bad := range []store.NewBatch{
			{Name: string(make([]byte, job.TextMax+1))}, {Attrs: make([]byte, job.AttrsMax+1)}, {ExpiresAt: r.now()},
			{Callbacks: make([]store.BatchCallback, store.CallbacksMax+1)}, {Callbacks: []store.BatchCallback{{On: "end", Kind: "a b", Queue: "q"}}},
			{Callbacks: []store.BatchCallback{{On: "never", Kind: "a", Queue: "q"}}}, {Callbacks: []store.BatchCallback{{On: "end", Kind: "a", Queue: "q", Payload: []byte("{")}}},
		} {
			_, err := r.CreateBatch(ctx(), person, bad)
			r.is(err, store.ErrInvalid, store.ErrTooLarge)
		}
		_, err := r.Batch(ctx(), 99)
		r.is(err, store.ErrNotFound)
		_, err = r.PublishBatch(ctx(), store.By{Actor: "bob", Owner: "bob"}, b.ID)
		r.is(err, store.ErrNotFound)
	})
}

// proves: B2
func anEmptyBatchIsNotPublished(r *rig) {
	b := r.newBatch()
	r.unchanged(func() {
		_, err := r.PublishBatch(ctx(), person, b.ID)
		r.refused(err, store.BatchIsEmpty)
	})
	r.addMembers(b.ID, r.drafts(2, func(n *job.New) { n.Aside = true }))
	r.unchanged(func() { // a batch that has only members of kinds without retry would never end
		_, err := r.PublishBatch(ctx(), person, b.ID)
		r.refused(err, store.BatchIsEmpty)
	})
}

// proves: B2
func jobsJoinAPublishedBatch(r *rig) {
	b, members := r.published(1)
	join := func(id int64, aside bool) error {
		n := r.newJob()
		n.Batch, n.Aside = id, aside
		_, err := r.Enqueue(ctx(), []job.New{n})
		return err
	}
	r.is(join(99, false), store.ErrNotFound)
	r.is(join(99, true), store.ErrNotFound)
	r.ok(join(b.ID, false))
	r.inState(b.ID, job.BatchProcessing, 2, 0, 0, 0)
	draft := r.newBatch()
	r.refused(join(draft.ID, false), store.BatchIsDraft)
	r.ok(join(draft.ID, true))
	r.endAll()
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	r.refused(join(b.ID, false), store.BatchHasEnded)
	r.ok(join(b.ID, true))
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	same(r, "state of the first member", r.get(members[0].ID).State, job.Completed)
}

// proves: B2, R7
func membersAsideDoNotCount(r *rig) {
	b := r.newBatch()
	members := r.drafts(3)
	members[2].Aside, members[2].Kind = true, "detect"
	r.addMembers(b.ID, members)
	r.publish(b.ID)
	r.stepAll()
	r.inState(b.ID, job.BatchProcessing, 2, 0, 0, 0)
	r.endAll()
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	w := want(1, func(w *store.Want) { w.Kinds[0].Kind = "detect" })
	c := r.claim(w)[0]
	r.end(died(c, "InvalidInput", job.NonRetriable))
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	if d := r.letter(c.ID); !d.Aside || d.Batch != b.ID {
		r.fail("the dead letter has batch %d and aside %t, want batch %d and true", d.Batch, d.Aside, b.ID)
	}
	r.ok(r.retry(c.ID))
	r.inState(b.ID, job.BatchReady, 2, 2, 0, 0)
	same(r, "outcomes", len(r.outcomes(b.ID)), 1)
}

// proves: B4, I1
func aKeyIsOneMember(r *rig) {
	b := r.newBatch()
	members := r.drafts(2)
	r.addMembers(b.ID, members)
	again := r.drafts(3)
	receipts := r.addMembers(b.ID, again)
	same(r, "receipts of known members", receipts, []job.Receipt{
		{ID: members[0].ID, Existing: true}, {ID: members[1].ID, Existing: true}, {ID: again[2].ID}})
	repeated := r.drafts(1)
	repeated[0].Key = "k4"
	r.addMembers(b.ID, repeated)
	repeated[0].Repeat = true
	r.unchanged(func() {
		same(r, "receipt of a repeated call", r.addMembers(b.ID, repeated), []job.Receipt{{ID: repeated[0].ID}})
	})
	r.publish(b.ID)
	r.stepAll()
	r.unchanged(func() {
		same(r, "receipt of a repeated call", r.addMembers(b.ID, repeated), []job.Receipt{{ID: repeated[0].ID, State: job.Waiting}})
		same(r, "receipt of a published member", r.addMembers(b.ID, again[:1]), []job.Receipt{{ID: members[0].ID, Existing: true, State: job.Waiting}})
		bad := r.drafts(2)
		bad[0].Key, bad[1].Digest = "new", []byte("other")
		_, err := r.AddMembers(ctx(), b.ID, bad)
		conflict, ok := errors.AsType[*store.KeyConflict](err)
		if !ok || conflict.ID != members[1].ID || conflict.Key != "k2" || conflict.Index != 1 {
			r.fail("got error %v, want a conflict of the key k2 with job %d", err, members[1].ID)
		}
	})
	other := r.newBatch() // a key is unique in its batch only
	for _, receipt := range r.addMembers(other.ID, r.drafts(2)) {
		same(r, "a new member of another batch", receipt.Existing, false)
	}
	m, err := r.Member(ctx(), b.ID, "k2")
	r.ok(err)
	same(r, "member by its key", m.ID, members[1].ID)
	_, err = r.Member(ctx(), b.ID, "nobody")
	r.is(err, store.ErrNotFound)
}

// proves: B4
func badMembersLeaveNothing(r *rig) {
	b := r.newBatch(func(n *store.NewBatch) { n.Owner = "alice" })
	ids, err := r.ReserveIDs(ctx(), job.EnqueueMax+1)
	r.ok(err)
	many := make([]job.New, job.EnqueueMax+1)
	for i := range many {
		many[i] = job.New{ID: ids + job.ID(i), Kind: kind, Queue: queue, Priority: 2}
	}
	id := r.add()
	r.unchanged(func() {
		_, err := r.AddMembers(ctx(), b.ID, many)
		r.is(err, store.ErrTooLarge)
		for _, change := range []func(*job.New){
			func(n *job.New) { n.Owner = "bob" }, func(n *job.New) { n.Batch = 99 }, func(n *job.New) { n.Key = job.AliveKey + "x" },
			func(n *job.New) { n.KeyUntil = r.in(time.Hour) }, func(n *job.New) { n.Kind = "" }, func(n *job.New) { n.ID = id },
		} {
			members := r.drafts(2)
			change(&members[1])
			_, err := r.AddMembers(ctx(), b.ID, members)
			r.is(err, store.ErrInvalid, store.ErrConflict)
		}
		_, err = r.AddMembers(ctx(), 99, r.drafts(1))
		r.is(err, store.ErrNotFound)
	})
	r.set(store.QueueChange{Mode: new(store.Draining)})
	_, err = r.AddMembers(ctx(), b.ID, r.drafts(1))
	r.is(err, store.ErrDraining)
}

// part of: B3
func countsAndMembers(r *rig) {
	b, members := r.published(5)
	claims := r.claim(want(4))
	r.end(succeeded(claims[0]), died(claims[1], "InvalidInput", job.NonRetriable), failed(claims[2], "NetworkTimeout", time.Hour))
	late := r.drafts(1)
	late[0].Key, late[0].Aside = "late", true
	r.addMembers(b.ID, late)
	got := r.theBatch(b.ID)
	same(r, "counts", got.BatchCounts, store.BatchCounts{Total: 5, Completed: 1, Dead: 1, Running: 1})
	same(r, "waiting members, drafts and drafts aside", []int64{got.Waiting(), got.Drafts, got.AsideDrafts}, []int64{2, 0, 1})
	states := func(f store.MemberFilter) (all []job.State) {
		for after := job.ID(0); ; {
			p, err := r.Members(ctx(), b.ID, f, after)
			r.ok(err)
			for i := range p.Members {
				all = append(all, p.Members[i].State)
			}
			if after = p.Next; after == 0 {
				return all
			}
		}
	}
	all := []job.State{job.Completed, job.Dead, job.Retrying, job.Running, job.Waiting, job.None}
	same(r, "states of the members", states(store.MemberFilter{}), all)
	same(r, "states of the members, two a page", states(store.MemberFilter{Limit: 2}), all)
	same(r, "dead members", states(store.MemberFilter{State: job.Dead}), []job.State{job.Dead})
	same(r, "drafts", states(store.MemberFilter{Drafts: true}), []job.State{job.None})
	p, err := r.Members(ctx(), b.ID, store.MemberFilter{}, members[3].ID)
	r.ok(err)
	same(r, "members after the fourth", len(p.Members), 2)
	_, err = r.Members(ctx(), 99, store.MemberFilter{}, 0)
	r.is(err, store.ErrNotFound)
}

// proves: B1
func listOfBatches(r *rig) {
	first, _ := r.published(1, func(n *store.NewBatch) { n.Name, n.Owner = "Summer sale", "alice" })
	r.endAll()
	second := r.newBatch(func(n *store.NewBatch) { n.Name, n.Key = "winter", "w" })
	third, _ := r.published(2, func(n *store.NewBatch) { n.Owner = "bob" })
	list := func(f store.BatchFilter) (ids []int64) {
		for {
			p, err := r.BatchList(ctx(), f)
			r.ok(err)
			for _, b := range p.Batches {
				same(r, "batch in the list", b, r.theBatch(b.ID))
				ids = append(ids, b.ID)
			}
			if f.Before = p.Next; p.Next == 0 {
				return ids
			}
		}
	}
	same(r, "all batches", list(store.BatchFilter{Limit: 1}), []int64{third.ID, second.ID, first.ID})
	same(r, "batches by state", list(store.BatchFilter{State: job.BatchReady}), []int64{first.ID})
	same(r, "batches by owner", list(store.BatchFilter{Owner: "bob"}), []int64{third.ID})
	same(r, "batches by key", list(store.BatchFilter{Key: "w"}), []int64{second.ID})
	same(r, "batches by name", list(store.BatchFilter{Name: "SALE"}), []int64{first.ID})
}

// proves: B4
func startBatchIsOneCall(r *rig) {
	n := store.NewBatch{Key: "summer"}
	members := r.drafts(3)
	r.unchanged(func() {
		_, _, err := r.StartBatch(ctx(), person, n, nil)
		r.refused(err, store.BatchIsEmpty)
		bad := r.drafts(2)
		bad[1].Owner = "bob"
		_, _, err = r.StartBatch(ctx(), person, n, bad)
		r.is(err, store.ErrInvalid)
	})
	b, receipts, err := r.StartBatch(ctx(), person, n, members)
	r.ok(err)
	same(r, "state and total", []any{b.State, b.Total, b.Drafts}, []any{job.BatchProcessing, int64(3), int64(0)})
	for i, receipt := range receipts {
		same(r, "receipt", receipt, job.Receipt{ID: members[i].ID, State: job.Waiting})
	}
	for i := range members {
		members[i].Repeat = true
	}
	r.unchanged(func() {
		_, again, err := r.StartBatch(ctx(), person, n, members)
		r.ok(err)
		same(r, "receipts of a repeated call", again, receipts)
	})
	r.endAll()
	r.inState(b.ID, job.BatchReady, 3, 3, 0, 0)
}

// The key of a member outlives its job, and says how that ended: a cancelled member comes back by its
// key, also after retention has removed it, and the others do not.
//
// proves: B4
func keysOfRemovedMembers(r *rig) {
	b, members := r.published(3)
	r.ok(r.cancel(members[0].ID))
	r.endAll(members[1].ID)
	r.ok(r.actOn(store.ActResolve, members[1].ID))
	r.clock.Advance(2 * time.Hour)
	r.sweep(store.Retention{Completed: time.Hour, Dead: time.Hour}, 10)
	same(r, "jobs that are left", len(r.dump().Jobs), 0)
	again := r.drafts(3)
	same(r, "receipts", r.addMembers(b.ID, again), []job.Receipt{
		{ID: again[0].ID},
		{ID: members[1].ID, Existing: true, State: job.Dead},
		{ID: members[2].ID, Existing: true, State: job.Completed},
	})
}

// A batch goes with its outcomes and the keys of its members when its last end is old enough and no
// member is left.
//
// proves: Q6
func endedBatchesGo(r *rig) {
	keep := store.Retention{Completed: time.Hour, Dead: time.Hour, Batches: 10 * time.Hour}
	ready, _ := r.published(7)
	r.endAll()
	failed, members := r.published(1)
	r.endAll(members[0].ID)
	again, _ := r.published(1)
	r.endAll()
	draft := r.newBatch()
	r.clock.Advance(keep.Batches - time.Microsecond)
	r.addMembers(again.ID, r.drafts(1, func(n *job.New) { n.Key = "new" }))
	same(r, "batches that were removed early", r.sweep(keep, 100).Batches, int64(0))
	r.clock.Advance(time.Microsecond)
	same(r, "removed without a time", r.sweep(store.Retention{}, 100), store.Swept{})
	swept := r.sweep(keep, 5) // five keys a sweep
	same(r, "removed batches, keys of their members", []any{swept.Batches, swept.Keys}, []any{int64(1), int64(7)})
	_, err := r.Batch(ctx(), ready.ID)
	r.is(err, store.ErrNotFound)
	_, err = r.Outcomes(ctx(), ready.ID, 0)
	r.is(err, store.ErrNotFound)
	r.inState(failed.ID, job.BatchFailed, 1, 0, 1, 0) // its dead letter is pending
	r.inState(again.ID, job.BatchReady, 1, 1, 0, 0)   // it has a draft
	r.inState(draft.ID, job.BatchDraft, 0, 0, 0, 0)
	r.ok(r.actOn(store.ActResolve, members[0].ID))
	r.clock.Advance(time.Hour)
	r.sweep(keep, 100)
	r.sweep(keep, 100) // the first one may have removed the last member after it examined the batch
	_, err = r.Batch(ctx(), failed.ID)
	r.is(err, store.ErrNotFound)
	r.inState(again.ID, job.BatchReady, 1, 1, 0, 0)
	for _, k := range r.dump().Keys {
		if k.Owner == store.BatchMemberKey(ready.ID) || k.Owner == store.BatchMemberKey(failed.ID) {
			r.fail("the key %q of a batch that is gone is still there", k.Key)
		}
	}
}
