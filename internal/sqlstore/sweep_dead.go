package sqlstore

import (
	"cmp"
	"errors"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These constants are the maximum numbers of rows that one sweep examines, in addition to the
// limit that the caller gives.
const (
	sweepRecords = 5_000 // failure records that one sweep removes together with dead letters
	sweepGroups  = 1_000 // groups that one sweep removes or unmutes
	SweepMarks   = 200   // groups whose ignored dead letters one sweep examines
	// sweepDue is the number of dead letters that one sweep reads to make them pending. It is
	// one more than the largest limit, to see whether there are more.
	sweepDue    = store.SweepMax + 1
	SweepTrends = 500
)

// letter holds those columns of a dead letter that a sweep needs.
type letter struct {
	entry
	goneJob
	death     int64
	life      int32
	revived   bool
	long      bool
	diedAt    job.Micros
	actedAt   job.Micros
	reopensAt job.Micros
}

func (t *Txn) scanLetter(r Row) letter {
	l := letter{
		entry: entry{deadKey{r.Int(2), job.Reason(r.Text(3)), r.Text(4), job.Status(r.Int(5))}, r.Int(6)},
		death: r.Int(0), life: int32(r.Int(9)), revived: r.Int(10) != 0, long: r.Int(11) != 0,
		diedAt: job.Micros(r.Int(12)), actedAt: job.Micros(r.Int(13)), reopensAt: job.Micros(r.Int(14)),
	}
	l.goneJob = goneJob{id: job.ID(r.Int(1)), lane: t.laneOf(r.Int(2)), state: job.Dead, owner: r.Text(7), key: r.Text(8), batch: r.Int(15)}
	return l
}

// shown returns the dead letter with only those fields that events contain.
func (l *letter) shown() *job.DeadLetter {
	return &job.DeadLetter{Job: l.id, Kind: l.lane.kind, Queue: l.lane.queue, Owner: l.owner, Life: l.life, Class: l.class}
}

var (
	walkLetters = askWalk("walkLetters")
	delDead     = ask("delDead")
	delFailures = ask("delFailures")
	delOriginal = ask("delOriginal")
)

// letters reads the old dead letters and removes those whose retention time is over. It keeps
// an ignored dead letter that will become pending again.
func (w *sweep) letters() error {
	if w.keep.Dead == 0 {
		return nil
	}
	until := w.now.Add(-w.keep.Dead)
	var old []*letter
	seen, last, cursor := 0, int64(0), int64(0)
	err := w.rows(walkLetters, func(r Row) error {
		if seen++; seen > w.limit {
			cursor = last
			return errEnough
		}
		last = r.Int(0)
		if max(r.Int(12), r.Int(13)) <= int64(until) {
			if l := w.scanLetter(r); w.droppable(&l) {
				old = append(old, &l)
			}
		}
		return nil
	}, num(w.note(sweptDead).cursor))
	if err := enough(err); err != nil {
		return err
	}
	gone, looked, err := w.purgeAll(old)
	if err != nil {
		return err
	}
	if looked < len(old) {
		cursor = old[looked].death - 1
	}
	for _, l := range gone {
		w.events.Add(new(store.PurgeEvent(l.shown(), "retention")))
		w.swept.Dead++
		if l.status == job.Pending {
			w.swept.Pending++
		}
	}
	if w.swept.Pending > 0 {
		if err := w.auditRemoval("pending_dead_letters", w.swept.Pending); err != nil {
			return err
		}
	}
	w.swept.More = w.swept.More || cursor != 0
	return errors.Join(w.removed(sweptDead, w.swept.Dead-w.swept.Pending), w.moveTo(sweptDead, cursor))
}

// droppable reports whether the sweep may remove a dead letter whose retention time is over.
func (w *sweep) droppable(l *letter) bool {
	switch {
	case l.status == job.Redriven: // the job was retried and is live again
		return false
	case l.status == job.Resolved || w.keep.DropPending:
		return true
	case l.status == job.Pending:
		return false
	}
	return l.reopensAt == 0 // a dead letter with another reopen_at value will become pending again
}

var selMuted = ask("selMuted")

// muted reports whether a group is still muted. Call it after flushGroups.
func (w *sweep) muted(group int64) (muted bool, err error) {
	err = w.rows(selMuted, func(Row) error { muted = true; return nil }, num(group), num(w.now))
	return muted, err
}

// purge removes a dead letter with all data of its job. It keeps only the job's row in
// redrive_done, if a later life of the job ended there. It returns the number of removed
// failure records.
func (t *Txn) purge(l *letter) (records int, err error) {
	n, err := t.exec(delDead, num(l.death), num(l.id))
	if err == nil && n == 0 {
		err = errors.New("the row of a dead letter was read in this transaction, but the removal did not find the row") // This cannot happen: the row was read in this transaction.
	}
	if err != nil {
		return 0, err
	}
	if err := t.keepNumber(l.death); err != nil {
		return 0, err
	}
	t.uncount(l.group, l.deadKey)
	if !l.revived {
		if err := t.remove(&l.goneJob); err != nil {
			return 0, err
		}
		if l.long {
			if _, err := t.exec(delBody, num(l.id)); err != nil {
				return 0, err
			}
		}
	}
	if _, err := t.exec(delOriginal, num(l.id)); err != nil {
		return 0, err
	}
	return t.exec(delFailures, num(l.id))
}

// setDeaths stores the number of the last death. It is executed before the row of that death is
// removed, so that the number is not used again.
var setDeaths = ask("setDeaths")

var (
	selEmptyGroups = askWalk("selEmptyGroups")
	delGroup       = ask("delGroup")
	delTrends      = ask("delTrends")
)

// emptyGroups removes groups that have had no dead letter for as long as the retention time.
func (w *sweep) emptyGroups() error {
	if err := w.flushGroups(); err != nil || w.keep.Dead == 0 {
		return err
	}
	var ids []int64
	var names []string
	err := w.rows(selEmptyGroups, func(r Row) error {
		if len(ids) == sweepGroups {
			w.swept.More = true
			return errEnough
		}
		ids, names = append(ids, r.Int(0)), append(names, r.Text(1))
		return nil
	}, num(w.now.Add(-w.keep.Dead)))
	if err := enough(err); err != nil {
		return err
	}
	for _, name := range names {
		w.forgetGroup(name)
	}
	if r := w.hooks.Remover; r != nil && len(ids) > 0 {
		w.wrote = true
		return r.Groups(ids)
	}
	for _, id := range ids {
		if _, err := w.exec(delGroup, num(id)); err != nil {
			return err
		}
		// If the counts stayed, a new group with the same id would show the counts of the
		// removed group.
		if _, err := w.exec(delTrends, num(id)); err != nil {
			return err
		}
	}
	return nil
}

// flushGroups writes the changed groups. Call it before statements that read groups.
func (t *Txn) flushGroups() error {
	for i, id := range t.groups.keys {
		if err := t.flushGroup(id, &t.groups.values[i]); err != nil {
			return err
		}
	}
	t.groups.reset()
	return nil
}

var (
	selMuteOver = askWalk("selMuteOver")
	nextMark    = ask("nextMark")
	selMarked   = askWalk("selMarked")
	selDue      = askWalk("selDue")
	selLetter   = ask("selLetter")
	setReopen   = ask("setReopen")
)

// unmute ends the mutes of groups whose time is over.
func (w *sweep) unmute() error {
	var over []groupRow
	var names []string
	err := w.rows(selMuteOver, func(r Row) error {
		if len(over) == sweepGroups {
			w.swept.More = true
			return errEnough
		}
		over, names = append(over, groupRow{id: r.Int(0)}), append(names, r.Text(1))
		return nil
	}, num(w.now))
	if err := enough(err); err != nil {
		return err
	}
	for i := range over {
		if err := w.flushGroup(over[i].id, &groupDelta{mute: &over[i]}); err != nil {
			return err
		}
		w.forgetGroup(names[i])
	}
	return nil
}

// reopen makes ignored dead letters pending when their time has come or the mute of their
// group has ended. It examines a limited number of dead letters and reopens them in the order
// of their deaths.
func (w *sweep) reopen() error {
	var deaths []int64
	collect := func(r Row) error {
		if len(deaths) == sweepDue {
			return errEnough
		}
		deaths = append(deaths, r.Int(0))
		return nil
	}
	if err := enough(w.rows(selDue, collect, num(w.now))); err != nil {
		return err
	}
	marks, next, err := w.overMarks()
	if err != nil {
		return err
	}
	for _, mark := range marks {
		if err := enough(w.rows(selMarked, collect, num(mark))); err != nil {
			return err
		}
	}
	slices.Sort(deaths)
	// The next sweep begins with the same groups, because each group may have more ignored dead
	// letters.
	if len(deaths) > w.limit {
		deaths, w.swept.More = deaths[:w.limit], true
	} else if err := w.moveTo(sweptMarks, next); err != nil {
		return err
	}
	w.swept.More = w.swept.More || next != 0
	for _, death := range deaths {
		if err := w.reopenOne(death); err != nil {
			return err
		}
	}
	return nil
}

// overMarks returns those values of reopen_at whose groups are no longer muted; see withGroup.
// The second result is the value at which the next sweep continues after the dead letters of
// these groups are reopened; 0 means the start.
func (w *sweep) overMarks() (over []int64, end int64, err error) {
	mark := cmp.Or(w.note(sweptMarks).cursor, withGroup)
	for range SweepMarks {
		next := int64(0)
		if err := w.rows(nextMark, func(r Row) error { next = r.Int(0); return nil }, num(mark)); err != nil {
			return nil, 0, err
		}
		if next == 0 {
			return over, 0, nil
		}
		mark = next
		muted, err := w.muted(mark - withGroup)
		if err != nil {
			return nil, 0, err
		}
		if !muted {
			over = append(over, mark)
		}
	}
	return over, mark, nil
}

func (w *sweep) reopenOne(death int64) error {
	var l letter
	if err := w.rows(selLetter, func(r Row) error { l = w.scanLetter(r); return nil }, num(death)); err != nil {
		return err
	}
	if err := w.one(setReopen, num(death), text(job.ActionReopened), num(w.now), text(store.SweepActor)); err != nil {
		return err
	}
	w.recount(l.group, l.deadKey, job.Pending)
	w.events.Add(new(store.DeadLetterEvent(l.shown(), job.ActionReopened)))
	w.swept.Reopened++
	return nil
}

var (
	delOldMinutes = ask("delOldMinutes")
	walkTrends    = askWalk("walkTrends")
	delTrend      = ask("delTrend")
)

// figures removes hourly counts of deaths that are too old to be shown.
func (w *sweep) figures() error {
	if _, err := w.exec(delOldMinutes, num(start(w.now, minute)-minute*store.AddedMinutes)); err != nil {
		return err
	}
	var groups, hours []int64
	until, looked, cursor := int64(start(w.now, hour)-hour*store.TrendHours), 0, int64(0)
	// A group has counts for only a few hours. So a sweep makes progress even if it begins
	// with the first hour of a group each time.
	err := w.rows(walkTrends, func(r Row) error {
		if looked++; looked > SweepTrends {
			cursor = r.Int(0)
			return errEnough
		}
		if at := r.Int(1); at <= until {
			groups, hours = append(groups, r.Int(0)), append(hours, at)
		}
		return nil
	}, num(max(w.note(sweptTrends).cursor, 1)))
	if err := enough(err); err != nil {
		return err
	}
	if r := w.hooks.Remover; r != nil && len(groups) > 0 {
		w.wrote = true
		return errors.Join(r.Trends(groups, hours), w.moveTo(sweptTrends, cursor))
	}
	for i := range groups {
		if _, err := w.exec(delTrend, num(groups[i]), num(hours[i])); err != nil {
			return err
		}
	}
	return w.moveTo(sweptTrends, cursor)
}
