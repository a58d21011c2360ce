package page

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// setCause is a cause of jobs in the set of a redrive.
type setCause struct {
	redrive.Group
	N     int64 // its jobs in the set
	Next  string
	First bool   // a person has to change something before a retry can help
	Since string // how many jobs of the kind have completed since the last death by it
}

// setCauses is the largest number of causes of a set that the preview of a redrive names.
const setCauses = 20

// causes reads the causes of a set; byGroup has the number of jobs of each.
func (v *newRedriveView) causes(a *api.API, c *api.Call, byGroup map[string]int64) error {
	type part struct {
		group string
		n     int64
	}
	var parts []part
	for group, n := range byGroup {
		parts = append(parts, part{group, n})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.group, b.group)) })
	for _, one := range parts {
		if one.group == "" || len(v.Causes) == setCauses {
			v.More += one.n
			continue
		}
		page, err := a.Client().Groups(c.Context(), redrive.GroupFilter{Group: one.group, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Groups) == 0 {
			v.More += one.n
			continue
		}
		g := setCause{Group: page.Groups[0], N: one.n}
		g.Next, g.First = words.NextStep(&g.Group), words.PersonFirst(&g.Group)
		if g.First {
			v.First += one.n
		}
		v.Causes = append(v.Causes, g)
	}
	return nil
}

// besides returns the redrives under way that may take jobs of the same set as a filter, except one.
func besides(c *api.Call, client *redrive.Client, f *redrive.DeadFilter, except int64) (beside []redrive.Redrive, err error) {
	list, err := client.Redrives(c.Context())
	for i := range list {
		if list[i].ID != except && takesFrom(&list[i], f) {
			beside = append(beside, list[i])
		}
	}
	return beside, err
}

// takesFrom reports whether a redrive goes on to retry dead letters of which a filter may select some, too.
func takesFrom(r *redrive.Redrive, f *redrive.DeadFilter) bool {
	if r.Live != nil || r.State != redrive.RedriveCanary && r.State != redrive.RedriveRamping {
		return false
	}
	apart := func(a, b string) bool { return a != "" && b != "" && a != b }
	g := &r.Filter
	if apart(f.Kind, g.Kind) || apart(f.Class, g.Class) || apart(f.Queue, g.Queue) || apart(f.Owner, g.Owner) || apart(f.Worker, g.Worker) ||
		apart(f.Correlation, g.Correlation) || apart(string(f.Reason), string(g.Reason)) || f.Batch != 0 && g.Batch != 0 && f.Batch != g.Batch {
		return false
	}
	if f.Until != 0 && f.Until <= g.Since || g.Until != 0 && g.Until <= f.Since {
		return false
	}
	one, other := f.Fingerprints(), g.Fingerprints()
	return len(one) == 0 || len(other) == 0 || slices.ContainsFunc(one, func(group string) bool { return slices.Contains(other, group) })
}

// fixedTimes returns a query of dead letters whose times do not depend on when it is read: the set that a form acts on is the
// one that its page has shown.
func fixedTimes(query url.Values, f *redrive.DeadFilter) url.Values {
	fixed := maps.Clone(query)
	exact := func(at job.Micros) []string { return []string{at.Time().UTC().Format(time.RFC3339Nano)} }
	if query.Get("from_date") != "" {
		fixed["from_date"] = exact(f.Since)
	}
	if query.Get("to_date") != "" {
		fixed["to_date"] = exact(f.Until - 1) // to_date is included
	}
	return fixed
}
