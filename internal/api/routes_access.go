package api

import (
	"net/http"
	"time"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
)

// Limits of access keys that the API makes.
const (
	keepOldDefault = 24 * time.Hour // for which a secret is accepted after a rotation
	keyTextMax     = 200            // bytes of a key in the body of a login
)

// KeyIn is the body of a request for a new access key.
type KeyIn struct {
	Name     string   `json:"name"`               // the name of the program or person, for the audit log
	Roles    []string `json:"roles"`              // submit, work, view, operate and administer
	Owner    string   `json:"owner,omitempty"`    // restricts the key to the jobs of this owner; its only role is submit
	Kinds    []string `json:"kinds,omitempty"`    // restricts the roles submit and work to these kinds
	Queues   []string `json:"queues,omitempty"`   // restricts the roles submit and work to these queues
	Delegate bool     `json:"delegate,omitempty"` // the key may act for any owner, named in the header Redrive-Owner
	// ExpiresAt is when the key expires: a time (without zone: UTC), or a duration from now. By
	// default it does not.
	ExpiresAt string `json:"expires_at,omitempty"`
	Note      string `json:"note,omitempty"` // the reason, for the audit log
}

// KeyRotation is the body of a request for a new secret of an access key.
type KeyRotation struct {
	// KeepOldMS is for how long the old secret is accepted, in milliseconds, at most seven days.
	// The default is a day.
	KeepOldMS *int64 `json:"keep_old_ms,omitempty"`
	Note      string `json:"note,omitempty"` // the reason, for the audit log
}

// KeyNote is the body of a request that needs no more than a reason.
type KeyNote struct {
	Note string `json:"note,omitempty"` // the reason, for the audit log
}

// KeyList is a list of access keys.
type KeyList struct {
	Items []wire.AccessKey `json:"items"`
}

// LoginIn is the body of a login.
type LoginIn struct {
	Key string `json:"key"` // an access key
}

// accessRoutes returns the routes of access keys and logins.
func accessRoutes() []Route {
	id := Param{Name: "id", In: "path", Doc: "The id of a key.", Required: true}
	made := []Answer{{Status: 201, Doc: "The key, with its secret, which is shown only now.", Body: wire.NewAccessKey{}}}
	return []Route{
		{
			Method: "GET", Path: "/api/keys", Name: "listKeys", Group: "Access", Doc: "Lists all access keys, with the revoked and expired ones.",
			Roles: access.Administer, Out: []Answer{{Status: 200, Doc: "The keys.", Body: KeyList{}}}, Handle: (*API).listKeys,
		},
		{
			Method: "POST", Path: "/api/keys", Name: "createKey", Group: "Access", Doc: "Makes an access key. From the first key on, every request needs one.",
			Roles: access.Administer, In: KeyIn{}, Out: made, Problem: []*Kind{InvalidJSON, UnknownField, TooLarge, UnsupportedMediaType}, Handle: (*API).createKey,
		},
		{
			Method: "DELETE", Path: "/api/keys/{id}", Name: "revokeKey", Group: "Access",
			Doc:   "Revokes an access key. All servers refuse it within five seconds.",
			Roles: access.Administer, Params: []Param{id}, In: KeyNote{}, InOptional: true,
			Out:     []Answer{{Status: 200, Doc: "The key.", Body: wire.AccessKey{}}},
			Problem: []*Kind{NotFound, StateMoved, InvalidJSON, UnknownField, TooLarge, UnsupportedMediaType}, Handle: (*API).revokeKey,
		},
		{
			Method: "POST", Path: "/api/keys/{id}/rotate", Name: "rotateKey", Group: "Access",
			Doc:   "Makes a new secret for an access key. The old one is accepted for a day, or as long as the request says.",
			Roles: access.Administer, Params: []Param{id}, In: KeyRotation{}, InOptional: true, Out: made,
			Problem: []*Kind{NotFound, StateMoved, InvalidJSON, UnknownField, TooLarge, UnsupportedMediaType}, Handle: (*API).rotateKey,
		},
		{
			Method: "POST", Path: "/api/login", Name: "logIn", Group: "Access",
			Doc: "Checks an access key and sets a cookie that stands for it for 12 hours. An address may try ten times a minute.",
			In:  LoginIn{}, Out: []Answer{{Status: 200, Doc: "The name, the roles and the restrictions of the caller.", Body: WhoAmI{}}},
			Problem: []*Kind{Unauthenticated, InvalidJSON, UnknownField, TooLarge, UnsupportedMediaType, NotFound, RateLimited}, Handle: (*API).login,
		},
		{
			Method: "POST", Path: "/api/logout", Name: "logOut", Group: "Access", Doc: "Makes the browser forget the login.",
			Out: []Answer{{Status: http.StatusNoContent, Doc: "The login is forgotten."}}, Problem: []*Kind{NotFound}, Handle: (*API).logout,
		},
	}
}
