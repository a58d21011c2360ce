package sqlstore

import (
	"cmp"
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	groupColumns = `fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted,
		muted_until, muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
		regressed_at, merged`
	fromGroups  = ` FROM redrive_groups `
	groupFilter = ` WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
		AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
		AND (?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved' ELSE 'regressed' END) `
)

// These statements read and sort all groups. This costs little, because there is only one group
// for each root cause.
var (
	countGroups   = declare("countGroups", `SELECT count(*) FROM redrive_groups`+groupFilter)
	lastGroups    = declare("lastGroups", `SELECT `+groupColumns+fromGroups+groupFilter+`ORDER BY last_at DESC, fingerprint LIMIT ?8 OFFSET ?9`)
	largestGroups = declare("largestGroups", `SELECT `+groupColumns+fromGroups+groupFilter+`ORDER BY pending DESC, n DESC, fingerprint LIMIT ?8 OFFSET ?9`)
	allGroups     = declare("allGroups", `SELECT `+groupColumns+fromGroups+`ORDER BY fingerprint`)
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
	total, err := ReadInt(c, countGroups, selected...)
	if err != nil {
		return page, err
	}
	page.Total = int(total)
	q := lastGroups
	if f.Largest {
		q = largestGroups
	}
	var ids []int64
	err = c.Rows(q, func(r Row) error {
		page.Groups = append(page.Groups, scanGroup(r))
		ids = append(ids, r.Int(14))
		return nil
	}, append(selected, num(cmp.Or(f.Limit, 50)), num(f.Skip))...)
	for i := range page.Groups {
		if err == nil {
			page.Groups[i].Trend, err = readTrend(c, ids[i], now, hour, store.TrendHours)
		}
	}
	return page, err
}

func scanGroup(r Row) store.Group {
	return store.Group{Fingerprint: r.Text(0), Kind: r.Text(1), Class: r.Text(2), Code: r.Text(3), Message: r.Text(4),
		Sample: job.ID(r.Int(5)), FirstAt: job.Micros(r.Int(6)), LastAt: job.Micros(r.Int(7)), N: r.Int(8), Entries: r.Int(9),
		Pending: r.Int(10), Muted: r.Int(11) != 0, MutedUntil: job.Micros(r.Int(12)), MutedFor: r.Int(13),
		Retried: r.Int(15), Helped: r.Int(16), FirstBuild: r.Text(17), LastBuild: r.Text(18), Name: r.Text(19), Assignee: r.Text(20),
		AssignedAt: job.Micros(r.Int(21)), ResolvedAt: job.Micros(r.Int(22)), ResolvedBy: r.Text(23), RegressedAt: job.Micros(r.Int(24)),
		Set: r.Text(25)}
}
