package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func causePromises() []promise {
	return []promise{
		{"D6_CauseHasANameAndAnAssignee", causeIsAssigned},
		{"D6_ResolvedCauseRegresses", resolvedRegresses},
		{"D6_ManyDeathsRegressACauseOnce", manyRegressOnce},
		{"D6_RetriesThatHelpedAreCounted", helpIsCounted},
		{"D6_BuildsOfFirstAndLastDeath", buildsOfDeaths},
		{"F1_FailureNamesItsBuild", failureNamesItsBuild},
		{"D6_MergedGroupsAreASet", mergedGroups},
		{"D6_SetIsListedAsOne", setsAreListed},
		{"D6_MergeIsAllOrNothing", mergeIsWhole},
		{"D6_SetIsBounded", setIsBounded},
		{"D6_FiltersTakeSeveralGroups", filtersTakeGroups},
		{"D6_SeveralGroupsAreMuted", severalAreMuted},
		{"D7_RedriveOfASetIsFrozen", redriveOfASet},
		{"X3_GroupsOfAFilterAreBounded", groupsAreBounded},
		{"Q9_ChangesOfCausesAreAudited", causesAreAudited},
		{"X3_CauseBounds", causeBounds},
	}
}

// groupName returns the fingerprint of the jobs of the default kind that died with a class.
func groupName(class string) string { return class + "|" + kind }

func (r *rig) setGroup(class string, change func(*store.GroupChange)) store.Group {
	c := store.GroupChange{Group: groupName(class)}
	change(&c)
	g, err := r.SetGroup(ctx(), person, c)
	r.ok(err)
	return g
}

func (r *rig) resolve(class string, resolved bool) store.Group {
	return r.setGroup(class, func(c *store.GroupChange) { c.Resolved = &resolved })
}

// cause returns the group of the jobs that died with a class, without its trend.
func (r *rig) cause(class string) store.Group {
	groups := r.groups(store.GroupFilter{Group: groupName(class)})
	if len(groups) != 1 {
		r.fail("got %d groups of class %s, want 1", len(groups), class)
	}
	groups[0].Trend = nil
	return groups[0]
}

func (r *rig) stateOf(class string) store.GroupState {
	g := r.cause(class)
	return g.State()
}

// causeEvents returns the fingerprint and the reason of each event about groups, in order.
func (r *rig) causeEvents() (texts []string) {
	for _, e := range r.dump().Events {
		if e.Type == event.GroupChanged {
			texts = append(texts, e.Note+" "+e.Reason)
		}
	}
	return texts
}

// part of: D6
func causeIsAssigned(r *rig) {
	r.die("A")
	r.die("B")
	want := r.cause("A")
	r.clock.Advance(time.Minute)
	want.Name, want.Assignee, want.AssignedAt = "the disk", "ben", r.now()
	got := r.setGroup("A", func(c *store.GroupChange) { c.Name, c.Assignee = new("the disk"), new("ben") })
	same(r, "answer", got, want)
	same(r, "group", r.cause("A"), want)
	same(r, "events", r.causeEvents(), []string{"A|" + kind + " name,assignee"})
	r.clock.Advance(time.Minute)
	r.unchanged(func() {
		same(r, "answer to a change of nothing", r.setGroup("A", func(c *store.GroupChange) { c.Assignee = new("ben") }), want)
		_, err := r.SetGroup(ctx(), person, store.GroupChange{Group: "unheard", Name: new("x")})
		r.is(err, store.ErrNotFound)
	})
	same(r, "groups of an assignee", len(r.groups(store.GroupFilter{Assignee: "ben"})), 1)
	same(r, "groups of another assignee", len(r.groups(store.GroupFilter{Assignee: "ann"})), 0)
	want.Assignee, want.AssignedAt = "", 0
	same(r, "group without an assignee", r.setGroup("A", func(c *store.GroupChange) { c.Assignee = new("") }), want)
	same(r, "groups in the dump", r.dump().Groups[0], want)
}

