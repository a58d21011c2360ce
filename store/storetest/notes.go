package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func notePromises() []promise {
	return []promise{
		{"D8_FeedbackIsKeptWithItsJob", feedbackIsKept},
		{"D8_NotesAreListed", notesAreListed},
		{"Q11_HandlerLeavesFeedback", handlerLeavesFeedback},
		{"Q9_NotesAreAudited", notesAreAudited},
		{"Q6_NotesGoWithTheirJob", notesGo},
		{"Q6_NotesGoInSteps", notesGoInSteps},
		{"X3_NoteBounds", noteBounds},
	}
}

// addNote adds a note of a person.
func (r *rig) addNote(n store.Note) store.Note {
	added, err := r.AddNote(ctx(), person, n)
	r.ok(err)
	return added
}

func feedbackOn(id job.ID, text string) store.Note {
	return store.Note{What: store.Feedback, Job: id, Text: text}
}

func noteOn(class, text string) store.Note {
	return store.Note{What: store.PlainNote, Group: groupName(class), Text: text}
}

func (r *rig) notes(f store.NoteFilter) []store.Note {
	list, err := r.Notes(ctx(), f)
	r.ok(err)
	return list
}

// part of: D8
func feedbackIsKept(r *rig) {
	waiting, completed, dead := r.add(everyField), r.add(), r.add()
	r.end(succeeded(r.takeID(completed)))
	r.end(died(r.takeID(dead), "A", job.NonRetriable))
	var want []store.Note
	for i, id := range []job.ID{waiting, completed, dead} {
		r.clock.Advance(time.Second)
		n := r.addNote(feedbackOn(id, "it is broken"))
		want = append(want, store.Note{ID: int64(i) + 1, At: r.now(), By: person.Actor, What: store.Feedback, Job: id, Text: "it is broken"})
		same(r, "added note", n, want[i])
		same(r, "notes of the job", r.notes(store.NoteFilter{Job: id}), want[i:])
	}
	same(r, "notes in the dump", r.dump().Notes, want)
	var events []event.Event
	for _, e := range r.dump().Events {
		if e.Type == event.NoteAdded {
			e.Cursor = event.Cursor{}
			events = append(events, e)
		}
	}
	j := r.get(waiting)
	same(r, "first event", events[0], event.Event{At: want[0].At, Type: event.NoteAdded, Job: waiting, Kind: j.Kind, Queue: j.Queue, Owner: "alice", Reason: "feedback"})
	same(r, "number of events", len(events), 3)
	r.unchanged(func() {
		_, err := r.AddNote(ctx(), person, feedbackOn(dead+1000, "x"))
		r.is(err, store.ErrNotFound)
		_, err = r.AddNote(ctx(), person, store.Note{What: store.PlainNote, Group: "unheard", Text: "x"})
		r.is(err, store.ErrNotFound)
	})
}

// part of: D8
func notesAreListed(r *rig) {
	one, two := r.die("A"), r.add()
	for _, n := range []store.Note{feedbackOn(one, "1"), noteOn("A", "2"), feedbackOn(two, "3"), {What: store.PlainNote, Job: one, Text: "4"}, feedbackOn(one, "5")} {
		r.addNote(n)
	}
	for _, tt := range []struct {
		name string
		f    store.NoteFilter
		want string
	}{
		{"all", store.NoteFilter{}, "54321"},
		{"a job", store.NoteFilter{Job: one}, "541"},
		{"feedback on a job", store.NoteFilter{Job: one, What: store.Feedback}, "51"},
		{"one feedback on a job", store.NoteFilter{Job: one, What: store.PlainNote, Limit: 1}, "4"},
		{"a group", store.NoteFilter{Group: groupName("A")}, "2"},
		{"no feedback on the group", store.NoteFilter{Group: groupName("A"), What: store.Feedback}, ""},
		{"all feedback", store.NoteFilter{What: store.Feedback}, "531"},
		{"a page of feedback", store.NoteFilter{What: store.Feedback, Before: 5, Limit: 1}, "3"},
		{"a page", store.NoteFilter{Before: 4, Limit: 2}, "32"},
		{"a page of a job", store.NoteFilter{Job: one, Before: 5, Limit: 1}, "4"},
		{"another job", store.NoteFilter{Job: two + 9}, ""},
	} {
		var b strings.Builder
		for _, n := range r.notes(tt.f) {
			b.WriteString(n.Text)
		}
		same(r, tt.name, b.String(), tt.want)
	}
}

// part of: Q11
func handlerLeavesFeedback(r *rig) {
	id := r.add()
	c := r.takeID(id)
	worker := store.By{Actor: holder}
	n := feedbackOn(id, "page 3 is empty")
	n.Run = c.Token
	added, err := r.AddNote(ctx(), worker, n)
	r.ok(err)
	same(r, "feedback of the handler", added, store.Note{ID: 1, At: r.now(), By: holder, What: store.Feedback, Job: id, Run: c.Token, Text: "page 3 is empty"})
	same(r, "audit rows", len(r.audit()), 0)
	r.end(failed(c, "A", 0))
	r.unchanged(func() {
		_, err := r.AddNote(ctx(), worker, n)
		r.is(err, store.ErrLeaseLost)
	})
	r.takeID(id)
	r.unchanged(func() {
		_, err := r.AddNote(ctx(), worker, n) // this note names the earlier run
		r.is(err, store.ErrLeaseLost)
	})
	same(r, "the feedback outlives its run", r.notes(store.NoteFilter{Job: id}), []store.Note{added})
}

