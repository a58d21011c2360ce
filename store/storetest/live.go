package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// previewLive counts the jobs that an action would change. It calls PreviewLive until there is no
// next step, and returns the sum.
func (r *rig) previewLive(a store.LiveAction) (sum store.LiveActed) {
	for {
		p, err := r.PreviewLive(ctx(), a)
		r.ok(err)
		sum.Done += p.Done
		if sum.Through, sum.At = p.Through, p.At; p.Next == 0 {
			return sum
		}
		a.Through, a.At, a.After = p.Through, p.At, p.Next
	}
}

// actLive carries out an action on the jobs that it selects now. It returns the number of
// changed jobs.
func (r *rig) actLive(a store.LiveAction) (done int64) {
	if a.Through == 0 {
		p := r.previewLive(a)
		a.Through, a.At = p.Through, p.At
	}
	for {
		did, err := r.ActLive(ctx(), person, a)
		r.ok(err)
		if a.Limit > 0 && did.Done > int64(a.Limit) {
			r.fail("a step changed %d jobs, want at most %d", did.Done, a.Limit)
		}
		if done += did.Done; did.Next == 0 {
			return done
		}
		a.After = did.Next
	}
}

// proves: Q9
func liveJobsAreCancelledByFilter(r *rig) {
	other := r.add(func(n *job.New) { n.Kind = "other" })
	waiting := r.add(func(n *job.New) { n.Payload, n.Batch, n.Owner = make([]byte, 5000), 7, "alice" })
	running := r.takeID(waiting)
	r.end(waits(running, job.Snoozed, time.Hour))
	retrying := r.add()
	r.end(failed(r.takeID(retrying), "NetworkTimeout", time.Hour))
	busy := r.takeID(r.add())
	revived, died := r.die("A"), r.die("A")
	r.ok(r.retry(revived))
	a := store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Kind: kind}}
	p := r.previewLive(a)
	same(r, "counted", p.Done, int64(4))
	r.clock.Advance(time.Second)
	a.Through, a.At = p.Through, p.At
	at := r.cursor()
	same(r, "cancelled", r.actLive(a), int64(4))
	for _, id := range []job.ID{waiting, retrying, revived} {
		j := r.get(id)
		same(r, "state and end", []any{j.State, j.FinishedAt}, []any{job.Cancelled, r.now()})
	}
	j := r.get(waiting)
	same(r, "what stays of a job", []any{j.Owner, j.Batch, j.Counters.Snoozes, j.Token, j.Holder}, []any{"alice", int64(7), int32(1), job.Token(1), holder})
	same(r, "dead letter of a job that was retried", r.letter(revived).Action, job.ActionCancelled)
	same(r, "running job", []any{r.get(busy.ID).State, r.get(busy.ID).CancelAt}, []any{job.Running, r.now()})
	same(r, "number of events", len(r.events(at)), 4)
	r.state(other, job.Waiting)
	r.state(died, job.Dead)
	r.unchanged(func() { same(r, "cancelled again", r.actLive(a), int64(0)) })
	same(r, "counted again", r.previewLive(store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Kind: kind}}).Done, int64(0))
}

// proves: Q9
func liveJobsAreAlteredByFilter(r *rig) {
	var ids []job.ID
	for range 5 {
		ids = append(ids, r.add())
	}
	r.ok(r.alter(ids[1], store.Change{Queue: "night"}))
	running := r.takeID(ids[0])
	later := r.add(func(n *job.New) { n.RunAt = r.in(time.Hour) })
	move := store.LiveAction{Do: store.LiveAlter, Limit: 2, Change: store.Change{Queue: "night", Priority: 4}}
	same(r, "counted", r.previewLive(store.LiveAction{Do: store.LiveAlter, Change: move.Change}).Done, int64(5))
	same(r, "moved", r.actLive(move), int64(5))
	for _, id := range ids[1:] {
		same(r, "queue and priority", []any{r.get(id).Queue, r.get(id).Priority}, []any{"night", int8(4)})
		_, err := r.Original(ctx(), id)
		r.ok(err)
	}
	same(r, "queue of the running job", r.get(running.ID).Queue, queue)
	r.none()
	same(r, "due in the new queue", len(r.claim(want(9, func(w *store.Want) { w.Queue = "night" }))), 4)
	r.clock.Advance(time.Minute)
	same(r, "run now", r.actLive(store.LiveAction{Do: store.LiveAlter, Change: store.Change{Delay: new(time.Duration(0))}}), int64(1))
	same(r, "due", r.get(later).RunAt, r.now())
}

