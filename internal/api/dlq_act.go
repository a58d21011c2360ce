package api

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// ResolveIn is the end of a dead letter that a person has dealt with.
type ResolveIn struct {
	// Action is a word for what was done, such as refunded. It becomes the beginning of the notes.
	Action string `json:"action,omitempty" jsonschema:"maxLength=64"`
	// Notes say more. They are kept with the dead letter, and as the reason in the audit log.
	Notes  string  `json:"notes,omitempty" jsonschema:"maxLength=4096"`
	Expect *Expect `json:"expect,omitempty"`
}

// IgnoreIn marks a dead letter as ignored.
type IgnoreIn struct {
	// Reason is required. It is kept with the dead letter, and in the audit log. It can be a parameter of the query instead.
	Reason string `json:"reason,omitempty" jsonschema:"maxLength=4096"`
	// Until is when the dead letter becomes pending again: a time (without zone: UTC), or a duration
	// from now such as 2d. Without it, the dead letter stays ignored.
	Until  string  `json:"until,omitempty" jsonschema:"maxLength=256"`
	Expect *Expect `json:"expect,omitempty"`
}

// resolveActionMax is the maximum size of the word for what was done, in bytes.
const resolveActionMax = 64

// deadAct is an action of a person on a dead letter.
type deadAct struct {
	redrive.DeadEntry
	also []job.ID // other jobs with the same outside id
	by   redrive.By
}

// deadFor returns the dead letter of the path, with its job, for an action. It checks the
// expectations of the caller.
func (a *API) deadFor(c *Call, note string, expect *Expect) (d deadAct, err error) {
	if d.DeadEntry, d.also, err = a.findDead(c, c.R.PathValue("job_id")); err != nil {
		return d, err
	}
	j, err := a.client.Get(c.Context(), d.DeadLetter.Job)
	switch {
	case err == nil:
		d.Job, d.by = &j, c.By(note)
		d.by.Seen, err = a.expected(c, &j, expect)
		return d, withLetter(err, &d.DeadLetter)
	case errors.Is(err, redrive.ErrNotFound):
		return d, NotFound.New("job %d: it is not kept any more", d.DeadLetter.Job)
	}
	return d, err
}

// withLetter adds the status of the dead letter to a problem.
func withLetter(err error, l *job.DeadLetter) error {
	if p, ok := errors.AsType[*Problem](err); ok && p.Job == l.Job {
		p.DeadLetter = l.Status.String()
	}
	return err
}

// actOn carries out an action on one dead letter, and answers with the dead letter as it is then.
func (a *API) actOn(c *Call, d *deadAct, action redrive.Action) error {
	id := d.DeadLetter.Job
	action.IDs = []job.ID{id}
	acted, err := a.client.Act(c.Context(), d.by, action, nil)
	if err == nil {
		err = errors.Join(acted.Errors...)
	}
	if err != nil {
		return a.deadRefused(c, action.Do, id, err)
	}
	return a.deadNow(c, id, d.also)
}

// deadNow answers with a dead letter as it is now.
func (a *API) deadNow(c *Call, id job.ID, also []job.ID) error {
	letter, err := a.client.DeadLetter(c.Context(), id)
	if err != nil {
		return err
	}
	return a.dead(c, &redrive.DeadEntry{DeadLetter: letter}, also)
}

// deadRefused returns the problem for a conflict: with the state of the job and of its dead letter
// now, and with what to do.
func (a *API) deadRefused(c *Call, do redrive.Act, id job.ID, err error) error {
	if !errors.Is(err, redrive.ErrConflict) {
		return err
	}
	letter, lerr := a.client.DeadLetter(c.Context(), id)
	now, jerr := a.client.Get(c.Context(), id)
	if lerr != nil || jerr != nil {
		return err
	}
	kind, cure := StateMoved, deadCure(do, &letter)
	if do == redrive.ActRetry && now.State != job.Dead {
		kind, cure = NotDead, "; only a dead job can be retried"
	}
	if moved := c.movedKind(err, nil); moved != nil {
		kind, cure = moved, ""
	}
	detail := strings.TrimPrefix(plain(err), fmt.Sprintf("job %d: ", id))
	if rest, ok := strings.CutPrefix(detail, fmt.Sprintf("dead letter of job %d ", id)); ok {
		detail = "its dead letter " + rest
	}
	p := moved(kind, &now, "%s%s", detail, cure)
	p.cause = err
	return withLetter(p, &letter)
}

