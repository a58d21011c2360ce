package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selNoted        = ask("selNoted")
	countJobNotes   = ask("countJobNotes")
	countGroupNotes = ask("countGroupNotes")
	nextNote        = ask("nextNote")
	insNote         = ask("insNote")

	notesOfJob   = ask("notesOfJob")
	notesOfGroup = ask("notesOfGroup")
	notesOfKind  = ask("notesOfKind")
	newestNotes  = ask("newestNotes")
	allNotes     = ask("allNotes")
)

func scanNote(r Row) store.Note {
	return store.Note{ID: r.Int(0), At: job.Micros(r.Int(1)), By: r.Text(2), What: store.NoteKind(r.Text(3)), Job: job.ID(r.Int(4)),
		Group: r.Text(5), Run: job.Token(r.Int(6)), Text: r.Text(7)}
}

// lockedNotes is the name of the lock that a transaction takes before it counts the notes
// of a job or group.
const lockedNotes = "notes"

// AddNote implements store.Causes.
func (s *Core) AddNote(ctx context.Context, by store.By, n store.Note) (added store.Note, err error) {
	if err := store.ValidateNote(by, &n); err != nil {
		return store.Note{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		added, err = t.addNote(by, n)
		return err
	})
	if err != nil {
		return store.Note{}, err
	}
	return added, nil
}

func (t *Txn) addNote(by store.By, n store.Note) (store.Note, error) {
	if n.Run != 0 {
		switch r, err := t.running(n.Job, n.Run); {
		case err != nil:
			return n, err
		case r == nil:
			return n, fmt.Errorf("%s of job %d, run %d: %w", n.What, n.Job, n.Run, store.ErrLeaseLost)
		}
	}
	if err := t.lockName(lockedNotes); err != nil {
		return n, err
	}
	kind, queue, owner, err := t.noted(&n)
	if err != nil {
		return n, err
	}
	count, of := countJobNotes, num(n.Job)
	if n.Group != "" {
		count, of = countGroupNotes, text(n.Group)
	}
	has, err := ReadInt(t.s, count, of)
	if err == nil && has >= store.NotesMax {
		err = n.TooMany()
	}
	if err != nil {
		return n, err
	}
	t.wrote = true
	if err := t.rows(nextNote, func(r Row) error { n.ID = r.Int(0); return nil }); err != nil {
		return n, err
	}
	n.At, n.By = t.now, by.Actor
	_, err = t.exec(insNote, num(n.ID), num(n.At), text(n.By), text(n.What), setNum(n.Job), setText(n.Group), setNum(n.Run), text(n.Text))
	if err != nil {
		return n, err
	}
	e := n.Event(kind, queue, owner)
	t.events.Add(&e)
	if n.Run != 0 {
		return n, nil
	}
	return n, t.audit(by, n.Action(), n.Target(), "", "")
}

// noted finds the job or the group to which a note belongs. For a job, it returns the kind,
// queue and owner.
func (t *Txn) noted(n *store.Note) (kind, queue, owner string, err error) {
	found := false
	if n.Group != "" {
		err = t.rows(selGroupRow, func(r Row) error { found, kind = true, r.Text(1); return nil }, text(n.Group))
	} else {
		err = t.rows(selNoted, func(r Row) error {
			found, kind, queue, owner = true, r.Text(0), r.Text(1), r.Text(2)
			return nil
		}, num(n.Job))
	}
	if err == nil && !found {
		err = n.Missing()
	}
	return kind, queue, owner, err
}

// Notes implements store.Causes.
func (s *Core) Notes(ctx context.Context, f store.NoteFilter) (list []store.Note, err error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	before := num(cmp.Or(f.Before, math.MaxInt64))
	err = s.db.Read(ctx, func(c Session) error {
		list = nil
		each := func(r Row) error {
			if n := scanNote(r); f.Matches(&n) && len(list) < f.Limit {
				list = append(list, n)
			}
			return nil
		}
		switch {
		case f.Job != 0:
			return c.Rows(notesOfJob, each, before, num(f.Job), num(store.NotesMax))
		case f.Group != "":
			return c.Rows(notesOfGroup, each, before, text(f.Group), num(store.NotesMax))
		case f.What != "":
			return c.Rows(notesOfKind, each, before, text(f.What), num(f.Limit))
		}
		return c.Rows(newestNotes, each, before, num(f.Limit))
	})
	return list, err
}

// sweepStray is the maximum number of notes that one sweep examines.
const sweepStray = 500

var (
	walkNotes = askWalk("walkNotes")
	delNotes  = ask("delNotes")
)

// strayNotes examines the notes and removes those whose job or group is gone.
func (w *sweep) strayNotes() error {
	var stray []job.ID // the numbers of the notes to remove
	seen, last, cursor := 0, int64(0), int64(0)
	err := w.rows(walkNotes, func(r Row) error {
		if seen++; seen > min(w.limit, sweepStray) {
			cursor = last
			return errEnough
		}
		if last = r.Int(0); r.Int(1) == 0 {
			stray = append(stray, job.ID(last))
		}
		return nil
	}, num(w.note(sweptNotes).cursor))
	if err := enough(err); err != nil {
		return err
	}
	if len(stray) > 0 {
		if _, err := w.exec(delNotes, idList(stray)); err != nil {
			return err
		}
	}
	w.swept.More = w.swept.More || cursor != 0
	return w.moveTo(sweptNotes, cursor)
}
