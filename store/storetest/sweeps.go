package storetest

import (
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func sweepPromises() []promise {
	return []promise{
		{"Q6_EndedJobsGoAtTheirTime", endedJobsGo},
		{"Q6_FailuresGoAtTheirTime", failuresGo},
		{"Q6_FailuresOfDeadJobsStay", failuresOfDeadStay},
		{"Q6_PendingNeverVanishes", pendingNeverVanishes},
		{"Q6_PendingIsDroppedLoudly", pendingIsDropped},
		{"Q6_DueReopeningIsNotDropped", dueReopeningIsNotDropped},
		{"Q6_PromisedReturnIsKept", promisedReturn},
		{"Q6_EventsGoByCommits", eventsGo},
		{"Q6_KeysGoAtTheirTime", keysGo},
		{"Q6_KeyKeepsTheStateOfItsJob", keyKeepsItsState},
		{"Q6_SmallStepsDoItAll", smallStepsDoAll},
		{"Q6_NothingIsForEver", nothingByDefault},
		{"Q6_RemovalsAreAudited", removalsAreAudited},
		{"Q6_EmptyGroupsGo", emptyGroupsGo},
		{"X3_SweepBounds", sweepBounds},
	}
}

// complete makes a job that completes. It returns the job's id.
func (r *rig) complete(options ...func(*job.New)) job.ID {
	id := r.add(options...)
	r.end(succeeded(r.takeID(id)))
	return id
}

func (r *rig) gone(ids ...job.ID) {
	for _, id := range ids {
		if _, err := r.Get(ctx(), id); err == nil {
			r.fail("job %d still exists, want it removed", id)
		} else {
			r.is(err, store.ErrNotFound)
		}
	}
}

// proves: Q6
func endedJobsGo(r *rig) {
	done := r.complete()
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	dead, live := r.die("A"), r.add()
	r.clock.Advance(time.Hour)
	young := r.complete(func(n *job.New) { n.Queue = "else" })
	keep := store.Retention{Completed: time.Hour + time.Minute}
	r.clock.Advance(time.Minute - time.Microsecond)
	same(r, "swept early", r.sweep(keep, 10).Completed, int64(0))
	r.clock.Advance(time.Microsecond)
	same(r, "swept", r.sweep(keep, 10), store.Swept{Completed: 2})
	r.gone(done, cancelled)
	r.state(young, job.Completed)
	r.state(dead, job.Dead)
	r.state(live, job.Waiting)
	r.clock.Advance(24 * time.Hour)
	same(r, "the newest end", r.sweep(keep, 10).Completed, int64(1))
	r.gone(young)
	r.ok(r.cancel(live))
	r.state(live, job.Cancelled)
}

// proves: Q6
func failuresGo(r *rig) {
	old := r.add()
	r.end(failed(r.takeID(old), "A", 0))
	r.end(succeeded(r.takeID(old)))
	r.clock.Advance(time.Hour)
	live := r.add()
	r.end(failed(r.takeID(live), "A", 0))
	young := r.add(func(n *job.New) { n.Queue = "else" })
	r.end(failed(r.takeID(young), "A", 0))
	r.end(succeeded(r.takeID(young)))
	keep := store.Retention{Failures: time.Hour}
	same(r, "swept", r.sweep(keep, 10), store.Swept{Failures: 1})
	same(r, "failures left", []int{len(r.failures(old)), len(r.failures(live)), len(r.failures(young))}, []int{0, 1, 1})
	r.state(old, job.Completed)
	r.clock.Advance(time.Hour)
	same(r, "swept later", r.sweep(keep, 10).Failures, int64(1))
	same(r, "failures of a live job", len(r.failures(live)), 1)
}

// proves: Q6, D1
func failuresOfDeadStay(r *rig) {
	id := r.add()
	r.end(failed(r.takeID(id), "A", 0))
	r.end(died(r.takeID(id), "A", job.MaxRetries))
	recovered := r.die("A")
	r.ok(r.retry(recovered))
	r.end(succeeded(r.takeID(recovered)))
	r.clock.Advance(1000 * time.Hour)
	keep := store.Retention{Completed: time.Hour, Failures: time.Hour}
	same(r, "swept", r.sweep(keep, 10), store.Swept{Completed: 1})
	r.gone(recovered)
	same(r, "failures", []int{len(r.failures(id)), len(r.failures(recovered))}, []int{2, 1})
	same(r, "entry of a job that is gone", r.letter(recovered).Status, job.Resolved)
	keep.Dead = time.Hour
	same(r, "swept with the entry", r.sweep(keep, 10).Dead, int64(1))
	same(r, "failures", []int{len(r.failures(id)), len(r.failures(recovered))}, []int{2, 0})
}

// proves: Q6, D1
func pendingNeverVanishes(r *rig) {
	all := r.dieAll(5, "A")
	r.ok(r.actOn(store.ActResolve, all[0]))
	r.ok(r.actOn(store.ActIgnore, all[1]))
	r.ok(r.retry(all[2]))
	r.clock.Advance(30 * 24 * time.Hour)
	r.ok(r.actOn(store.ActIgnore, all[3])) // the retention time is measured from the last action
	keep := store.Retention{Completed: time.Hour, Failures: time.Hour, Dead: 30 * 24 * time.Hour, Events: time.Hour}
	after := r.cursor()
	swept := r.sweep(keep, 10)
	same(r, "swept", []int64{swept.Dead, swept.Pending}, []int64{2, 0})
	r.gone(all[0], all[1])
	for _, e := range r.events(after) {
		same(r, "event", []any{e.Type, e.Reason}, []any{event.DeadLetterPurged, "retention"})
	}
	r.clock.Advance(10_000 * time.Hour)
	same(r, "swept later", r.sweep(keep, 10).Dead, int64(1))
	r.gone(all[3])
	r.state(all[4], job.Dead)
	same(r, "what is left", sortedJobs(r.dump().Dead), []job.ID{all[2], all[4]})
	same(r, "failures", []int{len(r.failures(all[2])), len(r.failures(all[4]))}, []int{1, 1})
}

// proves: Q6
func pendingIsDropped(r *rig) {
	pending, ignored, living := r.die("A"), r.die("A"), r.die("A")
	r.ok(r.actOn(store.ActIgnore, ignored, func(a *store.Action) { a.Until = r.in(1000 * time.Hour) }))
	r.ok(r.retry(living))
	r.clock.Advance(time.Hour)
	before := len(r.audit())
	swept := r.sweep(store.Retention{Dead: time.Hour, DropPending: true}, 10)
	same(r, "swept", []int64{swept.Dead, swept.Pending}, []int64{2, 1})
	r.gone(pending, ignored)
	r.state(living, job.Waiting)
	same(r, "entry of a live job", r.letter(living).Status, job.Redriven)
	rows := r.audit()[before:]
	same(r, "audit at once", rows, []store.Audit{{
		Seq: int64(before) + 1, At: r.now(), Actor: store.SweepActor, Action: "retention.remove", Target: "pending_dead_letters", After: `{"n":1}`,
	}})
}

// proves: Q6, D2
func dueReopeningIsNotDropped(r *rig) {
	id := r.die("A")
	muted := r.die("B")
	r.ok(r.actOn(store.ActIgnore, id, func(a *store.Action) { a.Until = r.in(time.Hour) }))
	r.act(store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "B|" + kind}, Until: r.in(time.Hour)})
	r.clock.Advance(1000 * time.Hour) // the dead letter's time is over, but no sweep has run since
	swept := r.sweep(store.Retention{Dead: 2 * time.Hour}, 1)
	same(r, "swept", []int64{swept.Dead, swept.Reopened}, []int64{0, 2})
	same(r, "entries", []job.Status{r.letter(id).Status, r.letter(muted).Status}, []job.Status{job.Pending, job.Pending})
}

