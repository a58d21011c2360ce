package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func groupPromises() []promise {
	return []promise{
		{"D6_GroupsAreListed", groupsAreListed},
		{"D6_GroupTellsOfItsFirstDeath", groupTellsOfTheFirst},
		{"D6_TrendIsByTheHour", trendIsByTheHour},
		{"D6_ActOnAWholeGroup", actOnAGroup},
		{"D6_MutedUntilATime", mutedUntil},
		{"D6_MutedForACount", mutedFor},
		{"D6_MuteEndsByItsTime", muteIsOver},
		{"D6_IgnoredEntriesReopenAtTheirTime", ignoredReopen},
		{"D6_ReopenedGroupIsNotIgnoredAnyMore", reopenedGroup},
	}
}

func (r *rig) groups(f store.GroupFilter) []store.Group {
	page, err := r.Groups(ctx(), f)
	r.ok(err)
	return page.Groups
}

// groupA returns the group of the jobs that died with class A, without its trend.
func (r *rig) groupA() store.Group {
	groups := r.groups(store.GroupFilter{Group: "A|" + kind})
	if len(groups) != 1 {
		r.fail("got %d groups of class A, want 1", len(groups))
	}
	groups[0].Trend = nil
	return groups[0]
}

// proves: D6
func groupsAreListed(r *rig) {
	r.dieAll(3, "A")
	r.clock.Advance(time.Second)
	r.dieAll(2, "B")
	r.clock.Advance(time.Second)
	c := r.die("C", func(n *job.New) { n.Kind = "other" })
	r.ok(r.actOn(store.ActResolve, c))
	classes := func(f store.GroupFilter) string {
		var b strings.Builder
		for _, g := range r.groups(f) {
			fmt.Fprintf(&b, "%s%d/%d ", g.Class, g.Pending, g.N)
		}
		return b.String()
	}
	for _, tt := range []struct {
		name string
		f    store.GroupFilter
		want string
	}{
		{"the last seen first", store.GroupFilter{}, "C0/1 B2/2 A3/3 "},
		{"largest", store.GroupFilter{Largest: true}, "A3/3 B2/2 C0/1 "},
		{"pending", store.GroupFilter{Pending: true}, "B2/2 A3/3 "},
		{"kind", store.GroupFilter{Kind: "other"}, "C0/1 "},
		{"class", store.GroupFilter{Class: "A"}, "A3/3 "},
		{"one", store.GroupFilter{Group: "B|" + kind}, "B2/2 "},
		{"page", store.GroupFilter{Skip: 1, Limit: 1}, "B2/2 "},
		{"beyond", store.GroupFilter{Skip: 9}, ""},
	} {
		same(r, tt.name, classes(tt.f), tt.want)
	}
	page, err := r.Groups(ctx(), store.GroupFilter{Pending: true, Limit: 1})
	r.ok(err)
	same(r, "total", page.Total, 2)
}

// proves: D6
func groupTellsOfTheFirst(r *rig) {
	die := func(message string) job.ID {
		id := r.add()
		o := died(r.takeID(id), "A", job.NonRetriable)
		o.Failure.Message, o.Failure.Code = message, "E"+message[:1]
		r.end(o)
		return id
	}
	long := "1" + strings.Repeat("é", store.GroupMessageMax)
	first := die(long)
	at := r.now()
	r.clock.Advance(time.Minute)
	die("2")
	same(r, "group", r.groupA(), store.Group{
		Fingerprint: "A|" + kind, Kind: kind, Class: "A", Code: "E1", Message: long[:store.GroupMessageMax-1],
		Sample: first, FirstAt: at, LastAt: r.now(), N: 2, Entries: 2, Pending: 2,
	})
	same(r, "message of the entry", r.letter(first).Message, long)
}

// proves: D6
func trendIsByTheHour(r *rig) {
	r.dieAll(2, "A")
	r.clock.Advance(23 * time.Hour)
	r.die("A")
	r.die("B")
	trend := make([]int64, store.TrendHours)
	trend[0], trend[23] = 2, 1
	same(r, "trend", r.groups(store.GroupFilter{Group: "A|" + kind})[0].Trend, trend)
	r.clock.Advance(time.Hour)
	trend[0], trend[22], trend[23] = 0, 1, 0
	same(r, "trend an hour later", r.groups(store.GroupFilter{Group: "A|" + kind})[0].Trend, trend)
}

// proves: D6
func actOnAGroup(r *rig) {
	all, other := r.dieAll(5, "A"), r.die("B")
	same(r, "retried", r.act(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Group: "A|" + kind}, Limit: 2}), int64(5))
	for _, id := range all {
		r.state(id, job.Waiting)
	}
	r.state(other, job.Dead)
	g := r.groupA()
	same(r, "group", []int64{g.N, g.Entries, g.Pending}, []int64{5, 5, 0})
}

func (r *rig) mute(options ...func(*store.Action)) int64 {
	a := store.Action{Do: store.ActIgnore, Filter: &store.DeadFilter{Group: "A|" + kind}, Note: "known"}
	for _, o := range options {
		o(&a)
	}
	return r.act(a)
}

