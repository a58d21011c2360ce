package sqlite

import (
	"cmp"
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	groupColumns = `SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted,
		muted_until, muted_for, id FROM redrive_groups `
	groupFilter = ` WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
		AND (?4 = 0 OR pending > 0) `
)

// Groups are as many as there are causes: all of them are read and sorted.
var (
	countGroups   = &query{`SELECT count(*) FROM redrive_groups` + groupFilter}
	lastGroups    = &query{groupColumns + groupFilter + `ORDER BY last_at DESC, fingerprint LIMIT ?5 OFFSET ?6`}
	largestGroups = &query{groupColumns + groupFilter + `ORDER BY pending DESC, n DESC, fingerprint LIMIT ?5 OFFSET ?6`}
	allGroups     = &query{groupColumns + `ORDER BY fingerprint`}
)

// Groups implements store.DeadLetters.
func (s *Store) Groups(ctx context.Context, f store.GroupFilter) (page store.GroupPage, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	now := s.clock.Now()
	err = s.read(ctx, func(c session) error {
		page, err = readGroups(c, &f, now)
		return err
	})
	return page, err
}

func readGroups(c session, f *store.GroupFilter, now job.Micros) (page store.GroupPage, err error) {
	selected := []value{setText(f.Group), setText(f.Kind), setText(f.Class), bit(f.Pending)}
	total, err := readInt(c, countGroups, selected...)
	if err != nil {
		return page, err
	}
	page.Total = int(total)
	q := lastGroups
	if f.Largest {
		q = largestGroups
	}
	var ids []int64
	err = c.rows(q, func(r row) error {
		page.Groups = append(page.Groups, scanGroup(r))
		ids = append(ids, r.int(14))
		return nil
	}, append(selected, num(cmp.Or(f.Limit, 50)), num(f.Skip))...)
	for i := range page.Groups {
		if err == nil {
			page.Groups[i].Trend, err = readTrend(c, ids[i], now, hour, store.TrendHours)
		}
	}
	return page, err
}

func scanGroup(r row) store.Group {
	return store.Group{Fingerprint: r.text(0), Kind: r.text(1), Class: r.text(2), Code: r.text(3), Message: r.text(4),
		Sample: job.ID(r.int(5)), FirstAt: job.Micros(r.int(6)), LastAt: job.Micros(r.int(7)), N: r.int(8), Entries: r.int(9),
		Pending: r.int(10), Muted: r.int(11) != 0, MutedUntil: job.Micros(r.int(12)), MutedFor: r.int(13)}
}
