package memory

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/redrive/redrive/store"
)

// AddNote implements store.Causes.
func (s *Store) AddNote(ctx context.Context, by store.By, n store.Note) (store.Note, error) {
	t, err := s.begin(ctx, "add note")
	if err != nil {
		return store.Note{}, err
	}
	defer t.end()
	if err := store.ValidateNote(by, &n); err != nil {
		return store.Note{}, t.errorf("%w", err)
	}
	if err := t.addNote(by, &n); err != nil {
		return store.Note{}, t.errorf("%w", err)
	}
	return n, nil
}

func (t *tx) addNote(by store.By, n *store.Note) error {
	if n.Run != 0 && t.running(store.Run{ID: n.Job, Token: n.Run}) == nil {
		return fmt.Errorf("%s of job %d, run %d: %w", n.What, n.Job, n.Run, store.ErrLeaseLost)
	}
	kind, queue, owner, found := t.noted(n)
	if !found {
		return n.Missing()
	}
	has := 0
	for i := range t.notes {
		if t.notes[i].Job == n.Job && t.notes[i].Group == n.Group {
			has++
		}
	}
	if has >= store.NotesMax {
		return n.TooMany()
	}
	t.lastNote++
	n.ID, n.At, n.By = t.lastNote, t.now, by.Actor
	t.notes = append(t.notes, *n)
	t.emit(n.Event(kind, queue, owner))
	if n.Run == 0 {
		t.note(by, n.Action(), n.Target(), "", "")
	}
	return nil
}

// noted finds the job or the group of a note. A removed job whose dead letter still exists is
// found, too.
func (t *tx) noted(n *store.Note) (kind, queue, owner string, found bool) {
	if n.Group != "" {
		if g := t.groups[n.Group]; g != nil {
			return g.Kind, "", "", true
		}
		return "", "", "", false
	}
	if r := t.jobs[n.Job]; r != nil {
		return r.Kind, r.Queue, r.Owner, true
	}
	if e := t.dead[n.Job]; e != nil {
		return e.Kind, e.Queue, e.Owner, true
	}
	return "", "", "", false
}

// Notes implements store.Causes.
func (s *Store) Notes(ctx context.Context, f store.NoteFilter) ([]store.Note, error) {
	t, err := s.begin(ctx, "notes")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return nil, t.errorf("%w", err)
	}
	var list []store.Note
	for _, n := range slices.Backward(t.notes) {
		if len(list) < f.Limit && f.Matches(&n) {
			list = append(list, n)
		}
	}
	return list, nil
}

// sweepStray is the maximum number of notes that one sweep examines for a removed job or group.
const sweepStray = 500

// sweepNotes examines the notes and removes those whose job or group is gone.
func (w *sweep) sweepNotes() {
	from := sort.Search(len(w.notes), func(i int) bool { return w.notes[i].ID > w.sweeping.note })
	w.sweeping.note = 0
	to := len(w.notes)
	if most := from + min(w.limit, sweepStray); to > most {
		to = most
		w.sweeping.note, w.swept.More = w.notes[to-1].ID, true
	}
	kept := slices.DeleteFunc(slices.Clone(w.notes[from:to]), func(n store.Note) bool {
		_, _, _, found := w.noted(&n)
		return !found && n.What != store.Label
	})
	w.notes = slices.Concat(w.notes[:from], kept, w.notes[to:])
}
