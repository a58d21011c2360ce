package redrive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/redrive/redrive/internal/canonical"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Kind is the type of a job: its name, of at most job.NameMax letters, digits and
// _-.:/, and the type of its arguments. Declare it once, as a constant:
//
//	const Render = redrive.Kind[RenderArgs]("render")
//
// A client refuses to enqueue a job whose arguments have another type than those of the
// client's handler of the kind. Arguments are stored as JSON. If the arguments change so
// that stored jobs would not fit any more, give the kind another name.
type Kind[T any] string

// New makes a job to be enqueued. Options may be nil. A mistake in the arguments or
// options is returned by Spec.Err and by every enqueue of the Spec.
func (k Kind[T]) New(args T, o *Options) Spec {
	payload, err := json.Marshal(args)
	s := newSpec(string(k), payload, o)
	s.args = reflect.TypeFor[T]()
	if err != nil {
		s.badPayload = invalid(fmt.Errorf("encode the arguments of kind %q as JSON: %w", string(k), err))
	}
	return s
}

// NewRaw makes a job whose payload is plain bytes, for kinds that HandleRaw or a
// program in another language handles. The bytes must not be changed before the job is
// enqueued.
func NewRaw(kind string, payload []byte, o *Options) Spec {
	return newSpec(kind, payload, o)
}

// Spec is a job to be enqueued, made by Kind.New or NewRaw.
type Spec struct {
	new     job.New
	keyJSON bool         // see Options.KeyJSON
	unique  *Unique      // the setting from which new.Key is computed; nil unless Options.Unique is set
	args    reflect.Type // the type of the arguments that Kind.New encoded as JSON; nil for a job made by NewRaw

	badOptions error // the mistake in the options, or nil
	badPayload error // the mistake in the payload, or nil
	// rewritten is true if the payload has changed since a client last checked it.
	rewritten bool
	// largeBy is the enqueue middleware that has made the payload larger than
	// Config.PayloadMax, for the error; "" if no middleware has done so.
	largeBy string
	// checkedBy is the client that has checked the job on its way through middlewares;
	// nil for a job that is new or changed.
	checkedBy *Client
}

// Err returns the mistake in the options or arguments of the Spec, or nil. The
// error is an ErrInvalid. Limits that a client or a store sets, such as
// Config.PayloadMax, are checked by the enqueue.
func (s Spec) Err() error {
	if s.badOptions != nil {
		return s.badOptions
	}
	return s.badPayload
}

// Validate makes those checks of an enqueue that need no client: Err, the names of kind and
// queue, and the lengths and times. The error is an ErrInvalid or an ErrTooLarge. Only the
// enqueue checks Config.PayloadMax, the policy's rules and the key.
func (s Spec) Validate() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.new.ID = 1 // a placeholder: the enqueue gives the job its id
	return store.Validate(&s.new)
}

// Kind returns the name of the job's kind.
func (s Spec) Kind() string { return s.new.Kind }

// Payload returns the job's payload: the arguments as JSON, or the bytes given to
// NewRaw. They must not be changed; see WithPayload.
func (s Spec) Payload() []byte { return s.new.Payload }

// Options returns a copy of the job's options with their defaults filled in. Attrs is never
// nil, and its numbers have the type json.Number. If the number of attempts was given as
// Override.MaxAttempts, it is moved to MaxAttempts. It stays in Override only if other
// settings of Override allow more attempts. To change options, change the copy and call
// WithOptions.
func (s Spec) Options() Options {
	n := &s.new
	o := Options{
		Queue: n.Queue, Priority: int(n.Priority), RunAt: n.RunAt.Time(), Deadline: n.Deadline.Time(),
		Key: n.Key, KeyUntil: n.KeyUntil.Time(),
		Owner: n.Owner, Correlation: n.Correlation, Attrs: map[string]any{}, Batch: n.Batch,
	}
	o.KeyJSON = s.keyJSON
	if s.unique != nil {
		o.Key, o.Unique = "", new(*s.unique)
	}
	if len(n.Attrs) > 0 {
		d := json.NewDecoder(bytes.NewReader(n.Attrs))
		d.UseNumber()
		_ = d.Decode(&o.Attrs) // the error is ignored, because newSpec has already encoded the attributes
	}
	o.Override, _ = policy.ParseOverride(n.Override) // the error is ignored, because newSpec has already encoded the settings
	o.takeMaxAttempts()
	return o
}

