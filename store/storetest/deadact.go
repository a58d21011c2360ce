package storetest

import (
	"errors"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func actPromises() []promise {
	return []promise{
		{"D2_ActsAreWrittenDown", actsAreWrittenDown},
		{"D2_ActsById", actsByID},
		{"D2_SecondDeathClearsWhatWasDone", secondDeathClears},
		{"D3_ActByFilterInSteps", actInSteps},
		{"D3_FrozenSetStaysFrozen", frozenSetStays},
		{"D3_NumberOfADeathIsNotUsedAgain", numbersAreUsedOnce},
		{"D3_PurgeTakesAllOfAJob", purgeTakesAll},
		{"D3_PurgeLeavesPendingAndLiving", purgeLeaves},
		{"D3_PreviewChangesNothing", previewChangesNothing},
		{"D5_RetryChangesAJob", retryChanges},
		{"D5_OriginalIsOfTheFirstChange", originalIsOfTheFirst},
		{"D5_OriginalHasAChangedPayload", originalPayload},
		{"D5_ChangedJobDiesAsItIs", changedJobDies},
		{"D5_RetryWithADelay", retryWithDelay},
		{"D5_PriorityForOneLife", priorityForOneLife},
		{"Q9_ChangesAreAudited", changesAreAudited},
		{"Q9_ActsAreAudited", actsAreAudited},
		{"X3_ActBounds", actBounds},
	}
}

// proves: D2
func actsAreWrittenDown(r *rig) {
	id := r.die("A")
	before := r.letter(id)
	after := r.cursor()
	for _, tt := range []struct {
		do     store.Act
		status job.Status
		action job.DeadAction
	}{
		{store.ActIgnore, job.Ignored, job.ActionIgnored},
		{store.ActReopen, job.Pending, job.ActionReopened},
		{store.ActResolve, job.Resolved, job.ActionResolved},
		{store.ActReopen, job.Pending, job.ActionReopened},
	} {
		r.clock.Advance(time.Minute)
		r.ok(r.actOn(tt.do, id, func(a *store.Action) { a.Note = "seen by " + tt.do.String() }))
		want := before
		want.Status, want.Action, want.ActedAt, want.ActedBy = tt.status, tt.action, r.now(), person.Actor
		want.Note = "seen by " + tt.do.String()
		same(r, tt.do.String(), r.letter(id), want)
	}
	var reasons []string
	for _, e := range r.events(after) {
		same(r, "event", []any{e.Type, e.Job, e.Kind, e.Queue, e.Life, e.Class}, []any{event.DeadLetterChanged, id, kind, queue, int32(1), "A"})
		reasons = append(reasons, e.Reason)
	}
	same(r, "what the events say", strings.Join(reasons, " "), "ignored reopened resolved reopened")
}

// proves: D2, D3
func actsByID(r *rig) {
	living, completed := r.add(func(n *job.New) { n.RunAt = r.in(time.Hour) }), r.add()
	r.end(succeeded(r.takeID(completed)))
	pending, ignored, resolved, retried := r.die("A"), r.die("A"), r.die("A"), r.die("A")
	r.ok(r.actOn(store.ActIgnore, ignored))
	r.ok(r.actOn(store.ActResolve, resolved))
	r.ok(r.retry(retried))
	r.unchanged(func() {
		for do, refused := range map[store.Act][]job.ID{
			store.ActRetry:   {living, completed, retried},
			store.ActResolve: {living, completed, resolved, retried},
			store.ActIgnore:  {living, completed, ignored, resolved, retried},
			store.ActReopen:  {living, completed, pending, retried},
			store.ActPurge:   {living, completed, pending, retried},
		} {
			for _, id := range refused {
				r.is(r.actOn(do, id), store.ErrConflict)
			}
			r.is(r.actOn(do, 1<<40), store.ErrNotFound)
		}
	})
	// When the same job is named twice in one call, each of its positions in the list gets an
	// answer, but the act is applied only once.
	answer, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: []job.ID{1 << 40, resolved, pending, living, pending, ignored}})
	r.ok(err)
	for i, want := range []error{store.ErrNotFound, nil, nil, store.ErrConflict, store.ErrConflict, nil} {
		r.is(answer.Errors[i], want)
	}
	same(r, "done", answer.Done, int64(3))
	for _, id := range []job.ID{resolved, pending, ignored} {
		same(r, "life and state", []any{r.get(id).Life, r.get(id).State}, []any{int32(2), job.Waiting})
	}
}

