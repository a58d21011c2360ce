package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// rules turn requests into jobs with the settings of the configuration.
type rules struct {
	settings
	now    time.Time
	checks map[string]redrive.PayloadCheck
}

// spec checks a request and returns the job to enqueue.
func (r *rules) spec(q *wire.Request) (redrive.Spec, error) {
	k, err := r.kind(q.Kind)
	if err != nil {
		return redrive.Spec{}, err
	}
	o := redrive.Options{
		Queue: cmp.Or(q.Queue, k.Queue), Priority: k.Priority, Owner: q.Owner, Key: q.Key, Correlation: q.Correlation,
		Attrs: q.Attrs, RunAt: q.RunAt, Deadline: q.Deadline, Override: q.Retry,
	}
	if _, ok := r.Queues[o.Queue]; !ok && r.file != "" {
		return redrive.Spec{}, absentError(suggest.Unknown("queue", o.Queue, r.QueueNames))
	}
	if q.Priority != nil {
		o.Priority = *q.Priority
	}
	if q.Unique != nil {
		o.Unique = &redrive.Unique{Period: *q.Unique}
	}
	if q.In != nil {
		o.RunAt = r.now.Add(*q.In)
	}
	for _, err := range []error{checkTimes(q), r.checkPayload(q, &k), checkPriority(q)} {
		if err != nil {
			return redrive.Spec{}, err
		}
	}
	spec := redrive.NewRaw(q.Kind, q.Payload, &o)
	return spec, spec.Validate() // Validate finds a mistake before the other jobs of the batch are enqueued
}

// kind returns the configuration of a kind. Without a configuration, every name is
// accepted.
func (r *rules) kind(name string) (config.Kind, error) {
	k, ok := r.Kinds[name]
	if !ok && r.file != "" {
		return k, absentError(suggest.Unknown("kind", name, r.KindNames))
	}
	return k, nil
}

func checkTimes(q *wire.Request) error {
	if q.In != nil && (*q.In < 0 || !q.RunAt.IsZero()) {
		return fmt.Errorf("in %s: the delay must not be negative, and cannot be used together with a time to run at", words.Span(*q.In))
	}
	return nil
}

func (r *rules) checkPayload(q *wire.Request, k *config.Kind) error {
	switch {
	case len(q.Payload) > r.Limits.PayloadBytes:
		return fmt.Errorf("the payload is longer than %d bytes (limits.payload); store large data elsewhere and put only its address into the payload",
			r.Limits.PayloadBytes)
	case k.Payload != config.PayloadJSON || json.Valid(q.Payload):
		return r.checkContent(q)
	case len(q.Payload) == 0:
		return fmt.Errorf("payload of kind %q is missing; give JSON, such as {}", q.Kind)
	}
	return fmt.Errorf("payload of kind %q is not JSON; give JSON, or set \"payload: text\" for the kind", q.Kind)
}

// checkContent returns the mistakes that the schema of the kind finds in the payload.
func (r *rules) checkContent(q *wire.Request) error {
	if check := r.checks[q.Kind]; check != nil {
		if mistakes := check.CheckPayload(q.Payload); len(mistakes) > 0 {
			return &redrive.PayloadError{Kind: q.Kind, Mistakes: mistakes}
		}
	}
	return nil
}

// asText converts the payload if the kind has texts as payloads: in the line of a file the payload
// is a JSON string, and the job gets the text itself.
func (r *rules) asText(q *wire.Request) error {
	k, ok := r.Kinds[q.Kind]
	if !ok || k.Payload != config.PayloadText || len(q.Payload) == 0 {
		return nil
	}
	var content string
	if err := json.Unmarshal(q.Payload, &content); err != nil {
		return fmt.Errorf(`"payload" of kind %q must be a text, found %s`, q.Kind, words.Shorten(words.Clean(string(q.Payload)), 40))
	}
	q.Payload = []byte(content)
	return nil
}

// checkPriority returns an error if the priority is out of range. A job without a priority
// gets the priority of its kind.
func checkPriority(q *wire.Request) error {
	if p := q.Priority; p != nil && (*p < job.PriorityMin || *p > job.PriorityMax) {
		return fmt.Errorf("priority %d: must be %d to %d", *p, job.PriorityMin, job.PriorityMax)
	}
	return nil
}
