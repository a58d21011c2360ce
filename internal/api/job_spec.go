package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// JobIn is a job to be enqueued. Its fields are those of a line of `redrive enqueue --file`, and a
// few more.
type JobIn struct {
	// Kind is the kind of the job.
	Kind string `json:"kind" jsonschema:"minLength=1,maxLength=64"`
	// Payload is any JSON value. Its bytes are kept exactly as they are sent.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Queue is the queue of the job; by default the queue of the kind.
	Queue string `json:"queue,omitempty" jsonschema:"maxLength=64"`
	// Priority is 1 (runs first) to 4; by default that of the kind, or 2.
	Priority *int `json:"priority,omitempty" jsonschema:"minimum=1,maximum=4"`
	// RunAt is when the job may start at the earliest: a time, or a duration from now.
	RunAt string `json:"run_at,omitempty"`
	// In is the time before the job may start, such as 90s or 2h.
	In string `json:"in,omitempty"`
	// DelayMS is the time before the job may start, in milliseconds.
	DelayMS *int64 `json:"delay_ms,omitempty" jsonschema:"minimum=0"`
	// Deadline is when the job is not started any more: a time, or a duration from now.
	Deadline string `json:"deadline,omitempty"`
	// Owner is the owner of the job, such as a user or a tenant.
	Owner string `json:"owner,omitempty" jsonschema:"maxLength=256"`
	// Key is the idempotency key: a job with the same owner, kind and key is returned, if it has the same payload.
	Key string `json:"key,omitempty" jsonschema:"maxLength=256"`
	// KeyUntil is when the key is forgotten: a time, or a duration from now. By default the key is
	// never forgotten.
	KeyUntil string `json:"key_until,omitempty"`
	// Unique is "alive" or a duration such as 24h: the earlier job with the same payload is returned while it is alive, or in the same period.
	Unique string `json:"unique,omitempty"`
	// Correlation is the caller's id for logs. By default it is X-Correlation-Id or the trace id of the request.
	Correlation string `json:"correlation,omitempty" jsonschema:"maxLength=256"`
	// Attrs are the attributes of the job.
	Attrs map[string]any `json:"attrs,omitempty"`
	// Batch is the number of the batch that the job belongs to.
	Batch int64 `json:"batch,omitempty" jsonschema:"minimum=0"`
	// Retry has the job's own settings for its retries.
	Retry *policy.Override `json:"retry,omitempty"`
}

// reader turns jobs of a request into specs and collects the mistakes.
type specReader struct {
	api      *API
	call     *Call
	now      time.Time
	header   string         // the Idempotency-Key of a request for one job
	batch    *intoBatch     // the batch to which the jobs are added; nil for none
	own      map[int64]bool // whether a batch that a job names is of the owner of the caller
	mistakes []Mistake
	kind     *Kind // the kind of the problem, if all mistakes have the same
}

func (r *specReader) add(k *Kind, m Mistake) {
	if len(r.mistakes) == 0 {
		r.kind = k
	} else if r.kind != k {
		r.kind = InvalidField
	}
	r.mistakes = append(r.mistakes, m)
}

// problem returns the problem with all mistakes, or nil.
func (r *specReader) problem() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	return r.kind.Mistaken(r.mistakes...)
}

// spec reads one job. The last argument is its JSON pointer.
func (r *specReader) spec(body []byte, at string) redrive.Spec {
	var in JobIn
	before := len(r.mistakes)
	for _, m := range strictjson.Decode(body, &in, at) {
		k := InvalidField
		if m.Unknown {
			k = UnknownField
		}
		r.add(k, Mistake{Pointer: m.Pointer, Detail: m.Detail})
	}
	return r.build(&in, at, before)
}

// build makes the spec of a job that was read. The mistakes of this job begin at the given index.
func (r *specReader) build(in *JobIn, at string, before int) redrive.Spec {
	o, payload := r.options(in, at), r.payload(in, at)
	if in.Kind == "" && !slices.ContainsFunc(r.mistakes[before:], func(m Mistake) bool { return m.Pointer == at+"/kind" }) {
		r.add(InvalidField, Mistake{Pointer: at + "/kind", Detail: "is missing; name the kind of the job"})
	}
	spec := redrive.NewRaw(in.Kind, payload, &o)
	if err := spec.Validate(); err != nil {
		r.explain(in, &o, at, before, err)
	}
	return spec
}

