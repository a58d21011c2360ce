package storetest

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func (r *rig) merge(set string, classes ...string) int {
	groups := make([]string, len(classes))
	for i, class := range classes {
		groups[i] = groupName(class)
	}
	n, err := r.MergeGroups(ctx(), person, set, groups)
	r.ok(err)
	return n
}

// part of: D6
func mergedGroups(r *rig) {
	a := r.die("A")
	for _, class := range []string{"B", "C", "D"} {
		r.die(class)
	}
	same(r, "changed", r.merge("disk", "A", "B"), 2)
	r.unchanged(func() { same(r, "merged again", r.merge("disk", "B"), 0) })
	same(r, "merged later", r.merge("disk", "B", "C"), 1)
	classes := func(set string) (names []string) {
		for _, g := range r.dump().Groups {
			if g.Set == set {
				names = append(names, g.Class)
			}
		}
		return names
	}
	same(r, "groups of the set", classes("disk"), []string{"A", "B", "C"})
	same(r, "listed groups of the set", len(r.groups(store.GroupFilter{Set: "disk"})), 3)
	same(r, "the dead letter keeps its group", r.letter(a).Fingerprint, groupName("A"))
	r.unchanged(func() {
		_, err := r.MergeGroups(ctx(), person, "other", []string{groupName("A")})
		r.is(err, store.ErrConflict)
	})
	same(r, "taken out", r.merge("", "A", "D"), 1)
	same(r, "groups of the set after it", classes("disk"), []string{"B", "C"})
	same(r, "in another set", r.merge("other", "A"), 1)
	same(r, "the set of the group", r.cause("A").Set, "other")
	same(r, "events", r.causeEvents(), []string{"A|" + kind + " merged", "B|" + kind + " merged", "C|" + kind + " merged", "A|" + kind + " unmerged", "A|" + kind + " merged"})
}

// The groups of a set are listed as one group, with the sums of those that the filter selects.
//
// proves: D6
func setsAreListed(r *rig) {
	for i, class := range []string{"A", "B", "B", "C", "D", "D", "D"} {
		r.clock.Advance(time.Minute)
		r.die(class, func(n *job.New) { n.Priority = int8(1 + i%2) })
	}
	r.ok(r.actOn(store.ActResolve, 2))
	r.merge("s", "C", "A")
	r.merge("t", "D")
	one := func(f store.GroupFilter) (shown []string) {
		page, err := r.Groups(ctx(), f)
		r.ok(err)
		for _, g := range page.Groups {
			deaths := int64(0)
			for _, n := range g.Trend {
				deaths += n
			}
			shown = append(shown, fmt.Sprintf("%s %s %v of %d: deaths %d, %d, pending %d, sample %d, class %q", g.Set, g.Fingerprint, g.Groups, page.Total, g.N, deaths, g.Pending, g.Sample, g.Class))
		}
		return shown
	}
	a, b, c, d := groupName("A"), groupName("B"), groupName("C"), groupName("D")
	set := func(of int) string {
		return fmt.Sprintf(`s  [%s %s] of %d: deaths 2, 2, pending 2, sample 1, class ""`, a, c, of)
	}
	lone := func(of int) string {
		return fmt.Sprintf(` %s [] of %d: deaths 2, 2, pending 1, sample 2, class "B"`, b, of)
	}
	single := func(of int) string {
		return fmt.Sprintf(`t  [%s] of %d: deaths 3, 3, pending 3, sample 5, class "D"`, d, of)
	}
	same(r, "groups, last seen first", one(store.GroupFilter{Merge: true}), []string{single(3), set(3), lone(3)})
	same(r, "largest groups", one(store.GroupFilter{Merge: true, Largest: true}), []string{single(3), set(3), lone(3)})
	same(r, "second page", one(store.GroupFilter{Merge: true, Skip: 1, Limit: 1}), []string{set(3)})
	same(r, "a filter selects groups of a set", one(store.GroupFilter{Merge: true, Class: "C"}),
		[]string{fmt.Sprintf(`s  [%s] of 1: deaths 1, 1, pending 1, sample 4, class "C"`, c)})
	state := func() store.GroupState { return r.groups(store.GroupFilter{Merge: true, Set: "s"})[0].State() }
	r.resolve("A", true)
	same(r, "state of a set with an open group", state(), store.GroupOpen)
	r.resolve("C", true)
	same(r, "state of a set of resolved groups", state(), store.GroupResolved)
	r.clock.Advance(time.Minute)
	r.die("C")
	same(r, "state after a death", state(), store.GroupRegressed)
}

// part of: D6
func mergeIsWhole(r *rig) {
	r.die("A")
	r.die("B")
	r.merge("other", "B")
	r.unchanged(func() {
		_, err := r.MergeGroups(ctx(), person, "disk", []string{groupName("A"), "unheard"})
		r.is(err, store.ErrNotFound)
		_, err = r.MergeGroups(ctx(), person, "disk", []string{groupName("A"), groupName("B")})
		r.is(err, store.ErrConflict)
	})
}

// part of: D6, X3
func setIsBounded(r *rig) {
	var all []string
	for i := range store.GroupsMax + 1 {
		class := fmt.Sprintf("C%03d", i)
		r.die(class)
		all = append(all, groupName(class))
	}
	n, err := r.MergeGroups(ctx(), person, "full", all[:store.GroupsMax-1])
	r.ok(err)
	same(r, "merged", n, store.GroupsMax-1)
	r.unchanged(func() {
		_, err = r.MergeGroups(ctx(), person, "full", all[store.GroupsMax-1:])
		r.is(err, store.ErrTooLarge)
		_, err = r.MergeGroups(ctx(), person, "", all)
		r.is(err, store.ErrInvalid)
	})
	_, err = r.MergeGroups(ctx(), person, "full", all[store.GroupsMax-1:store.GroupsMax])
	r.ok(err)
	same(r, "groups of the full set", len(r.groups(store.GroupFilter{Set: "full", Limit: job.PageMax})), store.GroupsMax)
}

// A redrive of a named set of groups continues with the groups that the set had when the redrive
// began.
//
// part of: D7
func redriveOfASet(r *rig) {
	a, b, c := r.die("A"), r.die("B"), r.die("C")
	r.merge("disk", "A", "B")
	f := store.DeadFilter{Groups: []string{groupName("A"), groupName("B")}}
	d := r.startRedrive(func(s *store.RedriveSpec) { s.Filter, s.Canary = f, -1 })
	same(r, "groups of the redrive", r.redrive(d.ID).Filter.Groups, f.Groups)
	r.merge("disk", "C")
	r.merge("", "A")
	r.step(100)
	for id, want := range map[job.ID]job.State{a: job.Waiting, b: job.Waiting, c: job.Dead} {
		r.state(id, want)
	}
}
