package redrive

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redrive/redrive/internal/jsonpatch"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// PatchRefusedMax is the maximum number of refused jobs that Patched lists.
const PatchRefusedMax = 1_000

// Patched is the answer to RetryPatched.
type Patched struct {
	Done    int64 // jobs that were retried, or that would be retried
	Through int64 // the last death of the frozen set; 0 for an action by ids
	// Refused has the first PatchRefusedMax jobs that stay dead, with the reason: the patch
	// does not apply to the payload, the new payload is too large, or another living job has
	// the same unique arguments. RefusedN is the number of all refused jobs.
	Refused  []RefusedJob
	RefusedN int64
	// Example is the first job that is retried, with its payload before and after the patch.
	// Its Job is 0 if no job is retried.
	Example PatchedJob
	// Redrive is the number of the redrive that retries the jobs of a filter. It is 0 for a preview
	// and for an action by ids.
	Redrive int64
}

// RefusedJob is a job that an action does not change, with the reason.
type RefusedJob struct {
	Job JobID
	Err error
}

// PatchedJob is the payload of a job before and after a patch.
type PatchedJob struct {
	Job           JobID
	Before, After []byte
}

// RetryPatched retries dead jobs in the name of a person, each with its own payload after a
// JSON Patch (RFC 6902). a is an ActRetry by ids or by a filter; its set is frozen as in Act.
// The bytes of a payload outside the patch do not change. A job to which the patch does not
// apply stays dead and is in Patched.Refused.
//
// If preview is true, nothing is changed. Jobs that are named by their ids are retried each in a
// transaction, with an audit row. The jobs of a filter are retried by a redrive without canary,
// which never stops by itself. The store keeps it with the patch, so running clients complete it
// when this call ends early, and ControlRedrive can pause it. For a canary or a rate, call Redrive
// with RedriveSpec.Patch. The given function is called with the number of retried jobs so far; it
// may be nil.
func (c *Client) RetryPatched(ctx context.Context, by By, a Action, patch []byte, preview bool, progress func(done int64)) (Patched, error) {
	if a.Do != ActRetry || a.Change.Payload != nil {
		return Patched{}, fmt.Errorf("patch: a patch needs an action that is a retry and sets no new payload: %w", ErrInvalid)
	}
	parsed, err := jsonpatch.Parse(patch)
	if err != nil {
		return Patched{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if err := a.Validate(true); err != nil {
		return Patched{}, err
	}
	p := &patcher{Client: c, by: by, a: a, patch: parsed, preview: preview || a.Filter != nil}
	if a.Filter == nil {
		p.progress = progress
		for _, id := range a.IDs {
			if err := p.byID(ctx, id); err != nil {
				return p.sum, err
			}
		}
		return p.sum, nil
	}
	if p.a.Change.Priority == 0 {
		p.a.Change.Priority, p.a.Change.Once = store.RedrivePriority, true
	}
	if err := p.byFilter(ctx); err != nil || preview || p.sum.Done == 0 {
		return p.sum, err
	}
	return p.sum, p.redrive(ctx, patch, progress)
}

// redrive retries the jobs of the frozen set, after the preview has counted them.
func (p *patcher) redrive(ctx context.Context, patch []byte, progress func(int64)) error {
	r, err := p.Redrive(ctx, By{Actor: p.by.Actor, Reason: cmp.Or(p.by.Reason, p.a.Note)}, store.RedriveSpec{Filter: *p.a.Filter, Through: p.sum.Through,
		Total: p.sum.Done + p.sum.RefusedN, Change: p.a.Change, Patch: patch, Canary: -1}.WithoutStop())
	if err == nil {
		r, err = p.AdvanceRedrive(ctx, r.ID, func(r Redrive) {
			if progress != nil {
				progress(r.Released)
			}
		})
	}
	p.sum.Done, p.sum.RefusedN, p.sum.Redrive = r.Released, r.Refused, r.ID
	return err
}

// patcher is one call of RetryPatched.
type patcher struct {
	*Client
	by       By
	a        Action
	patch    jsonpatch.Patch
	preview  bool
	progress func(int64)
	sum      Patched
}

// patchPage is the number of dead letters that are read at once, with their payloads.
const patchPage = 50

func (p *patcher) byFilter(ctx context.Context) error {
	f := *p.a.Filter
	if len(f.Statuses) == 0 {
		f.Statuses = ActRetry.Statuses()
	}
	if p.a.Through == 0 {
		seen, err := p.store.Preview(ctx, Action{Do: ActRetry, Filter: &f, Limit: 1})
		if err != nil {
			return err
		}
		p.a.Through = seen.Through
	}
	p.sum.Through = p.a.Through
	for page := (DeadPaging{Before: p.a.Through + 1, Limit: patchPage, Jobs: true}); ; {
		found, err := again(ctx, p.Client, func() (DeadPage, error) { return p.store.DeadLetters(ctx, f, page) })
		if err != nil {
			return err
		}
		for i := range found.Entries {
			if j := found.Entries[i].Job; j != nil && !found.Entries[i].Revived {
				if err := p.retry(ctx, j); err != nil {
					return err
				}
			}
		}
		if page.Before = found.Next; page.Before == 0 {
			return nil
		}
	}
}

func (p *patcher) byID(ctx context.Context, id JobID) error {
	j, err := p.store.Get(ctx, id)
	switch {
	case err == nil && j.State != job.Dead:
		err = fmt.Errorf("job %d is %s: only a dead job can be retried: %w", id, j.State, ErrConflict)
	case err == nil:
		return p.retry(ctx, &j)
	}
	p.refuse(id, err)
	return nil
}

// retry retries one job with its patched payload.
func (p *patcher) retry(ctx context.Context, j *job.Job) error {
	payload, err := p.patch.Apply(j.Payload, p.config.PayloadMax)
	if err == nil {
		err = p.checkContent(0, j.Kind, payload)
	}
	if err != nil {
		p.refuse(j.ID, fmt.Errorf("job %d: %w", j.ID, err))
		return nil
	}
	a := p.a
	a.IDs, a.Filter, a.Through = []JobID{j.ID}, nil, 0
	a.Change.Payload = payload
	act := func() (Acted, error) { return p.Act(ctx, p.by, a, nil) } // Act recognises jobs that an earlier try has retried although its answer was lost
	if p.preview {
		act = func() (Acted, error) { return p.store.Preview(ctx, a) }
	}
	did, err := again(ctx, p.Client, act)
	if err != nil {
		return err
	}
	if err := did.Errors[0]; err != nil {
		p.refuse(j.ID, err)
		return nil
	}
	if p.sum.Done++; p.sum.Example.Job == 0 {
		p.sum.Example = PatchedJob{Job: j.ID, Before: j.Payload, After: payload}
	}
	if p.progress != nil {
		p.progress(p.sum.Done)
	}
	return ctx.Err()
}

func (p *patcher) refuse(id JobID, err error) {
	if p.sum.RefusedN++; len(p.sum.Refused) < PatchRefusedMax {
		p.sum.Refused = append(p.sum.Refused, RefusedJob{id, err})
	}
}
