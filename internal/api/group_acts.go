package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// GroupExpect says in which state a group must be. If it is in another one, nothing is done.
type GroupExpect struct {
	State *redrive.GroupState `json:"state,omitempty"`
}

// AssignIn says who works on the cause of a group.
type AssignIn struct {
	// Assignee is the person; "" means nobody.
	Assignee *string `json:"assignee" jsonschema:"maxLength=256"`
	GroupActIn
}

// GroupActIn is an action on a group.
type GroupActIn struct {
	// Note is the reason, for the audit log.
	Note   string       `json:"note,omitempty" jsonschema:"maxLength=4096"`
	Expect *GroupExpect `json:"expect,omitempty"`
}

// GroupIgnoreIn ignores the pending dead letters of a group. With until or count, jobs that die of the cause
// later are ignored too, until the first of the two is reached. The note is required.
type GroupIgnoreIn struct {
	// Until is when the dead letters become pending again: a time (without zone: UTC), or a duration
	// from now such as 2d.
	Until string `json:"until,omitempty" jsonschema:"maxLength=256"`
	// Count is the number of further deaths after which they become pending again.
	Count int64 `json:"count,omitempty" jsonschema:"minimum=0"`
	GroupActIn
}

// GroupDone is a group after an action.
type GroupDone struct {
	Group Group `json:"group"`
	// Done is the number of dead letters that were changed. If more is true, the same request goes on.
	Done int64 `json:"done"`
	More bool  `json:"more"`
}

// groupFor reads the body of an action on a group into v, and returns the group and who acts. It checks
// the reason and the expectations; By.Seen says what the store has to compare again in the transaction
// of the action.
func (a *API) groupFor(c *Call, v any, in *GroupActIn, optional bool) (redrive.Group, redrive.By, error) {
	by := c.By("")
	if err := c.Read(v, optional); err != nil {
		return redrive.Group{}, by, err
	}
	if err := checkReason(in.Note); err != nil {
		return redrive.Group{}, by, err
	}
	by.Reason = in.Note
	g, err := a.group(c)
	if err != nil {
		return g, by, err
	}
	if !c.matches(groupVersion(&g)) {
		return g, by, PreconditionFailed.New("group %s has changed since the version in If-Match: it is now %s", g.Fingerprint, g.State())
	}
	if e := in.Expect; e != nil && e.State != nil {
		if *e.State != g.State() {
			return g, by, StateMoved.New("group %s is %s, not %.40s", g.Fingerprint, g.State(), *e.State)
		}
		by.Seen = &redrive.Seen{Group: e.State}
	}
	if match := c.R.Header.Get("If-Match"); match != "" && match != "*" {
		by.Seen = &redrive.Seen{Group: new(g.State()), Assignee: &g.Assignee}
	}
	return g, by, nil
}

// groupMoved returns the problem for an error of an action on a group.
func (c *Call) groupMoved(err error) error {
	if !errors.Is(err, redrive.ErrMoved) {
		return err
	}
	p := c.movedKind(err, StateMoved).New("%s", plain(err))
	p.cause = err
	return p
}

// setGroup changes what people say about a group, and answers with it.
func (a *API) setGroup(c *Call, by redrive.By, change redrive.GroupChange, done int64, more bool) error {
	g, err := a.client.SetGroup(c.Context(), by, change)
	if err != nil {
		return c.groupMoved(err)
	}
	c.W.Header().Set("Etag", groupVersion(&g))
	return c.JSON(http.StatusOK, GroupDone{Group: groupOf(&g), Done: done, More: more})
}

func (a *API) assignGroup(c *Call) error {
	var in AssignIn
	g, by, err := a.groupFor(c, &in, &in.GroupActIn, false)
	switch {
	case err != nil:
		return err
	case in.Assignee == nil:
		return InvalidField.Mistaken(Mistake{Pointer: "/assignee", Detail: `is missing; "" means nobody`})
	case len(*in.Assignee) > job.TextMax:
		return TooLarge.Mistaken(Mistake{Pointer: "/assignee", Bound: job.TextMax, Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(*in.Assignee), job.TextMax)})
	}
	return a.setGroup(c, by, redrive.GroupChange{Group: g.Fingerprint, Assignee: in.Assignee}, 0, false)
}

func (a *API) resolveGroup(c *Call) error {
	var in GroupActIn
	g, by, err := a.groupFor(c, &in, &in, true)
	if err != nil {
		return err
	}
	return a.setGroup(c, by, redrive.GroupChange{Group: g.Fingerprint, Resolved: new(true)}, 0, false)
}

// reopenGroup marks the cause as not gone, and ends the ignoring of the group.
func (a *API) reopenGroup(c *Call) error {
	var in GroupActIn
	g, by, err := a.groupFor(c, &in, &in, true)
	if err != nil {
		return err
	}
	var done int64
	var more bool
	if g.Muted {
		f := redrive.DeadFilter{Group: g.Fingerprint, Statuses: []job.Status{job.Ignored}}
		if done, more, err = a.actOnSet(c, by, redrive.Action{Do: redrive.ActReopen, Filter: &f, Note: in.Note}); err != nil {
			return c.groupMoved(err)
		}
	}
	return a.setGroup(c, by, redrive.GroupChange{Group: g.Fingerprint, Resolved: new(false)}, done, more)
}

func (a *API) ignoreGroup(c *Call) error {
	var in GroupIgnoreIn
	g, by, err := a.groupFor(c, &in, &in.GroupActIn, true)
	if err != nil {
		return err
	}
	action := redrive.Action{Do: redrive.ActIgnore, Filter: &redrive.DeadFilter{Group: g.Fingerprint}, Note: in.Note, Count: in.Count}
	if action.Until, err = a.future("/until", in.Until); err != nil {
		return err
	}
	if err := needReason(action.Do, in.Note, "/note"); err != nil {
		return err
	}
	if in.Count < 0 {
		return InvalidField.Mistaken(Mistake{Pointer: "/count", Detail: "must not be negative", Bound: 0})
	}
	done, more, err := a.actOnSet(c, by, action)
	if err != nil {
		return c.groupMoved(err)
	}
	if g, err = a.group(c); err != nil {
		return err
	}
	c.W.Header().Set("Etag", groupVersion(&g))
	return c.JSON(http.StatusOK, GroupDone{Group: groupOf(&g), Done: done, More: more})
}

func (a *API) addGroupNote(c *Call) error {
	var in NoteIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	if err := checkText(in.Text, len(in.Text), NoteMax, "bytes"); err != nil {
		return err
	}
	g, err := a.group(c)
	if err != nil {
		return err
	}
	note, err := a.client.AddNote(c.Context(), c.By(""), redrive.Note{What: redrive.PlainNote, Group: g.Fingerprint, Text: in.Text})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, note)
}