// proves: D6
func mutedUntil(r *rig) {
	old := r.dieAll(3, "A")
	until := r.in(time.Hour)
	same(r, "ignored", r.mute(func(a *store.Action) { a.Until, a.Limit = until, 1 }), int64(3))
	g := r.groupA()
	same(r, "group", []any{g.Muted, g.MutedUntil, g.MutedFor, g.Pending}, []any{true, until, int64(0), int64(0)})
	r.clock.Advance(time.Minute)
	id := r.die("A")
	l := r.letter(id)
	same(r, "arrival", []any{l.Status, l.Action, l.Note, l.ActedBy, l.ActedAt, l.ReopenAt},
		[]any{job.Ignored, job.ActionMuted, "known", person.Actor, r.now(), until})
	same(r, "old one", []any{r.letter(old[0]).Action, r.letter(old[0]).ReopenAt}, []any{job.ActionIgnored, until})
	same(r, "another cause", r.letter(r.die("B")).Status, job.Pending)
	r.ok(r.retry(old[1])) // the retried job dies again with another fingerprint
	r.end(died(r.takeID(old[1]), "B", job.NonRetriable))
	same(r, "second death elsewhere", r.letter(old[1]).Status, job.Pending)

	r.clock.Advance(59*time.Minute - time.Microsecond)
	same(r, "reopened early", r.sweep(store.Retention{}, 10).Reopened, int64(0))
	after := r.cursor()
	r.clock.Advance(time.Microsecond)
	same(r, "reopened", r.sweep(store.Retention{}, 2).Reopened, int64(3))
	same(r, "events", len(r.events(after)), 3)
	for _, id := range []job.ID{old[0], old[2], id} {
		l := r.letter(id)
		same(r, "reopened entry", []any{l.Status, l.Action, l.ActedBy, l.ReopenAt, l.ActedAt},
			[]any{job.Pending, job.ActionReopened, store.SweepActor, job.Micros(0), r.now()})
	}
	g = r.groupA()
	same(r, "group after it", []any{g.Muted, g.MutedUntil, g.Pending, g.N}, []any{false, job.Micros(0), int64(3), int64(4)})
	same(r, "next arrival", r.letter(r.die("A")).Status, job.Pending)
}

// proves: D6
func mutedFor(r *rig) {
	old := r.die("A")
	same(r, "ignored", r.mute(func(a *store.Action) { a.Count = 3 }), int64(1))
	var quiet []job.ID
	for left := int64(3); left > 1; left-- {
		same(r, "deaths left", r.groupA().MutedFor, left)
		quiet = append(quiet, r.die("A"))
		same(r, "status", r.letter(quiet[len(quiet)-1]).Status, job.Ignored)
	}
	same(r, "reopened early", r.sweep(store.Retention{}, 10).Reopened, int64(0))
	third := r.die("A")
	g := r.groupA()
	same(r, "the death that ends the mute", []any{r.letter(third).Status, g.Muted, g.MutedFor, g.Pending}, []any{job.Pending, false, int64(0), int64(1)})
	same(r, "reopened", r.sweep(store.Retention{}, 10).Reopened, int64(3))
	for _, id := range append(quiet, old) {
		same(r, "status", r.letter(id).Status, job.Pending)
	}
	same(r, "pending in the group", r.groupA().Pending, int64(4))
}

// proves: D6
//
// A mute ends at its time, even if no sweep has run since then.
func muteIsOver(r *rig) {
	old := r.die("A")
	until := r.in(time.Hour)
	r.mute(func(a *store.Action) { a.Until, a.Count = until, 9 })
	r.clock.Advance(time.Hour - time.Microsecond)
	same(r, "just before", r.letter(r.die("A")).Status, job.Ignored)
	r.clock.Advance(time.Microsecond)
	late := r.letter(r.die("A"))
	same(r, "at its end", []any{late.Status, late.Action, late.ActedBy}, []any{job.Pending, job.DeadAction(""), ""})
	g := r.groupA()
	same(r, "group", []any{g.Muted, g.MutedUntil, g.MutedFor, g.Pending}, []any{false, job.Micros(0), int64(0), int64(1)})
	same(r, "next", r.letter(r.die("A")).Status, job.Pending)
	same(r, "reopened", r.sweep(store.Retention{}, 10).Reopened, int64(2))
	same(r, "old one", r.letter(old).Status, job.Pending)
	same(r, "pending", r.groupA().Pending, int64(4))
}

// proves: D6, D2
func ignoredReopen(r *rig) {
	early, late, never := r.die("A"), r.die("A"), r.die("A")
	for id, until := range map[job.ID]job.Micros{early: r.in(time.Minute), late: r.in(time.Hour), never: 0} {
		r.ok(r.actOn(store.ActIgnore, id, func(a *store.Action) { a.Until = until }))
	}
	same(r, "muted", r.groupA().Muted, false)
	r.clock.Advance(time.Minute)
	same(r, "reopened", r.sweep(store.Retention{}, 10).Reopened, int64(1))
	same(r, "early", r.letter(early).Status, job.Pending)
	r.ok(r.actOn(store.ActResolve, late)) // a resolved dead letter does not become pending again
	r.clock.Advance(24 * time.Hour)
	same(r, "reopened later", r.sweep(store.Retention{}, 10).Reopened, int64(0))
	same(r, "late and never", []job.Status{r.letter(late).Status, r.letter(never).Status}, []job.Status{job.Resolved, job.Ignored})
}

// proves: D6
func reopenedGroup(r *rig) {
	all := r.dieAll(2, "A")
	f := &store.DeadFilter{Group: "A|" + kind}
	same(r, "ignored", r.act(store.Action{Do: store.ActIgnore, Filter: f, Count: 10}), int64(2))
	muted := r.die("A")
	same(r, "the group is ignored", r.groupA().Muted, true)
	same(r, "reopened", r.act(store.Action{Do: store.ActReopen, Filter: f}), int64(3))
	same(r, "the group is ignored", r.groupA().Muted, false)
	next := r.die("A")
	for _, id := range append(all, muted, next) {
		same(r, "status of "+id.String(), r.letter(id).Status, job.Pending)
	}
}