// proves: Q6, D2
func promisedReturn(r *rig) {
	id, plain, timed, counted := r.die("A"), r.die("A"), r.die("B"), r.die("C")
	r.ok(r.actOn(store.ActIgnore, id, func(a *store.Action) { a.Until = r.in(100 * time.Hour) }))
	r.ok(r.actOn(store.ActIgnore, plain))
	r.act(store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "B|" + kind}, Until: r.in(100 * time.Hour)})
	r.act(store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "C|" + kind}, Count: 2})
	keep := store.Retention{Dead: time.Hour}
	r.clock.Advance(99 * time.Hour)
	same(r, "swept before", r.sweep(keep, 10), store.Swept{Dead: 1})
	r.gone(plain)
	r.clock.Advance(time.Hour)
	r.die("C")
	r.die("C")
	same(r, "swept then", r.sweep(keep, 10), store.Swept{Reopened: 4})
	for _, id := range []job.ID{id, timed, counted} {
		same(r, "status", r.letter(id).Status, job.Pending)
	}
}

// proves: Q6
func eventsGo(r *rig) {
	r.enqueue(r.newJob(), r.newJob(), r.newJob()) // all these jobs are in one commit
	r.clock.Advance(time.Minute)
	r.add()
	r.clock.Advance(time.Minute)
	r.add()
	keep := store.Retention{Events: time.Minute}
	same(r, "swept in commits", r.sweep(keep, 10).Events, int64(2))
	left := r.dump().Events
	same(r, "events left", len(left), 1)
	r.clock.Advance(time.Hour)
	same(r, "the newest commit", r.sweep(keep, 10).Events, int64(0))
	r.add()
	now := r.dump().Events
	if !left[0].Cursor.Before(now[len(now)-1].Cursor) || left[0].Cursor.Seq == now[len(now)-1].Cursor.Seq {
		r.fail("the commit after a sweep has the cursor %s, want a higher commit number than in %s, the cursor of the kept commit", now[len(now)-1].Cursor, left[0].Cursor)
	}
	same(r, "read from the beginning", len(r.events(event.Cursor{})), 2)
}

