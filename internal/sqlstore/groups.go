package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These statements read and sort all groups. This costs little, because there is only one group
// for each root cause. They sort only what decides the order, and read the other columns of the
// page afterwards.
var (
	countGroups   = ask("countGroups")
	lastGroups    = ask("lastGroups")
	largestGroups = ask("largestGroups")
	countBySet    = ask("countBySet")
	lastBySet     = ask("lastBySet")
	largestBySet  = ask("largestBySet")
	setGroups     = ask("setGroups")
	allGroups     = ask("allGroups")
)

// Groups implements store.DeadLetters.
func (s *Core) Groups(ctx context.Context, f store.GroupFilter) (page store.GroupPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	now := s.db.Clock.Now()
	err = s.db.Read(ctx, func(c Session) error {
		page, err = readGroups(c, &f, now)
		return err
	})
	return page, err
}

func readGroups(c Session, f *store.GroupFilter, now job.Micros) (page store.GroupPage, err error) {
	selected := []Value{setText(f.Group), setText(f.Kind), setText(f.Class), bit(f.Pending), setText(f.Assignee), setText(f.Set), setText(f.State)}
	count, last, largest := countGroups, lastGroups, largestGroups
	if f.Merge {
		count, last, largest = countBySet, lastBySet, largestBySet
	}
	total, err := ReadInt(c, count, selected...)
	if err != nil {
		return page, err
	}
	page.Total = int(total)
	q := last
	if f.Largest {
		q = largest
	}
	page.Groups, err = groupsWithTrends(c, now, q, append(slices.Clone(selected), num(cmp.Or(f.Limit, 50)), num(f.Skip))...)
	for i := range page.Groups {
		if g := &page.Groups[i]; f.Merge && g.Set != "" && err == nil {
			selected[5] = text(g.Set)
			var set []store.Group
			if set, err = groupsWithTrends(c, now, setGroups, selected...); len(set) > 0 {
				*g = store.Merged(set)
			}
		}
	}
	return page, err
}

// groupsWithTrends returns the groups that a statement selects.
func groupsWithTrends(c Session, now job.Micros, q *Query, args ...Value) (groups []store.Group, err error) {
	var ids []int64
	err = c.Rows(q, func(r Row) error {
		groups = append(groups, scanGroup(r))
		ids = append(ids, r.Int(14))
		return nil
	}, args...)
	if err != nil || len(ids) == 0 {
		return groups, err
	}
	trends, err := readTrends(c, ids, now, hour, store.TrendHours)
	for i := range groups {
		groups[i].Trend = trends[ids[i]]
	}
	return groups, err
}

func scanGroup(r Row) store.Group {
	return store.Group{Fingerprint: r.Text(0), Kind: r.Text(1), Class: r.Text(2), Code: r.Text(3), Message: r.Text(4),
		Sample: job.ID(r.Int(5)), FirstAt: job.Micros(r.Int(6)), LastAt: job.Micros(r.Int(7)), N: r.Int(8), Entries: r.Int(9),
		Pending: r.Int(10), Muted: r.Int(11) != 0, MutedUntil: job.Micros(r.Int(12)), MutedFor: r.Int(13),
		Retried: r.Int(15), Helped: r.Int(16), FirstBuild: r.Text(17), LastBuild: r.Text(18), Name: r.Text(19), Assignee: r.Text(20),
		AssignedAt: job.Micros(r.Int(21)), ResolvedAt: job.Micros(r.Int(22)), ResolvedBy: r.Text(23), RegressedAt: job.Micros(r.Int(24)),
		Set: r.Text(25)}
}
