// Package world simulates the services of the example on this machine: an OCR API, a language-model
// API and object storage, with the interfaces of real ones. They fail as a plan says. Your program
// uses the real services instead.
package world

import (
	"strings"
	"sync"
)

// The kinds of calls that a fault can hit.
const (
	Vision = "vision" // calls of the OCR API
	Model  = "model"  // calls of the language model
	Read   = "read"   // downloads from the storage
	Write  = "write"  // uploads to the storage
)

// Always is a value for Trouble.Times: all calls fail.
const Always = 1 << 30

// Cut stands for a fault without a status: the connection breaks in the middle of the body.
const Cut = -1

// Trouble is a fault: the first calls of the kind Where fail, as many as Times says. Only calls
// that have About in the key of their object or in the text of their page are counted and fail.
type Trouble struct {
	Where  string
	About  string
	Times  int
	Status int // HTTP status, or Cut
	After  int // the Retry-After header in seconds; 0 means no such header
}

// Plan holds the planned faults and records the calls. It is safe for concurrent use.
type Plan struct {
	mu    sync.Mutex
	left  []Trouble
	calls []Called
}

// Called is one call that arrived.
type Called struct {
	Where, Subject string // Subject is the object's key or the page's text in the call
	Key            string // the idempotency key of the call
	Status         int    // the HTTP status of the answer; Cut when the connection broke
}

// Add adds faults to the plan.
func (p *Plan) Add(t ...Trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append(p.left, t...)
}

// Calls returns the recorded calls of a kind whose subject contains the given text, in
// order.
func (p *Plan) Calls(where, about string) []Called {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Called
	for _, c := range p.calls {
		if c.Where == where && strings.Contains(c.Subject, about) {
			found = append(found, c)
		}
	}
	return found
}

// meet records a call and returns the fault for it. Status 200 means that there is no
// fault.
func (p *Plan) meet(c Called) Trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	met := Trouble{Status: 200}
	if c.Status != 0 { // the service refused the call before the plan was asked for a fault
		met.Status = c.Status
	} else {
		for i := range p.left {
			if t := &p.left[i]; t.Where == c.Where && t.Times > 0 && strings.Contains(c.Subject, t.About) {
				t.Times--
				met = *t
				break
			}
		}
	}
	c.Status = met.Status
	p.calls = append(p.calls, c)
	return met
}
