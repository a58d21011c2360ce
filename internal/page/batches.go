package page

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// batchesView lists batches.
type batchesView struct {
	frame
	Tabs  []tab
	Query url.Values
	Chips []chip
	Rows  []batchRow
	Next  template.URL
}

// batchRow is a batch in a list.
type batchRow struct {
	redrive.Batch
	Name, Standing string
	batchShares
}

// batchShares are the members of a batch in percent.
type batchShares struct{ Good, Running, Bad int64 }

func batchSharesOf(b *redrive.Batch) batchShares {
	share := func(n int64) int64 { return 100 * n / max(b.Total, 1) }
	return batchShares{Good: share(b.Completed), Running: share(b.Running), Bad: share(b.Dead + b.Cancelled)}
}

// batchBadge is the state of a batch, with what its badge says when it is pointed at.
type batchBadge struct {
	badge
	Tip string
}

// batchBadgeOf returns the badge of a state of a batch, for templates.
func batchBadgeOf(state job.BatchState) batchBadge {
	b := badgeOf(strings.ToLower(state.String()))
	b.Word = state.String()
	if s := batchSymbols[b.Class]; s != "" {
		b.Symbol = s
	}
	return batchBadge{b, words.BatchTip(state)}
}

// batchSymbols gives a state of a batch that has no symbol of its own the symbol of a state of jobs.
var batchSymbols = map[string]string{"processing": "running", "ready": "completed", "failed": "dead"}

func (p *Pages) batches(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "batches", "Batches")
	if err != nil {
		return err
	}
	page, next, err := a.Batches(c)
	if err != nil {
		return err
	}
	v := batchesView{frame: f, Query: c.R.URL.Query()}
	v.Topics = "all"
	for i := range page.Batches {
		b := &page.Batches[i]
		v.Rows = append(v.Rows, batchRow{*b, words.BatchName(b), words.BatchStanding(b, f.Now), batchSharesOf(b)})
	}
	with := func(state string) template.URL {
		q := c.R.URL.Query()
		q.Del("cursor")
		if q.Del("state"); state != "" {
			q.Set("state", state)
		}
		return queryOf(q)
	}
	current := v.Query.Get("state")
	v.Tabs = []tab{{Name: "All", Query: with(""), Current: current == ""}}
	for _, s := range job.BatchStates {
		v.Tabs = append(v.Tabs, tab{Name: s.String(), Query: with(s.String()), Current: current == s.String()})
	}
	v.Chips = chipsOf(v.Query, f.Zone, "owner", "key", "name")
	if next != "" {
		q := c.R.URL.Query()
		q.Set("cursor", next)
		v.Next = queryOf(q)
	}
	v.Heading = words.BatchesFinding(page.Batches, next != "" || v.Query.Get("cursor") != "")
	return p.write(c.W, http.StatusOK, "batches", &v)
}