// proves: Q6, I1
func keysGo(r *rig) {
	keyed := func(key string, until job.Micros) func(*job.New) {
		return func(n *job.New) { n.Key, n.Digest, n.KeyUntil = key, []byte("d"), until }
	}
	r.add(keyed("short", r.in(time.Minute)))
	r.add(keyed("long", r.in(time.Hour)))
	r.add(keyed("ever", 0))
	r.clock.Advance(time.Minute)
	same(r, "swept", r.sweep(store.Retention{}, 10), store.Swept{Keys: 1})
	same(r, "keys left", len(r.dump().Keys), 2)
	r.clock.Advance(10_000 * time.Hour)
	same(r, "swept later", r.sweep(store.Retention{}, 10).Keys, int64(1))
	same(r, "key", r.dump().Keys[0].Key, "ever")
}

// proves: Q6, I1
func keyKeepsItsState(r *rig) {
	keyed := func(key string) func(*job.New) {
		return func(n *job.New) { n.Key, n.Digest = key, []byte("d") }
	}
	completed := r.complete(keyed("completed"))
	cancelled := r.add(keyed("cancelled"))
	r.ok(r.cancel(cancelled))
	dead := r.die("A", keyed("dead"))
	r.ok(r.actOn(store.ActResolve, dead))
	r.complete()
	r.clock.Advance(time.Hour)
	swept := r.sweep(store.Retention{Completed: time.Hour, Dead: time.Hour}, 10)
	same(r, "swept", []int64{swept.Completed, swept.Dead}, []int64{3, 1})
	r.gone(completed, cancelled, dead)
	for key, want := range map[string]job.Receipt{
		"completed": {ID: completed, Existing: true, State: job.Completed},
		"cancelled": {ID: cancelled, Existing: true, State: job.Cancelled},
		"dead":      {ID: dead, Existing: true, State: job.Dead},
	} {
		same(r, "enqueue again: "+key, r.enqueue(r.newJob(keyed(key)))[0], want)
	}
	_, err := r.Enqueue(ctx(), []job.New{r.newJob(keyed("dead"), func(n *job.New) { n.Digest = []byte("other") })})
	r.is(err, store.ErrConflict)
}

