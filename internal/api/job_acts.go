package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/jsonpatch"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Expect says in which state a job must be. If it is in another one, nothing is done.
type Expect struct {
	// Life is the life of the job.
	Life *int32 `json:"life,omitempty"`
	// State is the state of the job.
	State *job.State `json:"state,omitempty"`
	// Death is the number of the last death of a dead job.
	Death *int64 `json:"death,omitempty"`
}

// ActIn is an action on a job.
type ActIn struct {
	// Note is the reason, for the audit log.
	Note   string  `json:"note,omitempty" jsonschema:"maxLength=4096"`
	Expect *Expect `json:"expect,omitempty"`
}

// ChangeIn is a change of a job. Fields that are not set change nothing.
type ChangeIn struct {
	// Payload is the new payload: any JSON value, or a string for kinds that take texts.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Patch is a JSON Patch (RFC 6902) of the payload. The bytes outside of it stay.
	Patch json.RawMessage `json:"patch,omitempty"`
	Queue string          `json:"queue,omitempty" jsonschema:"maxLength=64"`
	// Priority is 1 (runs first) to 4.
	Priority int `json:"priority,omitempty" jsonschema:"minimum=1,maximum=4"`
	// Policy replaces the job's own settings for its retries; an empty object removes them.
	Policy *policy.Override `json:"policy,omitempty"`
	// DelayMS is the time from now until the job may start, in milliseconds; 0 is now.
	DelayMS *int64 `json:"delay_ms,omitempty" jsonschema:"minimum=0"`
}

// ChangeJobIn is a change of one job.
type ChangeJobIn struct {
	ChangeIn
	ActIn
}

// ChangedJob is the state of a job after an action.
type ChangedJob struct {
	ID    job.ID    `json:"id"`
	Life  int32     `json:"life"`
	State job.State `json:"state"`
	// CancelRequested is true if the running job was asked to stop.
	CancelRequested bool `json:"cancel_requested,omitempty"`
}

// act reads the body of an action on a job into v, and returns the job and the person who acts. It
// checks the reason, the expectations in the body and If-Match.
func (a *API) act(c *Call, v any, in *ActIn) (j job.Job, by redrive.By, err error) {
	id, err := c.ID()
	if err != nil {
		return j, by, err
	}
	if err := c.Read(v, true); err != nil {
		return j, by, err
	}
	if err := checkReason(in.Note); err != nil {
		return j, by, err
	}
	if j, err = a.visible(c, id); err != nil {
		return j, by, err
	}
	by = c.By(in.Note)
	by.Seen, err = a.expected(c, &j, in.Expect)
	return j, by, err
}

func checkReason(note string) error {
	if len(note) > ReasonMax {
		return TooLarge.Mistaken(Mistake{Pointer: "/note", Bound: ReasonMax, Detail: fmt.Sprintf("has %d bytes: at most %d are allowed", len(note), ReasonMax)})
	}
	return nil
}

// reason reads the body of an action without a change, and returns its note.
func (c *Call) reason() (string, error) {
	var in ReasonIn
	if err := c.Read(&in, true); err != nil {
		return "", err
	}
	return in.Note, checkReason(in.Note)
}

// needReason returns an InvalidField if an action needs a reason and has none. Pointer is the name of the field.
func needReason(do redrive.Act, note, pointer string) error {
	if do != redrive.ActIgnore && do != redrive.ActPurge || strings.TrimSpace(note) != "" {
		return nil
	}
	return InvalidField.Mistaken(Mistake{Pointer: pointer, Detail: reasonMissing})
}

const reasonMissing = "is missing: say why; it is kept in the audit log"