// proves: D1, D2
func secondDeathClears(r *rig) {
	id := r.die("A")
	r.ok(r.actOn(store.ActIgnore, id, func(a *store.Action) { a.Note, a.Until = "later", r.in(time.Hour) }))
	same(r, "opens again", r.letter(id).ReopenAt, r.in(time.Hour))
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Note = "fixed" }))
	l := r.letter(id)
	same(r, "after the retry", []any{l.Status, l.Note, l.ReopenAt, l.Revived}, []any{job.Redriven, "fixed", job.Micros(0), true})
	r.clock.Advance(time.Minute)
	r.end(died(r.takeID(id), "B", job.MaxRetries))
	same(r, "after the second death", r.letter(id), job.DeadLetter{
		Death: l.Death + 1, Job: id, Life: 2, Reason: job.MaxRetries, Class: "B", Code: "http.503", Fingerprint: "B|" + kind,
		Message: "the other side is down", Kind: kind, Queue: queue, Holder: holder, DiedAt: r.now(),
	})
}

// proves: D3
func actInSteps(r *rig) {
	all := r.dieAll(7, "A")
	r.ok(r.actOn(store.ActResolve, all[2]))
	other := r.die("B")
	f := &store.DeadFilter{Class: "A"}
	a := store.Action{Do: store.ActIgnore, Filter: f, Limit: 2}
	p := r.preview(store.Action{Do: store.ActIgnore, Filter: f})
	same(r, "preview", []int64{p.Done, p.Through, p.Next}, []int64{6, 8, 0})
	a.Through = p.Through
	before, sum, steps := int64(0), int64(0), 0
	for ; ; steps++ {
		answer, err := r.Act(ctx(), person, a)
		r.ok(err)
		sum += answer.Done
		same(r, "through", answer.Through, a.Through)
		if answer.Done > 2 || steps > 100 {
			r.fail("step %d changed %d entries, want at most 2 entries and at most 100 steps", steps, answer.Done)
		}
		if answer.Next == 0 {
			break
		}
		if answer.Next <= before {
			r.fail("the step after death %d continues at %d, want a later death", before, answer.Next)
		}
		before, a.After = answer.Next, answer.Next
	}
	same(r, "done", sum, int64(6))
	same(r, "the other class", r.letter(other).Status, job.Pending)
	a.After = 0
	r.unchanged(func() { same(r, "again", r.act(a), int64(0)) })
}

// proves: D3
func frozenSetStays(r *rig) {
	all := r.dieAll(3, "A")
	f := &store.DeadFilter{Class: "A"}
	p := r.preview(store.Action{Do: store.ActRetry, Filter: f})
	late := r.die("A")
	r.ok(r.retry(all[0])) // the retried job dies again below; the new death has a new death number
	r.end(died(r.takeID(all[0]), "A", job.NonRetriable))
	same(r, "preview of the same set", r.preview(store.Action{Do: store.ActRetry, Filter: f, Through: p.Through}).Done, int64(2))
	same(r, "done", r.act(store.Action{Do: store.ActRetry, Filter: f, Through: p.Through}), int64(2))
	r.state(late, job.Dead)
	r.state(all[0], job.Dead)
	r.state(all[1], job.Waiting)
	r.state(all[2], job.Waiting)
}

// A death number must never be used twice. Otherwise an older frozen set could include a later
// death.
//
// proves: D3
func numbersAreUsedOnce(r *rig) {
	r.removed = true
	r.die("A")
	last := r.die("A")
	f := &store.DeadFilter{Class: "A"}
	p := r.preview(store.Action{Do: store.ActRetry, Filter: f})
	r.ok(r.actOn(store.ActResolve, last))
	r.ok(r.actOn(store.ActPurge, last))
	late := r.die("A")
	if got := r.letter(late).Death; got <= p.Through {
		r.fail("got death number %d after the set was frozen at %d, want a higher one", got, p.Through)
	}
	same(r, "retried", r.act(store.Action{Do: store.ActRetry, Filter: f, Through: p.Through}), int64(1))
	r.state(late, job.Dead)
}