// part of: D6
func resolvedRegresses(r *rig) {
	first := r.die("A")
	r.clock.Advance(time.Minute)
	g := r.resolve("A", true)
	same(r, "resolved group", []any{g.State(), g.ResolvedAt, g.ResolvedBy, g.RegressedAt}, []any{store.GroupResolved, r.now(), person.Actor, job.Micros(0)})
	same(r, "the pending dead letter", r.letter(first).Status, job.Pending)
	r.die("B")
	same(r, "the group after a death of another cause", r.stateOf("A"), store.GroupResolved)
	r.unchanged(func() { same(r, "resolved again", r.resolve("A", true), g) })
	r.clock.Advance(time.Minute)
	again := r.die("A")
	at := r.now()
	r.clock.Advance(time.Minute)
	r.die("A")
	g = r.cause("A")
	same(r, "the group after two more deaths", []any{g.State(), g.RegressedAt, g.ResolvedBy}, []any{store.GroupRegressed, at, person.Actor})
	for state, n := range map[store.GroupState]int{store.GroupOpen: 1, store.GroupResolved: 0, store.GroupRegressed: 1, "": 2} {
		same(r, "groups of the state "+string(state), len(r.groups(store.GroupFilter{State: state})), n)
	}
	same(r, "events", r.causeEvents(), []string{"A|" + kind + " resolved", "A|" + kind + " regressed"})
	for _, e := range r.dump().Events {
		if e.Type == event.GroupChanged && e.Reason == "regressed" {
			same(r, "the job of the event", e.Job, again)
		}
	}
	r.resolve("A", true)
	same(r, "resolved after it regressed", r.stateOf("A"), store.GroupResolved)
	g = r.resolve("A", false)
	same(r, "opened again", []any{g.State(), g.ResolvedAt, g.ResolvedBy, g.RegressedAt}, []any{store.GroupOpen, job.Micros(0), "", job.Micros(0)})
	r.die("A")
	same(r, "an open group after a death", r.stateOf("A"), store.GroupOpen)
}

// part of: D6
func manyRegressOnce(r *rig) {
	r.die("A")
	r.resolve("A", true)
	r.dieAll(3, "A") // the clock does not move, so these jobs die at the time at which the group was resolved
	g := r.cause("A")
	same(r, "group", []any{g.State(), g.RegressedAt, g.N}, []any{store.GroupRegressed, r.now(), int64(4)})
	same(r, "events", len(r.causeEvents()), 2)
}

// part of: D6
func helpIsCounted(r *rig) {
	all := r.dieAll(4, "A")
	r.die("B")
	for _, id := range all[:3] {
		r.ok(r.retry(id))
	}
	counts := func(class string) []int64 { g := r.cause(class); return []int64{g.Retried, g.Helped} }
	same(r, "retried", counts("A"), []int64{3, 0})
	r.end(succeeded(r.takeID(all[0])))
	r.end(died(r.takeID(all[1]), "B", job.NonRetriable))
	r.ok(r.cancel(all[2]))
	same(r, "one completed, one died of another cause, one was cancelled", counts("A"), []int64{3, 1})
	same(r, "the other cause", counts("B"), []int64{0, 0})
	r.ok(r.retry(all[1])) // the second death of this job was in the group of class B, so the retry counts for that group
	r.end(succeeded(r.takeID(all[1])))
	same(r, "the other cause after a retry", counts("B"), []int64{1, 1})
	same(r, "the first cause after it", counts("A"), []int64{3, 1})
	same(r, "by filter", r.act(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Group: groupName("A")}}), int64(1))
	same(r, "retried by filter", counts("A"), []int64{4, 1})
}

func (r *rig) dieOf(class, build string) {
	o := died(r.takeID(r.add()), class, job.NonRetriable)
	o.Failure.Build = build
	r.end(o)
	r.clock.Advance(time.Second)
}

