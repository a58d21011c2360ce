package words

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// WebhookState says whether a receiver of webhooks is on, and why it is not.
func WebhookState(e *store.Endpoint, now job.Micros) string {
	switch {
	case e.Off == "" && e.FailingSince > 0:
		return "on, failing since " + Away(e.FailingSince, now)
	case e.Off == "":
		return "on"
	}
	return "off: " + OffReason(e.Off)
}

// OffReason says why a receiver of webhooks is off.
func OffReason(off string) string {
	switch off {
	case store.OffByPerson:
		return "a person turned it off"
	case store.OffGone:
		return "it answered 410"
	case store.OffFailing:
		return "it failed for 5 days"
	}
	return off
}
