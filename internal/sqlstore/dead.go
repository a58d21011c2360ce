package sqlstore

import (
	"cmp"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insDead  = ask("insDead")
	putDead  = ask("putDead")
	selEntry = ask("selEntry")
	selGroup = ask("selGroup")
	insGroup = ask("insGroup")
)

// withGroup marks a dead letter that is ignored together with its group. The reopen_at
// value of that dead letter is withGroup plus the group's id until the group is not
// muted any more.
const withGroup = 1 << 62

// makeDead moves a job from the live jobs to the dead jobs. The job must be running, or be
// waiting with a deadline that has passed. ok is false if the job has another state or another
// token. The text notified is that of job.Outcome; write the failure record afterwards.
func (t *Txn) makeDead(from job.State, r *Run, cause job.Cause, reason job.Reason, f *job.Failure, notified string) (ok bool, err error) {
	if err := t.lockDeadLetters(); err != nil {
		return false, err
	}
	b, err := t.inGroup(r, f)
	if err != nil {
		return false, err
	}
	var before *entry
	put := insDead
	if r.life > 1 {
		put = putDead
		if before, err = t.entry(r.id); err != nil {
			return false, err
		}
	}
	t.args = t.appendDeath(t.args[:0], from, r, reason, f, &b)
	n, err := t.s.Exec(put, t.args...)
	if err != nil || n == 0 {
		return false, err
	}
	t.wrote = true
	if _, err := t.exec(delJob, num(r.id), num(r.token)); err != nil {
		return false, err
	}
	if before != nil {
		t.uncount(before.group, before.deadKey)
	}
	t.noteDeath(from, r, cause, reason, f, notified, &b)
	return true, nil
}

// groupEffect says what a new dead letter gets from its group: if the group is muted, the dead
// letter is ignored.
type groupEffect struct {
	group                    *groupRow // the group of the dead letter; nil when the dead letter has no group
	status                   job.Status
	action, note, by, at, re Value
}

func (t *Txn) inGroup(r *Run, f *job.Failure) (b groupEffect, err error) {
	if b.group, err = t.group(f, r); err != nil || b.group == nil {
		return b, err
	}
	if g := b.group; g.mutes(t.now) && g.left != 1 { // if g.left is 1, this death ends the mute and is not ignored
		b.status, b.action, b.note, b.by = job.Ignored, text(job.ActionMuted), setText(g.note), setText(g.by)
		b.at, b.re = num(t.diedAt()), num(withGroup+g.id)
	}
	return b, nil
}

// appendDeath appends the arguments of the statements insDead and putDead to args.
func (t *Txn) appendDeath(args []Value, from job.State, r *Run, reason job.Reason, f *job.Failure, b *groupEffect) []Value {
	var group int64
	if b.group != nil {
		group = b.group.id
	}
	c := &r.counters
	return append(args, num(r.id), num(r.token), text(reason), setText(f.Class), setNum(group), num(t.diedAt()),
		num(c.Attempts), num(c.Crashes), num(c.Deferrals), num(c.Snoozes), num(c.Interrupts), num(from),
		num(b.status), b.action, b.note, b.at, b.by, b.re, num(t.cat.deaths+1))
}

// noteDeath records the counts and the event of a death that is already written. The failure record is
// written after it, because only then it is known whether the text for the user says that people
// were notified.
func (t *Txn) noteDeath(from job.State, r *Run, cause job.Cause, reason job.Reason, f *job.Failure, notified string, b *groupEffect) {
	t.cat.deaths++
	r.notified = ""
	if first := t.firstOfGroup(b); t.cat.rules != nil {
		t.hear(r, reason, f, notified, first)
	}
	*t.dead.at(deadKey{r.lane.id, reason, f.Class, b.status})++
	if b.group != nil {
		t.countDeath(b.group, b.status, f.Build)
		t.regress(b.group, r, f)
	}
	t.died(r, cause, f.Class)
	t.move(r.lane, from, r.lane, job.Dead)
	t.ended(r, job.Dead)
	e := r.event(from, job.Dead, cause)
	e.Class, e.Reason, e.Note = f.Class, string(reason), job.HoldNotify(f)
	t.events.Add(e)
}

// countDeath counts a death in its group. If the mute of the group ends after a number of
// deaths, countDeath also reduces the number of deaths that are left.
func (t *Txn) countDeath(g *groupRow, status job.Status, build string) {
	d := t.groups.at(g.id)
	d.firstBuild, d.lastBuild = cmp.Or(d.firstBuild, build), cmp.Or(build, d.lastBuild)
	d.n++
	d.entries++
	if status == job.Pending {
		d.pending++
	}
	switch {
	case !g.muted || g.mutes(t.now) && g.left == 0:
		return
	// The mute is over: either its time has passed and no sweep has ended it yet, or this
	// death ends it.
	case !g.mutes(t.now) || g.left == 1:
		g.unmute()
	default:
		g.left--
	}
	d.mute = g
}

