package api

import (
	"net/http"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// WebhookIn is the body of a request for a new receiver of webhooks.
type WebhookIn struct {
	Name      string   `json:"name"`                 // 1 to 64 of a-z, 0-9, '_', '.' and '-'; rules name the receiver by it
	URL       string   `json:"url"`                  // where webhooks are sent; begins with https
	AllowHTTP bool     `json:"allow_http,omitempty"` // allows a URL that begins with http, without TLS; for tests
	Allow     []string `json:"allow,omitempty"`      // networks such as 10.20.0.0/16 that are allowed although they are private
	Ports     []uint16 `json:"ports,omitempty"`      // further ports that are allowed; by default only 443
	// Secret is whsec_ and the base64 form of 24 to 64 bytes. By default a new one is made.
	Secret string `json:"secret,omitempty"`
	Note   string `json:"note,omitempty"` // the reason, for the audit log
}

// WebhookRotation is the body of a request for a new secret of a receiver.
type WebhookRotation struct {
	// KeepOldMS is for how long webhooks are signed with the old secret, too, in milliseconds, at most
	// seven days. The default is a day.
	KeepOldMS *int64 `json:"keep_old_ms,omitempty"`
	// Secret is whsec_ and the base64 form of 24 to 64 bytes. By default a new one is made.
	Secret string `json:"secret,omitempty"`
	Note   string `json:"note,omitempty"` // the reason, for the audit log
}

// WebhookNote is the body of a request that needs no more than a reason.
type WebhookNote struct {
	Note string `json:"note,omitempty"` // the reason, for the audit log
}

// WebhookList is a list of receivers of webhooks.
type WebhookList struct {
	Items []wire.Webhook `json:"items"`
}

// WebhookTest is the job that sends a test.
type WebhookTest struct {
	Job job.ID `json:"job"`
}

// webhookRoutes returns the routes of the receivers of webhooks.
func webhookRoutes() []Route {
	name := []Param{{Name: "name", In: "path", Doc: "The name of a receiver.", Required: true}}
	made := []Answer{{Status: 201, Doc: "The receiver, with its secret, which is shown only now.", Body: wire.NewWebhook{}}}
	one := []Answer{{Status: 200, Doc: "The receiver.", Body: wire.Webhook{}}}
	body := []*Kind{InvalidJSON, UnknownField, TooLarge, UnsupportedMediaType}
	changes := append([]*Kind{NotFound, StateMoved}, body...)
	rules := []Answer{{Status: 200, Doc: "The rules in force. Without rules, the hash is empty.", Body: wire.NotifyRules{}}}
	return []Route{
		{
			Method: "GET", Path: "/api/notify", Name: "getNotify", Group: "Webhooks", Doc: "Shows the rules of notifications that are in force.",
			Roles: access.View, Out: rules, Handle: (*API).getNotify,
		},
		{
			Method: "PUT", Path: "/api/notify", Name: "putNotify", Group: "Webhooks",
			Doc: "Puts rules of notifications in force, for all processes of the database. The same rules are published again without effect. " +
				"A mail channel must be in force already: a process that has its mail server publishes it first.",
			Roles: access.Administer, In: NotifyIn{}, Out: rules, Problem: body, Handle: (*API).putNotify,
		},
		{
			Method: "GET", Path: "/api/webhooks", Name: "listWebhooks", Group: "Webhooks", Doc: "Lists the receivers of webhooks, without their secrets.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The receivers.", Body: WebhookList{}}}, Handle: (*API).listWebhooks,
		},
		{
			Method: "POST", Path: "/api/webhooks", Name: "addWebhook", Group: "Webhooks",
			Doc:   "Adds a receiver of webhooks. A URL that leads into a private network is refused.",
			Roles: access.Administer, In: WebhookIn{}, Out: made, Problem: append([]*Kind{StateMoved}, body...), Handle: (*API).addWebhook,
		},
		{
			Method: "GET", Path: "/api/webhooks/{name}", Name: "getWebhook", Group: "Webhooks", Doc: "Shows a receiver of webhooks, without its secret.",
			Roles: access.View, Params: name, Out: one, Problem: []*Kind{NotFound}, Handle: (*API).getWebhook,
		},
		{
			Method: "DELETE", Path: "/api/webhooks/{name}", Name: "removeWebhook", Group: "Webhooks",
			Doc:   "Removes a receiver of webhooks. What still waits to be sent to it dies.",
			Roles: access.Administer, Params: name, In: WebhookNote{}, InOptional: true,
			Out: []Answer{{Status: http.StatusNoContent, Doc: "The receiver is removed."}}, Problem: changes, Handle: (*API).removeWebhook,
		},
		{
			Method: "POST", Path: "/api/webhooks/{name}/rotate", Name: "rotateWebhook", Group: "Webhooks",
			Doc:   "Makes a new secret for a receiver. Webhooks are signed with the old one, too, for a day or as long as the request says.",
			Roles: access.Administer, Params: name, In: WebhookRotation{}, InOptional: true, Out: made, Problem: changes, Handle: (*API).rotateWebhook,
		},
		{
			Method: "POST", Path: "/api/webhooks/{name}/on", Name: "turnWebhookOn", Group: "Webhooks", Doc: "Turns a receiver on.",
			Roles: access.Administer, Params: name, In: WebhookNote{}, InOptional: true, Out: one, Problem: changes,
			Handle: func(a *API, c *Call) error { return a.turnWebhook(c, "") },
		},
		{
			Method: "POST", Path: "/api/webhooks/{name}/off", Name: "turnWebhookOff", Group: "Webhooks",
			Doc:   "Turns a receiver off. What still waits to be sent to it dies, and can be retried when it is on again.",
			Roles: access.Administer, Params: name, In: WebhookNote{}, InOptional: true, Out: one, Problem: changes,
			Handle: func(a *API, c *Call) error { return a.turnWebhook(c, offByPerson) },
		},
		{
			Method: "POST", Path: "/api/webhooks/{name}/test", Name: "testWebhook", Group: "Webhooks",
			Doc:   "Enqueues a job that sends a webhook of the type redrive.test, also to a receiver that is off.",
			Roles: access.Administer, Params: name, Out: []Answer{{Status: 202, Doc: "The job that sends it.", Body: WebhookTest{}}},
			Problem: []*Kind{NotFound}, Handle: (*API).testWebhook,
		},
	}
}
