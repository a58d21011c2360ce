package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selDeadRow = ask("selDeadRow")
	setStatus  = ask("setStatus")
)

// Preview implements store.DeadLetters.
func (s *Core) Preview(ctx context.Context, a store.Action) (answer store.Acted, err error) {
	if err := a.Validate(true); err != nil {
		return answer, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		if a.Filter == nil {
			answer, err = previewIDs(c, &a, s.db.Clock.Now())
		} else {
			answer, err = previewFilter(c, &a, s.db.Clock.Now())
		}
		return err
	})
	return answer, err
}

// previewFilter counts the dead letters to which an action with a filter would apply.
func previewFilter(c Session, a *store.Action, now job.Micros) (answer store.Acted, err error) {
	if answer.Through = a.Through; a.Through == 0 {
		if answer.Through, err = ReadInt(c, selNewest); err != nil {
			return answer, err
		}
	}
	m, err := newMatcher(c, selection(a), now, true)
	if err != nil {
		return answer, err
	}
	m.takes = func(d *job.DeadLetter) bool { return a.Do.Takes(d, false) }
	if a.Through == 0 && a.After == 0 && a.Limit == 0 && m.counted(a.Do) {
		answer.Done, err = m.total()
		return answer, err
	}
	p, err := search(m, true, a.After+1, answer.Through, cmp.Or(a.Limit, store.PreviewMax), store.PreviewMax,
		func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	if answer.Done = int64(len(p.found)); p.more {
		answer.Next = p.edge
	}
	return answer, err
}

// counted reports whether the counters alone give the number of entries to which the act
// applies, so that no rows must be read.
func (m *matcher) counted(do store.Act) bool {
	if !m.f.Counted() {
		return false
	}
	for s, selected := range m.statuses {
		// The counters do not say whether the job of an entry is still dead. That is certain only if
		// the entry is pending or ignored.
		d := job.DeadLetter{Status: job.Status(s)}
		if selected && do.Takes(&d, false) && d.Status != job.Pending && d.Status != job.Ignored {
			return false
		}
	}
	return true
}

func (m *matcher) total() (int64, error) {
	if m.none {
		return 0, nil
	}
	for s := range m.statuses {
		m.statuses[s] = m.statuses[s] && m.takes(&job.DeadLetter{Status: job.Status(s)})
	}
	of, err := m.estimate()
	return of.selected, err
}

// selection returns the filter of an action. If the filter contains no statuses, selection adds
// the default statuses of the act.
func selection(a *store.Action) *store.DeadFilter {
	f := *a.Filter
	if len(f.Statuses) == 0 {
		f.Statuses = a.Do.Statuses()
	}
	return &f
}

func previewIDs(c Session, a *store.Action, now job.Micros) (answer store.Acted, err error) {
	cat, err := NewCatalog(c)
	if err != nil {
		return answer, err
	}
	t := &Txn{s: c, cat: cat, preview: true, now: now}
	answer.Errors = make([]error, len(a.IDs))
	counted := make(map[job.ID]bool)
	for i, id := range a.IDs {
		d, own, err := t.named(a.Do, id)
		if err == nil && own == nil {
			own = a.CheckLife(i, d.Life)
		}
		if err == nil && own == nil && a.Do == store.ActRetry {
			if own, err = t.retryable(d); own == nil && err == nil {
				own, err = t.keyInUse(d, &a.Change)
			}
		}
		if err != nil {
			return answer, err
		}
		switch answer.Errors[i] = own; {
		case own != nil:
		case counted[id]:
			answer.Errors[i] = fmt.Errorf("job %d is in the list twice; name each job once: %w", id, store.ErrConflict)
		default:
			counted[id] = true
			answer.Done++
		}
	}
	return answer, t.laneErr
}

// named returns the dead letter of the given job if the act may be applied to it. The first error
// concerns only this job; the second error ends the transaction.
func (t *Txn) named(do store.Act, id job.ID) (d *deadRow, own, fatal error) {
	err := t.rows(selDeadRow, func(r Row) error { found := t.scanDeadRow(r); d = &found; return nil }, num(id))
	switch {
	case err != nil:
		return nil, nil, err
	case d != nil && do.Takes(&d.DeadLetter, true):
		return d, nil, nil
	case d != nil && do != store.ActRetry:
		return nil, fmt.Errorf("dead letter of job %d is %s; cannot %s it: %w", id, d.Status, do, store.ErrConflict), nil
	case do == store.ActRetry:
		own, fatal = t.refuse(id, job.None, "a dead job can be retried")
	default:
		own, fatal = t.refuse(id, job.None, "a job with a dead letter allows "+do.String())
	}
	return nil, own, fatal
}

// Act implements store.DeadLetters.
func (s *Core) Act(ctx context.Context, by store.By, a store.Action) (answer store.Acted, err error) {
	if err := cmp.Or(a.ValidateBy(by), a.Validate(false)); err != nil {
		return answer, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		if a.Filter == nil {
			answer, err = t.actIDs(by, &a)
		} else {
			answer, err = t.actFilter(by, &a)
		}
		return err
	})
	if err != nil {
		return store.Acted{}, err
	}
	return answer, nil
}

