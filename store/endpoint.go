package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/guard"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
)

// Endpoints keeps the receivers of webhooks.
type Endpoints interface {
	// PutEndpoint adds an endpoint (Version 0), or replaces the stored endpoint with the same Name
	// and Version, and returns the stored endpoint. A Secret that differs from the stored one
	// rotates it: the old secret signs as well until KeepOld has passed. Off turns the endpoint off,
	// and an empty Off turns it on. Each change writes an audit row and the event webhook.changed. A
	// call that asks for what the last change of the endpoint has already done changes nothing, so
	// that a call can be repeated.
	//
	// ErrConflict means that the name is taken or that the Version is not the stored one.
	// ErrNotFound means that no endpoint has this name, ErrTooLarge that the store has EndpointsMax
	// endpoints.
	PutEndpoint(ctx context.Context, by By, e Endpoint) (Endpoint, error)
	// Endpoints returns all endpoints, with their secrets, sorted by name.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// RemoveEndpoint removes an endpoint. What still waits to be sent to it dies. ErrNotFound means
	// that no endpoint has this name.
	RemoveEndpoint(ctx context.Context, by By, name string) error
	// CountEndpoint adds attempts to the counts of an endpoint, and turns it off if they say so; see
	// EndpointCount. It writes an event, an audit row and the notices of the event webhook.off only when it turns the endpoint off.
	// ErrNotFound means that no endpoint has this name.
	CountEndpoint(ctx context.Context, name string, n EndpointCount) (Endpoint, error)
}

// Limits of endpoints.
const (
	EndpointsMax      = 100                // maximum number of endpoints in a store
	EndpointKeepMax   = 7 * 24 * time.Hour // maximum of Endpoint.KeepOld
	EndpointFailing   = 5 * 24 * time.Hour // an endpoint that has failed for this long without one success is turned off
	endpointReasonMax = 40
)

// Why an endpoint is off.
const (
	OffByPerson = "person"  // a person turned it off
	OffGone     = "gone"    // the receiver has answered 410
	OffFailing  = "failing" // all attempts have failed for EndpointFailing
)

// OffReason says why an endpoint is off, in words.
func OffReason(off string) string {
	switch off {
	case OffByPerson:
		return "a person turned it off"
	case OffGone:
		return "it answered 410"
	case OffFailing:
		return "it failed for 5 days"
	}
	return off
}

// Endpoint is a receiver of webhooks.
type Endpoint struct {
	Name   string        `json:"name"` // 1 to 64 of a-z, 0-9, '_', '.' and '-'
	URL    string        `json:"url"`
	Secret WebhookSecret `json:"-"`

	AllowHTTP bool     `json:"allow_http,omitempty"` // allows URLs that begin with http, without TLS
	Allow     []string `json:"allow,omitempty"`      // networks such as 10.20.0.0/16 that are allowed although they are private
	Ports     []uint16 `json:"ports,omitempty"`      // further ports that are allowed; by default only 443, and 80 for http

	Off     string `json:"off,omitempty"` // why the endpoint is off; "" means that it is on
	Version int64  `json:"version"`       // the number of changes by people, from 1

	// KeepOld says in a call of PutEndpoint that rotates the secret how long the old one signs as
	// well, at most EndpointKeepMax; 0 means that it does not.
	KeepOld time.Duration `json:"-"`

	// The store sets these fields.
	OldSecret    WebhookSecret `json:"-"`                       // the secret before the last rotation
	OldUntil     job.Micros    `json:"old_until,omitempty"`     // OldSecret signs as well before this time; 0 means that the store keeps no old secret
	CreatedAt    job.Micros    `json:"created_at"`              // time of the first PutEndpoint
	CreatedBy    string        `json:"created_by"`              // the actor of the first PutEndpoint
	RotatedAt    job.Micros    `json:"rotated_at,omitempty"`    // time of the last rotation
	OffAt        job.Micros    `json:"off_at,omitempty"`        // when the endpoint was turned off; 0 means that it is on
	Delivered    int64         `json:"delivered,omitempty"`     // number of webhooks that the receiver has taken
	Failed       int64         `json:"failed,omitempty"`        // number of attempts that have failed
	DeliveredAt  job.Micros    `json:"delivered_at,omitempty"`  // time of the last success that was counted
	FailingSince job.Micros    `json:"failing_since,omitempty"` // the first failure after the last success; 0 means that the last attempt was a success
}