// proves: Q9
func liveFilters(r *rig) {
	r.add(func(n *job.New) { n.Owner, n.Correlation, n.Attrs = "alice", "req-7", []byte(`{"bucket":"wrong"}`) })
	r.add(func(n *job.New) { n.Queue, n.Kind, n.Batch = "other", "other", 7 })
	r.clock.Advance(time.Hour)
	r.add(func(n *job.New) { n.RunAt = r.in(2 * time.Hour) })
	r.end(failed(r.takeID(r.add()), "NetworkTimeout", time.Hour))
	r.end(failed(r.takeID(r.add()), "Other", time.Hour))
	r.takeID(r.add(func(n *job.New) { n.Owner = "alice" }))
	r.die("A")
	all := r.dump().Jobs
	for _, f := range []store.Filter{
		{}, {Kind: "other"}, {Queue: "other"}, {Queue: "none"}, {Kind: kind, Queue: "other"}, {Owner: "alice"}, {Correlation: "req-7"}, {Correlation: "req-8"},
		{Batch: 7}, {Worker: holder}, {Attr: store.Attr{Name: "bucket", Value: "wrong"}}, {Attr: store.Attr{Name: "bucket", Value: "right"}},
		{States: []job.State{job.Waiting}}, {States: []job.State{job.Retrying}}, {States: []job.State{job.Retrying, job.Waiting}},
		{Created: store.Span{Since: r.now()}}, {Created: store.Span{Until: r.now()}}, {Due: store.Span{Since: r.in(time.Minute)}},
		{Due: store.Span{Until: r.in(time.Minute)}}, {Class: "NetworkTimeout"}, {Text: "OTHER side"}, {Text: "nothing"}, {Group: "Other|" + kind},
	} {
		want := int64(0)
		for i := range all {
			j := &all[i]
			cause := true
			if f.ByCause() {
				failures := r.failures(j.ID)
				cause = len(failures) > 0 && f.MatchCause(failures[0].Class, failures[0].Fingerprint, failures[0].Message)
			}
			if !j.State.Terminal() && f.Match(j) && cause {
				want++
			}
		}
		got := r.previewLive(store.LiveAction{Do: store.LiveCancel, Filter: f})
		if got.Done != want {
			r.fail("filter %+v: got %d jobs, want %d", f, got.Done, want)
		}
	}
}

// proves: Q9
func liveSetStaysFrozen(r *rig) {
	first, err := r.ReserveIDs(ctx(), 3)
	r.ok(err)
	add := func(id job.ID) { r.enqueue(job.New{ID: id, Kind: kind, Queue: queue, Priority: job.PriorityDefault}) }
	add(first + 1)
	a := store.LiveAction{Do: store.LiveCancel}
	p := r.previewLive(a)
	r.clock.Advance(time.Second)
	add(first + 2)
	add(first) // the id of this job was reserved before the preview
	a.Through, a.At = p.Through, p.At
	same(r, "cancelled", r.actLive(a), int64(1))
	r.state(first, job.Waiting)
	r.state(first+1, job.Cancelled)
	r.state(first+2, job.Waiting)
}

// proves: Q9
// part of: X2
func liveActsAreAudited(r *rig) {
	for range 3 {
		r.add()
	}
	same(r, "changed", r.actLive(store.LiveAction{Do: store.LiveAlter, Limit: 2, Change: store.Change{Priority: 1}}), int64(3))
	same(r, "cancelled", r.actLive(store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Kind: kind, States: []job.State{job.Waiting}}}), int64(3))
	row := func(seq int64, action, target, after string) store.Audit {
		return store.Audit{Seq: seq, At: r.now(), Actor: "ann", Action: action, Target: target, Reason: "because", After: after}
	}
	same(r, "audit", r.audit(), []store.Audit{
		row(1, "jobs.alter", `{}`, `{"done":2,"through":"3","after":"0","change":{"priority":1}}`),
		row(2, "jobs.alter", `{}`, `{"done":1,"through":"3","after":"2","change":{"priority":1}}`),
		row(3, "jobs.cancel", `{"states":["waiting"],"kind":"encode"}`, `{"done":3,"through":"3","after":"0"}`),
	})
}

