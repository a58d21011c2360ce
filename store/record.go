package store

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/redrive/redrive/job"
)

// The records that every store writes by itself, with the same content.

// ClassCrash is the class of a run that ended without a word.
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
	crashSpread    = 5 * time.Second // of the second crash; it doubles with each one more
	crashSpreadMax = time.Minute
)

// CrashDelay returns how long after its rescue a job is due that has crashed so
// often in its life. After the first crash that is at once. From the second on
// the jobs spread over a growing time, each by its id: those that a poisonous
// one took along with its process are then not claimed beside it again and
// again. Whole microseconds, below crashSpread doubled for each crash after the
// second and below crashSpreadMax.
func CrashDelay(id job.ID, crashes int32) time.Duration {
	if crashes < 2 {
		return 0
	}
	spread := min(crashSpread<<min(crashes-2, 8), crashSpreadMax)
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", id, crashes) // a hash takes everything
	return time.Duration(h.Sum64()%uint64(spread.Microseconds())) * time.Microsecond
}

// ExpiredFingerprint groups the jobs of a kind that died of their deadline.
func ExpiredFingerprint(kind string) string { return job.Fingerprint(kind, "", "expired") }

// AuditBy returns by with the reason for the audit: its own, or else the note of
// the action.
func (a *Action) AuditBy(by By) By {
	by.Reason = cmp.Or(by.Reason, a.Note)
	return by
}
