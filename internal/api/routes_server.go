package api

import (
	"net/http"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// Health is the answer of /healthz: the process answers.
type Health struct {
	Status string `json:"status"` // ok
}

// Ready is the answer of /readyz.
type Ready struct {
	Status string `json:"status"` // ready, or not-ready
	// Checks are what was checked, for callers that may view.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one condition of a server that is ready.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // what is wrong
}

// WhoAmI has the name, the roles and the restrictions of the caller.
type WhoAmI struct {
	Actor  string   `json:"actor"`
	Roles  []string `json:"roles"`
	Owner  string   `json:"owner,omitempty"`
	Kinds  []string `json:"kinds,omitempty"`
	Queues []string `json:"queues,omitempty"`
	Key    string   `json:"key,omitempty"` // the id of the access key
	// ExpiresAt is when the key expires; without it, the key does not expire.
	ExpiresAt job.Micros `json:"expires_at,omitempty"`
}

// serverRoutes returns the routes about the server itself.
func serverRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/healthz", Name: "health", Group: "Server", Doc: "Succeeds while the process is alive. It does not ask the store.",
			Out: []Answer{{Status: 200, Doc: "The process answers.", Body: Health{}}}, Handle: (*API).health,
		},
		{
			Method: "GET", Path: "/readyz", Name: "ready", Group: "Server", Doc: "Succeeds while the server can serve: the store answers, and the server is not stopping.",
			Out:    []Answer{{Status: 200, Doc: "The server can serve.", Body: Ready{}}, {Status: 503, Doc: "It cannot.", Body: Ready{}}},
			Handle: (*API).ready,
		},
		{
			Method: "GET", Path: "/api/whoami", Name: "whoAmI", Group: "Server", Doc: "Shows the name, the roles and the restrictions of the caller.", AnyCaller: true,
			Out: []Answer{{Status: 200, Doc: "The caller.", Body: WhoAmI{}}}, Handle: (*API).whoAmI,
		},
	}
}

func (a *API) health(c *Call) error { return c.JSON(http.StatusOK, Health{"ok"}) }

func (a *API) ready(c *Call) error {
	checks := []Check{{Name: "server", OK: true}, {Name: "store", OK: true}}
	select {
	case <-a.stopping:
		checks[0] = Check{Name: "server", Detail: "the server is stopping"}
	default:
	}
	if _, err := a.client.Queues(c.Context()); err != nil {
		checks[1] = Check{Name: "store", Detail: ProblemOf(err).Detail}
	}
	answer, status := Ready{Status: "ready"}, http.StatusOK
	for _, check := range checks {
		if !check.OK {
			answer.Status, status = "not-ready", http.StatusServiceUnavailable
		}
	}
	if c.Caller.Roles.Any(access.View) {
		answer.Checks = checks
	}
	return c.JSON(status, answer)
}

func (a *API) whoAmI(c *Call) error {
	return c.JSON(http.StatusOK, whoIs(&c.Caller))
}

func whoIs(c *access.Caller) WhoAmI {
	return WhoAmI{Actor: c.Actor, Roles: c.Roles.Names(), Owner: c.Owner, Kinds: c.Kinds, Queues: c.Queues, Key: c.Key, ExpiresAt: c.ExpiresAt}
}
