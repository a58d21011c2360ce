package storetest

import (
	"encoding/json"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func queuePromises() []promise {
	return []promise{
		{"Q7_PausedGivesNothing", pausedGivesNothing},
		{"Q7_DrainingTakesNothing", drainingTakesNothing},
		{"Q7_SettingsStayUntilTakenBack", settingsStayUntilTakenBack},
		{"Q7_SettingsReachTheProcesses", settingsReachTheProcesses},
		{"Q7_UnknownQueueIsNotFound", unknownQueueIsNotFound},
		{"Q7_DeclareMakesKnown", declareMakesKnown},
		{"Q9_QueueChangeIsAuditedAndPublished", queueChangeIsAuditedAndPublished},
	}
}

// proves: Q7
func pausedGivesNothing(r *rig) {
	running := r.takeID(r.add())
	waiting := r.add()
	r.set(store.QueueChange{Mode: new(store.Paused)})
	r.none()
	later := r.add() // a paused queue still accepts new jobs
	r.none()
	r.end(failed(running, "NetworkTimeout", 0)) // a job that was running before the pause may still end
	r.none()
	same(r, "status", r.get(waiting).State, job.Waiting)
	other := r.add(func(n *job.New) { n.Queue = "other" })
	same(r, "claim of another queue", r.take(func(w *store.Want) { w.Queue = "other" }).ID, other)

	r.set(store.QueueChange{Mode: new(store.Open)})
	same(r, "claims", ids(r.claim(want(9))), []job.ID{running.ID, waiting, later})
}

// proves: Q7
func drainingTakesNothing(r *rig) {
	first, second := r.add(), r.add()
	r.set(store.QueueChange{Mode: new(store.Draining)})
	r.refuse(store.ErrDraining, r.newJob(func(n *job.New) { n.Queue = "other" }), r.newJob())
	c := r.take()
	same(r, "claim", c.ID, first)
	r.end(failed(c, "NetworkTimeout", 0)) // jobs that are in the queue before it drains stay there
	same(r, "claims", ids(r.claim(want(9))), []job.ID{first, second})
	r.set(store.QueueChange{Mode: new(store.Open)})
	r.add()
}

// proves: Q7
func settingsStayUntilTakenBack(r *rig) {
	r.add()
	rate := store.Rate{N: 5, Per: time.Minute}
	got := r.set(store.QueueChange{Workers: new(3), Limit: new(7), Rate: &rate})
	want := store.Queue{Name: queue, Workers: 3, Limit: 7, Rate: rate}
	same(r, "queue", got, want)
	got = r.set(store.QueueChange{Mode: new(store.Paused)})
	want.Mode = store.Paused
	same(r, "queue", got, want)
	got = r.set(store.QueueChange{Limit: new(0), Rate: &store.Rate{}})
	want.Limit, want.Rate = 0, store.Rate{}
	same(r, "queue", got, want)
	queues, err := r.Queues(ctx())
	r.ok(err)
	same(r, "queues", queues, []store.Queue{want})
}

// proves: Q7
func settingsReachTheProcesses(r *rig) {
	r.add()
	r.set(store.QueueChange{Workers: new(1)})
	s, err := r.Signals(ctx(), "any")
	r.ok(err)
	same(r, "signals", s.Queues, []store.Queue{{Name: queue, Workers: 1}})
}

// proves: Q7
func unknownQueueIsNotFound(r *rig) {
	r.add()
	r.unchanged(func() {
		_, err := r.SetQueue(ctx(), person, store.QueueChange{Name: "mian", Mode: new(store.Paused)})
		r.is(err, store.ErrNotFound)
	})
}

// proves: Q7
func declareMakesKnown(r *rig) {
	r.ok(r.Declare(ctx(), []string{"b", "a"}))
	r.set(store.QueueChange{Name: "a", Mode: new(store.Paused)})
	r.unchanged(func() { r.ok(r.Declare(ctx(), []string{"a", "b"})) })
	r.unchanged(func() { r.is(r.Declare(ctx(), []string{"c", "no good"}), store.ErrInvalid) })
	queues, err := r.Queues(ctx())
	r.ok(err)
	same(r, "queues", queues, []store.Queue{{Name: "a", Mode: store.Paused}, {Name: "b"}})
}

// proves: Q9
// part of: X2
func queueChangeIsAuditedAndPublished(r *rig) {
	r.add()
	at := r.cursor()
	after := r.set(store.QueueChange{Mode: new(store.Paused), Workers: new(2)})
	text := func(q store.Queue) string {
		b, err := json.Marshal(q)
		r.ok(err)
		return string(b)
	}
	same(r, "audit", r.audit(), []store.Audit{{
		Seq: 1, At: r.now(), Actor: "ann", Action: "queue.set", Target: queue, Reason: "because",
		Before: text(store.Queue{Name: queue}), After: text(after),
	}})
	same(r, "events", renumbered(r.events(at)), []event.Event{{
		Cursor: event.Cursor{Seq: 1, Index: 1}, At: r.now(), Type: event.QueueChanged, Queue: queue, Reason: "paused",
	}})
}