// proves: D3
func purgeTakesAll(r *rig) {
	r.removed = true
	id := r.die("A", everyField, func(n *job.New) { n.Key, n.Digest = "k", []byte("d") })
	r.ok(r.actOn(store.ActRetry, id, func(a *store.Action) { a.Change.Payload = []byte("other") }))
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	r.ok(r.actOn(store.ActIgnore, id))
	after := r.cursor()
	r.ok(r.actOn(store.ActPurge, id, func(a *store.Action) { a.Note = "asked for" }))
	_, err := r.Get(ctx(), id)
	r.is(err, store.ErrNotFound)
	_, err = r.DeadLetter(ctx(), id)
	r.is(err, store.ErrNotFound)
	_, err = r.Original(ctx(), id)
	r.is(err, store.ErrNotFound)
	same(r, "failures", r.failures(id), nil)
	d := r.dump()
	same(r, "jobs, entries, counts", []int{len(d.Jobs), len(d.Dead), len(d.Counts), len(d.DeadCounts)}, []int{0, 0, 0, 0})
	same(r, "group", []int64{d.Groups[0].N, d.Groups[0].Entries, d.Groups[0].Pending}, []int64{2, 0, 0})
	events := r.events(after)
	same(r, "events", []any{len(events), events[0].Type, events[0].Job, events[0].Reason, events[0].Class},
		[]any{1, event.DeadLetterPurged, id, "purge", "A"})

	// The receipt for the idempotency key still shows the last state of the removed job.
	n := r.newJob(everyField, func(n *job.New) { n.Key, n.Digest = "k", []byte("d") })
	same(r, "enqueue with its key", r.enqueue(n), []job.Receipt{{ID: id, Existing: true, State: job.Dead}})
	r.is(r.actOn(store.ActPurge, id), store.ErrNotFound)
}

// proves: D3
func purgeLeaves(r *rig) {
	r.removed = true
	completed, pending, ignored := r.die("A"), r.die("A"), r.die("A")
	retried := r.die("A", func(n *job.New) { n.RunAt = 0 })
	r.ok(r.retry(completed))
	r.end(succeeded(r.takeID(completed)))
	r.ok(r.actOn(store.ActIgnore, ignored))
	r.ok(r.retry(retried))
	same(r, "purged of all statuses", r.act(store.Action{Do: store.ActPurge, Filter: &store.DeadFilter{
		Statuses: []job.Status{job.Pending, job.Redriven, job.Resolved, job.Ignored},
	}}), int64(2))
	r.state(pending, job.Dead)
	r.state(retried, job.Waiting)
	r.state(completed, job.Completed) // the completed job stays until its retention time is over
	same(r, "entries", sortedJobs(r.dump().Dead), []job.ID{pending, retried})
	same(r, "failures of the completed job", r.failures(completed), nil)
	_, err := r.Get(ctx(), ignored)
	r.is(err, store.ErrNotFound)
}

// proves: D3
func previewChangesNothing(r *rig) {
	id := r.die("A")
	done := r.die("B")
	r.ok(r.actOn(store.ActResolve, done))
	r.unchanged(func() {
		for _, do := range []store.Act{store.ActRetry, store.ActResolve, store.ActIgnore, store.ActReopen, store.ActPurge} {
			want := map[bool]int64{true: 1, false: 0}
			p := r.preview(store.Action{Do: do, Filter: &store.DeadFilter{Class: "A"}})
			same(r, "by filter: "+do.String(), []int64{p.Done, p.Through}, []int64{want[do <= store.ActIgnore], 2})
			p = r.preview(store.Action{Do: do, IDs: []job.ID{id, id, 1 << 40}})
			same(r, "by id: "+do.String(), p.Done, want[do <= store.ActIgnore])
			r.is(p.Errors[2], store.ErrNotFound)
		}
	})
}

