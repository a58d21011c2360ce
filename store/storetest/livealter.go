package storetest

import (
	"errors"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func alterPromises() []promise {
	return []promise{
		{"Q9_WaitingJobsAreAltered", waitingJobsAreAltered},
		{"Q2_RunNowAndLater", runNowAndLater},
		{"Q2_AlteredJobIsClaimedWhereItIs", alteredJobIsClaimedWhereItIs},
		{"Q9_OnlyWaitingJobsAreAltered", onlyWaitingJobsAreAltered},
		{"D5_AlterKeepsTheOriginal", alterKeepsTheOriginal},
		{"Q6_OriginalGoesWithItsJob", originalGoesWithItsJob},
		{"I1_AlteredPayloadTakesItsKey", alteredPayloadTakesItsKey},
		{"I1_RepeatOfAnAlteredJob", repeatOfAnAlteredJob},
		{"D5_AlterEndsAPriorityForOneLife", alterEndsAPriorityForOneLife},
		{"Q9_AlterIsAudited", alterIsAudited},
		{"X3_BadChangesAreRefused", badChangesAreRefused},
		{"Q9_LiveJobsAreCancelledByFilter", liveJobsAreCancelledByFilter},
		{"Q9_LiveJobsAreAlteredByFilter", liveJobsAreAlteredByFilter},
		{"Q9_LiveFilters", liveFilters},
		{"Q9_LiveSetStaysFrozen", liveSetStaysFrozen},
		{"Q9_LiveActsAreAudited", liveActsAreAudited},
		{"X3_BadLiveActionsAreRefused", badLiveActionsAreRefused},
		{"Q9_LiveRedriveIsStoppedAndContinued", liveRedriveIsStoppedAndContinued},
		{"Q9_LiveRedriveKeepsItsRate", liveRedriveKeepsItsRate},
		{"Q9_LiveRedriveIsStored", liveRedriveIsStored},
	}
}

// alter changes one job and returns its error.
func (r *rig) alter(id job.ID, c store.Change) error {
	errs, err := r.Alter(ctx(), person, []job.ID{id}, c)
	return r.only(errs, err)
}

// proves: Q9
func waitingJobsAreAltered(r *rig) {
	change := store.Change{Queue: "night", Priority: 1, Override: []byte(`{"p":1}`), Payload: []byte("other"), Delay: new(time.Hour)}
	id := r.add(everyField)
	before, at := r.get(id), r.cursor()
	r.clock.Advance(time.Second)
	r.ok(r.alter(id, change))
	want := before
	want.Queue, want.Priority, want.Override, want.Payload = "night", 1, []byte(`{"p":1}`), []byte("other")
	want.RunAt, want.LifeAt = r.in(time.Hour), r.in(time.Hour)
	same(r, "waiting job", r.get(id), want)
	events := r.events(at)
	same(r, "number of events", len(events), 1)
	events[0].Cursor = event.Cursor{}
	same(r, "event", events[0], event.Event{At: r.now(), Type: event.JobAltered, Job: id, Kind: want.Kind, Queue: "night", Owner: want.Owner,
		Batch: want.Batch, Life: 1, DueAt: want.RunAt})

	id = r.add()
	r.end(failed(r.take(), "NetworkTimeout", time.Hour))
	before = r.get(id)
	r.clock.Advance(time.Second)
	r.ok(r.alter(id, store.Change{Queue: "night", Override: []byte{}, Payload: make([]byte, 5000)}))
	want = before
	want.Queue, want.Override, want.Payload = "night", []byte{}, make([]byte, 5000)
	same(r, "retrying job", r.get(id), want) // the changed job keeps its state, due time and number of attempts
	r.unchanged(func() { r.ok(r.alter(id, store.Change{Queue: "night", Payload: make([]byte, 5000)})) })
	r.ok(r.alter(id, store.Change{Payload: []byte("short")}))
	same(r, "payload that was long", string(r.get(id).Payload), "short")
}

// proves: Q2, Q9
func runNowAndLater(r *rig) {
	now, later := store.Change{Delay: new(time.Duration(0))}, store.Change{Delay: new(time.Hour)}
	first, second := r.add(), r.add()
	r.clock.Advance(time.Second)
	r.unchanged(func() { r.ok(r.alter(first, now)) }) // the job is already due and keeps its position in the queue
	scheduled := r.add(func(n *job.New) { n.RunAt = r.in(24 * time.Hour) })
	r.ok(r.alter(scheduled, now))
	j := r.get(scheduled)
	same(r, "due and life from", []job.Micros{j.RunAt, j.LifeAt}, []job.Micros{r.now(), r.now()})
	r.ok(r.alter(first, later))
	same(r, "first and second to run", []job.ID{r.take().ID, r.take().ID}, []job.ID{second, scheduled})
	r.none()
	r.clock.Advance(time.Hour)
	c := r.take()
	same(r, "later", []any{c.ID, c.LifeAt}, []any{first, r.now()})

	r.end(failed(c, "NetworkTimeout", 24*time.Hour))
	r.clock.Advance(time.Second)
	r.ok(r.alter(first, now))
	j = r.get(first)
	same(r, "retry that is due now", []any{j.State, j.RunAt, j.LifeAt, j.Counters.Attempts}, []any{job.Retrying, r.now(), c.LifeAt, int32(1)})
	same(r, "run", r.take().ID, first)
}

// proves: Q2, Q9
// part of: B3
func alteredJobIsClaimedWhereItIs(r *rig) {
	moved := r.add(func(n *job.New) { n.Deps = "s3" })
	urgent, other := r.add(), r.add()
	r.ok(r.alter(urgent, store.Change{Priority: 1}))
	r.ok(r.alter(other, store.Change{Priority: 4}))
	r.ok(r.alter(moved, store.Change{Queue: "night"}))
	same(r, "order", []job.ID{r.take().ID, r.take().ID}, []job.ID{urgent, other})
	r.none()
	claims := r.claim(want(1, func(w *store.Want) { w.Queue = "night" }))
	same(r, "number of claims", len(claims), 1)
	same(r, "claim", []any{claims[0].ID, claims[0].Queue}, []any{moved, "night"})
	r.end(succeeded(claims[0]))
	counts, err := r.Counts(ctx())
	r.ok(err)
	same(r, "counts", counts, []store.Count{{Queue: queue, Kind: kind, State: job.Running, N: 2}, {Queue: "night", Kind: kind, State: job.Completed, N: 1}})
	queues, err := r.Queues(ctx())
	r.ok(err)
	same(r, "queues", []string{queues[0].Name, queues[1].Name}, []string{queue, "night"})
}

// proves: Q9
func onlyWaitingJobsAreAltered(r *rig) {
	dead := r.dead()
	completed := r.add()
	r.end(succeeded(r.takeID(completed)))
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	running := r.takeID(r.add()).ID
	change := store.Change{Priority: 1}
	r.unchanged(func() {
		for _, id := range []job.ID{dead, completed, cancelled, running} {
			r.is(r.alter(id, change), store.ErrConflict)
		}
		r.is(r.alter(1<<40, change), store.ErrNotFound)
	})
	waiting := r.add()
	errs, err := r.Alter(ctx(), person, []job.ID{dead, waiting, 1 << 40, waiting}, change)
	r.ok(err)
	for i, want := range []error{store.ErrConflict, nil, store.ErrNotFound, nil} {
		r.is(errs[i], want)
	}
	same(r, "priority", r.get(waiting).Priority, int8(1))
}

// proves: D5
func alterKeepsTheOriginal(r *rig) {
	id := r.add(everyField)
	first := r.get(id)
	r.ok(r.alter(id, store.Change{Delay: new(time.Minute)}))
	_, err := r.Original(ctx(), id)
	r.is(err, store.ErrNotFound) // the stored original values do not include the due time
	r.clock.Advance(time.Second)
	at := r.now()
	r.ok(r.alter(id, store.Change{Queue: "night", Priority: 1}))
	r.clock.Advance(time.Second)
	r.ok(r.alter(id, store.Change{Queue: "day", Payload: []byte("second")}))
	r.ok(r.alter(id, store.Change{Payload: []byte("third"), Override: []byte{}}))
	o, err := r.Original(ctx(), id)
	r.ok(err)
	same(r, "original", o, store.Original{Job: id, At: at, By: person.Actor, Queue: first.Queue, Priority: first.Priority,
		Override: first.Override, Payload: first.Payload})

	// A later retry of the job does not replace the stored original values.
	r.clock.Advance(time.Minute)
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change = store.Change{Queue: "gpu", Payload: []byte("fourth")} }))
	again, err := r.Original(ctx(), id)
	r.ok(err)
	same(r, "original after a retry", again, o)
}

