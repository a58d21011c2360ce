package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/wire"
)

// Flags and lines of a file say the settings of its retries that a job has of its own.
//
// part of: R2
func TestEnqueue_SettingsOfRetries(t *testing.T) {
	t.Parallel()
	two, cost := 2, 0.5
	c := enqueueCmd{Kind: "k", Payload: "1"}
	c.MaxRetries, c.MaxCost, c.Waits = &two, &cost, []span{span(time.Minute)}
	r, err := c.request(strings.NewReader(""), time.Now(), 100)
	const want = `{"max_retries":2,"max_cost":500000,"waits":["1m0s"]}`
	if err != nil || r.Retry == nil || string(r.Retry.Encode()) != want {
		t.Errorf("flags: got %+v with error %v, want the settings %s", r, err, want)
	}
	lines := wire.ReadRequests("f", strings.NewReader(`{"kind":"k","retry":`+want+`}`+"\n"+`{"kind":"k","retry":{"max_retires":2}}`), 1000, time.Now())
	if r, err = lines.Next(); err != nil || r.Retry == nil || string(r.Retry.Encode()) != want {
		t.Errorf("line: got %+v with error %v, want the settings %s", r, err, want)
	}
	if _, err = lines.Next(); err == nil || !strings.Contains(err.Error(), "max_retires") {
		t.Errorf("line with an unknown setting: got error %v, want one that names it", err)
	}
	c = enqueueCmd{Kind: "k", Payload: "1"}
	if r, err = c.request(strings.NewReader(""), time.Now(), 100); err != nil || r.Retry != nil {
		t.Errorf("no flags: got %+v with error %v, want no settings", r, err)
	}
	cost = -1
	c.MaxCost = &cost
	if _, err = c.request(strings.NewReader(""), time.Now(), 100); err == nil {
		t.Error("a negative cost: got no error")
	}
}