// regress records that a job died of a cause that a person had marked as resolved.
func (t *Txn) regress(g *groupRow, r *Run, f *job.Failure) {
	if !g.resolved {
		return
	}
	g.resolved = false
	t.groups.at(g.id).regressed = true
	e := store.RegressedEvent(f.Fingerprint, r.id, r.lane.kind, r.lane.queue, f.Class)
	t.events.Add(&e)
}

// entry contains the fields by which a dead letter is counted, and its group.
type entry struct {
	deadKey
	group int64
}

// entry returns the fields by which a job's dead letter is counted. It returns nil when the
// job has no dead letter.
func (t *Txn) entry(id job.ID) (e *entry, err error) {
	err = t.rows(selEntry, func(r Row) error {
		e = &entry{deadKey{r.Int(0), job.Reason(r.Text(1)), r.Text(2), job.Status(r.Int(3))}, r.Int(4)}
		return nil
	}, num(id))
	return e, err
}

// uncount subtracts a dead letter from the counters.
func (t *Txn) uncount(group int64, k deadKey) {
	*t.dead.at(k)--
	if group == 0 {
		return
	}
	d := t.groups.at(group)
	d.entries--
	if k.status == job.Pending {
		d.pending--
	}
}

// recount changes the counters when a dead letter gets another status.
func (t *Txn) recount(group int64, k deadKey, to job.Status) {
	if k.status == to {
		return
	}
	*t.dead.at(k)--
	if group != 0 {
		switch d := t.groups.at(group); {
		case k.status == job.Pending:
			d.pending--
		case to == job.Pending:
			d.pending++
		}
	}
	k.status = to
	*t.dead.at(k)++
}

// groupRow is a group with only those columns that are needed when a job dies.
type groupRow struct {
	id       int64
	muted    bool
	until    job.Micros
	left     int64 // number of deaths until the mute ends; 0 means that the mute does not end by a number of deaths
	by, note string
	last     job.Micros // time of the last death; 0 for a new group
	resolved bool       // whether a person marked the cause as resolved and no job has died of it since
}

// mutes reports whether the group is muted at the given time. It also returns true for the last
// death of a mute, which is not ignored; the caller handles this case.
func (g *groupRow) mutes(now job.Micros) bool { return g.muted && (g.until == 0 || g.until > now) }

func (g *groupRow) unmute() { *g = groupRow{id: g.id, last: g.last, resolved: g.resolved} }

// groupsMax is the maximum number of groups that a catalogue caches.
const groupsMax = 4096

// hasGroup reports whether the catalogue has cached the group of a fingerprint.
func (c *Catalog) hasGroup(fingerprint string) bool {
	return fingerprint == "" || c.groups[fingerprint] != nil
}

// group returns the group of a failure. It makes the group if necessary. It returns nil
// when the failure belongs to no group.
func (t *Txn) group(f *job.Failure, r *Run) (g *groupRow, err error) {
	if f.Fingerprint == "" {
		return nil, nil
	}
	if g, err = t.groupOf(f.Fingerprint); err != nil || g != nil {
		return g, err
	}
	g = &groupRow{}
	err = t.rows(insGroup, func(r Row) error { g.id = r.Int(0); return nil }, text(f.Fingerprint), text(r.lane.kind),
		setText(f.Class), setText(f.Code), setText(storekit.GroupMessage(f.Message)), num(r.id), num(t.diedAt()))
	if err != nil {
		return nil, err
	}
	t.wrote = true
	if err := t.takeOver(g, f, r.lane.kind); err != nil {
		return nil, err
	}
	t.knowGroup(f.Fingerprint, g)
	return g, nil
}

// groupOf returns the group of a fingerprint, or nil if there is no such group.
func (t *Txn) groupOf(fingerprint string) (g *groupRow, err error) {
	if g = t.cat.groups[fingerprint]; g != nil {
		return g, nil
	}
	err = t.rows(selGroup, func(r Row) error {
		g = &groupRow{id: r.Int(0), muted: r.Int(1) != 0, until: job.Micros(r.Int(2)), left: r.Int(3), by: r.Text(4), note: r.Text(5),
			resolved: r.Int(6) != 0, last: job.Micros(r.Int(7))}
		return nil
	}, text(fingerprint))
	if err != nil || g == nil {
		return nil, err
	}
	// The transaction may have changed the group without having written the change yet.
	if changed := t.groups.at(g.id).mute; changed != nil {
		g = changed
	}
	t.knowGroup(fingerprint, g)
	return g, nil
}

func (t *Txn) knowGroup(fingerprint string, g *groupRow) {
	if t.cat.groups == nil || len(t.cat.groups) >= groupsMax {
		t.cat.groups = make(map[string]*groupRow)
	}
	t.cat.groups[fingerprint] = g
}

// forgetGroup removes a group from the cache, after a statement has removed or changed the
// group.
func (t *Txn) forgetGroup(fingerprint string) { delete(t.cat.groups, fingerprint) }
