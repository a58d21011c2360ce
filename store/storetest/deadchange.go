package storetest

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: D5
//
// A retry can change a priority for one life only. After that life, the job has its own priority
// again, whether the retry was by ids or by a filter.
func priorityForOneLife(r *rig) {
	all := r.dieAll(4, "A")
	lent := store.Change{Priority: job.PriorityMax, Once: true}
	same(r, "retried", r.act(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Change: lent}), int64(4))
	for _, id := range all {
		same(r, "priority of the life", r.get(id).Priority, int8(job.PriorityMax))
		_, err := r.Original(ctx(), id)
		r.is(err, store.ErrNotFound)
	}
	for range all {
		r.end(died(r.take(), "A", job.NonRetriable))
	}
	for _, id := range all {
		same(r, "priority after the death", r.get(id).Priority, int8(job.PriorityDefault))
	}
	r.ok(r.actOn(store.ActRetry, all[0], func(a *store.Action) { a.Change = lent }))
	same(r, "priority by id", r.get(all[0]).Priority, int8(job.PriorityMax))
	o := failed(r.takeID(all[0]), "A", 0)
	o.Priority = 3 // an outcome changes the priority only for this life
	r.end(o)
	r.end(died(r.takeID(all[0]), "A", job.NonRetriable))
	same(r, "priority after the third life", r.get(all[0]).Priority, int8(job.PriorityDefault))

	// The other changes of such a retry are permanent. The stored original values have the job's
	// own priority.
	change := lent
	change.Queue = "night"
	r.ok(r.actOn(store.ActRetry, all[1], func(a *store.Action) { a.Change = change }))
	original, err := r.Original(ctx(), all[1])
	r.ok(err)
	same(r, "original", []any{original.Queue, original.Priority}, []any{queue, int8(job.PriorityDefault)})
	r.end(died(r.takeID(all[1]), "A", job.NonRetriable))
	j := r.get(all[1])
	same(r, "dead again", []any{j.Queue, j.Priority}, []any{"night", int8(job.PriorityDefault)})
	r.ok(r.actOn(store.ActRetry, all[1], func(a *store.Action) { a.Change.Priority = 1 }))
	r.end(died(r.takeID(all[1]), "A", job.NonRetriable))
	same(r, "priority after a permanent change", r.get(all[1]).Priority, int8(1))
}

// proves: Q9
// part of: D5
func changesAreAudited(r *rig) {
	id := r.die("A")
	change := store.Change{Payload: []byte("secret"), Queue: "night", Priority: 1, Override: []byte(`{"max_retries":3}`), Delay: new(time.Nanosecond)}
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change = change }))
	r.clock.Advance(1000)
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	f := store.DeadFilter{Class: "A"}
	r.act(store.Action{Do: store.ActRetry, Filter: &f, Change: store.Change{Priority: 4, Once: true, Override: []byte{}}})
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	r.startRedrive(canaryOf(-1), func(s *store.RedriveSpec) { s.Change.Queue = "day" })
	var rows []string
	for _, a := range r.audit() {
		rows = append(rows, fmt.Sprintf("%s %s", a.Action, a.After))
	}
	same(r, "audit", rows, []string{
		`job.retry {"state":"waiting","change":{"payload":{"bytes":6,"sha256":"2bb80d537b1da3e38bd30361aa855686"},"queue":"night","priority":1,"policy":{"max_retries":3},"delay":"1ns"}}`,
		`dead_letter.retry {"done":1,"through":2,"after":0,"change":{"priority":4,"once":true,"policy":null}}`,
		`redrive.start {"filter":{"statuses":["pending"]},"through":3,"total":1,"canary":0,"stop_share":0.2,"stop_other":0.5,"stop_dead":0.2,"change":{"queue":"day","priority":4,"once":true}}`,
	})
}
