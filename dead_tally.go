package redrive

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// TallyMax is the maximum number of dead letters that one call of TallyDead reads.
const TallyMax = 2_500

// tallyPages is the maximum number of pages that TallyDead reads. If the filter selects few
// dead letters, most pages may be almost empty, so TallyMax alone would not limit the number
// of pages.
const tallyPages = 5

// DeadTally counts the dead letters that a filter selects. Its Hours are nil, because the
// store counts ended jobs by hour only for all jobs together.
type DeadTally struct {
	DeadStats
	// Groups are the groups of the selected dead letters; the group with the newest dead
	// letter comes first. Each group describes its selected dead letters only: N and Entries
	// are their number, Pending is how many of them are pending, and FirstAt, LastAt, Sample
	// and Trend are computed from them. The field that says whether the group is muted is
	// not set.
	Groups []Group
	// Searched is not 0 when there were too many dead letters to read them all. Groups and
	// Added then count only the jobs that died after this time. The same applies to Counts,
	// unless DeadFilter.Counted is true for the filter.
	Searched job.Micros
}

// TallyDead counts the dead letters that a filter selects. It reads the newest TallyMax of
// them. If DeadFilter.Counted is true for the filter, the Counts are always complete.
func (c *Client) TallyDead(ctx context.Context, f DeadFilter) (t DeadTally, err error) {
	if f.Counted() {
		if t.DeadStats, err = c.store.DeadStats(ctx); err != nil {
			return t, err
		}
	} else {
		due, err := c.store.Due(ctx, 1) // for the store's time; the statistics would cost more
		if err != nil {
			return t, err
		}
		t.At = due.At
	}
	n := tally{at: t.At, counts: make(map[DeadCount]int64), groups: make(map[string]*Group), added: make([]int64, store.AddedMinutes)}
	page := DeadPage{}
	p := DeadPaging{Limit: job.PageMax}
	for pages := 1; ; pages++ {
		if page, err = c.store.DeadLetters(ctx, f, p); err != nil {
			return t, err
		}
		for i := range page.Entries {
			n.add(&page.Entries[i].DeadLetter)
		}
		if p.Before = page.Next; page.Next == 0 || n.read+job.PageMax > TallyMax || pages == tallyPages {
			break
		}
	}
	t.Searched, t.OldestPending, t.Added, t.Groups, t.Hours = page.Searched, n.oldestPending, n.added, n.newestGroups(), nil
	if page.Next == 0 {
		t.Searched = 0
	} else {
		t.OldestPending = 0 // the oldest pending dead letter was not read, so its time is not known
	}
	if !f.Counted() {
		t.Counts = n.sortedCounts()
		return t, nil
	}
	t.Counts = slices.DeleteFunc(t.Counts, func(d DeadCount) bool {
		return !f.Match(&job.DeadLetter{Status: d.Status, Reason: d.Reason, Class: d.Class, Kind: d.Kind, Queue: d.Queue}, nil)
	})
	return t, nil
}

// tally counts dead letters that are added from the newest to the oldest.
type tally struct {
	at            job.Micros
	read          int
	counts        map[DeadCount]int64 // the number of dead letters for each key; the field N of a key is always 0
	groups        map[string]*Group
	added         []int64
	oldestPending job.Micros
}

func (t *tally) add(d *job.DeadLetter) {
	t.read++
	t.counts[DeadCount{Status: d.Status, Reason: d.Reason, Class: d.Class, Kind: d.Kind, Queue: d.Queue}]++
	count(t.added, time.Minute, d.DiedAt, t.at)
	if d.Status == job.Pending {
		t.oldestPending = d.DiedAt
	}
	if d.Fingerprint == "" {
		return
	}
	g := t.groups[d.Fingerprint]
	if g == nil {
		g = &Group{Fingerprint: d.Fingerprint, LastAt: d.DiedAt, Trend: make([]int64, store.TrendHours)}
		t.groups[d.Fingerprint] = g
	}
	g.Kind, g.Class, g.Code, g.Message = d.Kind, d.Class, d.Code, d.Message
	g.Sample, g.FirstAt = d.Job, d.DiedAt
	g.N++
	g.Entries++
	if d.Status == job.Pending {
		g.Pending++
	}
	count(g.Trend, time.Hour, d.DiedAt, t.at)
}

// count adds 1 to the number for the unit of time, such as the hour, in which an event
// happened. The last element of numbers is for the current unit.
func count(numbers []int64, unit time.Duration, at, now job.Micros) {
	u := job.Micros(unit.Microseconds())
	if i := len(numbers) - 1 - int(now/u-at/u); i >= 0 && i < len(numbers) {
		numbers[i]++
	}
}

func (t *tally) sortedCounts() []DeadCount {
	all := make([]DeadCount, 0, len(t.counts))
	for c, n := range t.counts {
		c.N = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b DeadCount) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Kind, b.Kind), strings.Compare(string(a.Reason), string(b.Reason)),
			strings.Compare(a.Class, b.Class), cmp.Compare(a.Status, b.Status))
	})
	return all
}

func (t *tally) newestGroups() []Group {
	all := make([]Group, 0, len(t.groups))
	for _, g := range t.groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.LastAt, a.LastAt), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	return all
}
