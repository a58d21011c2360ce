package storetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// batchOperationNames are the operations on batches, and what they must reach.
func batchOperationNames() []string {
	return []string{
		"CreateBatch", "StartBatch", "AddMembers", "PublishBatch", "StepBatches", "CancelBatch", "DiscardBatch", "SetBatch", "Batch", "BatchList",
		"Members", "Member", "Outcomes", "batch that ends", "batch that is reopened", "batch that expires", "member that is known",
		"cancelled member that comes back",
	}
}

// batch draws the number of a batch. Most of these batches exist.
func (d *duel) batch() int64 {
	if len(d.last.Batches) == 0 || chance(d.t, "no such batch", 12) {
		return 99
	}
	all := d.last.Batches
	return all[rapid.IntRange(max(0, len(all)-3), len(all)-1).Draw(d.t, "batch")].ID
}

func (d *duel) createBatch() {
	t := d.t
	n := store.NewBatch{Owner: pick(t, "owner", "", "alice"), Key: pick(t, "batch key", "", "", "b1", "b2"), Name: pick(t, "name", "first", "Second")}
	callbacks := 2
	if d.apart {
		callbacks = 0 // their jobs would have other ids
	}
	for range rapid.IntRange(0, callbacks).Draw(t, "callbacks") {
		n.Callbacks = append(n.Callbacks, store.BatchCallback{On: pick(t, "on", "end", "ready", "partial", "failed"), Kind: d.kind(), Queue: d.queue()})
	}
	if chance(t, "expires", 2) {
		n.ExpiresAt = d.now().Add(d.tick("expires at"))
	}
	by := pick(t, "by", store.By{}, person)
	if chance(t, "draft", 2) {
		d.each("CreateBatch", func(s store.Store) (any, error) { return s.CreateBatch(ctx(), by, n) })
		return
	}
	members := d.members(n.Owner)
	type started struct {
		Batch    store.Batch
		Receipts []job.Receipt
	}
	a := d.each("StartBatch", func(s store.Store) (any, error) {
		b, receipts, err := s.StartBatch(ctx(), by, n, members)
		return started{b, receipts}, err
	})
	if a.Err == "" {
		d.gotMembers(a.Value.(started).Receipts)
	}
}

// members draws new members for a batch.
func (d *duel) members(owner string) []job.New {
	t := d.t
	n := rapid.IntRange(1, 3).Draw(t, "number of members")
	first := d.reserve(n)
	members := make([]job.New, n)
	for i := range members {
		members[i] = job.New{ID: first + job.ID(i), Kind: d.kind(), Queue: d.queue(), Priority: job.PriorityDefault,
			Payload: pick(t, "payload", nil, []byte("p"), make([]byte, 1025)), Aside: chance(t, "aside", 4), Correlation: pick(t, "correlation", "", "req-7")}
		if chance(t, "keyed", 2) {
			members[i].Key, members[i].Digest = pick(t, "member key", "m1", "m2", "m3"), []byte(pick(t, "digest", "d1", "d1", "d1", "d2"))
		}
		if chance(t, "scheduled", 4) {
			members[i].RunAt = d.now().Add(d.tick("due"))
		}
		switch rapid.IntRange(0, 29).Draw(t, "bad member") {
		case 29:
			members[i].Owner = owner + "x"
		case 28:
			members[i].Key = job.AliveKey + "a"
		}
	}
	return members
}

func (d *duel) gotMembers(receipts []job.Receipt) {
	for _, r := range receipts {
		if r.Existing {
			d.did("member that is known", 1)
		} else {
			d.ids = append(d.ids, r.ID)
		}
	}
}

func (d *duel) addMembers() {
	id := d.batch()
	members := d.members("")
	if chance(d.t, "comes back", 2) {
		members = members[:1]
		id = d.cancelledMember(id, &members[0])
	}
	a := d.each("AddMembers", func(s store.Store) (any, error) { return s.AddMembers(ctx(), id, members) })
	if a.Err == "" {
		d.gotMembers(a.Value.([]job.Receipt))
		if again := d.each("AddMembers", func(s store.Store) (any, error) { return s.AddMembers(ctx(), id, members) }); again.Err == "" {
			d.gotMembers(again.Value.([]job.Receipt))
		}
		if slices.ContainsFunc(d.last.Drafts, func(m store.Member) bool { return m.Replaces != 0 }) {
			d.did("cancelled member that comes back", 1)
		}
	}
}

// startGood starts a batch of two members with keys, which nothing but the state of their queue can refuse.
func (d *duel) startGood() {
	first := d.reserve(2)
	members := make([]job.New, 2)
	for i := range members {
		members[i] = job.New{ID: first + job.ID(i), Kind: "a", Queue: "y", Priority: job.PriorityDefault, Key: fmt.Sprintf("good%d", i), Digest: []byte("d1")}
	}
	d.each("StartBatch", func(s store.Store) (any, error) {
		b, _, err := s.StartBatch(ctx(), store.By{}, store.NewBatch{}, members)
		return b, err
	})
}

