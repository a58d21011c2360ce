package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func olderCausePromises() []promise {
	return []promise{
		{"D6_GroupOfAnEarlierVersionStillActs", earlierVersionActs},
		{"D6_ResolvedGroupOfAnEarlierVersionRegresses", earlierVersionRegresses},
	}
}

// dieIn adds a job that dies with a message, and with a fingerprint of some version.
func (r *rig) dieIn(fingerprint, message string) job.ID {
	id := r.add()
	o := died(r.takeID(id), "A", job.NonRetriable)
	o.Failure.Fingerprint, o.Failure.Message = fingerprint, message
	r.end(o)
	r.clock.Advance(time.Second)
	return id
}

func (r *rig) groupAt(fingerprint string) store.Group {
	groups := r.groups(store.GroupFilter{Group: fingerprint})
	if len(groups) != 1 {
		r.fail("got %d groups %s, want 1", len(groups), fingerprint)
	}
	return groups[0]
}

const (
	earlier = "1:00000000000000aa"
	present = "2:00000000000000bb"
	other   = "2:00000000000000cc"
)

// What people have said about a cause goes on to its group of the present version: the mute, the name,
// the assignee and the set. Other causes take nothing over.
//
// part of: D6
func earlierVersionActs(r *rig) {
	r.dieIn(earlier, "open /srv/1/a: no space left")
	_, err := r.SetGroup(ctx(), person, store.GroupChange{Group: earlier, Name: new("the disk"), Assignee: new("ben")})
	r.ok(err)
	_, err = r.MergeGroups(ctx(), person, "disks", []string{earlier})
	r.ok(err)
	until := r.in(time.Hour)
	same(r, "ignored", r.act(store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: earlier}, Until: until, Note: "known", Limit: 1}), int64(1))

	ignored := r.letter(r.dieIn(present, "open /srv/22/b: no space left"))
	same(r, "a death of the same cause", []any{ignored.Status, ignored.Note, ignored.ActedBy}, []any{job.Ignored, "known", person.Actor})
	g := r.groupAt(present)
	same(r, "its group", []any{g.Name, g.Assignee, g.Set, g.Muted, g.MutedUntil}, []any{"the disk", "ben", "disks", true, until})
	same(r, "a further death", r.letter(r.dieIn(present, "open /srv/3/c: no space left")).Status, job.Ignored)

	same(r, "a death of another cause", r.letter(r.dieIn(other, "the moon is odd")).Status, job.Pending)
	g = r.groupAt(other)
	same(r, "its group", []any{g.Name, g.Assignee, g.Set, g.Muted}, []any{"", "", "", false})

	none := ""
	_, err = r.SetGroup(ctx(), person, store.GroupChange{Group: present, Name: &none})
	r.ok(err)
	r.dieIn(present, "open /srv/4/d: no space left")
	same(r, "a name that was removed later", r.groupAt(present).Name, "")
}

// part of: D6
func earlierVersionRegresses(r *rig) {
	r.dieIn(earlier, "disk is full")
	resolved := true
	_, err := r.SetGroup(ctx(), person, store.GroupChange{Group: earlier, Resolved: &resolved})
	r.ok(err)
	r.dieIn(present, "disk is full")
	g := r.groupAt(present)
	same(r, "the group after a death of a resolved cause", g.State(), store.GroupRegressed)
	g = r.groupAt(earlier)
	same(r, "the group of the earlier version", g.State(), store.GroupResolved)
}
