package api

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/server/access"
)

// Door is a kind under a path of its own, in the words of another system.
type Door struct {
	Name string
	Path string // such as /jobs
	Kind string
	// Words are the names of states, classes and fields. Nil means those of the policy in force.
	Words *policy.Words
}

// DoorReceipt is the answer to a payload that was sent to a door.
type DoorReceipt struct {
	ID     job.ID `json:"id"`
	Status string `json:"status"` // the state, in the words of the door
}

// DoorMistake is each answer of a door that is not a success.
type DoorMistake struct {
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"` // the first mistake
	Error      string `json:"error"`   // the words of the status, such as "Bad Request"
}

// mistakeOf returns a problem in the form of a door. The message is a sentence about the first mistake: the
// body is the payload, so the place in the body adds nothing.
func mistakeOf(p *Problem) DoorMistake {
	message := p.Message
	if len(p.Errors) > 0 && p.Errors[0].Pointer != "" {
		message = p.Errors[0].Detail
	}
	if message != "" {
		message = strings.ToUpper(message[:1]) + message[1:]
	}
	return DoorMistake{p.StatusCode, message, p.Words}
}

// DoorRoutes returns the routes of doors, sorted by their paths.
func DoorRoutes(doors []Door) []Route {
	doors = slices.SortedFunc(slices.Values(doors), func(a, b Door) int { return cmp.Compare(a.Path, b.Path) })
	var list []Route
	for _, d := range doors {
		list = append(list, Route{
			Method: "POST", Path: d.Path, Name: "door." + d.Name + ".submit", Group: "Doors", Doc: fmt.Sprintf("Adds a job of the kind %s. The body is its payload.", d.Kind),
			Roles: access.Submit | access.Operate, Owner: Own, Bare: true,
			Params: []Param{
				{Name: headerKey, In: "header", Doc: "Makes the request safe to repeat: a repeat returns the same job."},
				{Name: "X-Correlation-Id", In: "header", Doc: "The caller's id for logs."},
			},
			In: struct{}{}, Problem: []*Kind{InvalidJSON, PayloadInvalid, TooLarge, UnsupportedMediaType, QueueDraining, KeyReused, OutcomeUnknown, StoreFull},
			Out:    []Answer{{Status: 201, Doc: "The id of the job.", Body: DoorReceipt{}}, {Status: 200, Doc: "The job existed.", Body: DoorReceipt{}}},
			Handle: func(a *API, c *Call) error { return a.enterDoor(c, &d) },
		}, Route{
			Method: "GET", Path: d.Path + "/{id}", Name: "door." + d.Name + ".get", Group: "Doors", Doc: fmt.Sprintf("Shows a job of the kind %s, as users see it.", d.Kind),
			Roles: access.View | access.Submit, Owner: Own, Bare: true, Params: []Param{pathID}, Problem: []*Kind{NotFound},
			Out:    []Answer{{Status: 200, Doc: "The job.", Body: Outside{}}},
			Handle: func(a *API, c *Call) error { return a.throughDoor(c, &d) },
		})
	}
	return list
}

// doorWords returns the words of a door.
func (a *API) doorWords(d *Door) *policy.Words { return cmp.Or(d.Words, a.words()) }

// enterDoor enqueues the payload in the body.
func (a *API) enterDoor(c *Call, d *Door) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	body, err := c.Body()
	if err != nil {
		return err
	}
	r := &specReader{api: a, call: c, now: a.o.Now(), header: key}
	spec := r.build(&JobIn{Kind: d.Kind, Payload: bytes.TrimSpace(body)}, "", 0)
	if err := r.problem(); err != nil {
		return err
	}
	receipt, err := a.client.Enqueue(c.Context(), spec)
	if err != nil {
		return enqueueProblem(err, false)
	}
	status, reason := http.StatusCreated, job.Reason("")
	if receipt.Existing {
		status = http.StatusOK
		c.W.Header().Set("Idempotent-Replayed", "true")
		if receipt.State == job.Dead {
			if j, err := a.client.Get(c.Context(), receipt.ID); err == nil {
				reason = j.Reason
			}
		}
	}
	c.W.Header().Set("Location", a.o.Base+d.Path+"/"+receipt.ID.String())
	return c.JSON(status, DoorReceipt{receipt.ID, a.doorWords(d).State(receipt.State, reason)})
}

// throughDoor answers with a job of the door's kind.
func (a *API) throughDoor(c *Call, d *Door) error {
	j, err := a.pathJob(c)
	if err != nil {
		return err
	}
	if j.Kind != d.Kind {
		return NotFound.New("job %d: there is no such job", j.ID)
	}
	failed, err := a.latest(c, []job.Job{j})
	if err != nil {
		return err
	}
	out, err := a.outside(c, &j, failed[j.ID], a.doorWords(d))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}