// proves: Q6
func smallStepsDoAll(r *rig) {
	for range 4 {
		r.complete()
		id := r.add()
		r.end(failed(r.takeID(id), "A", 0))
		r.end(succeeded(r.takeID(id)))
	}
	dead := r.dieAll(5, "A")
	r.act(store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{}})
	keep := r.die("B")
	r.complete()
	r.clock.Advance(time.Hour)
	all := store.Retention{Completed: time.Hour, Failures: time.Hour, Dead: time.Hour, Events: time.Hour}
	r.removed = true
	first, err := r.Sweep(ctx(), all, 1)
	r.ok(err)
	if !first.More || first.Completed > 1 || first.Failures > 1 || first.Dead > 1 || first.Events > 1 || !first.Removed() {
		r.fail("sweep with a limit of 1 row: got %+v, want at most 1 removed row of each kind, at least 1 removed row, and More true", first)
	}
	// When sweeps have examined all rows, the next sweep begins at the first row again. So later
	// sweeps remove the rows that the first sweep has left.
	rest := r.sweep(all, 1)
	same(r, "all of it", []int64{first.Completed + rest.Completed, first.Failures + rest.Failures, first.Dead + rest.Dead}, []int64{9, 4, 5})
	r.gone(dead...)
	r.state(keep, job.Dead)
	same(r, "jobs left", len(r.dump().Jobs), 1)
	rest = r.sweep(all, 1)
	same(r, "nothing more", rest.Removed(), false)
	r.ok(r.actOn(store.ActResolve, keep))
	r.clock.Advance(time.Hour)
	same(r, "found by the next round", r.sweep(all, 1).Dead, int64(1))
}

// proves: Q6
func nothingByDefault(r *rig) {
	r.complete()
	id := r.die("A")
	r.ok(r.actOn(store.ActResolve, id))
	r.complete()
	r.clock.Advance(100_000 * time.Hour)
	same(r, "swept", r.sweep(store.Retention{}, 10), store.Swept{})
	same(r, "jobs", len(r.dump().Jobs), 3)
}

// proves: Q6, Q9
func removalsAreAudited(r *rig) {
	keep := store.Retention{Completed: time.Minute, Events: time.Minute}
	var n int64
	rows := func() (found []store.Audit) {
		for _, a := range r.audit() {
			if a.Action == "retention.remove" && a.Target == "completed" {
				found = append(found, a)
			}
		}
		return found
	}
	r.complete()
	for range 7 { // seven steps of ten minutes are more than an hour
		r.complete()
		r.clock.Advance(10 * time.Minute)
		n += r.sweep(keep, 10).Completed
		if len(rows()) > 0 {
			break
		}
	}
	same(r, "removed", n, int64(8))
	found := rows()
	same(r, "rows", len(found), 1)
	same(r, "row", []string{found[0].Actor, found[0].Before, found[0].After}, []string{store.SweepActor, "", `{"n":8}`})
	same(r, "at", found[0].At, r.now())
	r.complete()
	r.clock.Advance(10 * time.Minute)
	same(r, "removed again", r.sweep(keep, 10).Completed, int64(1))
	same(r, "rows within the next hour", len(rows()), 1)
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{}, 10) // this sweep removes nothing, but writes the audit row about the earlier removals
	same(r, "after", rows()[1].After, `{"n":1}`)
}

// proves: Q6, D6
func emptyGroupsGo(r *rig) {
	a, c := r.die("A"), r.die("C")
	r.die("B")
	r.act(store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "C|" + kind}, Count: 10})
	r.ok(r.actOn(store.ActPurge, c))
	r.ok(r.actOn(store.ActResolve, a))
	r.clock.Advance(time.Hour)
	r.sweep(store.Retention{Dead: time.Hour}, 10)
	groups := r.groups(store.GroupFilter{})
	// the dead letter with fingerprint C is still ignored
	same(r, "groups left", []any{len(groups), groups[0].Class, groups[1].Class}, []any{2, "B", "C"})
	// this death makes a new group
	id := r.die("A")
	g := r.groupA()
	same(r, "new group", []any{g.N, g.Sample, g.FirstAt}, []any{int64(1), id, r.now()})
}

// proves: X3
func sweepBounds(r *rig) {
	for _, limit := range []int{0, -1, store.SweepMax + 1} {
		_, err := r.Sweep(ctx(), store.Retention{}, limit)
		r.is(err, store.ErrInvalid)
	}
	_, err := r.Sweep(ctx(), store.Retention{Dead: -1}, 1)
	r.is(err, store.ErrInvalid)
}
