//go:build linux

package torture

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
)

// act does one action on one job, with the state that it must have.
func (c *submitter) act() {
	action, path, state := "job.cancel", "cancel", "waiting"
	switch c.rand.IntN(3) {
	case 0:
		action, path, state = "job.retry", "retry", "dead"
	case 1:
		action, path, state = "dead_letter.resolve", "resolve", "dead"
	}
	got := c.send(&request{method: http.MethodGet, path: "/api/jobs?limit=20&state=" + state})
	var page struct {
		Items []struct {
			ID   job.ID
			Life int
		}
	}
	if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
		c.Errorf("round %d: a list was answered with %d %.300s: %v", c.n, got.status, got.body, err)
		return
	}
	if len(page.Items) == 0 {
		return
	}
	one := page.Items[c.rand.IntN(len(page.Items))]
	by := c.operator()
	note := "note"
	url := fmt.Sprintf("/api/jobs/%s/%s", one.ID, path)
	if path == "resolve" {
		note, url = "notes", fmt.Sprintf("/api/admin/dlq/%s/resolve", one.ID)
	}
	a := c.send(&request{method: http.MethodPost, path: url,
		body: fmt.Sprintf(`{%q:%q,"expect":{"life":%d,"state":%q}}`, note, by.Reason, one.Life, state)})
	c.record(check.Act{Reason: by.Reason, Action: action, Target: one.ID.String(), Answer: c.answerTo(&a, url)})
}

// answerTo returns what an answer says about an action. When the request was sent more than once, a
// conflict may come from its own first send.
func (c *submitter) answerTo(a *reply, url string) check.Answer {
	switch a.status {
	case http.StatusOK, http.StatusCreated:
		c.web.acted.Add(1)
		return check.Written
	case http.StatusConflict, http.StatusNotFound:
		if a.alone() {
			return check.Refused
		}
	case 0:
	default:
		c.Errorf("round %d: %s was answered with %d %.300s", c.n, url, a.status, a.body)
	}
	return check.Unknown
}

// redrive starts a redrive of all dead letters, with a key.
func (c *submitter) redrive() {
	by := c.operator()
	name := "redrive of " + by.Reason
	a := c.send(&request{method: http.MethodPost, path: "/api/redrives", header: map[string]string{"Idempotency-Key": name},
		body: fmt.Sprintf(`{"filter":{"all":true},"canary":2,"stop_share":1,"stop_other":1,"stop_dead":1,"note":%q}`, by.Reason)})
	var started struct{ ID int64 }
	answer := c.answerTo(&a, "/api/redrives")
	if answer == check.Written {
		if err := json.Unmarshal(a.body, &started); err != nil || started.ID == 0 {
			c.Errorf("round %d: the answer to a redrive cannot be read: %v\n%.300s", c.n, err, a.body)
		}
		c.faulted("redrive")
	}
	act := check.Act{Reason: by.Reason, Action: "redrive.start", Answer: answer}
	if started.ID != 0 {
		act.Target = fmt.Sprint(started.ID)
	}
	c.record(act)
}