// expected returns a StateMoved unless the job is as the body expects it, and a PreconditionFailed
// unless it has the version of If-Match. The result says what the store has to compare again in the
// transaction of the action.
func (a *API) expected(c *Call, j *job.Job, e *Expect) (*redrive.Seen, error) {
	var seen redrive.Seen
	if match := c.R.Header.Get("If-Match"); match != "" && match != "*" {
		d, err := a.details(c, j)
		if err != nil {
			return nil, err
		}
		if !hasTag(match, tagOf(d)) {
			return nil, moved(PreconditionFailed, j, "the job has changed since the version in If-Match: it is now %s, in life %d", j.State, j.Life)
		}
		seen = redrive.Seen{State: &j.State, Life: &j.Life, Token: &j.Token, Death: new(int64(0)), Payload: j.Payload}
		if d.Letter != nil {
			seen.Death, seen.Status = &d.Letter.Death, &d.Letter.Status
		}
	}
	if e == nil {
		e = &Expect{}
	}
	switch {
	case e.Life != nil && *e.Life != j.Life:
		return nil, moved(StateMoved, j, "the job is in life %d, not in life %d: it was retried", j.Life, *e.Life)
	case e.State != nil && *e.State != j.State:
		return nil, moved(StateMoved, j, "the job is %s, not %s", j.State, *e.State)
	case e.Death != nil:
		letter, err := a.client.DeadLetter(c.Context(), j.ID)
		if err != nil && !errors.Is(err, redrive.ErrNotFound) {
			return nil, err
		}
		if letter.Death != *e.Death {
			return nil, moved(StateMoved, j, "the last death of the job is %d, not %d", letter.Death, *e.Death)
		}
		seen.Death = e.Death
	}
	seen.Life, seen.State = cmp.Or(seen.Life, e.Life), cmp.Or(seen.State, e.State)
	return &seen, nil
}

// moved returns a problem about a job with its state.
func moved(k *Kind, j *job.Job, format string, args ...any) *Problem {
	p := k.New("job %d: "+format, append([]any{j.ID}, args...)...)
	p.Job, p.State, p.Life = j.ID, j.State, j.Life
	return p
}

// state answers with the state of a job now.
func (a *API) state(c *Call, id job.ID) error {
	j, err := a.client.Get(c.Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ChangedJob{ID: j.ID, Life: j.Life, State: j.State, CancelRequested: j.State == job.Running && j.CancelAt > 0})
}

// refused returns the problem for a conflict: with the state of the job now.
func (a *API) refused(c *Call, k *Kind, id job.ID, err error) error {
	if !errors.Is(err, redrive.ErrConflict) || errors.As(err, new(*redrive.BatchRefused)) {
		return err
	}
	now, gerr := a.client.Get(c.Context(), id)
	if gerr != nil {
		return err
	}
	k = c.movedKind(err, k)
	p := moved(k, &now, "%s", strings.TrimPrefix(plain(err), fmt.Sprintf("job %d: ", id)))
	p.cause = err
	return p
}

// movedKind returns the kind of problem for an action that the store has refused, because the job
// is not as expected any more. Other errors have the given kind.
func (c *Call) movedKind(err error, other *Kind) *Kind {
	switch {
	case !errors.Is(err, redrive.ErrMoved):
		return other
	case c.R.Header.Get("If-Match") != "":
		return PreconditionFailed
	}
	return StateMoved
}

func (a *API) cancelJob(c *Call) error {
	var in ActIn
	j, by, err := a.act(c, &in, &in)
	if err != nil {
		return err
	}
	if c.Caller.Owner != "" {
		if err := a.ownerMay(&j, "cancel", a.o.Kinds[j.Kind].Owner.Cancel); err != nil {
			return err
		}
		if !j.State.Ready() {
			return moved(Ended, &j, "only a job that waits can be cancelled; it is %s", j.State)
		}
		by.Seen.State = &j.State
	}
	if err := a.client.Cancel(c.Context(), by, j.ID); err != nil {
		return a.refused(c, Ended, j.ID, err)
	}
	return a.state(c, j.ID)
}

