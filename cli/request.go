package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// request is a job as it was asked for, on the command line or by a line.
type request struct {
	kind, queue, owner, key, correlation string
	payload                              []byte
	priority                             *int
	runAt, deadline                      time.Time
	in                                   *time.Duration
	attrs                                map[string]any
}

// rules turn requests into jobs, as the configuration wants them.
type rules struct {
	settings
	now time.Time
}

// spec checks a request.
func (r *rules) spec(q *request) (redrive.Spec, error) {
	k, err := r.kind(q.kind)
	if err != nil {
		return redrive.Spec{}, err
	}
	o := redrive.Options{
		Queue: cmp.Or(q.queue, k.Queue), Priority: k.Priority, Owner: q.owner, Key: q.key, Correlation: q.correlation,
		Attrs: q.attrs, RunAt: q.runAt, Deadline: q.deadline,
	}
	if _, ok := r.Queues[o.Queue]; !ok && r.file != "" {
		return redrive.Spec{}, errors.New(unknown("queue", o.Queue, r.QueueNames))
	}
	if q.priority != nil {
		o.Priority = *q.priority
	}
	if q.in != nil {
		o.RunAt = r.now.Add(*q.in)
	}
	for _, err := range []error{q.checkTimes(), r.checkPayload(q, &k), validate(q, &o)} {
		if err != nil {
			return redrive.Spec{}, err
		}
	}
	return redrive.NewRaw(q.kind, q.payload, &o), nil
}

// kind returns what is configured about a kind. Without a configuration every
// name is one.
func (r *rules) kind(name string) (config.Kind, error) {
	k, ok := r.Kinds[name]
	if !ok && r.file != "" {
		return k, errors.New(unknown("kind", name, r.KindNames))
	}
	return k, nil
}

func (q *request) checkTimes() error {
	if q.in != nil && (*q.in < 0 || !q.runAt.IsZero()) {
		return fmt.Errorf("in %s: must not be negative and not come with a time to run at", *q.in)
	}
	return nil
}

func (r *rules) checkPayload(q *request, k *config.Kind) error {
	switch {
	case len(q.payload) > r.Limits.PayloadBytes:
		return fmt.Errorf("payload is longer than %d bytes (limits.payload); keep large data elsewhere and name it",
			r.Limits.PayloadBytes)
	case k.Payload != config.PayloadJSON || json.Valid(q.payload):
		return nil
	case len(q.payload) == 0:
		return fmt.Errorf("payload of kind %q is missing; give JSON, such as {}", q.kind)
	}
	return fmt.Errorf("payload of kind %q is not JSON; give JSON, or set payload: text for the kind", q.kind)
}

// asText gives a kind with text payloads the text that a JSON line holds.
func (r *rules) asText(q *request) error {
	k, ok := r.Kinds[q.kind]
	if !ok || k.Payload != config.PayloadText || len(q.payload) == 0 {
		return nil
	}
	var content string
	if err := json.Unmarshal(q.payload, &content); err != nil {
		return fmt.Errorf(`"payload" of kind %q must be a text, found %s`, q.kind, shorten(clean(string(q.payload)), 40))
	}
	q.payload = []byte(content)
	return nil
}

// validate checks a job as the store will, so that a mistake is found before
// the jobs beside it are taken in.
func validate(q *request, o *redrive.Options) error {
	n := job.New{
		ID: 1, Kind: q.kind, Queue: cmp.Or(o.Queue, redrive.DefaultQueue), Priority: job.PriorityDefault,
		RunAt: job.At(o.RunAt), Deadline: job.At(o.Deadline), Owner: o.Owner, Key: o.Key, Correlation: o.Correlation,
		Payload: q.payload,
	}
	if p := q.priority; p != nil && (*p < job.PriorityMin || *p > job.PriorityMax) {
		return fmt.Errorf("priority %d: must be %d to %d", *p, job.PriorityMin, job.PriorityMax)
	}
	if len(o.Attrs) > 0 {
		var err error
		if n.Attrs, err = json.Marshal(o.Attrs); err != nil {
			return fmt.Errorf("attrs: %w", err)
		}
	}
	return store.Validate(&n)
}