func (r *specReader) options(in *JobIn, at string) redrive.Options {
	kind, known := r.api.o.Kinds[in.Kind]
	if r.api.o.Kinds != nil && !known && in.Kind != "" {
		r.add(InvalidField, Mistake{Pointer: at + "/kind", Detail: suggest.Unknown("kind", in.Kind, r.api.kindNames())})
	}
	o := redrive.Options{
		Queue: cmp.Or(in.Queue, kind.Queue), Priority: kind.Priority, Owner: in.Owner, Key: in.Key, Attrs: in.Attrs, Batch: in.Batch,
		Correlation: cmp.Or(in.Correlation, r.call.Correlation), Override: in.Retry,
	}
	if in.Priority != nil {
		o.Priority = *in.Priority
		if *in.Priority < job.PriorityMin || *in.Priority > job.PriorityMax {
			r.add(InvalidField, Mistake{Pointer: at + "/priority", Detail: fmt.Sprintf("priority %d: must be %d to %d", *in.Priority, job.PriorityMin, job.PriorityMax), Bound: job.PriorityMax})
		}
	}
	if in.Queue != "" && r.api.o.Queues != nil && !slices.Contains(r.api.o.Queues, in.Queue) {
		r.add(InvalidField, Mistake{Pointer: at + "/queue", Detail: suggest.Unknown("queue", in.Queue, r.api.o.Queues)})
	}
	r.times(in, &o, at)
	if in.Unique != "" {
		period, err := wire.ParseUnique(in.Unique)
		if err != nil {
			r.add(InvalidField, Mistake{Pointer: at + "/unique", Detail: err.Error()})
		}
		o.Unique = &redrive.Unique{Period: period}
	}
	r.access(in, &o, at)
	r.member(in, &o, at)
	return o
}

// times reads the times of a job.
func (r *specReader) times(in *JobIn, o *redrive.Options, at string) {
	var starts []string // the fields that say when the job may start
	for _, t := range [...]struct {
		name, text string
		into       *time.Time
	}{{"run_at", in.RunAt, &o.RunAt}, {"deadline", in.Deadline, &o.Deadline}, {"key_until", in.KeyUntil, &o.KeyUntil}} {
		if t.text == "" {
			continue
		}
		when, err := human.ParseTimeIn(time.UTC, t.text, r.now, false)
		if err != nil {
			r.add(InvalidField, Mistake{Pointer: at + "/" + t.name, Detail: err.Error()})
		}
		*t.into = when
	}
	if in.RunAt != "" {
		starts = append(starts, "run_at")
	}
	if in.In != "" {
		starts = append(starts, "in")
		d, err := human.ParseDuration(in.In)
		if err != nil || d < 0 {
			r.add(InvalidField, Mistake{Pointer: at + "/in", Detail: fmt.Sprintf("%.40q must be %s", in.In, human.DurationForms)})
		}
		o.RunAt = r.now.Add(d)
	}
	if in.DelayMS != nil {
		starts = append(starts, "delay_ms")
		if *in.DelayMS < 0 || *in.DelayMS > delayMax.Milliseconds() {
			r.add(InvalidField, Mistake{Pointer: at + "/delay_ms", Detail: fmt.Sprintf("must be 0 to %d", delayMax.Milliseconds()), Bound: delayMax.Milliseconds()})
		} else {
			o.RunAt = r.now.Add(time.Duration(*in.DelayMS) * time.Millisecond)
		}
	}
	if n := len(starts); n > 1 {
		r.add(InvalidField, Mistake{Pointer: at + "/" + starts[n-1], Detail: "\"run_at\", \"in\" and \"delay_ms\" say the same: give one of them"})
	}
}

// delayMax is the largest delay of a job.
const delayMax = 100 * 365 * 24 * time.Hour

