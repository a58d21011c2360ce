package storetest

import (
	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The operations of a differential run on causes and notes.

// changeCause changes a group of dead letters, or adds groups to a named set, or removes groups
// from it.
func (d *duel) changeCause() {
	t, by := d.t, d.by()
	c := store.GroupChange{Group: d.fingerprint()}
	if chance(t, "name", 3) {
		c.Name = new(pick(t, "new name", "", "the disk"))
	}
	if chance(t, "assignee", 3) {
		c.Assignee = new(pick(t, "new assignee", "", "ben", "zoe"))
	}
	if chance(t, "resolve", 2) {
		c.Resolved = new(!chance(t, "open", 4))
	}
	if chance(t, "seen group", 3) {
		by.Seen = &store.Seen{Group: new(pick(t, "seen state", store.GroupOpen, store.GroupResolved)), Assignee: new(pick(t, "seen assignee", "", "ben"))}
	}
	d.each("SetGroup", func(s store.Store) (any, error) { return s.SetGroup(ctx(), by, c) })
	by.Seen = nil
	if chance(t, "regress", 3) { // resolve the groups in which endDead lets jobs die, so that some of these groups regress
		for _, class := range []string{"A", "B"} {
			resolved := store.GroupChange{Group: groupName(class), Resolved: new(true)}
			d.each("SetGroup", func(s store.Store) (any, error) { return s.SetGroup(ctx(), by, resolved) })
		}
		d.endDead()
	}
	set, groups := pick(t, "set", "s1", "s1", "s2", "", "no good"), some(t, "groups", 2, func(int) string { return d.fingerprint() })
	d.each("MergeGroups", func(s store.Store) (any, error) { return s.MergeGroups(ctx(), by, set, groups) })
}

// addNote adds a note and reads notes.
func (d *duel) addNote() {
	t, by := d.t, d.by()
	n := store.Note{What: pick(t, "what", store.PlainNote, store.Feedback, store.Feedback, "label"), Text: pick(t, "text", "seen", "broken")}
	switch {
	case chance(t, "group", 3):
		n.Group = d.fingerprint()
	case chance(t, "handler", 3):
		run := d.run()
		n.Job, n.Run = run.ID, run.Token
	default:
		n.Job = d.id()
	}
	d.each("AddNote", func(s store.Store) (any, error) { return s.AddNote(ctx(), by, n) })
	f := store.NoteFilter{What: pick(t, "listed", "", store.PlainNote, store.Feedback), Limit: pick(t, "limit", 0, 1, 2), Before: pick(t, "before", int64(0), 0, 3)}
	switch pick(t, "of", "all", "job", "group") {
	case "job":
		f.Job = d.id()
	case "group":
		f.Group = d.fingerprint()
	}
	d.ask("Notes", func(s store.Store) (any, error) { return s.Notes(ctx(), f) })
}

// completeRetried completes a run whose job was dead before.
func (d *duel) completeRetried() {
	x := store.Exchange{Holder: d.holder(), Lease: lease}
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.State == job.Running && j.Life > 1 && len(x.Settle) < 2 {
			x.Settle = append(x.Settle, succeeded(job.Claim{ID: j.ID, Token: j.Token}))
		}
	}
	if len(x.Settle) > 0 {
		d.bring(x)
	}
}

// noteCauses compares the contents before and after an operation. It counts which kinds of changes
// to groups and notes the run has covered.
func (d *duel) noteCauses(before, after *store.Dump) {
	helped := int64(0)
	for i := range after.Groups {
		helped += after.Groups[i].Helped
	}
	for i := range before.Groups {
		helped -= before.Groups[i].Helped
	}
	d.did("retry that helps", int(helped))
	if len(after.Notes) < len(before.Notes) {
		d.did("note that a sweep removes", 1)
	}
}

// request begins a request with an idempotency key. Some of the requests also get their answer.
func (d *duel) request() {
	t := d.t
	q := store.Request{Scope: pick(t, "scope", "s1", "s2"), Key: pick(t, "request key", "k1", "k2", ""), Digest: []byte(pick(t, "digest", "d1", "d1", "d1", "d2")),
		First: d.id(), N: rapid.IntRange(0, 2).Draw(t, "number"), Through: pick(t, "through", int64(0), 5)}
	type begun struct {
		Request  store.Request
		Existing bool
	}
	for range 1 + rapid.IntRange(0, 1).Draw(t, "repeats") {
		got := d.each("BeginRequest", func(s store.Store) (any, error) {
			stored, existing, err := s.BeginRequest(ctx(), q)
			return begun{stored, existing}, err
		})
		if b, ok := got.Value.(begun); ok && b.Existing {
			d.did("request that exists", 1)
		}
	}
	if !chance(t, "answer", 2) {
		return
	}
	key, status := pick(t, "answered key", "k1", "k2", "k3"), pick(t, "status", 200, 201, 500)
	d.each("EndRequest", func(s store.Store) (any, error) {
		return nil, s.EndRequest(ctx(), q.Scope, key, status, []byte("done"))
	})
}

// noteEnded adds a note to a job that has ended, so that a sweep that removes the job must also
// remove a note.
func (d *duel) noteEnded() {
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.State == job.Completed || j.State == job.Cancelled {
			n := feedbackOn(j.ID, "it is over")
			d.each("AddNote", func(s store.Store) (any, error) { return s.AddNote(ctx(), person, n) })
			return
		}
	}
}