// proves: Q6
// part of: D5
func originalGoesWithItsJob(r *rig) {
	id := r.add()
	r.ok(r.alter(id, store.Change{Priority: 1}))
	r.end(succeeded(r.takeID(id)))
	r.complete()
	_, err := r.Original(ctx(), id)
	r.ok(err) // the store keeps the original values as long as it keeps the job
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Completed: time.Hour}, 10)
	_, err = r.Get(ctx(), id)
	r.is(err, store.ErrNotFound)
	_, err = r.Original(ctx(), id)
	r.is(err, store.ErrNotFound)
	same(r, "number of originals", len(r.dump().Originals), 0)
}

// proves: I1
func alteredPayloadTakesItsKey(r *rig) {
	was, is := payloadKey(job.AliveKey, `{"a":1}`), payloadKey(job.AliveKey, `{"a":2}`)
	var named job.New
	is(&named)
	id, other := r.add(was), r.add(is)
	change := store.Change{Payload: []byte(`{"a": 2}`)}
	r.unchanged(func() { r.is(r.alter(id, change), store.ErrConflict) })
	r.ok(r.cancel(other))
	r.ok(r.alter(id, change))
	same(r, "key of the job", r.get(id).Key, named.Key)
	r.existing(id, job.Waiting, is)
	fresh := r.newJob(was)
	same(r, "receipt of the old payload", r.enqueue(fresh)[0], job.Receipt{ID: fresh.ID, State: job.Waiting})
	r.unchanged(func() { r.is(r.alter(id, store.Change{Payload: []byte(`{"a":1}`)}), store.ErrConflict) })
}