// proves: X3
func badLiveActionsAreRefused(r *rig) {
	r.add()
	cancel := func(f store.Filter) store.LiveAction {
		return store.LiveAction{Do: store.LiveCancel, Through: 5, Filter: f}
	}
	alter := func(c store.Change) store.LiveAction {
		return store.LiveAction{Do: store.LiveAlter, Through: 5, Change: c}
	}
	r.unchanged(func() {
		for i, a := range []store.LiveAction{
			{Through: 5}, {Do: 9, Through: 5}, {Do: store.LiveCancel},
			{Do: store.LiveCancel, Through: -1}, {Do: store.LiveCancel, Through: 5, After: -1}, {Do: store.LiveCancel, Through: 5, At: -1},
			{Do: store.LiveCancel, Through: 5, Limit: store.StepMax + 1}, {Do: store.LiveCancel, Through: 5, Change: store.Change{Priority: 1}},
			cancel(store.Filter{Order: store.Due}), cancel(store.Filter{From: store.Cursor{ID: 1}}), cancel(store.Filter{Limit: 1}),
			cancel(store.Filter{Kind: kind, Key: "k"}), cancel(store.Filter{Reason: job.Stalled}), cancel(store.Filter{Ended: store.Span{Since: 1}}),
			cancel(store.Filter{States: []job.State{job.Dead}}), cancel(store.Filter{States: []job.State{99}}), cancel(store.Filter{Batch: -1}),
			alter(store.Change{}), alter(store.Change{Payload: []byte("p")}), alter(store.Change{Queue: "no good"}), alter(store.Change{Priority: 1, Once: true}),
			{Do: store.LiveAlter, Through: 5, Filter: store.Filter{States: []job.State{job.Running}}, Change: store.Change{Priority: 1}},
		} {
			if _, err := r.ActLive(ctx(), person, a); !errors.Is(err, store.ErrInvalid) {
				r.fail("action %d: got error %v, want %v", i, err, store.ErrInvalid)
			}
			if a.Through == 5 && a.Do != 0 && a.Do != 9 && a.After == 0 && a.Limit == 0 {
				spec := store.RedriveSpec{Live: &store.LiveSpec{Do: a.Do, Filter: a.Filter, At: a.At}, Through: 5, Total: 1, Change: a.Change}
				if _, err := r.StartRedrive(ctx(), person, spec); !errors.Is(err, store.ErrInvalid) {
					r.fail("redrive of action %d: got error %v, want %v", i, err, store.ErrInvalid)
				}
			}
		}
		_, err := r.ActLive(ctx(), store.By{}, store.LiveAction{Do: store.LiveCancel, Through: 5})
		r.is(err, store.ErrInvalid)
		_, err = r.PreviewLive(ctx(), store.LiveAction{Do: store.LiveCancel, Limit: store.PreviewMax + 1})
		r.is(err, store.ErrInvalid)
		live := &store.LiveSpec{Do: store.LiveCancel}
		for i, spec := range []store.RedriveSpec{
			{Live: live, Total: 1}, {Live: live, Through: 1}, {Live: live, Through: 1, Total: 1, Canary: 1}, {Live: live, Through: 1, Total: 1, StopShare: 0.5},
			{Live: live, Through: 1, Total: 1, Filter: store.DeadFilter{Kind: kind}},
		} {
			if _, err := r.StartRedrive(ctx(), person, spec); !errors.Is(err, store.ErrInvalid) {
				r.fail("redrive %d: got error %v, want %v", i, err, store.ErrInvalid)
			}
		}
	})
}

// startLive starts a redrive of the live jobs that an action selects now.
func (r *rig) startLive(a store.LiveAction, options ...func(*store.RedriveSpec)) store.Redrive {
	p := r.previewLive(a)
	spec := store.RedriveSpec{Live: &store.LiveSpec{Do: a.Do, Filter: a.Filter, At: p.At}, Through: int64(p.Through), Total: p.Done, Change: a.Change}
	for _, o := range options {
		o(&spec)
	}
	d, err := r.StartRedrive(ctx(), person, spec)
	r.ok(err)
	return d
}