// EndpointCount is the result of some attempts to send webhooks to an endpoint. The endpoint is
// turned off by Gone, and by failures that have lasted for EndpointFailing.
type EndpointCount struct {
	Delivered, Failed int64 // numbers of attempts
	Failing           bool  // the last of these attempts has failed
	Gone              bool  // the receiver has answered 410
}

// Validate returns one ErrInvalid with all mistakes. It contains neither the URL, which may have a
// secret, nor an address.
func (e *Endpoint) Validate() error {
	errs := []error{notify.CheckName("name", e.Name)}
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	allow, err := e.Networks()
	target := guard.Target{URL: e.URL, AllowHTTP: e.AllowHTTP, Allow: allow, Ports: e.Ports}
	errs = append(errs, e.Secret.Validate(), err, target.Validate())
	wrong(e.Version < 0, "version %d must not be negative", e.Version)
	wrong(e.KeepOld < 0 || e.KeepOld > EndpointKeepMax, "the old secret is kept for %s: 0 to %s are allowed", e.KeepOld, EndpointKeepMax)
	wrong(len(e.Off) > endpointReasonMax, "the reason for which it is off has %d bytes: at most %d are allowed", len(e.Off), endpointReasonMax)
	if err := errors.Join(errs...); err != nil {
		return &endpointError{e.Name, err}
	}
	return nil
}

// endpointError says what is wrong with an endpoint.
type endpointError struct {
	name  string
	cause error
}

func (e *endpointError) Error() string   { return fmt.Sprintf("webhook %.80q: %s", e.name, e.cause) }
func (e *endpointError) Unwrap() []error { return []error{e.cause, ErrInvalid} }

// Networks returns the networks of Allow.
func (e *Endpoint) Networks() (list []netip.Prefix, err error) {
	for _, text := range e.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() {
			return nil, fmt.Errorf("%.60q is not a network: write one such as 10.20.0.0/16", text)
		}
		list = append(list, p)
	}
	return list, nil
}

// ShownURL returns the URL without what may be a secret in it.
func (e *Endpoint) ShownURL() string {
	return failure.Sanitize(e.URL, &failure.SanitizeOptions{KeepPaths: true, KeepAddresses: true, Max: guard.URLMax})
}

// Clone returns a copy that shares no memory.
func (e Endpoint) Clone() Endpoint {
	e.Secret, e.OldSecret = bytes.Clone(e.Secret), bytes.Clone(e.OldSecret)
	e.Allow, e.Ports = slices.Clone(e.Allow), slices.Clone(e.Ports)
	return e
}

// Create returns the endpoint as the store keeps it after its first PutEndpoint.
func (e Endpoint) Create(by By, now job.Micros) Endpoint {
	stored := Endpoint{Name: e.Name, URL: e.URL, Secret: e.Secret, AllowHTTP: e.AllowHTTP, Allow: e.Allow, Ports: e.Ports,
		Version: 1, CreatedAt: now, CreatedBy: by.Actor}
	stored.turn(e.Off, now)
	return stored
}

// turn turns the endpoint on or off. A change begins a new time of failures.
func (e *Endpoint) turn(off string, now job.Micros) {
	if (off == "") == (e.Off == "") {
		return
	}
	e.Off, e.OffAt, e.FailingSince = off, 0, 0
	if off != "" {
		e.OffAt = now
	}
}