// The answer to an enqueue is lost, and a person changes the job before the call is
// repeated.
//
// proves: I1
func repeatOfAnAlteredJob(r *rig) {
	n := r.newJob(payloadKey(job.AliveKey, `{"a":1}`))
	r.enqueue(n)
	r.ok(r.alter(n.ID, store.Change{Payload: []byte(`{"a":2}`), Queue: "night"}))
	n.Repeat = true
	same(r, "receipt", r.enqueue(n)[0], job.Receipt{ID: n.ID, State: job.Waiting})
	same(r, "payload", string(r.get(n.ID).Payload), `{"a":2}`)
	n.Owner = "somebody else"
	_, err := r.Enqueue(ctx(), []job.New{n})
	if conflict, _ := errors.AsType[*store.IDConflict](err); conflict == nil {
		r.fail("repeated enqueue of another job with the same id: got error %v, want an IDConflict", err)
	}
}

// proves: D5
func alterEndsAPriorityForOneLife(r *rig) {
	id := r.die("A")
	lent := store.Change{Priority: job.PriorityMax, Once: true}
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change = lent }))
	r.ok(r.alter(id, store.Change{Queue: "night"}))
	original, err := r.Original(ctx(), id)
	r.ok(err)
	same(r, "original priority", original.Priority, int8(job.PriorityDefault))
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	same(r, "priority after the death", r.get(id).Priority, int8(job.PriorityDefault))
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change = lent }))
	r.ok(r.alter(id, store.Change{Priority: 1}))
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	same(r, "priority after a change for good", r.get(id).Priority, int8(1))
}

// proves: Q9
// part of: X2
func alterIsAudited(r *rig) {
	id := r.add()
	r.ok(r.alter(id, store.Change{Queue: "night", Priority: 1, Payload: []byte("secret"), Delay: new(time.Duration(0)), Override: []byte(`{"p":1}`)}))
	r.is(r.alter(id+1000, store.Change{Priority: 1}), store.ErrNotFound)
	r.ok(r.alter(id, store.Change{Priority: 1})) // nothing changes, so there is no audit row
	same(r, "audit", r.audit(), []store.Audit{{
		Seq: 1, At: r.now(), Actor: "ann", Action: "job.alter", Target: id.String(), Reason: "because", Before: "waiting",
		After: `{"state":"waiting","change":{"payload":{"bytes":6,"sha256":"2bb80d537b1da3e38bd30361aa855686"},"queue":"night","priority":1,"policy":{"p":1},"delay":"0s"}}`,
	}})
}

// proves: X3
func badChangesAreRefused(r *rig) {
	id := r.add()
	r.unchanged(func() {
		for _, tt := range []struct {
			name string
			ids  []job.ID
			c    store.Change
			want error
		}{
			{"empty", []job.ID{id}, store.Change{}, store.ErrInvalid},
			{"once", []job.ID{id}, store.Change{Priority: 1, Once: true}, store.ErrInvalid},
			{"payload of two jobs", []job.ID{id, id}, store.Change{Payload: []byte("p")}, store.ErrInvalid},
			{"payload", []job.ID{id}, store.Change{Payload: make([]byte, job.PayloadMax+1)}, store.ErrTooLarge},
			{"settings", []job.ID{id}, store.Change{Override: make([]byte, job.PolicyMax+1)}, store.ErrTooLarge},
			{"queue", []job.ID{id}, store.Change{Queue: "no good"}, store.ErrInvalid},
			{"priority", []job.ID{id}, store.Change{Priority: 5}, store.ErrInvalid},
			{"negative delay", []job.ID{id}, store.Change{Delay: new(-time.Second)}, store.ErrInvalid},
			{"long delay", []job.ID{id}, store.Change{Delay: new(store.DelayMax + 1)}, store.ErrInvalid},
			{"too many ids", make([]job.ID, job.IDsMax+1), store.Change{Priority: 1}, store.ErrTooLarge},
		} {
			if _, err := r.Alter(ctx(), person, tt.ids, tt.c); !errors.Is(err, tt.want) {
				r.fail("%s: got error %v, want %v", tt.name, err, tt.want)
			}
		}
		_, err := r.Alter(ctx(), store.By{}, []job.ID{id}, store.Change{Priority: 1})
		r.is(err, store.ErrInvalid)
	})
}