// takeMaxAttempts moves the number in Override.MaxAttempts to MaxAttempts, unless the new
// options would then contradict each other.
func (o *Options) takeMaxAttempts() {
	if o.Override == nil || o.Override.MaxAttempts == nil {
		return
	}
	rest, with := *o.Override, *o
	rest.MaxAttempts = nil
	with.MaxAttempts, with.Override = *o.Override.MaxAttempts, &rest
	if _, err := with.override(); err != nil {
		return
	}
	if reflect.ValueOf(rest).IsZero() {
		with.Override = nil
	}
	*o = with
}

// WithOptions returns a copy of the job with other options.
func (s Spec) WithOptions(o Options) Spec {
	with := newSpec(s.new.Kind, s.new.Payload, &o)
	with.args, with.badPayload, with.rewritten, with.largeBy = s.args, s.badPayload, s.rewritten, s.largeBy
	return with
}

// WithPayload returns a copy of the job with another payload. The new payload must be JSON
// if Kind.New made the job.
func (s Spec) WithPayload(payload []byte) Spec {
	s.checkedBy, s.rewritten = nil, true
	s.new.Payload = payload
	s.setKey()
	s.badPayload = s.validJSON()
	return s
}

// validJSON returns an ErrInvalid if the kind takes JSON arguments and the payload is not
// JSON.
func (s *Spec) validJSON() error {
	if s.args == nil || json.Valid(s.new.Payload) {
		return nil
	}
	return fmt.Errorf("payload of kind %q: the %d bytes are not JSON, but the kind takes JSON arguments: %w",
		s.new.Kind, len(s.new.Payload), store.ErrInvalid)
}

// Options are the optional settings of a job. The zero value of every field is its
// default.
type Options struct {
	Queue    string    // the queue of the job; default DefaultQueue
	Priority int       // the priority: job.PriorityMin (runs first) to job.PriorityMax; default job.PriorityDefault
	RunAt    time.Time // the job does not start before this time; default at once
	Deadline time.Time // the job does not start at this time or later; default never

	// Key is the idempotency key. If a job with the same owner, kind and key exists, an
	// enqueue returns that job, or an error when its payload differs.
	Key string
	// KeyJSON compares the payload with that of the job that has the key as JSON: white space
	// and the order of fields do not matter. By default the bytes are compared.
	KeyJSON bool
	// KeyUntil is when the store forgets the key; default never.
	KeyUntil time.Time
	// Unique makes an enqueue return an earlier job with the same arguments, if there is
	// one, as a known Key does; see Unique. It contradicts Key and KeyUntil.
	Unique *Unique

	Owner       string         // the owner of the job, such as a user or tenant
	Correlation string         // the caller's id for logs
	Attrs       map[string]any // the job's attributes, a JSON object of at most job.AttrsMax bytes
	Batch       int64          // the number of the batch that the job belongs to; default none

	// MaxAttempts is an upper bound: the number of attempts in one life after which the job
	// is dead, at most policy.MaxAttemptsLimit; 0 means that the policy decides. It adds no
	// retries: a job with MaxAttempts 10 whose failures have a class with two retries is
	// dead after three attempts. To give a job more retries, set Override.MaxRetries, or
	// HandlerOptions.Schedule for its kind. The lowest of MaxAttempts, Config.MaxAttempts
	// and the limits of the policy applies. Override.MaxAttempts is the same setting, so a
	// different value there is an error.
	MaxAttempts int
	// Override is the job's own settings for its retries. They take precedence over the
	// settings of the policy, except for its limits. They stay with the job in all its
	// lives.
	Override *policy.Override
}

