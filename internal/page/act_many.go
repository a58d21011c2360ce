package page

import (
	"fmt"
	"html/template"
	"net/url"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// manyAct is an action on rows that were ticked, or on all rows that a filter selects.
type manyAct struct {
	Do    string
	Label string // text of the button
	Done  string // word for what was done, such as "retried"
	dead  redrive.Act
	live  redrive.LiveAct
}

// The actions on many jobs. Those with an Act change dead letters, the others change live jobs.
var manyActs = [...]manyAct{
	{Do: "retry", Label: "Retry", Done: "retried", dead: redrive.ActRetry},
	{Do: "resolve", Label: "Resolve", Done: "resolved", dead: redrive.ActResolve},
	{Do: "ignore", Label: "Ignore", Done: "ignored", dead: redrive.ActIgnore},
	{Do: "reopen", Label: "Reopen", Done: "reopened", dead: redrive.ActReopen},
	{Do: "purge", Label: "Purge", Done: "purged", dead: redrive.ActPurge},
	{Do: "cancel", Label: "Cancel", Done: "cancelled or asked to stop", live: redrive.LiveCancel},
	{Do: "run", Label: "Run now", Done: "due now", live: redrive.LiveAlter},
	{Do: "move", Label: "Move", Done: "moved", live: redrive.LiveAlter},
}

// manyOf returns an action by its name. Only dead letters are retried, resolved, ignored and so on as a set.
func manyOf(name string) (*manyAct, error) {
	for i := range manyActs {
		if manyActs[i].Do == name {
			return &manyActs[i], nil
		}
	}
	return nil, api.NotFound.New("A list of jobs cannot %.40q.", name)
}

// ofLive reports whether the action is for live jobs.
func (m *manyAct) ofLive() bool { return m.dead == 0 }

// shownResults is the number of skipped jobs that a message names.
const shownResults = 8

// actOnTicked carries out an action on the rows that a person has ticked, and says what became of each.
func (p *Pages) actOnTicked(a *api.API, c *api.Call, m *manyAct, in url.Values) (done, error) {
	var ids []job.ID
	for _, text := range in["id"] {
		id, err := job.ParseID(text)
		if err != nil {
			return done{}, api.InvalidField.New("%.40q is not the id of a job.", text)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return done{}, api.InvalidField.New("No row is ticked. Tick the jobs first.")
	}
	if len(ids) > job.PageMax {
		return done{}, api.TooLarge.New("%s are ticked; at most %d are possible.", words.Count(int64(len(ids)), "row"), job.PageMax)
	}
	errs, err := p.onIDs(a, c, m, ids, in)
	if err != nil {
		return done{}, err
	}
	d := done{}
	var changed []string
	skipped := int64(0)
	for i, err := range errs {
		if err == nil {
			changed = append(changed, ids[i].String())
			continue
		}
		if skipped++; skipped <= shownResults {
			d.List = append(d.List, words.Shorten(detailOf(err), textShown))
		}
	}
	d.More = max(0, skipped-shownResults)
	d.Bad = skipped > 0
	d.Text = fmt.Sprintf("%s of %s %s.", words.Number(int64(len(changed))), words.Count(int64(len(ids)), "job"), m.Done)
	if skipped > 0 {
		d.Text += fmt.Sprintf(" %s skipped:", words.Number(skipped))
	}
	if len(changed) > 0 && (m.dead == redrive.ActResolve || m.dead == redrive.ActIgnore) {
		d.Undo = &undo{Path: "/ui/dead/act", Fields: map[string]string{"do": "reopen", "reason": "undo"}, IDs: changed}
	}
	return d, nil
}

// onIDs carries out an action on jobs by their ids. The first result has one error for each id.
func (p *Pages) onIDs(a *api.API, c *api.Call, m *manyAct, ids []job.ID, in url.Values) ([]error, error) {
	client, ctx, by := a.Client(), c.Context(), c.By(in.Get("reason"))
	if err := api.CheckReason(by.Reason); err != nil {
		return nil, err
	}
	switch {
	case m.dead == redrive.ActPurge:
		return nil, api.NotFound.New("Single dead letters cannot be purged.")
	case !m.ofLive():
		action := redrive.Action{Do: m.dead, IDs: ids, Note: by.Reason}
		if err := api.NeedReason(action.Do, action.Note); err != nil {
			return nil, err
		}
		if m.dead == redrive.ActIgnore {
			var err error
			if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
				return nil, err
			}
		}
		did, err := client.Act(ctx, by, action, nil)
		return did.Errors, err
	case m.live == redrive.LiveCancel:
		return client.CancelAll(ctx, by, ids)
	}
	change, err := liveChange(m, in)
	if err != nil {
		return nil, err
	}
	return client.AlterAll(ctx, by, ids, change)
}

// liveChange returns what an action changes in live jobs.
func liveChange(m *manyAct, in url.Values) (redrive.EncodedChange, error) {
	if m.live == redrive.LiveCancel {
		return redrive.EncodedChange{}, nil
	}
	change := redrive.Change{Delay: new(time.Duration)}
	if m.Do == "move" {
		var err error
		if change, err = placeOf(in); err != nil {
			return redrive.EncodedChange{}, err
		}
		if change.Queue == "" && change.Priority == 0 && change.Delay == nil {
			return redrive.EncodedChange{}, api.InvalidField.New("Nothing changes: give a queue, a priority or a time.")
		}
	}
	return change.Encode()
}

// manyView is the bar of a list with the actions on ticked rows and on all that match.
type manyView struct {
	Path string
	Acts []*manyAct
	All  []manyLink
}

// manyLink leads to the page that asks before an action on all rows that a list selects.
type manyLink struct {
	Label, Path string
	Query       template.URL
}

// manyFor returns the bar of a list: the actions on ticked rows, and those on all that match.
func manyFor(list string, query url.Values, ticked, all []string) (v manyView) {
	v.Path = list + "/act"
	for _, name := range ticked {
		if m, err := manyOf(name); err == nil {
			v.Acts = append(v.Acts, m)
		}
	}
	for _, name := range all {
		m, err := manyOf(name)
		if err != nil {
			continue
		}
		q := listQuery(query)
		q.Set("do", name)
		label := m.Label
		if m.dead == redrive.ActRetry {
			label = "Redrive"
		}
		v.All = append(v.All, manyLink{Label: label, Path: v.Path, Query: queryOf(q)})
	}
	return v
}