// access applies what the caller may submit, and the key in the header.
func (r *specReader) access(in *JobIn, o *redrive.Options, at string) {
	c := &r.call.Caller
	if c.Owner != "" {
		if in.Owner != "" && in.Owner != c.Owner {
			r.add(Forbidden, Mistake{Pointer: at + "/owner", Detail: "this caller may submit jobs only for the owner for whom it acts; leave the field out"})
		}
		o.Owner = c.Owner
		if in.Batch != 0 && r.batch == nil {
			r.ownBatch(in.Batch, at)
		}
	}
	if c.Kinds != nil && !slices.Contains(c.Kinds, in.Kind) {
		r.add(Forbidden, Mistake{Pointer: at + "/kind", Detail: "the caller may only submit jobs of the kinds " + suggest.List(c.Kinds)})
	}
	if queue := cmp.Or(o.Queue, redrive.DefaultQueue); c.Queues != nil && !slices.Contains(c.Queues, queue) {
		r.add(Forbidden, Mistake{Pointer: at + "/queue", Detail: "the caller may only submit jobs to the queues " + suggest.List(c.Queues)})
	}
	switch {
	case r.header == "":
	case in.Unique != "":
		r.add(InvalidField, Mistake{Header: headerKey, Detail: "contradicts \"unique\" in the body; send one of them"})
	case in.Key == "":
		o.Key, o.KeyUntil = r.header, r.now.Add(KeyUntilDefault)
	case in.Key != r.header:
		r.add(InvalidField, Mistake{Header: headerKey, Detail: "differs from \"key\" in the body; send one of them, or the same"})
	}
}

// payload returns the bytes of the payload.
func (r *specReader) payload(in *JobIn, at string) []byte {
	kind := r.api.o.Kinds[in.Kind]
	payload := []byte(in.Payload)
	switch {
	case kind.Text && len(payload) > 0:
		var content string
		if err := json.Unmarshal(payload, &content); err != nil {
			r.add(PayloadInvalid, Mistake{Pointer: at + "/payload", Detail: fmt.Sprintf("must be a string: the kind %q takes texts", in.Kind)})
		}
		payload = []byte(content)
	case len(payload) == 0 && !kind.Text:
		r.add(InvalidField, Mistake{Pointer: at + "/payload", Detail: "is missing; give JSON, such as {}"})
	}
	if len(payload) > r.api.o.PayloadMax {
		r.add(TooLarge, Mistake{Pointer: at + "/payload", Bound: r.api.o.PayloadMax,
			Detail: fmt.Sprintf("the payload has %d bytes: at most %d are allowed (limits.payload); store large data elsewhere and put only its address into the payload", len(payload), r.api.o.PayloadMax)})
	}
	return payload
}

// explain finds the fields that make a spec invalid, by checking each of them alone. The mistakes
// of this job begin at the given index; a field with a mistake is not checked again.
func (r *specReader) explain(in *JobIn, o *redrive.Options, at string, before int, all error) {
	found := make(map[string]bool)
	for _, m := range r.mistakes[before:] {
		found[m.Pointer] = true
	}
	for _, field := range [...]struct {
		name  string
		set   bool
		kind  string
		o     redrive.Options
		bound int
	}{
		{"kind", in.Kind != "", in.Kind, redrive.Options{}, job.NameMax},
		{"queue", o.Queue != "", "k", redrive.Options{Queue: o.Queue}, job.NameMax},
		{"owner", o.Owner != "", "k", redrive.Options{Owner: o.Owner}, job.TextMax},
		{"key", o.Key != "", "k", redrive.Options{Key: o.Key}, job.TextMax},
		{"correlation", o.Correlation != "", "k", redrive.Options{Correlation: o.Correlation}, job.TextMax},
		{"attrs", len(o.Attrs) > 0, "k", redrive.Options{Attrs: o.Attrs}, job.AttrsMax},
		{"batch", o.Batch != 0, "k", redrive.Options{Batch: o.Batch}, 0},
		{"retry", o.Override != nil, "k", redrive.Options{Override: o.Override}, 0},
	} {
		if !field.set || found[at+"/"+field.name] {
			continue
		}
		err := redrive.NewRaw(field.kind, []byte("{}"), &field.o).Validate()
		if err == nil {
			continue
		}
		m := Mistake{Pointer: at + "/" + field.name, Detail: plain(err)}
		if field.bound > 0 {
			m.Bound = field.bound
		}
		r.add(kindOf(err), m)
	}
	if len(r.mistakes) == before {
		r.add(kindOf(all), Mistake{Pointer: at, Detail: plain(all)})
	}
}

// kindOf returns the kind of a mistake that the client or the store has found.
func kindOf(err error) *Kind {
	if errors.Is(err, redrive.ErrTooLarge) {
		return TooLarge
	}
	return InvalidField
}

// plain returns the text of an error without the words of the store's own errors at its end.
func plain(err error) string {
	text := err.Error()
	for _, end := range []error{redrive.ErrInvalid, redrive.ErrTooLarge, redrive.ErrConflict} {
		text = strings.TrimSuffix(text, ": "+end.Error())
	}
	return text
}

func parseQuery(raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("the query is not valid: " + err.Error())
	}
	return query, nil
}
