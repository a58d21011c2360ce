package store

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/redrive/redrive/job"
)

// The functions below make the records that every store writes by itself, so that all
// stores write the same content.

// ClassCrash is the class of a run whose worker stopped responding.
const ClassCrash = "Crash"

const codeLeaseLost = "lease_lost"

// CrashFailure is the failure record of a run whose lease ran out.
func CrashFailure(kind, holder string) job.Failure {
	return job.Failure{
		How:   job.ByCrash,
		Class: ClassCrash,
		Code:  codeLeaseLost,
		Message: fmt.Sprintf("no sign of life from worker %s until the lease was over; "+
			"the process was killed, hung or cut off", holder),
		Fingerprint: job.Fingerprint(kind, ClassCrash, codeLeaseLost),
	}
}

const (
	crashSpread    = 5 * time.Second // spread after the second crash; it doubles with each further crash
	crashSpreadMax = time.Minute
)

// CrashDelay returns how long after its rescue a job is due, given its crashes in this
// life. After the first crash that is at once. From the second crash on, jobs are
// spread over a growing time, each at a time that follows from its id: jobs that
// crashed together, because one of them killed the process, then do not run together
// again and again. The result is in whole microseconds, below crashSpread (doubled for
// each crash after the second) and below crashSpreadMax.
func CrashDelay(id job.ID, crashes int32) time.Duration {
	if crashes < 2 {
		return 0
	}
	spread := min(crashSpread<<min(crashes-2, 8), crashSpreadMax)
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", id, crashes) // cannot fail: writing to a hash never does
	return time.Duration(h.Sum64()%uint64(spread.Microseconds())) * time.Microsecond
}

// ExpiredFingerprint is the group of the jobs of a kind that died because their
// deadline passed.
func ExpiredFingerprint(kind string) string { return job.Fingerprint(kind, "", "expired") }

// AuditBy returns by with the reason for the audit log: the reason in by, or else the
// note of the action.
func (a *Action) AuditBy(by By) By {
	by.Reason = cmp.Or(by.Reason, a.Note)
	return by
}