// movedGroup returns an ErrMoved when the group of an action's filter is not as the person has seen
// it. Only the first step of an action asks.
func (t *Txn) movedGroup(by *store.By, a *store.Action) error {
	if by.Seen == nil || a.After != 0 {
		return nil
	}
	g, err := t.groupNamed(a.Filter.Group)
	if err != nil {
		return err
	}
	return by.CheckGroup(&g)
}

func (t *Txn) actIDs(by store.By, a *store.Action) (answer store.Acted, err error) {
	if err := t.lockDeadLetters(); err != nil {
		return answer, err
	}
	answer.Errors = make([]error, len(a.IDs))
	for i, id := range a.IDs {
		own, err := t.moved(&by, id)
		if own == nil && err == nil {
			own, err = t.actOne(by, a, i)
		}
		if err != nil {
			return store.Acted{}, err
		}
		if answer.Errors[i] = own; own == nil {
			answer.Done++
		}
	}
	return answer, nil
}

// actOne applies an action to the job IDs[i].
func (t *Txn) actOne(by store.By, a *store.Action, i int) (own, fatal error) {
	id := a.IDs[i]
	d, own, fatal := t.named(a.Do, id)
	if own != nil || fatal != nil {
		return own, fatal
	}
	if own := a.CheckLife(i, d.Life); own != nil {
		return own, nil
	}
	action, before, after := "dead_letter."+a.Do.String(), d.Status.String(), ""
	if a.Do == store.ActRetry {
		if own, err := t.retryable(d); own != nil || err != nil {
			return own, err
		}
		if own := t.roomFor(d, &a.Change); own != nil {
			return own, nil
		}
		if own, err := t.keyInUse(d, &a.Change); own != nil || err != nil {
			return own, err
		}
		if err := t.retakeKey(d, &a.Change); err != nil {
			return nil, err
		}
		action, before, after = "job.retry", job.Dead.String(), a.Change.AuditRetry()
	}
	to, err := t.do(by, a, d, 0)
	if err != nil {
		return nil, err
	}
	if a.Do != store.ActRetry && a.Do != store.ActPurge {
		after = to.String()
	}
	return nil, t.audit(a.AuditBy(by), action, id.String(), before, after)
}

// actFilter makes one step of an action on all dead letters that a filter selects.
func (t *Txn) actFilter(by store.By, a *store.Action) (answer store.Acted, err error) {
	if err := t.lockDeadLetters(); err != nil {
		return answer, err
	}
	if err := t.movedGroup(&by, a); err != nil {
		return answer, err
	}
	m, err := newMatcher(t.s, selection(a), t.now, false)
	if err != nil {
		return answer, err
	}
	m.takes = func(d *job.DeadLetter) bool { return a.Do.Takes(d, false) }
	p, err := t.search(m, a.After, a.Through, cmp.Or(a.Limit, store.StepMax))
	if err != nil {
		return answer, err
	}
	if a.Do == store.ActRetry {
		var skipped int64
		if p.found, skipped, err = t.notExpired(p.found); err != nil {
			return answer, err
		}
		if skipped > 0 {
			answer.Skipped = map[string]int64{store.SkippedExpired: skipped}
		}
		if p.found, err = t.retakeKeys(p.found); err != nil {
			return answer, err
		}
	}
	withGroups, muted, err := t.mute(by, a)
	if err != nil {
		return answer, err
	}
	if err := t.doAll(by, a, p.found, withGroups); err != nil {
		return store.Acted{}, err
	}
	answer.Done, answer.Through = int64(len(p.found)), a.Through
	if p.more {
		answer.Next = p.edge
	}
	if answer.Done == 0 && !muted {
		return answer, nil
	}
	target, err := json.Marshal(a.Filter)
	if err != nil {
		return store.Acted{}, err
	}
	return answer, t.audit(a.AuditBy(by), "dead_letter."+a.Do.String(), string(target), "", a.AuditStep(answer.Done))
}