// override returns the job's own settings for its retries, or nil when it has none.
func (o *Options) override() (*policy.Override, error) {
	if o.MaxAttempts == 0 {
		return o.Override, nil
	}
	n := o.MaxAttempts
	if n < 1 || n > policy.MaxAttemptsLimit {
		return nil, fmt.Errorf("MaxAttempts %d: must be 1 to %d, or 0 for what the policy says: %w", n, policy.MaxAttemptsLimit, store.ErrInvalid)
	}
	all := policy.Override{}
	if o.Override != nil {
		all = *o.Override
	}
	for _, given := range []struct {
		name  string
		value *int
		most  int
	}{{"MaxRetries", all.MaxRetries, n - 1}, {"MaxTotalRetries", all.MaxTotalRetries, n - 1}} {
		if given.value != nil && *given.value > given.most {
			return nil, fmt.Errorf("MaxAttempts %d allows %d retries, but Override.%s is %d: raise MaxAttempts or lower the override: %w",
				n, given.most, given.name, *given.value, store.ErrInvalid)
		}
	}
	switch {
	case all.MaxAttempts != nil && *all.MaxAttempts != n:
		return nil, fmt.Errorf("MaxAttempts %d and Override.MaxAttempts %d contradict each other: set one of them: %w",
			n, *all.MaxAttempts, store.ErrInvalid)
	case all.Retry != nil && !*all.Retry && n > 1:
		return nil, fmt.Errorf("MaxAttempts %d and Override.Retry false contradict each other: set one of them: %w", n, store.ErrInvalid)
	}
	all.MaxAttempts = &n
	return &all, nil
}

func newSpec(kind string, payload []byte, o *Options) Spec {
	if o == nil {
		o = &Options{}
	}
	s := Spec{rewritten: true, keyJSON: o.KeyJSON, new: job.New{
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
	if err := s.fill(o); err != nil {
		s.badOptions = invalid(fmt.Errorf("job of kind %q: %w", kind, err))
	} else {
		s.setKey()
	}
	return s
}

// fill sets the options of the Spec and returns an error for a wrong one.
func (s *Spec) fill(o *Options) error {
	if err := o.Unique.check(o); err != nil {
		return err
	}
	if o.Unique != nil {
		s.unique = new(*o.Unique)
		s.new.KeyPeriod = s.unique.Period
	}
	own, err := o.override()
	if err != nil {
		return err
	}
	if own != nil {
		if err := own.Validate(); err != nil {
			return err
		}
		s.new.Override = own.Encode()
	}
	if o.Priority != 0 {
		if o.Priority < job.PriorityMin || o.Priority > job.PriorityMax {
			return fmt.Errorf("priority %d: must be %d to %d", o.Priority, job.PriorityMin, job.PriorityMax)
		}
		s.new.Priority = int8(o.Priority)
	}
	if len(o.Attrs) > 0 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false) // a json.RawMessage keeps its <, > and &
		if err := e.Encode(o.Attrs); err != nil {
			return fmt.Errorf("attributes: %w", err)
		}
		s.new.Attrs = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	return nil
}

// setKey sets the field that depends on the payload: for a unique job the key, and for other
// jobs the digest by which payloads of jobs with the same key are compared.
func (s *Spec) setKey() {
	switch n := &s.new; {
	case s.unique != nil:
		n.Key, n.Digest = s.unique.key(n.Payload), nil // jobs with the same key have the same payload
	case n.Key != "":
		payload := n.Payload
		if s.keyJSON {
			payload = canonical.JSON(payload)
		}
		sum := sha256.Sum256(payload)
		n.Digest = sum[:16]
	}
}
