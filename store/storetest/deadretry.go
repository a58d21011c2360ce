package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: D5
func retryChanges(r *rig) {
	id := r.die("A", everyField)
	before := r.get(id)
	r.clock.Advance(time.Minute)
	changed := store.Change{Payload: []byte(`{"long":` + strings.Repeat("1", 2000) + "}"), Queue: "night", Priority: 4, Override: []byte(`{"max_retries":9}`)}
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change, a.Note = changed, "smaller file" }))
	want := before
	want.State, want.Life, want.Counters, want.LifeAt, want.RunAt = job.Waiting, 2, job.Counters{}, r.now(), r.now()
	want.ClaimedAt, want.FinishedAt, want.Holder, want.Reason = 0, 0, "", ""
	want.Payload, want.Queue, want.Priority, want.Override = changed.Payload, "night", 4, changed.Override
	same(r, "job", r.get(id), want)
	o, err := r.Original(ctx(), id)
	r.ok(err)
	same(r, "original", o, store.Original{
		Job: id, At: r.now(), By: person.Actor, Queue: before.Queue, Priority: before.Priority, Override: before.Override, Payload: before.Payload,
	})
	l := r.letter(id)
	same(r, "entry", []any{l.Queue, l.Status, l.Note, l.ActedBy}, []any{before.Queue, job.Redriven, "smaller file", person.Actor})
	c := r.takeID(id)
	same(r, "claim", []any{string(c.Payload), c.Queue, c.Priority, string(c.Override)},
		[]any{string(changed.Payload), "night", int8(4), `{"max_retries":9}`})
	r.end(succeeded(c))
}

// proves: D5
func originalIsOfTheFirst(r *rig) {
	id := r.die("A", func(n *job.New) { n.Payload = []byte("one") })
	_, err := r.Original(ctx(), id)
	r.is(err, store.ErrNotFound)
	r.ok(r.retry(id))
	_, err = r.Original(ctx(), id)
	r.is(err, store.ErrNotFound) // no retry has changed the job, so it has no original values
	for _, payload := range []string{"two", "three", ""} {
		r.end(died(r.takeID(id), "A", job.NonRetriable))
		r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change.Payload = []byte(payload) }))
		same(r, "payload", string(r.get(id).Payload), payload)
		o, err := r.Original(ctx(), id)
		r.ok(err)
		same(r, "original payload", string(o.Payload), "one")
	}
	_, err = r.Original(ctx(), 1<<40)
	r.is(err, store.ErrNotFound)
}

// The store keeps the payload of a job as an original value only when a retry has replaced the
// payload.
//
// proves: D5
func originalPayload(r *rig) {
	long := strings.Repeat("1", 3000)
	for _, payload := range []string{"", "one", long} {
		r.clock.Advance(time.Minute)
		id := r.die("A", func(n *job.New) { n.Payload = []byte(payload) })
		retried := func(c store.Change) store.Original {
			r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change = c }))
			o, err := r.Original(ctx(), id)
			r.ok(err)
			r.end(died(r.takeID(id), "A", job.NonRetriable))
			return o
		}
		began := r.now()
		moved := retried(store.Change{Queue: "night", Override: []byte(`{"max_retries":1}`)})
		same(r, "with its payload", []any{moved.Payload == nil, string(r.get(id).Payload)}, []any{true, payload})
		r.clock.Advance(time.Minute)
		for _, other := range []string{long + "2", "three"} {
			o := retried(store.Change{Payload: []byte(other), Queue: "day"})
			same(r, "what it was", []any{o.Queue, o.At, o.Payload != nil, string(o.Payload)}, []any{queue, began, true, payload})
			same(r, "payload", string(r.get(id).Payload), other)
		}
		o := retried(store.Change{Queue: "night"})
		same(r, "what it was at last", []any{o.Queue, string(o.Payload)}, []any{queue, payload})
	}
}

// proves: D5
func changedJobDies(r *rig) {
	id := r.die("A", everyField)
	same(r, "retried", r.act(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}, Change: store.Change{
		Queue: "night", Priority: 1, Override: []byte(`{"max_retries":3}`),
	}}), int64(1))
	r.end(died(r.takeID(id), "B", job.MaxRetries))
	j, l := r.get(id), r.letter(id)
	same(r, "dead job", []any{j.Queue, j.Priority, string(j.Override), string(j.Payload)}, []any{"night", int8(1), `{"max_retries":3}`, "do it"})
	same(r, "queue of the entry", l.Queue, "night")
	r.ok(r.retry(id)) // this retry has no changes, so the job keeps the changes of the earlier retry
	j = r.get(id)
	same(r, "third life", []any{j.Queue, j.Priority, string(j.Override), j.Life}, []any{"night", int8(1), `{"max_retries":3}`, int32(3)})
	r.end(died(r.takeID(id), "B", job.MaxRetries))
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change.Override = []byte{} }))
	same(r, "length of the job's own settings after they were removed", len(r.get(id).Override), 0)
}

// proves: D5
func retryWithDelay(r *rig) {
	id := r.die("A")
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change.Delay = new(time.Hour) }))
	same(r, "due and life from", []job.Micros{r.get(id).RunAt, r.get(id).LifeAt}, []job.Micros{r.in(time.Hour), r.now()})
	r.none()
	r.clock.Advance(time.Hour)
	same(r, "taken", r.take().ID, id)
	_, err := r.Original(ctx(), id)
	r.is(err, store.ErrNotFound)
}
