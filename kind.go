package redrive

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Kind is the type of a job: its name, of at most job.NameMax letters, digits
// and _-.:/, and the type of its arguments. Declare it once, as a constant:
//
//	const Render = redrive.Kind[RenderArgs]("render")
//
// Arguments are stored as JSON. Give a kind another name when its arguments
// change so that stored jobs would not fit any more.
type Kind[T any] string

// New makes a job to be enqueued. Options may be nil. An error of the encoding
// comes from Enqueue.
func (k Kind[T]) New(args T, o *Options) Spec {
	payload, err := json.Marshal(args)
	if err != nil {
		return Spec{err: fmt.Errorf("arguments of kind %q: %w", string(k), err)}
	}
	return newSpec(string(k), payload, o)
}

// NewRaw makes a job whose payload is bytes as they are, for kinds that
// HandleRaw or a program in another language handles. The bytes must not be
// changed before the job is enqueued.
func NewRaw(kind string, payload []byte, o *Options) Spec {
	return newSpec(kind, payload, o)
}

// Spec is a job to be enqueued, made by Kind.New or NewRaw.
type Spec struct {
	new job.New
	err error
}

// Options say more about a job. The zero value of every field is its default.
type Options struct {
	Queue    string    // default DefaultQueue
	Priority int       // job.PriorityMin (first) to job.PriorityMax; default job.PriorityDefault
	RunAt    time.Time // not before this time; default at once
	Deadline time.Time // not started at this time or later; default never

	// Key is the idempotency key: within (Owner, kind), enqueuing it again
	// gives the job that holds it, and with other arguments an error.
	Key string
	// KeyUntil is when the key is forgotten; default never.
	KeyUntil time.Time

	Owner       string         // whose job it is
	Correlation string         // the caller's id for logs
	Attrs       map[string]any // as JSON at most job.AttrsMax bytes
	Batch       int64          // default none

	// Retry is what the job says of its own retries, before all that the policy
	// says and below its ceilings. It is kept over all lives.
	Retry *policy.Override
}

func newSpec(kind string, payload []byte, o *Options) Spec {
	if o == nil {
		o = &Options{}
	}
	s := Spec{new: job.New{
		Kind:        kind,
		Queue:       cmp.Or(o.Queue, DefaultQueue),
		Priority:    job.PriorityDefault,
		RunAt:       job.At(o.RunAt),
		Deadline:    job.At(o.Deadline),
		Owner:       o.Owner,
		Correlation: o.Correlation,
		Key:         o.Key,
		KeyUntil:    job.At(o.KeyUntil),
		Batch:       o.Batch,
		Payload:     payload,
	}}
	if o.Retry != nil {
		if err := o.Retry.Validate(); err != nil {
			s.err = fmt.Errorf("job of kind %q: %w", kind, err)
			return s
		}
		s.new.Policy = o.Retry.Encode()
	}
	if o.Key != "" {
		sum := sha256.Sum256(payload)
		s.new.Digest = sum[:16]
	}
	if o.Priority != 0 {
		if o.Priority < job.PriorityMin || o.Priority > job.PriorityMax {
			s.err = fmt.Errorf("job of kind %q: priority %d: must be %d to %d", kind, o.Priority, job.PriorityMin, job.PriorityMax)
			return s
		}
		s.new.Priority = int8(o.Priority)
	}
	if len(o.Attrs) > 0 {
		if s.new.Attrs, s.err = json.Marshal(o.Attrs); s.err != nil {
			s.err = fmt.Errorf("job of kind %q: attributes: %w", kind, s.err)
		}
	}
	return s
}
