package store

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
)

// The records that a store writes by itself, alike in every store.

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

// Settled decides what a settle means that found its run not running: nil when
// the same outcome was written before, else ErrLeaseLost. It reads what the
// first write left: the job's present state and token, and whether the run has
// a failure record by crash (which only a rescue writes).
func Settled(state job.State, current, asked job.Token, crashed bool) error {
	if asked < 1 || state == job.None || current != asked || state == job.Running || crashed {
		return ErrLeaseLost
	}
	return nil
}

// Repeats reports whether a job is the one that an enqueue which is asked again has
// taken in before, as far as what is kept of it tells, and not another with its id.
func Repeats(j *job.Job, n *job.New) bool {
	if j.Kind != n.Kind || j.Owner != n.Owner || j.Correlation != n.Correlation || j.Key != n.Key || j.Batch != n.Batch {
		return false
	}
	if j.Life > 1 || j.State == job.Completed || j.State == job.Cancelled { // the payload may be another, or is gone
		return true
	}
	return bytes.Equal(j.Payload, n.Payload)
}

// GroupMessage returns the beginning of a message that is kept with its group, no
// part of a character: GroupMessageMax bytes at most.
func GroupMessage(message string) string {
	most := GroupMessageMax
	if len(message) <= most {
		return message
	}
	for most > 0 && !utf8.RuneStart(message[most]) {
		most--
	}
	return message[:most]
}

// Because returns by with the reason that the audit is to have of the action: its
// note, when by says none.
func (a *Action) Because(by By) By {
	by.Reason = cmp.Or(by.Reason, a.Note)
	return by
}
