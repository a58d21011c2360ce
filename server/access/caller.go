// Package access says who makes a request and what this caller may do.
//
// The server calls one function per request:
//
//	Identify(*http.Request) (Caller, error)
//
// The function returns a Caller, or one of the errors of this package, or an error of the
// store. The table of routes in package internal/api names the roles that a route needs; the
// server compares them with the roles of the caller. A program that mounts the server beside
// its own login gives its own function (server.Options.Identify).
package access

import (
	"errors"
	"strings"

	"github.com/redrive/redrive/job"
)

// Roles is a set of roles. The zero value allows nothing but routes that need no role.
type Roles uint8

// The roles. Operate includes View, and Administer includes Operate.
const (
	Submit     Roles = 1 << iota // adds jobs
	Work                         // runs jobs over the worker protocol
	View                         // reads everything but payloads
	Operate                      // View, and acts: retries, cancels, changes queues
	Administer                   // Operate, and keys and purges
)

// names has the names of the roles, in the order of their bits.
var names = [...]string{"submit", "work", "view", "operate", "administer"}

// With returns the roles together with the roles that they include.
func (r Roles) With() Roles {
	if r&Administer != 0 {
		r |= Operate
	}
	if r&Operate != 0 {
		r |= View
	}
	return r
}

// Any reports whether the roles, with those that they include, have one of the wanted roles.
func (r Roles) Any(wanted Roles) bool { return r.With()&wanted != 0 }

// Names returns the names of the roles in the set, without the roles that they include.
func (r Roles) Names() []string {
	list := []string{}
	for i, name := range names {
		if r&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String returns the names of the roles, separated by commas.
func (r Roles) String() string { return strings.Join(r.Names(), ",") }

// ParseRole returns the role with a name, such as "view", and whether the name is a role.
func ParseRole(name string) (Roles, bool) {
	for i, n := range names {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// RoleNames returns the names of all roles, the least powerful first.
func RoleNames() []string { return append([]string{}, names[:]...) }

// Caller says who makes a request. All fields are for the server only: it shows Roles, Owner and
// Key in /api/whoami, and writes Actor and Via into the audit log.
type Caller struct {
	// Actor is the name for the audit log: the name of the key, or the user of the proxy.
	Actor string
	Roles Roles
	// Owner restricts the caller to the jobs of this owner: it sees other jobs as missing, sees
	// its own jobs from outside (no evidence, no worker), and its jobs get this owner. "" means
	// no restriction.
	Owner string
	// Kinds and Queues restrict which jobs the caller may submit and work on. Nil means all.
	Kinds, Queues []string
	// Key is the id of the access key; "" if the caller was identified in another way.
	Key string
	// ExpiresAt is when the key expires; 0 means never.
	ExpiresAt job.Micros
	// Via says for the audit log how the request reached the server: the id of the key and the
	// address. The server adds the id of the request.
	Via string
}

// Errors of Identify. The server answers them with the problem of the same name. It answers an
// error of the store as it answers it everywhere (503 and so on), and any other error with 500.
var (
	// ErrUnauthenticated says that the credentials are missing, unknown, wrong, expired or revoked.
	// The answer does not say which.
	ErrUnauthenticated = errors.New("no valid credentials")
	// ErrForbidden says that the caller is known and may not do this.
	ErrForbidden = errors.New("not allowed")
)

// Header is an error of Identify about a header that no correct client sends, such as a header that
// must not be sent twice. The server answers with 400 and names the header.
type Header struct {
	Name   string // name of the header
	Detail string // what is wrong, without the value
}

func (e *Header) Error() string { return "header " + e.Name + ": " + e.Detail }

// Limited is an error of Identify: the caller has sent too many requests. The server answers
// with 429.
type Limited struct {
	RetryAfter int // seconds
}

func (e *Limited) Error() string { return "too many requests" }

// Local returns the caller of a server that listens on loopback and has no keys: everybody on
// the machine may do everything.
func Local() Caller {
	return Caller{Actor: "local", Roles: Administer | Submit | Work, Via: "loopback"}
}
