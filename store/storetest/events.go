package storetest

import (
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func eventPromises() []promise {
	return []promise{
		{"N6_EachTransitionIsAnEvent", eachTransitionIsAnEvent},
		{"N6_OneCommitOneNumber", oneCommitOneNumber},
		{"N6_NoEventOfWhatDidNotHappen", noEventOfWhatDidNotHappen},
		{"N1_EventsAreReadOnFromACursor", eventsAreReadOn},
		{"N6_ExpiryIsAnEvent", expiryIsAnEvent},
		{"N6_EndsOfTheEvents", endsOfTheEvents},
	}
}

// renumbered numbers the commits of events from 1 on without gaps, because a store may skip
// numbers.
func renumbered(events []event.Event) []event.Event {
	events = slices.Clone(events)
	commits, last := int64(0), int64(0)
	for i := range events {
		if at := &events[i].Cursor; at.Seq != last {
			commits, last = commits+1, at.Seq
		}
		events[i].Cursor.Seq = commits
	}
	return events
}

// proves: N6, Q9
func eachTransitionIsAnEvent(r *rig) {
	id := r.add(func(n *job.New) { n.Owner, n.Batch, n.RunAt, n.Correlation = "alice", 7, r.in(time.Second), "req-7" })
	due := r.in(time.Second)
	var want []event.Event
	add := func(e event.Event) {
		e.Cursor, e.At = event.Cursor{Seq: int64(len(want) + 1), Index: 1}, r.now()
		e.Job, e.Kind, e.Queue, e.Owner, e.Batch = id, kind, queue, "alice", 7
		if e.Life == 0 {
			e.Life = 1
		}
		want = append(want, e)
	}
	add(event.Event{Type: event.JobEnqueued, To: job.Waiting, DueAt: due, Correlation: "req-7"})

	r.clock.Advance(time.Second)
	c := r.take()
	add(event.Event{Type: event.JobClaimed, From: job.Waiting, To: job.Running, Token: 1})
	r.end(failed(c, "NetworkTimeout", time.Second))
	add(event.Event{
		Type: event.JobFailed, From: job.Running, To: job.Retrying, Token: 1, Attempt: 1, DueAt: r.in(time.Second), Class: "NetworkTimeout",
	})
	r.clock.Advance(time.Second)
	c = r.take()
	add(event.Event{Type: event.JobClaimed, From: job.Retrying, To: job.Running, Token: 2, Attempt: 1})
	for i, cause := range []job.Cause{job.Snoozed, job.Deferred, job.Interrupted} {
		r.end(waits(c, cause, 0))
		add(event.Event{Type: event.Of(cause), From: job.Running, To: job.Waiting, Token: c.Token, Attempt: 1, DueAt: r.now()})
		c = r.take()
		add(event.Event{Type: event.JobClaimed, From: job.Waiting, To: job.Running, Token: job.Token(i + 3), Attempt: 1})
	}
	r.lose(c)
	add(event.Event{
		Type: event.JobCrashed, From: job.Running, To: job.Waiting, Token: 5, Attempt: 1, DueAt: r.now(), Class: job.ClassCrash,
	})
	c = r.take()
	add(event.Event{Type: event.JobClaimed, From: job.Waiting, To: job.Running, Token: 6, Attempt: 1})
	r.end(died(c, "InvalidInput", job.NonRetriable))
	add(event.Event{
		Type: event.JobFailed, From: job.Running, To: job.Dead, Token: 6, Attempt: 2, Class: "InvalidInput", Reason: string(job.NonRetriable),
	})
	r.ok(r.retry(id))
	add(event.Event{Type: event.JobRetried, From: job.Dead, To: job.Waiting, Life: 2, Token: 6, DueAt: r.now()})
	c = r.take()
	add(event.Event{Type: event.JobClaimed, From: job.Waiting, To: job.Running, Life: 2, Token: 7})
	r.end(succeeded(c))
	add(event.Event{Type: event.JobSucceeded, From: job.Running, To: job.Completed, Life: 2, Token: 7, Attempt: 1})

	same(r, "events", renumbered(r.events(event.Cursor{})), want)
	same(r, "events of the dump", renumbered(r.dump().Events), want)
}

// proves: N6
func oneCommitOneNumber(r *rig) {
	r.enqueue(r.newJob(), r.newJob(), r.newJob())
	r.claim(want(9))
	var cursors []event.Cursor
	for _, e := range renumbered(r.events(event.Cursor{})) {
		cursors = append(cursors, e.Cursor)
	}
	same(r, "cursors", cursors, []event.Cursor{{Seq: 1, Index: 1}, {Seq: 1, Index: 2}, {Seq: 1, Index: 3},
		{Seq: 2, Index: 1}, {Seq: 2, Index: 2}, {Seq: 2, Index: 3}})
}

// proves: N6
func noEventOfWhatDidNotHappen(r *rig) {
	id := r.add()
	c := r.take()
	r.end(succeeded(c))
	at := r.cursor()
	r.end(succeeded(c)) // write the same outcome again
	r.is(r.cancel(id), store.ErrConflict)
	r.is(r.retry(id), store.ErrConflict)
	r.refuse(store.ErrConflict, r.newJob(), r.newJob(func(n *job.New) { n.ID = id }))
	r.none()
	r.rescue(10)
	same(r, "events", r.events(at), nil)
}

// proves: N6
// part of: N1
func eventsAreReadOn(r *rig) {
	for range 3 { // three commits with four events each
		r.enqueue(r.newJob(), r.newJob(), r.newJob(), r.newJob())
	}
	all := r.events(event.Cursor{})
	same(r, "number of events", len(all), 12)
	for _, size := range []int{1, 3, 5, 100} {
		var got []event.Event
		for at := (event.Cursor{}); ; at = got[len(got)-1].Cursor {
			page, err := r.Events(ctx(), at, size)
			r.ok(err)
			if len(page) > size {
				r.fail("Events returned %d events, want at most the limit of %d", len(page), size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		same(r, "events read page by page", got, all)
	}
	same(r, "events after the last", r.events(all[11].Cursor), nil)
}

// proves: N6, D1
func expiryIsAnEvent(r *rig) {
	id := r.add(func(n *job.New) { n.Deadline = r.now() })
	r.clock.Advance(time.Second)
	at := r.cursor()
	r.none()
	same(r, "events", renumbered(r.events(at)), []event.Event{{
		Cursor: event.Cursor{Seq: 1, Index: 1}, At: r.now(), Type: event.JobExpired, Job: id, Kind: kind, Queue: queue,
		From: job.Waiting, To: job.Dead, Life: 1, Reason: string(job.DeadlineOver),
	}})
}

// EventSpan says where a reader of events begins, and whether the reader has missed events.
//
// part of: N6, Q6
func endsOfTheEvents(r *rig) {
	ends := func() (ends [2]event.Cursor) {
		first, last, err := r.EventSpan(ctx())
		r.ok(err)
		return [2]event.Cursor{first, last}
	}
	same(r, "ends without events", ends(), [2]event.Cursor{})
	r.enqueue(r.newJob(), r.newJob())
	r.enqueue(r.newJob(), r.newJob(), r.newJob())
	r.clock.Advance(time.Hour)
	r.enqueue(r.newJob())
	all := r.events(event.Cursor{})
	same(r, "ends", ends(), [2]event.Cursor{{}, all[5].Cursor})

	keep := store.Retention{Events: time.Minute}
	r.removed = true
	swept, err := r.Sweep(ctx(), keep, 1)
	r.ok(err)
	same(r, "commits removed", swept.Events, int64(1))
	same(r, "ends when the first commit is removed", ends(), [2]event.Cursor{all[1].Cursor, all[5].Cursor})
	same(r, "commits removed", r.sweep(keep, 10).Events, int64(1))
	same(r, "ends when two commits are removed", ends(), [2]event.Cursor{all[4].Cursor, all[5].Cursor})
	same(r, "events after the first end", r.events(all[4].Cursor), all[5:])
	same(r, "commits removed", r.sweep(keep, 10).Events, int64(0))
	same(r, "ends when nothing is removed", ends(), [2]event.Cursor{all[4].Cursor, all[5].Cursor})
}
