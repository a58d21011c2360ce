package words

import (
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func TestWebhookState(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	for want, e := range map[string]store.Endpoint{
		"on":                          {},
		"on, failing since 2h ago":    {FailingSince: now.Add(-2 * time.Hour)},
		"off: a person turned it off": {Off: store.OffByPerson},
		"off: it answered 410":        {Off: store.OffGone},
		"off: it failed for 5 days":   {Off: store.OffFailing},
		"off: other":                  {Off: "other"},
	} {
		if got := WebhookState(&e, now); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
