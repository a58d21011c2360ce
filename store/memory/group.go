package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// group is a group of dead letters as the store keeps it, with data that readers do not see.
type group struct {
	store.Group
	by, note string               // the person who muted the group, and that person's note
	deaths   map[job.Micros]int64 // number of deaths in each hour; the map key is the start of the hour
}

// join adds a new dead letter to its group. If the group is muted, the dead letter is ignored at
// once, unless this death ends the mute. If a job dies because its deadline has passed, a new group
// gets no code and no message, because the code and the message of the dead letter are from an
// earlier failure. join reports whether the death is the first of the group in the sense of
// notify.GroupFirst.
func (t *tx) join(e *entry, cause job.Cause) (first bool) {
	if e.Fingerprint == "" {
		return false
	}
	g := t.groups[e.Fingerprint]
	if g == nil {
		g = &group{deaths: map[job.Micros]int64{}, Group: store.Group{
			Fingerprint: e.Fingerprint, Kind: e.Kind, Class: e.Class, Sample: e.Job, FirstAt: t.now,
		}}
		if cause != job.Expired {
			g.Code, g.Message = e.Code, storekit.GroupMessage(e.Message)
		}
		t.takeOver(g)
		t.groups[e.Fingerprint] = g
	}
	first = notify.IsFirst(g.LastAt, t.now, g.ResolvedAt != 0 && g.RegressedAt == 0)
	g.LastAt = t.now
	if f := t.failureOf(t.jobs[e.Job]); f != nil && cause != job.Expired {
		g.FirstBuild, g.LastBuild = cmp.Or(g.FirstBuild, f.Build), cmp.Or(f.Build, g.LastBuild)
	}
	if g.ResolvedAt != 0 && g.RegressedAt == 0 {
		g.RegressedAt = t.now
		t.emit(store.RegressedEvent(e.Fingerprint, e.Job, e.Kind, e.Queue, e.Class))
	}
	g.N++
	g.Entries++
	g.deaths[start(t.now, hour)]++
	if g.over(t.now) { // the time of the mute has passed, but no sweep has ended the mute yet
		g.unmute()
	}
	switch {
	case g.Muted && g.MutedFor == 1:
		g.unmute()
	case g.Muted:
		g.MutedFor = max(0, g.MutedFor-1)
		e.Status, e.Action, e.withGroup = job.Ignored, job.ActionMuted, true
		e.Note, e.ActedBy, e.ActedAt = g.note, g.by, t.now
	}
	if e.Status == job.Pending {
		g.Pending++
	}
	return first
}

// takeOver gives a new group what people have said about the group of the same cause that older rules
// of fingerprints made.
func (t *tx) takeOver(g *group) {
	var old *group
	for _, o := range t.groups {
		if o.SaidAbout() && g.Succeeds(&o.Group) && (old == nil || o.LastAt > old.LastAt || o.LastAt == old.LastAt && o.Fingerprint < old.Fingerprint) {
			old = o
		}
	}
	if old == nil {
		return
	}
	g.TakeOver(&old.Group)
	g.by, g.note = old.by, old.note
	n := 0
	for _, o := range t.groups {
		if o.Set == g.Set {
			n++
		}
	}
	if n >= store.GroupsMax {
		g.Set = ""
	}
}

// mute mutes a group. It returns false if the mute changes nothing.
func (g *group) mute(by store.By, a *store.Action) bool {
	before := *g
	g.Muted, g.MutedUntil, g.MutedFor = true, a.Until, a.Count
	g.by, g.note = by.Actor, a.Note
	return before.Muted != g.Muted || before.MutedUntil != g.MutedUntil || before.MutedFor != g.MutedFor ||
		before.by != g.by || before.note != g.note
}

// over reports whether the group is muted until a time that has passed.
func (g *group) over(now job.Micros) bool { return g.Muted && g.MutedUntil != 0 && g.MutedUntil <= now }

func (g *group) unmute() {
	g.Muted, g.MutedUntil, g.MutedFor = false, 0, 0
	g.by, g.note = "", ""
}

// Groups implements store.DeadLetters.
func (s *Store) Groups(ctx context.Context, f store.GroupFilter) (store.GroupPage, error) {
	t, err := s.begin(ctx, "groups")
	if err != nil {
		return store.GroupPage{}, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return store.GroupPage{}, t.errorf("%w", err)
	}
	if f.Limit == 0 {
		f.Limit = pageDefault
	}
	var groups []store.Group
	for _, g := range t.groups {
		if g.matches(&f) {
			shown := g.Group
			shown.Trend = trend(g.deaths, t.now, hour, store.TrendHours)
			groups = append(groups, shown)
		}
	}
	if f.Merge {
		groups = mergeSets(groups)
	}
	slices.SortFunc(groups, func(a, b store.Group) int {
		if f.Largest {
			return cmp.Or(cmp.Compare(b.Pending, a.Pending), cmp.Compare(b.N, a.N), cmp.Compare(lowest(&a), lowest(&b)))
		}
		return cmp.Or(cmp.Compare(b.LastAt, a.LastAt), cmp.Compare(lowest(&a), lowest(&b)))
	})
	page := store.GroupPage{Total: len(groups)}
	groups = groups[min(f.Skip, len(groups)):]
	page.Groups = append(page.Groups, groups[:min(f.Limit, len(groups))]...)
	return page, nil
}

// mergeSets replaces the groups of each set by one group.
func mergeSets(groups []store.Group) []store.Group {
	slices.SortFunc(groups, func(a, b store.Group) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	sets := make(map[string][]store.Group)
	var merged []store.Group
	for _, g := range groups {
		if g.Set == "" {
			merged = append(merged, g)
		} else {
			sets[g.Set] = append(sets[g.Set], g)
		}
	}
	for _, set := range sets {
		merged = append(merged, store.Merged(set))
	}
	return merged
}

// lowest returns the fingerprint of a group, or the lowest one of a set.
func lowest(g *store.Group) string {
	if len(g.Groups) > 0 {
		return g.Groups[0]
	}
	return g.Fingerprint
}

func (g *group) matches(f *store.GroupFilter) bool {
	return (f.Group == "" || f.Group == g.Fingerprint) && (f.Kind == "" || f.Kind == g.Kind) &&
		(f.Class == "" || f.Class == g.Class) && (!f.Pending || g.Pending > 0) && (f.Assignee == "" || f.Assignee == g.Assignee) &&
		(f.Set == "" || f.Set == g.Set) && (f.State == "" || f.State == g.State())
}

// sortedGroups returns the groups, sorted by fingerprint.
func (t *tx) sortedGroups() []store.Group {
	groups := make([]store.Group, 0, len(t.groups))
	for _, g := range t.groups {
		groups = append(groups, g.Group)
	}
	slices.SortFunc(groups, func(a, b store.Group) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return groups
}