// proves: Q9, D2
func actsAreAudited(r *rig) {
	r.removed = true
	a, b := r.die("A"), r.die("B")
	r.ok(r.actOn(store.ActIgnore, a))
	same(r, "resolved", r.act(store.Action{Do: store.ActResolve, Filter: &store.DeadFilter{Class: "A"}}), int64(1))
	r.ok(r.actOn(store.ActRetry, b))
	r.ok(r.actOn(store.ActPurge, a))
	_, err := r.Act(ctx(), store.By{Actor: "ann"}, store.Action{Do: store.ActRetry, IDs: []job.ID{b}, Note: "x"})
	r.ok(err) // a refused action writes no audit row
	r.end(died(r.takeID(b), "B", job.NonRetriable))
	_, err = r.Act(ctx(), store.By{Actor: "ann"}, store.Action{Do: store.ActIgnore, IDs: []job.ID{b}, Note: "the note"})
	r.ok(err)
	row := func(seq int64, action, target, reason, before, after string) store.Audit {
		return store.Audit{Seq: seq, At: r.now(), Actor: "ann", Action: action, Target: target, Reason: reason, Before: before, After: after}
	}
	same(r, "audit", r.audit(), []store.Audit{
		row(1, "dead_letter.ignore", a.String(), "because", "pending", "ignored"),
		row(2, "dead_letter.resolve", `{"class":"A"}`, "because", "", `{"done":1,"through":2,"after":0}`),
		row(3, "job.retry", b.String(), "because", "dead", "waiting"),
		row(4, "dead_letter.purge", a.String(), "because", "resolved", ""),
		row(5, "dead_letter.ignore", b.String(), "the note", "pending", "ignored"),
	})
}

// proves: X3
func actBounds(r *rig) {
	id := r.die("A")
	all, some := &store.DeadFilter{}, []job.ID{id}
	r.unchanged(func() {
		for _, tt := range []struct {
			name string
			a    store.Action
			want error
		}{
			{"no act", store.Action{IDs: some}, store.ErrInvalid},
			{"neither ids nor filter", store.Action{Do: store.ActResolve}, store.ErrInvalid},
			{"both", store.Action{Do: store.ActResolve, IDs: some, Filter: all, Through: 1}, store.ErrInvalid},
			{"too many ids", store.Action{Do: store.ActResolve, IDs: make([]job.ID, job.IDsMax+1)}, store.ErrTooLarge},
			{"no end of the set", store.Action{Do: store.ActResolve, Filter: all}, store.ErrInvalid},
			{"limit", store.Action{Do: store.ActResolve, Filter: all, Through: 1, Limit: store.StepMax + 1}, store.ErrInvalid},
			{"note", store.Action{Do: store.ActResolve, IDs: some, Note: strings.Repeat("n", job.MessageMax+1)}, store.ErrTooLarge},
			{"a change that is no retry", store.Action{Do: store.ActResolve, IDs: some, Change: store.Change{Queue: "q"}}, store.ErrInvalid},
			{"payload for many", store.Action{Do: store.ActRetry, Filter: all, Through: 1, Change: store.Change{Payload: []byte("p")}}, store.ErrInvalid},
			{"payload", store.Action{Do: store.ActRetry, IDs: some, Change: store.Change{Payload: make([]byte, job.PayloadMax+1)}}, store.ErrTooLarge},
			{"settings", store.Action{Do: store.ActRetry, IDs: some, Change: store.Change{Override: make([]byte, job.PolicyMax+1)}}, store.ErrTooLarge},
			{"queue", store.Action{Do: store.ActRetry, IDs: some, Change: store.Change{Queue: "no good"}}, store.ErrInvalid},
			{"priority", store.Action{Do: store.ActRetry, IDs: some, Change: store.Change{Priority: 5}}, store.ErrInvalid},
			{"count without a group", store.Action{Do: store.ActIgnore, Filter: all, Through: 1, Count: 3}, store.ErrInvalid},
			{"until beyond the largest time", store.Action{Do: store.ActIgnore, IDs: some, Until: store.UntilMax + 1}, store.ErrInvalid},
			{"until of a retry", store.Action{Do: store.ActRetry, IDs: some, Until: 5}, store.ErrInvalid},
		} {
			if _, err := r.Act(ctx(), person, tt.a); !errors.Is(err, tt.want) {
				r.fail("%s: got %v, want %v", tt.name, err, tt.want)
			}
		}
		_, err := r.Act(ctx(), store.By{}, store.Action{Do: store.ActResolve, IDs: some})
		r.is(err, store.ErrInvalid)
		_, err = r.Preview(ctx(), store.Action{Do: store.ActResolve, Filter: all, Limit: store.PreviewMax + 1})
		r.is(err, store.ErrInvalid)
	})
}