// part of: D6
func buildsOfDeaths(r *rig) {
	builds := func() []string { g := r.cause("A"); return []string{g.FirstBuild, g.LastBuild} }
	r.dieOf("A", "")
	same(r, "no build", builds(), []string{"", ""})
	r.dieOf("A", "4.18.0")
	same(r, "one build", builds(), []string{"4.18.0", "4.18.0"})
	r.dieOf("A", "4.19.0")
	r.dieOf("A", "")
	r.dieOf("B", "5.0")
	same(r, "two builds", builds(), []string{"4.18.0", "4.19.0"})
	r.enqueue(r.newJob(), r.newJob(), r.newJob())
	outcomes := make([]job.Outcome, 3)
	for i, c := range r.claim(want(3)) {
		outcomes[i] = died(c, "C", job.NonRetriable)
		outcomes[i].Failure.Build = []string{"", "7", "8"}[i]
	}
	r.end(outcomes...)
	g := r.cause("C")
	same(r, "builds of deaths in one exchange", []string{g.FirstBuild, g.LastBuild}, []string{"7", "8"})
}

// part of: F1
func failureNamesItsBuild(r *rig) {
	id := r.add()
	for _, build := range []string{"4.19.0", ""} {
		o := failed(r.takeID(id), "NetworkTimeout", 0)
		o.Failure.Build = build
		r.end(o)
	}
	o := died(r.takeID(id), "NetworkTimeout", job.MaxRetries)
	o.Failure.Build = strings.Repeat("b", job.TextMax)
	r.end(o)
	var builds []string
	for _, f := range r.failures(id) {
		builds = append(builds, f.Build)
	}
	same(r, "builds of the failures", builds, []string{"4.19.0", "", o.Failure.Build})
	o = died(r.takeID(r.add()), "NetworkTimeout", job.MaxRetries)
	o.Failure.Build = strings.Repeat("b", job.TextMax+1)
	r.is(r.settle(o), store.ErrInvalid)
}

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

// part of: Q9
func causesAreAudited(r *rig) {
	r.die("A")
	r.setGroup("A", func(c *store.GroupChange) { c.Name, c.Assignee, c.Resolved = new("the disk"), new("ben"), new(true) })
	r.merge("disk", "A")
	r.merge("", "A")
	row := func(seq int64, action, before, after string) store.Audit {
		return store.Audit{Seq: seq, At: r.now(), Actor: person.Actor, Action: action, Target: "A|" + kind, Reason: person.Reason, Before: before, After: after}
	}
	same(r, "audit rows", r.audit(), []store.Audit{
		row(1, "group.set", `{"state":"open"}`, `{"name":"the disk","assignee":"ben","state":"resolved"}`),
		row(2, "group.merge", "", "disk"),
		row(3, "group.unmerge", "disk", ""),
	})
}

// part of: X3
func causeBounds(r *rig) {
	r.die("A")
	long := strings.Repeat("a", job.TextMax)
	r.setGroup("A", func(c *store.GroupChange) { c.Name, c.Assignee = &long, &long })
	r.merge(strings.Repeat("s", job.NameMax), "A")
	tooLong := long + "a"
	r.unchanged(func() {
		for name, c := range map[string]store.GroupChange{
			"long name": {Group: groupName("A"), Name: &tooLong}, "long assignee": {Group: groupName("A"), Assignee: &tooLong}, "long fingerprint": {Group: tooLong},
		} {
			if _, err := r.SetGroup(ctx(), person, c); err == nil {
				r.fail("%s: got no error, want ErrTooLarge", name)
			} else {
				r.is(err, store.ErrTooLarge)
			}
		}
		for name, merge := range map[string]struct {
			set    string
			groups []string
		}{
			"no group": {"s", nil}, "an empty fingerprint": {"s", []string{""}}, "a group twice": {"s", []string{groupName("A"), groupName("A")}},
			"a bad name": {"no good", []string{groupName("A")}}, "a long name": {strings.Repeat("s", job.NameMax+1), []string{groupName("A")}},
		} {
			if _, err := r.MergeGroups(ctx(), person, merge.set, merge.groups); err == nil {
				r.fail("%s: got no error, want ErrInvalid", name)
			} else {
				r.is(err, store.ErrInvalid)
			}
		}
		_, err := r.SetGroup(ctx(), person, store.GroupChange{})
		r.is(err, store.ErrInvalid)
		_, err = r.SetGroup(ctx(), store.By{}, store.GroupChange{Group: groupName("A")})
		r.is(err, store.ErrInvalid)
		_, err = r.Groups(ctx(), store.GroupFilter{State: "closed"})
		r.is(err, store.ErrInvalid)
	})
}

