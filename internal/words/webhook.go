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
	return "off: " + store.OffReason(e.Off)
}
