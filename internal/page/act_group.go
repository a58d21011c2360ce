package page

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// actOnGroup does what a button of a cause says. A form into which a person has typed is shown again with
// its mistakes.
func (p *Pages) actOnGroup(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	g, err := a.Group(c)
	if err != nil {
		return err
	}
	back := "/ui/groups/" + url.PathEscape(g.Fingerprint)
	return p.onceTyped(a, c, in, back, func() (done, error) { return p.doOnGroup(a, c, &g, c.R.PathValue("act"), in) }, p.writeGroup)
}

func (p *Pages) doOnGroup(a *api.API, c *api.Call, g *redrive.Group, do string, in url.Values) (done, error) {
	client, ctx, by := a.Client(), c.Context(), c.By(in.Get("reason"))
	if was := in.Get("state"); was != "" {
		if was != string(g.State()) {
			return done{}, api.StateMoved.New("the cause is %s now", g.State())
		}
		by.Seen = &redrive.Seen{Group: new(g.State()), Assignee: &g.Assignee}
	}
	if err := api.CheckReason(by.Reason); err != nil {
		return done{}, err
	}
	path := "/ui/groups/" + url.PathEscape(g.Fingerprint) + "/"
	set := func(change redrive.GroupChange, text string, back undo) (done, error) {
		change.Group = g.Fingerprint
		after, err := client.SetGroup(ctx, by, change)
		d := done{Text: text}
		if back.Path != "" {
			d.Undo = &undo{Path: path + back.Path, Fields: back.Fields}
			d.Undo.Fields["state"], d.Undo.Fields["reason"] = string(after.State()), "undo"
		}
		return d, err
	}
	switch do {
	case "assign":
		name := strings.TrimSpace(in.Get("assignee"))
		text := "Nobody has this cause now."
		if name != "" {
			text = words.Clean(name) + " has this cause now."
		}
		return set(redrive.GroupChange{Assignee: &name}, text, undo{Path: "assign", Fields: map[string]string{"assignee": g.Assignee}})
	case "name":
		name := strings.TrimSpace(in.Get("name"))
		return set(redrive.GroupChange{Name: &name}, "The name is changed.", undo{Path: "name", Fields: map[string]string{"name": g.Name}})
	case "merge":
		return p.merge(a, c, g, strings.TrimSpace(in.Get("set")))
	case "resolve":
		return set(redrive.GroupChange{Resolved: new(true)}, "The cause is resolved. If a job dies of it again, it is shown as regressed.",
			undo{Path: "reopen", Fields: map[string]string{}})
	case "reopen":
		if g.Muted {
			filter := redrive.DeadFilter{Group: g.Fingerprint, Statuses: []job.Status{job.Ignored}}
			if _, err := client.Act(ctx, by, redrive.Action{Do: redrive.ActReopen, Filter: &filter, Note: by.Reason}, nil); err != nil {
				return done{}, err
			}
			by.Seen = nil // the reopened dead letters may have changed the state of the group
		}
		return set(redrive.GroupChange{Resolved: new(false)}, "The cause is open again.", undo{})
	case "ignore":
		d, err := p.ignoreGroup(a, c, by, g, in)
		d.Undo = &undo{Path: path + "reopen", Fields: map[string]string{"reason": "undo"}}
		return d, err
	case "note":
		_, err := client.AddNote(ctx, by, redrive.Note{Group: g.Fingerprint, What: redrive.PlainNote, Text: strings.ReplaceAll(in.Get("text"), "\r\n", "\n")})
		return done{Text: "The note is added."}, err
	case "reclassify":
		class := failure.Class(in.Get("class"))
		if class == "" {
			return done{}, api.InvalidField.New("Choose the class that later failures get.")
		}
		_, err := client.Reclassify(ctx, by, g.Fingerprint, class)
		return done{Text: "Later failures like these are " + words.Clean(string(class)) + ". Dead letters that are there stay as they are."}, err
	}
	return done{}, api.NotFound.New("A cause cannot %.40q.", do)
}

// ignoreGroup ignores the pending dead letters of a cause and those that die of it, until a time or a
// number of further deaths.
func (p *Pages) ignoreGroup(a *api.API, c *api.Call, by redrive.By, g *redrive.Group, in url.Values) (done, error) {
	action := redrive.Action{Do: redrive.ActIgnore, Filter: &redrive.DeadFilter{Group: g.Fingerprint}, Note: by.Reason}
	err := api.NeedReason(action.Do, action.Note)
	if err != nil {
		return done{}, err
	}
	if count := in.Get("count"); count != "" {
		if action.Count, err = strconv.ParseInt(count, 10, 64); err != nil || action.Count < 1 {
			return done{}, api.InvalidField.New("The number of further deaths must be a whole number, 1 or more.")
		}
	}
	if action.Count == 0 || in.Get("until") != "" {
		if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
			return done{}, err
		}
	}
	acted, err := a.Client().Act(c.Context(), by, action, nil)
	return done{Text: words.Count(acted.Done, "dead letter") + " of this cause ignored. Reopen takes it back."}, err
}

// merge puts a cause into a set with others, or takes it out of its set.
func (p *Pages) merge(a *api.API, c *api.Call, g *redrive.Group, set string) (done, error) {
	d := done{Text: "The cause is shown by itself again."}
	if set != "" {
		d.Text = "The cause belongs to the set " + words.Clean(set) + " now: the list of failures shows the set as one cause."
	}
	if set == g.Set {
		return done{}, api.InvalidField.New("Nothing changes: the cause is in this set already, or in none.")
	}
	d.Undo = &undo{Path: "/ui/groups/" + url.PathEscape(g.Fingerprint) + "/merge", Fields: map[string]string{"set": g.Set, "reason": "undo"}}
	if g.Set != "" && set != "" { // a group is taken out of one set before it is put into another
		if _, err := a.Client().MergeGroups(c.Context(), c.By(""), "", []string{g.Fingerprint}); err != nil {
			return done{}, err
		}
	}
	_, err := a.Client().MergeGroups(c.Context(), c.By(""), set, []string{g.Fingerprint})
	return d, err
}
