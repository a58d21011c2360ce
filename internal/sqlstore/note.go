package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const noteColumns = `id, at, by, what, job, grp, token, text`

var (
	// selNoted finds the job to which a note belongs. If the job is not live and has not ended, it
	// finds the dead letter of the job.
	selNoted = declare("selNoted", `SELECT l.kind, l.queue, p.owner FROM (
		SELECT 1 AS place, 0 AS seq, lane, owner FROM redrive_jobs WHERE id = ?1
		UNION ALL SELECT 2, seq, lane, owner FROM redrive_done INDEXED BY redrive_done_job WHERE job = +?1
		UNION ALL SELECT 3, 0, lane, owner FROM redrive_dead WHERE job = ?1) p
		JOIN redrive_lanes l ON l.id = p.lane ORDER BY p.place, p.seq DESC LIMIT 1`)
	countJobNotes   = declare("countJobNotes", `SELECT count(*) FROM redrive_notes WHERE job = ?`)
	countGroupNotes = declare("countGroupNotes", `SELECT count(*) FROM redrive_notes WHERE grp = ?`)
	nextNote        = declare("nextNote", `INSERT INTO redrive_meta (key, value) VALUES ('notes', 1)
		ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value`)
	insNote = declare("insNote", `INSERT INTO redrive_notes (`+noteColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)

	// A job or a group has at most store.NotesMax notes, so these statements read few rows.
	notesOfJob   = declare("notesOfJob", `SELECT `+noteColumns+` FROM redrive_notes WHERE job = ?2 AND id < ?1 ORDER BY id DESC LIMIT ?3`)
	notesOfGroup = declare("notesOfGroup", `SELECT `+noteColumns+` FROM redrive_notes WHERE grp = ?2 AND id < ?1 ORDER BY id DESC LIMIT ?3`)
	notesOfKind  = declare("notesOfKind", `SELECT `+noteColumns+` FROM redrive_notes WHERE what = ?2 AND id < ?1 ORDER BY id DESC LIMIT ?3`)
	newestNotes  = declare("newestNotes", `SELECT `+noteColumns+` FROM redrive_notes WHERE id < ?1 ORDER BY id DESC LIMIT ?2`)
	allNotes     = declare("allNotes", `SELECT `+noteColumns+` FROM redrive_notes ORDER BY id`)
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
	// walkNotes returns for each note whether its job, the job's dead letter, or its group exists.
	walkNotes = declareWalk("walkNotes", `SELECT n.id, CASE WHEN n.job IS NULL THEN EXISTS (SELECT 1 FROM redrive_groups g WHERE g.fingerprint = n.grp)
		ELSE EXISTS (SELECT 1 FROM redrive_jobs j WHERE j.id = n.job) OR EXISTS (SELECT 1 FROM redrive_done d INDEXED BY redrive_done_job WHERE d.job = n.job)
		OR EXISTS (SELECT 1 FROM redrive_dead d WHERE d.job = n.job) END FROM redrive_notes n WHERE n.id > +? ORDER BY n.id`)
	delNotes = declare("delNotes", `DELETE FROM redrive_notes WHERE id IN (SELECT CAST(i.value AS BIGINT) FROM json_each(?1) i)`)
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
