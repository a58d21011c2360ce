package sqlstore

import (
	"cmp"

	"github.com/redrive/redrive/store"
)

// releasePatched does the same as release for a redrive with a patch. It changes the payload of
// each job, so it releases the jobs one by one.
func (t *Txn) releasePatched(r *store.Redrive, plan store.RedrivePlan) (released int64, err error) {
	patch, err := store.NewPayloadPatch(&r.RedriveSpec)
	if err != nil {
		return 0, err
	}
	for {
		b, err := t.toRelease(r, &plan)
		if err != nil {
			return 0, err
		}
		did, err := t.patchAll(r, patch, b.jobs)
		if err != nil {
			return 0, err
		}
		// A second spread would choose the same jobs again, so search from the start.
		if did.Released == 0 && did.Blocked == nil && plan.Spread && !b.exhausted {
			plan.Spread = false
			continue
		}
		did.Exhausted = b.exhausted
		if did.Blocked == nil {
			did.Cursor = b.cursor
		}
		did.Cursor = max(did.Cursor, r.Cursor)
		r.RecordStep(t.now, plan, did)
		return did.Released, nil
	}
}

// patchAll releases jobs with their changed payloads. It stops at the first job whose lane would
// be one lane too many for the store. The cursor of the answer is the last examined death.
func (t *Txn) patchAll(r *store.Redrive, patch *store.PayloadPatch, jobs []deadRow) (did store.RedriveDone, err error) {
	for i := range jobs {
		d, c := &jobs[i], r.Change
		if did.Blocked = t.roomFor(d, &c); did.Blocked != nil {
			return did, nil
		}
		did.Cursor = d.Death
		before, err := t.own(d, true)
		if err != nil {
			return did, err
		}
		var refused error
		if c.Payload, refused = patch.Apply(d.Job, before.payload); refused == nil {
			refused, err = t.retryable(d)
			if err == nil && refused == nil {
				refused, err = t.keyInUse(d, &c)
			}
			if err != nil {
				return did, err
			}
		}
		if refused != nil {
			did.Refused, did.RefusedWhy = did.Refused+1, cmp.Or(did.RefusedWhy, refused)
			continue
		}
		if err := t.retakeKey(d, &c); err != nil {
			return did, err
		}
		if err := t.revive(redriver(r.ID), d, &c, r.ID); err != nil {
			return did, err
		}
		did.Released++
	}
	return did, nil
}
