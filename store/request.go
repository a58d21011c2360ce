package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// Requests keeps the answers to requests that have an idempotency key, so that a request that is
// sent again gets the first answer. A request that enqueues a single job does not need this
// interface, because the job's own key does the same.
type Requests interface {
	// BeginRequest stores a request before it is carried out. If the scope already has a request
	// with this key, BeginRequest stores nothing and returns that request and true. ErrConflict
	// means that the stored request has another Digest. The store removes a request when
	// RequestsKept has passed since its begin.
	BeginRequest(ctx context.Context, r Request) (stored Request, existing bool, err error)
	// EndRequest stores the answer to a request. Only the first call stores its answer; later calls
	// change nothing. ErrNotFound means that the request was never begun, or that the store has
	// removed it.
	EndRequest(ctx context.Context, scope, key string, status int, body []byte) error
}

// Limits on requests.
const (
	RequestsKept   = 24 * time.Hour
	RequestBodyMax = 64 << 10 // maximum size of the body of an answer, in bytes
)

// Request is a request with an idempotency key, and its answer. The store sets At; EndRequest
// sets Status and Body.
type Request struct {
	Scope  string     // who may use the key, and for what; 1 to job.TextMax bytes
	Key    string     // 1 to job.TextMax bytes
	Digest []byte     // a hash of the content of the request; 1 to job.NameMax bytes
	At     job.Micros // when the request was begun
	// With these fields a request can be continued after a crash. First is the first of the N job
	// ids that were reserved for the request. Through is the end of the frozen set to which the
	// request applies.
	First   job.ID
	N       int
	Through int64

	Status int    // the status of the answer; 0 means that there is no answer yet
	Body   []byte // at most RequestBodyMax bytes
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (r *Request) Validate() error {
	if err := validRequestKey(r.Scope, r.Key); err != nil {
		return err
	}
	switch {
	case len(r.Digest) < 1 || len(r.Digest) > job.NameMax:
		return fmt.Errorf("request %q: digest of %d bytes: must be 1 to %d: %w", r.Key, len(r.Digest), job.NameMax, ErrInvalid)
	case r.First < 0 || r.N < 0 || r.Through < 0:
		return fmt.Errorf("request %q: First, N and Through must not be negative: %w", r.Key, ErrInvalid)
	}
	return nil
}

// ValidateAnswer returns an ErrInvalid or ErrTooLarge that names the wrong argument of
// EndRequest.
func ValidateAnswer(scope, key string, status int, body []byte) error {
	if err := validRequestKey(scope, key); err != nil {
		return err
	}
	switch {
	case status < 1 || status > 999:
		return fmt.Errorf("request %q: status %d of the answer: must be 1 to 999: %w", key, status, ErrInvalid)
	case len(body) > RequestBodyMax:
		return fmt.Errorf("request %q: answer of %d bytes: at most %d bytes are allowed: %w", key, len(body), RequestBodyMax, ErrTooLarge)
	}
	return nil
}

func validRequestKey(scope, key string) error {
	for _, t := range [...]struct{ what, text string }{{"scope", scope}, {"key", key}} {
		if len(t.text) < 1 || len(t.text) > job.TextMax {
			return fmt.Errorf("request: %s of %d bytes: must be 1 to %d: %w", t.what, len(t.text), job.TextMax, ErrInvalid)
		}
	}
	return nil
}

// ReusedKey returns the error for a key that was used for another request.
func (r *Request) ReusedKey() error {
	return fmt.Errorf("the key %.80q was used for another request at %s: %w", r.Key, r.At.Time(), ErrConflict)
}
