package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The functions below make the outcomes that most checks use.

func runOf(c job.Claim) store.Run { return store.Run{ID: c.ID, Token: c.Token} }

func outcome(c job.Claim, cause job.Cause, to job.State) job.Outcome {
	return job.Outcome{ID: c.ID, Token: c.Token, Cause: cause, To: to}
}

func succeeded(c job.Claim) job.Outcome { return outcome(c, job.Succeeded, job.Completed) }

func failure(class string) *job.Failure {
	return &job.Failure{
		How: job.ByError, Class: class, Code: "http.503", Message: "the other side is down", Fingerprint: class + "|" + kind,
	}
}

func failed(c job.Claim, class string, again time.Duration) job.Outcome {
	o := outcome(c, job.Failed, job.Retrying)
	o.Delay, o.Failure = again, failure(class)
	return o
}

func died(c job.Claim, class string, reason job.Reason) job.Outcome {
	o := outcome(c, job.Failed, job.Dead)
	o.Reason, o.Failure = reason, failure(class)
	return o
}

// held returns the outcome of a run that a rule holds for manual review before its handler
// starts.
func held(c job.Claim) job.Outcome {
	o := died(c, "ManualReview", job.ManualReview)
	o.Cause, o.Failure.How, o.Failure.Details = job.Held, job.ByHold, []byte(`{"notify":"ann"}`)
	return o
}

// waits returns an outcome of a run that counts as no attempt. The job runs again after a
// wait.
func waits(c job.Claim, cause job.Cause, again time.Duration) job.Outcome {
	o := outcome(c, cause, job.Waiting)
	o.Delay = again
	return o
}

// ended returns one outcome for each way in which a run can end.
func ended(c job.Claim) []job.Outcome {
	return []job.Outcome{
		succeeded(c),
		failed(c, "NetworkTimeout", time.Minute),
		died(c, "InvalidInput", job.NonRetriable),
		waits(c, job.Snoozed, time.Minute),
		waits(c, job.Deferred, time.Minute),
		waits(c, job.Interrupted, 0),
		outcome(c, job.Cancel, job.Cancelled),
		held(c),
	}
}
