package memory

import (
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
)

// answered adds the end of a run to the numbers of the redrive that released the job. It is also
// called if the job ends without a run. The last two arguments are the new state of the job, and
// the failure record of the run or nil. Call answered after the run was counted.
func (t *tx) answered(r *record, attempt bool, to job.State, f *job.Failure) {
	if r.redrive == 0 {
		return
	}
	d := t.redrives[r.redrive]
	cause := storekit.CauseOf(f)
	if attempt && r.Counters.Attempts == 1 || to.Terminal() && r.Counters.Attempts == 0 {
		d.Answered++
		if f != nil && f.Fingerprint != "" && f.Fingerprint == t.dead[r.ID].Fingerprint {
			d.Again++
			cause.Again = 1
		} else if f != nil {
			d.Other++
			cause.Other = 1
		}
	}
	switch to {
	case job.Completed:
		d.Completed++
	case job.Dead:
		d.Dead++
		cause.Dead = 1
	case job.Cancelled:
		d.Cancelled++
	case job.None, job.Waiting, job.Retrying, job.Running:
	}
	if cause.Again+cause.Other+cause.Dead > 0 {
		d.Causes = storekit.AddCauses(d.Causes, cause)
	}
}