// Change returns the endpoint as the store keeps it after PutEndpoint has replaced it by another one.
// If the second result is false, the stored endpoint stays as it is. ErrConflict means that the other
// endpoint is based on another version.
func (e Endpoint) Change(next Endpoint, now job.Micros) (stored Endpoint, changed bool, err error) {
	switch {
	case (next.Version == e.Version || next.Version+1 == e.Version) && e.asks(&next):
		return e, false, nil
	case next.Version == 0:
		return e, false, fmt.Errorf("webhook %s: another endpoint has this name: %w", e.Name, ErrConflict)
	case next.Version != e.Version:
		return e, false, fmt.Errorf("webhook %s: it was changed meanwhile: its version is %d, not %d; read it again: %w", e.Name, e.Version, next.Version, ErrConflict)
	}
	if !bytes.Equal(e.Secret, next.Secret) {
		e.OldSecret, e.OldUntil, e.RotatedAt = nil, 0, now
		if next.KeepOld > 0 {
			e.OldSecret, e.OldUntil = e.Secret, now.Add(next.KeepOld)
		}
	}
	e.URL, e.Secret, e.AllowHTTP, e.Allow, e.Ports = next.URL, next.Secret, next.AllowHTTP, next.Allow, next.Ports
	e.turn(next.Off, now)
	e.Version++
	return e, true, nil
}

// asks reports whether a call of PutEndpoint with the other endpoint asks for this one as it is.
func (e *Endpoint) asks(next *Endpoint) bool {
	return e.URL == next.URL && bytes.Equal(e.Secret, next.Secret) && e.AllowHTTP == next.AllowHTTP && slices.Equal(e.Allow, next.Allow) &&
		slices.Equal(e.Ports, next.Ports) && (e.Off == "") == (next.Off == "")
}

// Count returns the endpoint with further attempts, and whether they have turned it off.
func (e Endpoint) Count(n EndpointCount, now job.Micros) (next Endpoint, off bool) {
	e.Delivered, e.Failed = e.Delivered+n.Delivered, e.Failed+n.Failed
	if n.Delivered > 0 {
		e.DeliveredAt, e.FailingSince = now, 0
	}
	if n.Failing {
		e.FailingSince = cmp.Or(e.FailingSince, now)
	}
	switch {
	case e.Off != "":
		return e, false
	case n.Gone:
		e.Off, e.OffAt = OffGone, now
	case e.FailingSince > 0 && now.Sub(e.FailingSince) >= EndpointFailing:
		e.Off, e.OffAt = OffFailing, now
	}
	return e, e.Off != ""
}

// ErrNoEndpoint returns the error for an endpoint that does not exist.
func ErrNoEndpoint(name string) error { return fmt.Errorf("webhook %.80q: %w", name, ErrNotFound) }

// ErrEndpointsFull returns the error for a new endpoint in a store that has EndpointsMax endpoints.
func ErrEndpointsFull(name string) error {
	return fmt.Errorf("webhook %.80q: the store already has %d endpoints, which is the maximum; remove one: %w", name, EndpointsMax, ErrTooLarge)
}

// EndpointChanged returns the event and the audit row for a change of an endpoint. The first of the
// two is the endpoint before the change, nil for a new one; the second is nil for one that was
// removed. The row has no secret. The store sets the numbers and times.
func EndpointChanged(by By, before, after *Endpoint) (event.Event, Audit) {
	e := cmp.Or(after, before)
	what := "change"
	switch {
	case before == nil:
		what = "add"
	case after == nil:
		what = "remove"
	case before.Off == "" && after.Off != "":
		what = "off"
	case before.Off != "" && after.Off == "":
		what = "on"
	case !bytes.Equal(before.Secret, after.Secret):
		what = "rotate"
	}
	return event.Event{Type: event.WebhookChanged, Note: e.Name, Reason: what},
		Audit{Actor: by.Actor, Action: "webhook." + what, Target: e.Name, Reason: by.Reason, Before: before.audited(), After: after.audited()}
}

// audited returns what the audit log has of an endpoint, as JSON.
func (e *Endpoint) audited() string {
	if e == nil {
		return ""
	}
	text, err := json.Marshal(struct {
		URL       string     `json:"url"`
		AllowHTTP bool       `json:"allow_http,omitempty"`
		Allow     []string   `json:"allow,omitempty"`
		Ports     []uint16   `json:"ports,omitempty"`
		Off       string     `json:"off,omitempty"`
		OldUntil  job.Micros `json:"old_until,omitempty"`
	}{e.ShownURL(), e.AllowHTTP, e.Allow, e.Ports, e.Off, e.OldUntil})
	if err != nil {
		return "" // strings, numbers and booleans can always be encoded
	}
	return string(text)
}
