package sqlstore

import (
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	anyOlder = ask("anyOlder")
	selOlder = ask("selOlder")
	takeOver = ask("takeOver")
)

// takeOver gives a new group what people have said about the group of the same cause that older
// rules of fingerprints made, see store.Group.Succeeds.
func (t *Txn) takeOver(g *groupRow, f *job.Failure, kind string) error {
	if len(f.Fingerprint) < 2 || f.Fingerprint[1] != ':' || t.cat.noOlderGroups == f.Fingerprint[:2] {
		return nil
	}
	version := text(f.Fingerprint[:2])
	found, err := ReadInt(t.s, anyOlder, version)
	if err != nil || found == 0 {
		if err == nil {
			t.cat.noOlderGroups = f.Fingerprint[:2]
		}
		return err
	}
	group := store.Group{Fingerprint: f.Fingerprint, Kind: kind, Class: f.Class, Code: f.Code, Message: storekit.GroupMessage(f.Message)}
	var old *store.Group
	var by, note string
	err = t.rows(selOlder, func(r Row) error {
		if o := scanGroup(r); old == nil && group.Succeeds(&o) {
			old, by, note = &o, r.Text(26), r.Text(27)
		}
		return nil
	}, version, text(kind))
	if err != nil || old == nil {
		return err
	}
	if old.Set != "" {
		n, err := ReadInt(t.s, countMerged, text(old.Set))
		if err != nil {
			return err
		}
		if n >= store.GroupsMax {
			old.Set = ""
		}
	}
	group.TakeOver(old)
	muted := int64(0)
	if group.Muted {
		muted = 1
		g.muted, g.until, g.left, g.by, g.note = true, group.MutedUntil, group.MutedFor, by, note
	}
	g.resolved = group.ResolvedAt != 0 && group.RegressedAt == 0
	return t.one(takeOver, num(g.id), num(muted), setNum(group.MutedUntil), setNum(group.MutedFor), setText(by), setText(note), setText(group.Name),
		setText(group.Assignee), setNum(group.AssignedAt), setNum(group.ResolvedAt), setText(group.ResolvedBy), setNum(group.RegressedAt), setText(group.Set))
}
