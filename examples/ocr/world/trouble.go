// Package world is what the example talks to: an OCR API, a language-model API and
// object storage, on this machine, in the shapes of the real ones, and as unreliable
// as it is told to be. A program of your own has the real ones in its place.
package world

import (
	"strings"
	"sync"
)

// The places where trouble can be.
const (
	Vision = "vision" // the OCR API
	Model  = "model"  // the language model
	Read   = "read"   // downloads from the storage
	Write  = "write"  // uploads to it
)

// Always is a number of times that does not end.
const Always = 1 << 30

// Cut is a status that is none: the connection breaks in the middle of the body.
const Cut = -1

// Trouble is what goes wrong: as many calls as Times says fail at a place, of those
// that have About in what they ask: in the key of an object, in the text of a page.
type Trouble struct {
	Where  string
	About  string
	Times  int
	Status int // of HTTP, or Cut
	After  int // Retry-After, in seconds; 0 is none
}

// Plan is all the trouble that there is, and an account of the calls that were made.
// It is safe for concurrent use.
type Plan struct {
	mu    sync.Mutex
	left  []Trouble
	calls []Called
}

// Called is one call that arrived.
type Called struct {
	Where, Subject string // Subject is what was asked: a key, or a text
	Key            string // the idempotency key that came with it
	Status         int    // of the answer; Cut is one that broke off
}

// Add brings more trouble.
func (p *Plan) Add(t ...Trouble) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append(p.left, t...)
}

// Calls returns the calls at a place that were about something, in their order.
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

// meet notes a call and returns what happens to it; a status of 200 is no trouble.
func (p *Plan) meet(c Called) Trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	met := Trouble{Status: 200}
	if c.Status != 0 { // it was refused before it could meet any
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