// mute changes the groups of an action with a filter: it mutes them when the action ignores whole
// groups for a while, and unmutes them when the action reopens them. The first result says whether
// the entries are ignored together with their groups; the second says whether a group was changed.
func (t *Txn) mute(by store.By, a *store.Action) (withGroups, muted bool, err error) {
	ignores := a.Do == store.ActIgnore && (a.Until != 0 || a.Count != 0)
	if !ignores && a.Do != store.ActReopen || !a.Filter.WholeGroup() {
		return false, false, nil
	}
	for _, name := range a.Filter.Fingerprints() {
		g, err := t.groupOf(name)
		if err != nil {
			return false, false, err
		}
		changed := g != nil && a.After == 0 && t.muteOne(by, a, g, ignores)
		muted = muted || changed
	}
	return ignores, muted, nil
}

// muteOne mutes or unmutes one group. It reports whether the group has changed.
func (t *Txn) muteOne(by store.By, a *store.Action, g *groupRow, ignores bool) (changed bool) {
	if !ignores {
		if g.muted {
			g.unmute()
			t.groups.at(g.id).mute = g
			return true
		}
		return false
	}
	after := *g
	after.muted, after.until, after.left, after.by, after.note = true, a.Until, a.Count, by.Actor, a.Note
	if *g == after {
		return false
	}
	*g = after
	t.groups.at(g.id).mute = g
	return true
}

// roomFor returns an error when the store has no room for the lane that a retried job
// needs.
func (t *Txn) roomFor(d *deadRow, c *store.Change) error {
	to := laneKey{c.Queue, d.lane.kind, d.lane.deps}
	if c.Queue == "" || t.cat.lanes[to] != nil || len(t.cat.byID) < job.LanesMax {
		return nil
	}
	return tooManyLanes(to)
}

// doAll applies the act to all the given entries. withGroup is true if the entries are ignored
// together with their groups.
func (t *Txn) doAll(by store.By, a *store.Action, all []deadRow, withGroups bool) error {
	if a.Do == store.ActRetry {
		return t.reviveAll(store.By{Actor: by.Actor, Reason: a.Note}, all, &a.Change, 0)
	}
	for i := range all {
		mark := int64(0)
		if withGroups {
			mark = withGroup + all[i].group
		}
		if _, err := t.do(by, a, &all[i], mark); err != nil {
			return err
		}
	}
	return nil
}

// do applies the act to one entry and returns the entry's new status. The mark is used only if the
// entry is ignored together with its group; it is then the entry's new reopen_at value.
func (t *Txn) do(by store.By, a *store.Action, d *deadRow, mark int64) (to job.Status, err error) {
	var did job.DeadAction
	reopen := Value{}
	switch a.Do {
	case store.ActRetry:
		return job.Redriven, t.revive(store.By{Actor: by.Actor, Reason: a.Note}, d, &a.Change, 0)
	case store.ActPurge:
		return d.Status, t.purgeDead(d)
	case store.ActResolve:
		to, did = job.Resolved, job.ActionResolved
	case store.ActIgnore:
		to, did, reopen = job.Ignored, job.ActionIgnored, setNum(cmp.Or(mark, int64(a.Until)))
	case store.ActReopen:
		to, did = job.Pending, job.ActionReopened
	}
	return to, t.setStatus(store.By{Actor: by.Actor, Reason: a.Note}, d, to, did, reopen)
}

// purgeDead removes an entry at the request of a person.
func (t *Txn) purgeDead(d *deadRow) error {
	_, err := t.purge(&letter{entry: entry{d.key(), d.group}, goneJob: goneJob{d.Job, d.lane, job.Dead, d.Owner, d.name, d.batch, nil},
		death: d.Death, revived: d.Revived, long: d.long})
	t.events.Add(new(store.PurgeEvent(&d.DeadLetter, "purge")))
	return err
}

// setStatus changes the status of an entry. The person's reason becomes the note of the entry.
func (t *Txn) setStatus(by store.By, d *deadRow, to job.Status, did job.DeadAction, reopen Value) error {
	err := t.one(setStatus, num(d.Death), num(to), text(did), setText(by.Reason), num(t.now), text(by.Actor), reopen)
	if err != nil {
		return err
	}
	t.recount(d.group, d.key(), to)
	e := store.DeadLetterEvent(&d.DeadLetter, did)
	t.events.Add(&e)
	return nil
}
