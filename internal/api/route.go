// Package api has the routes of the HTTP API and their handlers.
//
// Routes returns the one table of routes. Package server makes the mux and the checks of access
// from it, the tests make their tables from it, and the document openapi.yaml is made from it. A
// path that is not in the table cannot be served. To add a route, add a row to the table and write
// its handler: a function that reads the request through a Call and answers through it.
package api

import (
	"slices"

	"github.com/redrive/redrive/server/access"
)

// Owner says what a caller that is restricted to an owner can do with a route.
type Owner uint8

// The rules for owners.
const (
	// NoOwner refuses callers with an owner.
	NoOwner Owner = iota
	// Own allows callers with an owner if they have one of the roles of the route, or submit. The
	// handler makes sure that they reach only their own jobs, and shows them the outside view.
	Own
)

// Param is a parameter of the path or of the query, or a header.
type Param struct {
	Name string
	In   string // path, query or header
	Doc  string
	Type string // string, integer, boolean, date-time; default string
	Many bool   // the parameter may be repeated, or have several values separated by commas
	// Min and Max are the bounds of an integer; Max is also the length of a text. 0 means none.
	Min, Max int
	Enum     []string
	// Required is true for parameters of the path.
	Required bool
}

// Answer is an answer of a route that is not a problem.
type Answer struct {
	Status int
	Doc    string
	// Body is a value of the type of the body; nil means that there is no body.
	Body any
	// Media is the media type of the body. The default is application/json.
	Media string
}

// Route is a row of the table of routes.
type Route struct {
	Method, Path string // Path is a pattern of net/http, such as /api/jobs/{id}
	Name         string // the operationId in the document
	Group        string // the section in the document
	Doc          string // what the route does, in one sentence
	// Roles are the roles of which the caller needs one. 0 means that the route needs no role
	// and no credentials.
	Roles access.Roles
	// AnyCaller means that the route needs valid credentials, but no role.
	AnyCaller bool
	// Local means that callers on this machine need no credentials.
	Local bool
	Owner Owner
	// Payloads means that the route shows payloads: the role view is enough if
	// Options.ViewersSeePayloads is set.
	Payloads bool
	Params   []Param
	// In is a value of the type of the JSON body; nil means that there is no body. OrIn is a
	// second form of it.
	In, OrIn any
	// InMedia is the media type of the body; the default is application/json. InOptional means
	// that the body may be left out.
	InMedia    string
	InOptional bool
	// Lines means that the body can be JSON lines of In, too.
	Lines   bool
	Out     []Answer
	Problem []*Kind // the problems beyond those that every route can have
	// Bare means that a problem is answered as {statusCode, message, error} and nothing else.
	Bare bool
	// Stream means that the answer has no time limit.
	Stream bool
	// Page means that the route answers with a page for people, also when it reports a problem.
	Page   bool
	Handle func(*API, *Call) error
}

// Routes returns the table of routes.
func Routes() []Route {
	return slices.Concat(jobRoutes(), batchRoutes(), deadRoutes(), groupRoutes(), stateRoutes(), figureRoutes(), eventRoutes(), accessRoutes(), webhookRoutes(), streamRoutes(), serverRoutes(), docRoutes())
}