// part of: D6
func filtersTakeGroups(r *rig) {
	a, b, c := r.dieAll(3, "A"), r.dieAll(2, "B"), r.die("C")
	f := store.DeadFilter{Groups: []string{groupName("A"), groupName("B"), "unheard"}}
	for _, limit := range []int{1, 2, 9} {
		same(r, "dead letters of two groups", r.listed(f, limit), []job.ID{b[1], b[0], a[2], a[1], a[0]})
	}
	r.ok(r.actOn(store.ActResolve, a[1]))
	f.Statuses = []job.Status{job.Pending}
	same(r, "pending dead letters of two groups", r.listed(f, 2), []job.ID{b[1], b[0], a[2], a[0]})
	same(r, "counted", r.preview(store.Action{Do: store.ActRetry, Filter: &f}).Done, int64(4))
	same(r, "retried in steps", r.act(store.Action{Do: store.ActRetry, Filter: &f, Limit: 1}), int64(4))
	r.state(c, job.Dead)
	same(r, "groups that do not exist", len(r.listed(store.DeadFilter{Groups: []string{"unheard"}}, 9)), 0)
}

// part of: D6
func severalAreMuted(r *rig) {
	a, b := r.die("A"), r.die("B")
	r.die("C")
	f := &store.DeadFilter{Groups: []string{groupName("A"), groupName("B")}}
	until := r.in(time.Hour)
	same(r, "ignored", r.act(store.Action{Do: store.ActIgnore, Filter: f, Until: until, Count: 2, Note: "known", Limit: 1}), int64(2))
	for _, class := range []string{"A", "B", "C"} {
		g := r.cause(class)
		same(r, "muted group "+class, []any{g.Muted, g.MutedFor}, map[bool][]any{true: {true, int64(2)}, false: {false, int64(0)}}[class != "C"])
	}
	same(r, "a death in the second group", r.letter(r.die("B")).Status, job.Ignored)
	same(r, "a death in another group", r.letter(r.die("C")).Status, job.Pending)
	same(r, "deaths left of each group", []int64{r.cause("A").MutedFor, r.cause("B").MutedFor}, []int64{2, 1})
	for _, id := range []job.ID{a, b} {
		same(r, "reopen time of job "+id.String(), r.letter(id).ReopenAt, until)
	}
	same(r, "reopened", r.act(store.Action{Do: store.ActReopen, Filter: f}), int64(3))
	same(r, "muted after it", []bool{r.cause("A").Muted, r.cause("B").Muted}, []bool{false, false})
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

// part of: X3
func groupsAreBounded(r *rig) {
	r.die("A")
	groups := make([]string, store.GroupsMax)
	for i := range groups {
		groups[i] = fmt.Sprintf("%d|%s", i, strings.Repeat("g", job.TextMax-4))
	}
	same(r, "entries of the most groups", len(r.listed(store.DeadFilter{Groups: groups}, 1)), 0)
	for name, f := range map[string]store.DeadFilter{
		"too many": {Groups: append(slices.Clip(groups), "A")}, "twice": {Groups: []string{"A", "A"}},
		"empty": {Groups: []string{""}}, "both": {Group: "A", Groups: []string{"B"}},
	} {
		if _, err := r.DeadLetters(ctx(), f, store.DeadPaging{}); err == nil {
			r.fail("%s: got no error, want ErrInvalid", name)
		} else {
			r.is(err, store.ErrInvalid)
		}
	}
}
