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
