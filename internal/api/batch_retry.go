package api

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// RetriedBatch says how many dead members of a batch were retried.
type RetriedBatch struct {
	// Count is, for a preview, the number of dead members that count in the batch.
	Count   int64 `json:"count,omitempty"`
	Retried int64 `json:"retried"`
	// Refused is the number of members that were not retried, for example because the caller may not.
	Refused int64 `json:"refused,omitempty"`
	// Error says why the first of them was not retried.
	Error string   `json:"error,omitempty"`
	More  bool     `json:"more"` // the same request goes on with the rest
	Batch BatchOut `json:"batch"`
}

// RetriedMember is a member after its retry.
type RetriedMember struct {
	ChangedJob
	Key   string   `json:"key"`
	Batch BatchOut `json:"batch"`
}

// notFailed is the text of a refused retry of a member that is not dead.
const notFailed = "%s is not in a failed state."

// retryMember retries the dead member of the path.
func (a *API) retryMember(c *Call) error {
	note, err := c.reason()
	if err != nil {
		return err
	}
	h, _, m, err := a.pathMemberOf(c)
	if err != nil {
		return err
	}
	if m, err = a.RetryMember(c, h, &m, note); err != nil {
		return err
	}
	b, err := a.visibleBatch(c, h)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, RetriedMember{ChangedJob: ChangedJob{ID: m.ID, Life: m.Life, State: m.State}, Key: m.Key, Batch: a.batchOut(c, &b)})
}

// RetryMember retries a member of a batch that was read before, and returns it as it is now. The error
// is NotFailed if it is not dead, also if somebody else has retried it meanwhile.
func (a *API) RetryMember(c *Call, h *redrive.BatchHandle, m *redrive.BatchMember, note string) (redrive.BatchMember, error) {
	refused := func(m *redrive.BatchMember) error {
		p := NotFailed.New(notFailed, cmp.Or(a.o.Member, "Member"))
		if p.Batch = h.ID(); !m.Draft() {
			p.Job, p.State, p.Life = m.ID, m.State, m.Life
		}
		return p
	}
	if m.State != job.Dead {
		return *m, refused(m)
	}
	if c.Caller.Owner != "" {
		if err := a.ownerRetries(c, &m.Job, &ChangeIn{}); err != nil {
			return *m, err
		}
	}
	by := c.By(note)
	by.Seen = &redrive.Seen{Life: &m.Life, State: &m.State}
	err := a.client.Retry(c.Context(), by, m.ID, nil)
	if err != nil && (errors.As(err, new(*redrive.BatchRefused)) || !errors.Is(err, redrive.ErrConflict)) {
		return *m, err
	}
	now := *m
	j, gerr := a.client.Get(c.Context(), m.ID)
	if gerr != nil {
		return now, errors.Join(err, gerr)
	}
	if now.Job = j; err != nil {
		return now, refused(&now)
	}
	return now, nil
}

// retryBatch retries the dead members of a batch, or counts them.
func (a *API) retryBatch(c *Call) error {
	note, err := c.reason()
	if err != nil {
		return err
	}
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query()}
	preview := q.flag("preview")
	if err := q.problem(); err != nil {
		return err
	}
	out := RetriedBatch{Count: b.Dead}
	if !preview {
		if out, err = a.RetryDead(c, h, note); err != nil {
			return err
		}
	}
	if b, err = a.visibleBatch(c, h); err != nil {
		return err
	}
	out.Batch = a.batchOut(c, &b)
	return c.JSON(http.StatusOK, out)
}

// RetryDead retries the dead members that count in a batch, for at most ActTime. Members that an owner
// may not retry are left out and counted.
func (a *API) RetryDead(c *Call, h *redrive.BatchHandle, note string) (out RetriedBatch, err error) {
	b, err := a.visibleBatch(c, h)
	if err != nil {
		return out, err
	}
	if now := job.At(a.o.Now()); b.State == job.BatchDraft || b.Expired(now) {
		if err := b.Check(job.BatchRetry, now); err != nil {
			return out, err
		}
	}
	refuse := func(err error) {
		if out.Refused++; out.Error == "" {
			out.Error = ProblemOf(err).Detail
		}
	}
	until := a.o.Now().Add(ActTime)
	for after := job.ID(0); ; {
		page, err := h.Members(c.Context(), redrive.MemberFilter{State: job.Dead, Limit: job.PageMax}, after)
		if err != nil {
			return out, err
		}
		act, err := a.retryable(c, page.Members, refuse)
		if err != nil {
			return out, err
		}
		if len(act.IDs) > 0 {
			act.Note = note
			did, err := a.client.Act(c.Context(), c.By(note), act, nil)
			if err != nil {
				return out, err
			}
			out.Retried += did.Done
			for _, err := range did.Errors {
				if errors.As(err, new(*redrive.BatchRefused)) && out.Retried == 0 {
					return out, err
				}
				if err != nil {
					refuse(err)
				}
			}
		}
		if after = page.Next; after == 0 {
			return out, nil
		}
		if !a.o.Now().Before(until) {
			out.More = true
			return out, nil
		}
	}
}

// retryable returns the retry of the dead members that count and that the caller may retry, in the
// lives in which they were read.
func (a *API) retryable(c *Call, members []redrive.BatchMember, refuse func(error)) (act redrive.Action, err error) {
	act.Do = redrive.ActRetry
	for i := range members {
		m := &members[i]
		if m.Aside {
			continue
		}
		if c.Caller.Owner != "" {
			err := a.ownerRetries(c, &m.Job, &ChangeIn{})
			if p, ok := errors.AsType[*Problem](err); ok && p.kind == OwnerMayNot {
				refuse(p)
				continue
			}
			if err != nil {
				return act, err
			}
		}
		act.IDs, act.Lives = append(act.IDs, m.ID), append(act.Lives, m.Life)
	}
	return act, nil
}