// change turns a change in a request into one of the client. A patch is applied to the present
// payload of the job.
func (a *API) change(j *job.Job, in *ChangeIn) (redrive.Change, error) {
	out := redrive.Change{Queue: in.Queue, Priority: in.Priority, Policy: in.Policy}
	var wrong []Mistake
	if in.DelayMS != nil {
		if *in.DelayMS < 0 || *in.DelayMS > delayMax.Milliseconds() {
			wrong = append(wrong, Mistake{Pointer: "/delay_ms", Detail: fmt.Sprintf("must be 0 to %d", delayMax.Milliseconds()), Bound: delayMax.Milliseconds()})
		}
		d := time.Duration(*in.DelayMS) * time.Millisecond
		out.Delay = &d
	}
	if in.Priority < 0 || in.Priority > job.PriorityMax {
		wrong = append(wrong, Mistake{Pointer: "/priority", Detail: fmt.Sprintf("must be %d to %d", job.PriorityMin, job.PriorityMax), Bound: job.PriorityMax})
	}
	if in.Queue != "" && a.o.Queues != nil && !slices.Contains(a.o.Queues, in.Queue) {
		wrong = append(wrong, Mistake{Pointer: "/queue", Detail: "unknown queue " + strconv.Quote(in.Queue)})
	}
	switch {
	case in.Payload != nil && in.Patch != nil:
		wrong = append(wrong, Mistake{Pointer: "/patch", Detail: "contradicts \"payload\": give one of them"})
	case in.Payload != nil:
		out.Payload = in.Payload
		if a.o.Kinds[j.Kind].Text {
			var text string
			if err := json.Unmarshal(in.Payload, &text); err != nil {
				wrong = append(wrong, Mistake{Pointer: "/payload", Detail: fmt.Sprintf("must be a string: the kind %q takes texts", j.Kind)})
			}
			out.Payload = []byte(text)
		}
	case in.Patch != nil:
		patch, err := jsonpatch.Parse(in.Patch)
		if err == nil {
			out.Payload, err = patch.Apply(j.Payload, a.o.PayloadMax)
		}
		if err != nil {
			wrong = append(wrong, Mistake{Pointer: "/patch", Detail: err.Error()})
		}
	}
	if len(wrong) > 0 {
		return out, InvalidField.Mistaken(wrong...)
	}
	if len(out.Payload) > a.o.PayloadMax {
		return out, TooLarge.Mistaken(Mistake{Pointer: "/payload", Bound: a.o.PayloadMax,
			Detail: fmt.Sprintf("the payload has %d bytes: at most %d are allowed (limits.payload)", len(out.Payload), a.o.PayloadMax)})
	}
	return out, nil
}

func (a *API) retryJob(c *Call) error {
	var in ChangeJobIn
	j, by, err := a.act(c, &in, &in.ActIn)
	if err != nil {
		return err
	}
	if j.State != job.Dead {
		return moved(NotDead, &j, "it is %s: only a dead job can be retried", j.State)
	}
	if c.Caller.Owner != "" {
		if err := a.ownerRetries(c, &j, &in.ChangeIn); err != nil {
			return err
		}
	}
	by.Seen.Life = &j.Life // the payload of a patch, and the retries that an owner has left, are those of this life
	change, err := a.change(&j, &in.ChangeIn)
	if err != nil {
		return err
	}
	if err := a.client.Retry(c.Context(), by, j.ID, &change); err != nil {
		return a.refused(c, NotDead, j.ID, err)
	}
	return a.state(c, j.ID)
}

// runJob makes a waiting job due now.
func (a *API) runJob(c *Call) error {
	var in ActIn
	j, by, err := a.act(c, &in, &in)
	if err != nil {
		return err
	}
	now := time.Duration(0)
	return a.alter(c, &j, by, redrive.Change{Delay: &now})
}

// changeJob changes a waiting job.
func (a *API) changeJob(c *Call) error {
	var in ChangeJobIn
	j, by, err := a.act(c, &in, &in.ActIn)
	if err != nil {
		return err
	}
	if in.Patch != nil {
		by.Seen.Payload = j.Payload // another change meanwhile would be lost
	}
	change, err := a.change(&j, &in.ChangeIn)
	if err != nil {
		return err
	}
	if change.Payload == nil && change.Queue == "" && change.Priority == 0 && change.Policy == nil && change.Delay == nil {
		return InvalidField.Mistaken(Mistake{Detail: "nothing to change: give queue, priority, policy, delay_ms, payload or patch"})
	}
	return a.alter(c, &j, by, change)
}

func (a *API) alter(c *Call, j *job.Job, by redrive.By, change redrive.Change) error {
	if err := a.client.Alter(c.Context(), by, j.ID, change); err != nil {
		return a.refused(c, StateMoved, j.ID, err)
	}
	return a.state(c, j.ID)
}