// deadCure says what would make an action possible.
func deadCure(do redrive.Act, l *job.DeadLetter) string {
	switch {
	case do == redrive.ActIgnore && l.Status == job.Resolved:
		return "; reopen it first"
	case do == redrive.ActReopen && l.Status == job.Pending:
		return "; there is nothing to do"
	case l.Revived:
		return "; its job is live again, and the dead letter is closed when the job completes"
	}
	return ""
}

// retryDead retries the job of a dead letter.
func (a *API) retryDead(c *Call) error {
	var in ChangeJobIn
	if err := c.Read(&in, true); err != nil {
		return err
	}
	if err := checkReason(in.Note); err != nil {
		return err
	}
	d, err := a.deadFor(c, in.Note, in.Expect)
	if err != nil {
		return err
	}
	j := d.Job
	if j.State != job.Dead {
		return withLetter(moved(NotDead, j, "it is %s: only a dead job can be retried", j.State), &d.DeadLetter)
	}
	if c.Caller.Owner != "" {
		if err := a.ownerRetries(c, j, &in.ChangeIn); err != nil {
			return err
		}
	}
	d.by.Seen.Life = &j.Life // the payload of a patch, and the retries that an owner has left, are those of this life
	change, err := a.change(j, &in.ChangeIn)
	if err != nil {
		return err
	}
	if err := a.client.Retry(c.Context(), d.by, j.ID, &change); err != nil {
		return a.deadRefused(c, redrive.ActRetry, j.ID, err)
	}
	return a.deadNow(c, j.ID, d.also)
}

// resolveDead marks a dead letter as resolved.
func (a *API) resolveDead(c *Call) error {
	var in ResolveIn
	if err := c.Read(&in, true); err != nil {
		return err
	}
	note := in.Notes
	if in.Action != "" {
		if note = in.Action; in.Notes != "" {
			note += ": " + in.Notes
		}
	}
	switch {
	case len(in.Action) > resolveActionMax:
		return TooLarge.Mistaken(Mistake{Pointer: "/action", Bound: resolveActionMax, Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(in.Action), resolveActionMax)})
	case len(in.Notes) > ReasonMax:
		return TooLarge.Mistaken(Mistake{Pointer: "/notes", Bound: ReasonMax, Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(in.Notes), ReasonMax)})
	}
	d, err := a.deadFor(c, note, in.Expect)
	if err != nil {
		return err
	}
	return a.actOn(c, &d, redrive.Action{Do: redrive.ActResolve, Note: note})
}

// ignoreDead marks a dead letter as ignored.
func (a *API) ignoreDead(c *Call) error {
	var in IgnoreIn
	if err := c.Read(&in, true); err != nil {
		return err
	}
	if reason := c.R.URL.Query().Get("reason"); reason != "" {
		if in.Reason != "" && in.Reason != reason {
			return InvalidField.Mistaken(Mistake{Parameter: "reason", Detail: "differs from the reason in the body; give one of them"})
		}
		in.Reason = reason
	}
	if len(in.Reason) > ReasonMax {
		return TooLarge.Mistaken(Mistake{Pointer: "/reason", Bound: ReasonMax, Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(in.Reason), ReasonMax)})
	}
	if err := needReason(redrive.ActIgnore, in.Reason, "/reason"); err != nil {
		return err
	}
	until, err := a.future("/until", in.Until)
	if err != nil {
		return err
	}
	d, err := a.deadFor(c, in.Reason, in.Expect)
	if err != nil {
		return err
	}
	return a.actOn(c, &d, redrive.Action{Do: redrive.ActIgnore, Note: in.Reason, Until: until})
}

// reopenDead makes a dead letter pending again.
func (a *API) reopenDead(c *Call) error {
	var in ActIn
	if err := c.Read(&in, true); err != nil {
		return err
	}
	if err := checkReason(in.Note); err != nil {
		return err
	}
	d, err := a.deadFor(c, in.Note, in.Expect)
	if err != nil {
		return err
	}
	return a.actOn(c, &d, redrive.Action{Do: redrive.ActReopen, Note: in.Note})
}

// future reads a time in the future: a time (without zone: UTC), or a duration from now.
func (a *API) future(pointer, text string) (job.Micros, error) {
	if text == "" {
		return 0, nil
	}
	now := a.o.Now()
	at, err := human.ParseTimeIn(time.UTC, text, now, false)
	if err == nil && !at.After(now) {
		err = fmt.Errorf("%.40q: must be in the future", text)
	}
	if err != nil {
		return 0, InvalidField.Mistaken(Mistake{Pointer: pointer, Detail: err.Error()})
	}
	return job.At(at), nil
}
