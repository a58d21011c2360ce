package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// Group has the dead letters with one root cause.
type Group struct {
	redrive.Group
	// State is open, resolved, or regressed: a job has died of the cause after it was resolved.
	State redrive.GroupState `json:"state"`
}

// GroupList is a page of groups.
type GroupList struct {
	Items []Group `json:"items"`
	// Next is the cursor of the next page; it is left out on the last page.
	Next  string `json:"next,omitempty"`
	Total int    `json:"total"` // the number of groups that the filter selects
}

// GroupOut is everything that is stored about a group.
type GroupOut struct {
	Group    Group          `json:"group"`
	Standing string         `json:"standing"` // the state of the group, as a sentence
	Notes    []redrive.Note `json:"notes"`    // from the oldest to the newest
	Redrives []wire.Redrive `json:"redrives"` // the redrives of the group, the newest first
}

func groupOf(g *redrive.Group) Group { return Group{Group: *g, State: g.State()} }

// listGroups answers with a page of groups.
func (a *API) listGroups(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.groupFilter()
	cursor := q.text("cursor")
	if err := q.problem(); err != nil {
		return err
	}
	hash := a.queryHash(c)
	at, err := parseCursor(cursor, groupOrder, hash)
	if err != nil {
		return err
	}
	f.Skip = int(min(at.ID, 1<<31))
	page, err := a.client.Groups(c.Context(), f)
	if err != nil {
		return err
	}
	out := GroupList{Items: make([]Group, len(page.Groups)), Total: page.Total}
	for i := range page.Groups {
		out.Items[i] = groupOf(&page.Groups[i])
	}
	if end := f.Skip + len(page.Groups); end < page.Total && len(page.Groups) > 0 {
		out.Next = cursorOf(redrive.JobCursor{ID: job.ID(end)}, groupOrder, hash)
	}
	return c.JSON(http.StatusOK, out)
}

// groupFilter reads the filter of a list of groups.
func (q *queryReader) groupFilter() redrive.GroupFilter {
	f := redrive.GroupFilter{
		Kind: q.text("kind"), Class: q.text("class"), State: redrive.GroupState(q.text("state")), Assignee: q.text("assignee"), Set: q.text("set"),
		Pending: q.flag("pending"), Limit: int(q.number("limit", 1, PageMax, PageDefault)),
	}
	if f.State != "" && !slices.Contains(groupStates[:], string(f.State)) {
		q.add("state", suggest.Unknown("state", string(f.State), groupStates[:]), nil)
	}
	switch order := q.text("order"); order {
	case "", "newest":
	case "largest":
		f.Largest = true
	default:
		q.add("order", fmt.Sprintf("%.40q: must be newest or largest", order), nil)
	}
	return f
}

// groupStates are the states of a group.
var groupStates = [...]string{string(redrive.GroupOpen), string(redrive.GroupResolved), string(redrive.GroupRegressed)}

// group returns the group of the path.
func (a *API) group(c *Call) (redrive.Group, error) {
	fp := c.R.PathValue("fp")
	missing := NotFound.New("group %.100q: there is no such group; GET /api/groups has the whole names", fp)
	if fp == "" || len(fp) > job.TextMax {
		return redrive.Group{}, missing
	}
	page, err := a.client.Groups(c.Context(), redrive.GroupFilter{Group: fp, Limit: 1})
	if err == nil && len(page.Groups) == 0 {
		err = missing
	}
	if err != nil {
		return redrive.Group{}, err
	}
	return page.Groups[0], nil
}

// groupVersion returns the entity tag of a group. The numbers per hour are left out: they move with
// the time.
func groupVersion(g *redrive.Group) string {
	still := *g
	still.Trend = nil
	return versionOf(still)
}

// showGroup answers with a group.
func (a *API) showGroup(c *Call) error {
	g, err := a.group(c)
	if err != nil {
		return err
	}
	out := GroupOut{Group: groupOf(&g), Standing: words.CauseStanding(&g, job.At(a.o.Now())), Notes: []redrive.Note{}, Redrives: []wire.Redrive{}}
	notes, err := a.client.Notes(c.Context(), redrive.NoteFilter{Group: g.Fingerprint, Limit: job.PageMax})
	if err != nil {
		return fmt.Errorf("read the notes of group %s: %w", g.Fingerprint, err)
	}
	for _, n := range slices.Backward(notes) {
		out.Notes = append(out.Notes, n)
	}
	redrives, err := a.client.Redrives(c.Context())
	if err != nil {
		return fmt.Errorf("read the redrives of group %s: %w", g.Fingerprint, err)
	}
	for i := range redrives {
		if slices.Contains(redrives[i].Filter.Fingerprints(), g.Fingerprint) {
			out.Redrives = append(out.Redrives, wire.RedriveOf(&redrives[i]))
		}
	}
	c.W.Header().Set("Etag", groupVersion(&g))
	return c.JSON(http.StatusOK, out)
}
