package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive/redrive/store"
)

var (
	selGroupRow = ask("selGroupRow")
	setGroupRow = ask("setGroupRow")
	setMerged   = ask("setMerged")
	countMerged = ask("countMerged")
)

// SetGroup implements store.Causes.
func (s *Core) SetGroup(ctx context.Context, by store.By, c store.GroupChange) (g store.Group, err error) {
	if err := errors.Join(by.ValidateOn(1), c.Validate()); err != nil {
		return store.Group{}, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		g, err = t.setGroup(by, &c)
		return err
	})
	if err != nil {
		return store.Group{}, err
	}
	return g, nil
}

func (t *Txn) setGroup(by store.By, c *store.GroupChange) (store.Group, error) {
	if err := t.lockDeadLetters(); err != nil {
		return store.Group{}, err
	}
	before, err := t.groupNamed(c.Group)
	if err != nil {
		return store.Group{}, err
	}
	after, changed := c.Apply(before, by.Actor, t.now)
	if changed == nil {
		t.reliesOnEarlier = true
		return after, nil
	}
	if err := by.CheckGroup(&before); err != nil {
		return store.Group{}, err
	}
	err = t.one(setGroupRow, text(after.Fingerprint), setText(after.Name), setText(after.Assignee), setNum(after.AssignedAt),
		setNum(after.ResolvedAt), setText(after.ResolvedBy), setNum(after.RegressedAt))
	if err != nil {
		return store.Group{}, err
	}
	t.forgetGroup(after.Fingerprint)
	e := store.GroupEvent(&after, strings.Join(changed, ","))
	t.events.Add(&e)
	return after, t.audit(by, "group.set", after.Fingerprint, store.AuditGroup(&before), store.AuditGroup(&after))
}

// groupNamed reads the present state of a group. First, it writes the changes of groups that
// this transaction has collected.
func (t *Txn) groupNamed(fingerprint string) (g store.Group, err error) {
	if err := t.flushGroups(); err != nil {
		return g, err
	}
	err = t.rows(selGroupRow, func(r Row) error { g = scanGroup(r); return nil }, text(fingerprint))
	if err == nil && g.Fingerprint == "" {
		err = fmt.Errorf("group %.80q: %w", fingerprint, store.ErrNotFound)
	}
	return g, err
}

// MergeGroups implements store.Causes.
func (s *Core) MergeGroups(ctx context.Context, by store.By, set string, groups []string) (n int, err error) {
	if err := errors.Join(by.Validate(), store.ValidateMerge(set, groups)); err != nil {
		return 0, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		n, err = t.mergeGroups(by, set, groups)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (t *Txn) mergeGroups(by store.By, set string, groups []string) (int, error) {
	if err := t.lockDeadLetters(); err != nil {
		return 0, err
	}
	var changes []store.Group
	for _, group := range groups {
		g, err := t.groupNamed(group)
		if err != nil {
			return 0, err
		}
		changed, err := store.Merge(&g, set)
		if err != nil {
			return 0, err
		}
		if changed {
			changes = append(changes, g)
		}
	}
	if set != "" {
		n, err := ReadInt(t.s, countMerged, text(set))
		if err == nil && n+int64(len(changes)) > store.GroupsMax {
			err = store.FullSet(set)
		}
		if err != nil {
			return 0, err
		}
	}
	action, word := store.MergeAction(set)
	for i := range changes {
		g := &changes[i]
		if err := t.one(setMerged, text(g.Fingerprint), setText(set)); err != nil {
			return 0, err
		}
		e := store.GroupEvent(g, word)
		t.events.Add(&e)
		if err := t.audit(by, action, g.Fingerprint, g.Set, set); err != nil {
			return 0, err
		}
	}
	t.reliesOnEarlier = t.reliesOnEarlier || len(changes) == 0
	return len(changes), nil
}
