package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// overviewView is the first page: whether something needs a person, and what comes next.
type overviewView struct {
	frame
	Empty    bool // nothing was ever enqueued
	Hours    hours
	Needs    []groupRow // the causes that need a person, the largest first
	Running  []redrive.Redrive
	Figures  []words.Figure
	ThisHour string // when the present hour has begun, for links
	Kinds    []kindRow
	AllKinds int // also those that are not in Kinds
	Happened []redrive.AuditEntry
}

// kindRow has the jobs of a kind by state, and its failures by hour.
type kindRow struct {
	Kind                                                         string
	Failed                                                       []int64
	Completed, Running, Waiting, Retrying, Dead, Runs, RunMicros int64
}

// MeanRun is the mean time of a run in the last hour.
func (k *kindRow) MeanRun() string {
	if k.Runs == 0 {
		return "-"
	}
	return words.Span(time.Duration(k.RunMicros/k.Runs) * time.Microsecond)
}

const (
	needsMax    = 5
	happenedMax = 8
	figureHours = 24
)

func (p *Pages) overview(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "overview", "Overview")
	if err != nil {
		return err
	}
	v := overviewView{frame: f}
	v.Topics = "all"
	client, ctx := a.Client(), c.Context()
	groups, err := groupsOf(ctx, client, needsMax)
	if err != nil {
		return err
	}
	redrives, err := client.Redrives(ctx)
	if err != nil {
		return err
	}
	for i := range redrives {
		if redrives[i].State.Active() || redrives[i].State == redrive.RedriveStopped && f.Now.Sub(redrives[i].CreatedAt) < figureHours*time.Hour {
			v.Running = append(v.Running, redrives[i])
		}
	}
	for i := range groups.Groups {
		if g := &groups.Groups[i]; !g.Muted {
			row := groupRowOf(g, redrives)
			if row.Since, err = sinceLastDeath(a, c, g, f.Now); err != nil {
				return err
			}
			v.Needs = append(v.Needs, row)
		}
	}
	v.Figures = words.Figures(f.dead, figureHours*time.Hour)
	last, err := a.LastHours(ctx)
	if err != nil {
		return err
	}
	v.Stale = v.Stale || last.Since.String() != v.Since
	v.ThisHour = (f.Now - f.Now%job.Micros(time.Hour/time.Microsecond)).Time().UTC().Format(time.RFC3339)
	v.Hours = hoursOf(f.Zone, f.Now, &last, redrives)
	if v.Kinds, v.AllKinds, err = p.kinds(a, c, f.Now, last.Kinds); err != nil {
		return err
	}
	audit, err := client.Audit(ctx, redrive.AuditFilter{Limit: happenedMax})
	if err != nil {
		return err
	}
	v.Happened = audit.Entries
	v.Empty = len(v.Kinds) == 0
	v.Heading = words.OverviewFinding(f.Pending, int64(f.Groups), int64(f.Active), int64(v.AllKinds))
	v.Lead = words.OverviewLead(v.Hours.Completed, v.Hours.Failed, v.Hours.Dead)
	return p.write(c.W, 200, "overview", &v)
}

// kinds returns a row for each kind that has jobs, or had failures within a day, the kinds with the
// most dead jobs first, and the number of all.
func (p *Pages) kinds(a *api.API, c *api.Call, now job.Micros, points []redrive.Point) (list []kindRow, all int, err error) {
	counts, err := a.Client().Counts(c.Context())
	if err != nil {
		return nil, 0, err
	}
	rows := make(map[string]*kindRow)
	row := func(kind string) *kindRow {
		if rows[kind] == nil {
			rows[kind] = &kindRow{Kind: kind, Failed: make([]int64, hoursADay)}
		}
		return rows[kind]
	}
	for _, n := range counts {
		switch r := row(n.Kind); n.State {
		case job.Running:
			r.Running += n.N
		case job.Waiting:
			r.Waiting += n.N
		case job.Retrying:
			r.Retrying += n.N
		case job.Dead:
			r.Dead += n.N
		case job.None, job.Completed, job.Cancelled:
		}
	}
	hour := now - now%job.Micros(time.Hour/time.Microsecond)
	for i := range points {
		pt := &points[i]
		r := row(pt.Name)
		if at := hoursADay - 1 - int(hour.Sub(pt.At)/time.Hour); at >= 0 && at < len(r.Failed) {
			r.Failed[at] += pt.Failed + pt.Crashed
			if at == len(r.Failed)-1 {
				r.Completed, r.Runs, r.RunMicros = r.Completed+pt.Completed, r.Runs+pt.Completed+pt.Failed, r.RunMicros+pt.RunTime
			}
		}
	}
	for _, r := range rows {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b kindRow) int { return cmp.Or(cmp.Compare(b.Dead, a.Dead), cmp.Compare(a.Kind, b.Kind)) })
	return list[:min(len(list), kindsMax)], len(list), nil
}

// kindsMax is the largest number of kinds that the first page lists.
const kindsMax = 20
