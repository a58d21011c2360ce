package redrive

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redrive/redrive/store"
)

// PayloadMistakesMax is the maximum number of mistakes in a PayloadError.
const PayloadMistakesMax = 50

// PayloadCheck finds mistakes in the payloads of a kind before they are stored. Package
// schema has one for JSON Schemas. It must be safe for concurrent use.
type PayloadCheck interface {
	// CheckPayload returns the mistakes of a payload, the most important one first. It returns
	// nil if the payload has no mistake. It must not change the payload.
	CheckPayload(payload []byte) []PayloadMistake
}

// PayloadMistake is a mistake in a payload.
type PayloadMistake struct {
	// Pointer is the place of the mistake, as a JSON Pointer (RFC 6901). It is empty for the
	// whole payload. For a missing field it is the place where the field belongs.
	Pointer string
	// Detail is a sentence without a full stop that names the field and the bound, such as
	// "Duration must be at least 1 second". It must not contain values of the payload.
	Detail string
	// Bound is the limit that the value is beyond, such as "1", or empty.
	Bound string
}

// PayloadError is the error of an enqueue or a change whose payload has mistakes. It is an
// ErrInvalid.
type PayloadError struct {
	// Index is the position of the job in the call of EnqueueMany; 0 in other calls.
	Index    int
	Kind     string
	Mistakes []PayloadMistake // 1 to PayloadMistakesMax mistakes
}

func (e *PayloadError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "payload of kind %q: ", e.Kind)
	for i, m := range e.Mistakes {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more mistakes", len(e.Mistakes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(m.Detail)
		if m.Pointer != "" {
			fmt.Fprintf(&b, " (%s)", m.Pointer)
		}
	}
	return b.String()
}

// Unwrap returns ErrInvalid, for errors.Is.
func (e *PayloadError) Unwrap() error { return store.ErrInvalid }

// checkContent returns a *PayloadError if the payload does not pass the check of its kind.
func (c *Client) checkContent(index int, kind string, payload []byte) error {
	check := c.config.PayloadChecks[kind]
	if check == nil {
		return nil
	}
	mistakes := check.CheckPayload(payload)
	if len(mistakes) == 0 {
		return nil
	}
	return &PayloadError{Index: index, Kind: kind, Mistakes: mistakes[:min(len(mistakes), PayloadMistakesMax)]}
}

// CheckPayload returns the error with which Enqueue and Retry would refuse a payload of a kind: an
// ErrTooLarge, or an ErrInvalid that may be a *PayloadError. It stores nothing.
func (c *Client) CheckPayload(kind string, payload []byte) error {
	if len(payload) > c.config.PayloadMax {
		return fmt.Errorf("payload of %d bytes: the limit is %d bytes (Config.PayloadMax): %w", len(payload), c.config.PayloadMax, ErrTooLarge)
	}
	if err := c.takesJSON(kind, payload); err != nil {
		return err
	}
	return c.checkContent(0, kind, payload)
}

// takesJSON returns an error if a payload is not JSON although the handler of its kind takes JSON.
func (c *Client) takesJSON(kind string, payload []byte) error {
	if json.Valid(payload) {
		return nil
	}
	c.mu.Lock()
	h := c.handlers[kind]
	c.mu.Unlock()
	if h != nil && h.args != nil { // a handler with a type of arguments takes JSON payloads
		return fmt.Errorf("the new payload is not JSON, but the handler of kind %q takes JSON: %w", kind, ErrInvalid)
	}
	return nil
}

// checkPayload refuses a new payload of an existing job if an enqueue would refuse it. A new
// payload is allowed for a single id only; the store refuses a call with several.
func (c *Client) checkPayload(ctx context.Context, ids []JobID, payload []byte) error {
	if payload == nil {
		return nil
	}
	if len(ids) != 1 || json.Valid(payload) && len(c.config.PayloadChecks) == 0 {
		return c.CheckPayload("", payload)
	}
	j, err := c.store.Get(ctx, ids[0])
	if err != nil {
		return err
	}
	return c.CheckPayload(j.Kind, payload)
}

// PayloadSchema returns the text of the schema by which the payloads of a kind are checked. It is nil
// if the kind has no check, or one without a text.
func (c *Client) PayloadSchema(kind string) []byte {
	if s, ok := c.config.PayloadChecks[kind].(interface{ Text() []byte }); ok {
		return s.Text()
	}
	return nil
}