// part of: Q9
func notesAreAudited(r *rig) {
	id := r.die("A")
	r.addNote(feedbackOn(id, "x"))
	r.addNote(store.Note{What: store.PlainNote, Job: id, Text: "x"})
	r.addNote(noteOn("A", "x"))
	var rows []string
	for _, a := range r.audit() {
		rows = append(rows, a.Actor+" "+a.Action+" "+a.Target+" "+a.Reason)
	}
	same(r, "audit rows", rows, []string{"ann job.feedback " + id.String() + " because", "ann job.note " + id.String() + " because", "ann group.note A|" + kind + " because"})
}

// part of: Q6
func notesGo(r *rig) {
	live, completed := r.add(func(n *job.New) { n.RunAt = r.in(1000 * time.Hour) }), r.add()
	r.end(succeeded(r.takeID(completed)))
	dead := r.die("A")
	r.end(succeeded(r.takeID(r.add()))) // a sweep keeps the job that ended last
	for _, n := range []store.Note{feedbackOn(live, "live"), feedbackOn(completed, "completed"), feedbackOn(dead, "dead"), noteOn("A", "group"), {What: store.Label, Group: groupName("A"), Text: "label"}} {
		r.addNote(n)
	}
	texts := func() (all []string) {
		for _, n := range r.dump().Notes {
			all = append(all, n.Text)
		}
		return all
	}
	r.sweep(store.Retention{Completed: time.Hour, Dead: time.Hour}, 10)
	same(r, "notes before anything is removed", texts(), []string{"live", "completed", "dead", "group", "label"})
	r.clock.Advance(2 * time.Hour)
	r.sweep(store.Retention{Completed: time.Hour}, 10)
	same(r, "notes after the completed job is removed", texts(), []string{"live", "dead", "group", "label"})
	r.sweep(store.Retention{Dead: time.Hour, DropPending: true}, 10)
	r.sweep(store.Retention{Dead: time.Hour, DropPending: true}, 10)
	same(r, "notes after the dead letter and its group are removed", texts(), []string{"live", "label"})
	same(r, "number of the next note", r.addNote(feedbackOn(live, "x")).ID, int64(6))
}

// part of: Q6
func notesGoInSteps(r *rig) {
	keep := r.add(func(n *job.New) { n.RunAt = r.in(1000 * time.Hour) })
	for range 5 {
		id := r.add()
		r.end(succeeded(r.takeID(id)))
		r.addNote(feedbackOn(id, "gone"))
		r.addNote(feedbackOn(keep, "kept"))
	}
	r.end(succeeded(r.takeID(r.add())))
	r.clock.Advance(2 * time.Hour)
	r.sweep(store.Retention{Completed: time.Hour}, 2)
	r.sweep(store.Retention{Completed: time.Hour}, 2) // the first sweep has begun to examine the notes before the last job was removed; this sweep continues
	same(r, "notes", len(r.dump().Notes), 5)
	same(r, "notes of the living job", len(r.notes(store.NoteFilter{Job: keep})), 5)
}

// part of: X3
func noteBounds(r *rig) {
	id := r.die("A")
	long := strings.Repeat("x", store.NoteMax)
	for range store.NotesMax {
		r.addNote(feedbackOn(id, long))
	}
	r.addNote(noteOn("A", long))
	r.addNote(feedbackOn(r.add(), long))
	r.unchanged(func() {
		for name, tt := range map[string]struct {
			n    store.Note
			want error
		}{
			"too many":         {feedbackOn(id, "x"), store.ErrTooLarge},
			"long":             {feedbackOn(id, long+"x"), store.ErrTooLarge},
			"empty":            {feedbackOn(id, ""), store.ErrInvalid},
			"of nothing":       {store.Note{What: store.PlainNote, Text: "x"}, store.ErrInvalid},
			"of both":          {store.Note{What: store.PlainNote, Job: id, Group: groupName("A"), Text: "x"}, store.ErrInvalid},
			"label of a job":   {store.Note{What: store.Label, Job: id, Text: "x"}, store.ErrInvalid},
			"unknown kind":     {store.Note{What: "praise", Job: id, Text: "x"}, store.ErrInvalid},
			"run of a group":   {store.Note{What: store.Feedback, Group: groupName("A"), Run: 1, Text: "x"}, store.ErrInvalid},
			"negative run":     {store.Note{What: store.Feedback, Job: id, Run: -1, Text: "x"}, store.ErrInvalid},
			"long fingerprint": {noteOn(strings.Repeat("A", job.TextMax), "x"), store.ErrTooLarge},
		} {
			_, err := r.AddNote(ctx(), person, tt.n)
			if err == nil {
				r.fail("%s note: got no error, want %v", name, tt.want)
			}
			r.is(err, tt.want)
		}
		for name, f := range map[string]store.NoteFilter{
			"page": {Limit: job.PageMax + 1}, "negative page": {Limit: -1}, "before": {Before: -1}, "kind": {What: "praise"}, "both": {Job: 1, Group: "A"},
		} {
			if _, err := r.Notes(ctx(), f); err == nil {
				r.fail("list of notes with %s: got no error, want ErrInvalid", name)
			} else {
				r.is(err, store.ErrInvalid)
			}
		}
	})
	same(r, "a page of the largest size", len(r.notes(store.NoteFilter{Job: id, Limit: job.PageMax})), store.NotesMax)
}