// cancelledMember gives a new member the key of a cancelled one, because a random key is rarely that. It
// cancels one if no member is cancelled, and returns the number of the batch.
func (d *duel) cancelledMember(id int64, n *job.New) int64 {
	if !slices.ContainsFunc(d.last.Keys, func(k store.Key) bool { return strings.HasPrefix(k.Key, "good") }) {
		d.startGood()
	}
	for i := range d.last.Jobs {
		j := &d.last.Jobs[i]
		if j.Batch == 0 || !j.State.Ready() && j.State != job.Cancelled || !slices.ContainsFunc(d.last.Keys, func(k store.Key) bool {
			return k.Job == j.ID && k.Owner == store.BatchMemberKey(j.Batch)
		}) {
			continue
		}
		id, n.Key, n.Digest = j.Batch, j.Key, []byte("d1")
		if j.State.Ready() {
			d.each("Cancel", func(s store.Store) (any, error) {
				errs, err := s.Cancel(ctx(), person, []job.ID{j.ID})
				return sentinels(errs), err
			})
		}
		break
	}
	return id
}

func (d *duel) publishBatch() {
	id := d.batch()
	d.each("PublishBatch", func(s store.Store) (any, error) { return s.PublishBatch(ctx(), person, id) })
}

func (d *duel) stepBatches() {
	limit := pick(d.t, "limit", 1, 2, 3, store.StepMax)
	d.each("StepBatches", func(s store.Store) (any, error) { return s.StepBatches(ctx(), limit) })
}

func (d *duel) changeBatch() {
	t, id := d.t, d.batch()
	switch rapid.IntRange(0, 3).Draw(t, "change of a batch") {
	case 0:
		d.each("CancelBatch", func(s store.Store) (any, error) { return s.CancelBatch(ctx(), person, id) })
	case 1:
		d.each("DiscardBatch", func(s store.Store) (any, error) { return s.DiscardBatch(ctx(), person, id, nil) })
	case 2:
		ids := some(t, "drafts", 2, func(int) job.ID {
			if len(d.last.Drafts) == 0 {
				return d.id()
			}
			return d.last.Drafts[rapid.IntRange(0, len(d.last.Drafts)-1).Draw(t, "draft")].ID
		})
		d.each("DiscardBatch", func(s store.Store) (any, error) { return s.DiscardBatch(ctx(), person, id, ids) })
	default:
		at := pick(t, "at", 0, d.now().Add(d.tick("expires at")))
		d.each("SetBatch", func(s store.Store) (any, error) { return s.SetBatch(ctx(), person, id, at) })
		if at > 0 && chance(t, "expires now", 2) {
			d.clock.Advance(max(0, at.Sub(d.now())))
			d.stepBatches()
		}
	}
}

// endMembers claims jobs and ends the running members, so that batches end.
func (d *duel) endMembers() {
	if chance(d.t, "of a new batch", 2) {
		d.startGood()
	}
	d.claimAll()
	x := store.Exchange{Holder: d.holder(), Lease: lease}
	for i := range d.last.Jobs {
		j := &d.last.Jobs[i]
		if j.State != job.Running || j.Batch == 0 {
			continue
		}
		c := job.Claim{ID: j.ID, Token: j.Token}
		x.Settle = append(x.Settle, pick(d.t, "end of a member", succeeded(c), died(c, "A", job.NonRetriable)))
	}
	d.bring(x)
	d.stepBatches()
	var dead []job.ID
	for i := range slices.Backward(d.last.Jobs) {
		if j := &d.last.Jobs[i]; j.State == job.Dead && j.Batch != 0 && len(dead) < 2 {
			dead = append(dead, j.ID)
		}
	}
	if chance(d.t, "retry of members", 2) {
		d.each("Act", func(s store.Store) (any, error) {
			return actedOf(s.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: dead}))
		})
	}
}

func (d *duel) readBatches() {
	t, id := d.t, d.batch()
	d.ask("Batch", func(s store.Store) (any, error) { return s.Batch(ctx(), id) })
	d.ask("Outcomes", func(s store.Store) (any, error) { return s.Outcomes(ctx(), id, rapidAfter(id)) })
	f := store.BatchFilter{State: pick(t, "state", job.BatchNone, job.BatchDraft, job.BatchProcessing, job.BatchReady), Owner: pick(t, "owner", "", "alice"),
		Name: pick(t, "name", "", "sec"), Limit: pick(t, "limit", 0, 1, 2)}
	a := d.ask("BatchList", func(s store.Store) (any, error) { return s.BatchList(ctx(), f) })
	if next := a.Value.(store.BatchPage).Next; next != 0 {
		f.Before = next
		d.ask("BatchList", func(s store.Store) (any, error) { return s.BatchList(ctx(), f) })
	}
	m := store.MemberFilter{State: pick(t, "member state", job.None, job.Waiting, job.Dead, job.Completed), Limit: pick(t, "limit", 0, 1, 2)}
	m.Drafts = m.State == job.None && chance(t, "drafts", 3)
	d.ask("Members", func(s store.Store) (any, error) { return s.Members(ctx(), id, m, 0) })
	key := pick(t, "member key", "m1", "m2", "m3")
	d.ask("Member", func(s store.Store) (any, error) { return s.Member(ctx(), id, key) })
	for i := range d.last.Drafts {
		if m := &d.last.Drafts[i]; m.Key != "" {
			d.ask("Member", func(s store.Store) (any, error) { return s.Member(ctx(), m.Batch, m.Key) })
		}
	}
}

func rapidAfter(id int64) int64 { return id % 2 }

// sawBatch counts what an event of a batch shows.
func (d *duel) sawBatch(e *event.Event) {
	if e.Type != event.BatchChanged {
		return
	}
	switch state, _ := job.ParseBatchState(strings.ToUpper(e.Reason)); {
	case endsBatch(e):
		d.did("batch that ends", 1)
	case state == job.BatchProcessing:
		d.did("batch that is reopened", 1)
	case state == job.BatchExpired:
		d.did("batch that expires", 1)
	}
}