// proves: Q9
// part of: D7
func liveRedriveIsStoppedAndContinued(r *rig) {
	for range 5 {
		r.add()
	}
	d := r.startLive(store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Queue: queue}})
	late := r.add()
	same(r, "started", []any{d.State, d.Released, d.Total, d.Canary}, []any{store.RedriveRamping, int64(0), int64(5), 0})
	same(r, "step", r.step(2), store.RedriveStep{Active: 1, Released: 2})
	_, err := r.ControlRedrive(ctx(), person, d.ID, store.RedrivePause)
	r.ok(err)
	r.unchanged(func() { same(r, "step while it is paused", r.step(9), store.RedriveStep{Wait: store.Never}) })
	same(r, "live jobs", liveIDs(r), []job.ID{3, 4, 5, late})
	_, err = r.ControlRedrive(ctx(), person, d.ID, store.RedriveResume)
	r.ok(err)
	same(r, "step", r.step(9).Released, int64(3))
	d = r.redrive(d.ID)
	same(r, "ended", []any{d.State, d.Released, d.Total, d.EndedAt}, []any{store.RedriveCompleted, int64(5), int64(5), r.now()})
	same(r, "live jobs", liveIDs(r), []job.ID{late})

	// A redrive that was cancelled changes no more jobs.
	d = r.startLive(store.LiveAction{Do: store.LiveCancel})
	_, err = r.ControlRedrive(ctx(), person, d.ID, store.RedriveCancel)
	r.ok(err)
	r.unchanged(func() { r.step(9) })
	r.state(late, job.Waiting)
	var rows []string
	for _, a := range r.audit() {
		rows = append(rows, a.Actor+" "+a.Action+" "+a.Target+" "+a.Before+" "+a.After)
	}
	same(r, "audit", rows, []string{
		`ann redrive.start 1  {"filter":{},"through":5,"total":5,"canary":0,"stop_share":1,"stop_other":1,"stop_dead":1,"live":{"do":"cancel","filter":{"queue":"main"},"at":"` +
			timeText(d.Live.At) + `"},"change":{}}`,
		`redrive 1 redrive.release 1  {"done":2}`,
		`ann redrive.pause 1 ramping paused`,
		`ann redrive.resume 1 paused ramping`,
		`redrive 1 redrive.release 1  {"done":3}`,
		`redrive redrive.complete 1 ramping completed`,
		`ann redrive.start 2  {"filter":{},"through":6,"total":1,"canary":0,"stop_share":1,"stop_other":1,"stop_dead":1,"live":{"do":"cancel","filter":{},"at":"` +
			timeText(d.Live.At) + `"},"change":{}}`,
		`ann redrive.cancel 2 ramping cancelled`,
	})
}

func timeText(at job.Micros) string {
	b, err := at.MarshalText()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func liveIDs(r *rig) (ids []job.ID) {
	for _, j := range r.dump().Jobs {
		if !j.State.Terminal() {
			ids = append(ids, j.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// proves: Q9
// part of: D7
func liveRedriveKeepsItsRate(r *rig) {
	for range 5 {
		r.add()
	}
	d := r.startLive(store.LiveAction{Do: store.LiveAlter, Change: store.Change{Queue: "night", Delay: new(time.Minute)}},
		func(s *store.RedriveSpec) { s.Rate = 2 })
	same(r, "step at once", r.step(9), store.RedriveStep{Active: 1, Wait: 500 * time.Millisecond})
	r.clock.Advance(time.Second)
	same(r, "step", r.step(9).Released, int64(2))
	r.clock.Advance(time.Hour)
	same(r, "step", r.step(9).Released, int64(2))
	same(r, "moved by the redrive", []any{r.get(3).Queue, r.get(3).RunAt, r.get(5).Queue}, []any{"night", r.in(time.Minute), queue})
	original, err := r.Original(ctx(), 3)
	r.ok(err)
	same(r, "who moved it", original.By, "redrive 1")
	r.clock.Advance(time.Hour)
	r.step(9)
	same(r, "state", r.redrive(d.ID).State, store.RedriveCompleted)
}

// The store returns a redrive of live jobs with its whole filter and its change. StepRedrives also
// advances a redrive of live jobs.
//
// proves: Q9
// part of: D7
func liveRedriveIsStored(r *rig) {
	r.dieAll(3, "A")
	for range 3 {
		r.add(func(n *job.New) { n.Owner = "alice" })
	}
	f := store.Filter{
		States: []job.State{job.Waiting, job.Retrying}, Kind: kind, Queue: queue, Owner: "alice",
		Created: store.Span{Since: r.start, Until: r.in(time.Hour)}, Due: store.Span{Until: r.in(time.Hour)},
	}
	a := store.LiveAction{Do: store.LiveAlter, Filter: f, Change: store.Change{Queue: "night", Priority: 2, Override: []byte(`{"p":1}`), Delay: new(time.Hour)}}
	live := r.startLive(a)
	got := r.redrive(live.ID)
	same(r, "redrive", got, live)
	same(r, "its action", []any{got.Live.Do, got.Live.Filter, got.Change}, []any{a.Do, a.Filter, a.Change})
	dead := r.startRedrive(canaryOf(-1), neverStops)
	step := r.step(4)
	same(r, "step", []any{step.Active, step.Released}, []any{2, int64(4)})
	same(r, "released by each", []int64{r.redrive(live.ID).Released, r.redrive(dead.ID).Released}, []int64{2, 2})
	r.step(4)
	same(r, "states", []store.RedriveState{r.redrive(live.ID).State, r.redrive(dead.ID).State}, []store.RedriveState{store.RedriveCompleted, store.RedriveSettling})
}
