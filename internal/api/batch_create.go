package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
)

// BatchIn is a batch to be created.
type BatchIn struct {
	// Key is the key of the batch, unique for its owner: with a known key, that batch is returned.
	Key string `json:"key,omitempty" jsonschema:"maxLength=256"`
	// Name is what people call the batch.
	Name string `json:"name,omitempty" jsonschema:"maxLength=256"`
	// Owner is the owner of the batch and of its members.
	Owner string `json:"owner,omitempty" jsonschema:"maxLength=256"`
	// Attrs are the attributes of the batch.
	Attrs map[string]any `json:"attrs,omitempty"`
	// Callbacks are jobs that are enqueued when the batch ends; at most 8.
	Callbacks []BatchCallbackIn `json:"callbacks,omitempty"`
	// ExpiresAt is when the batch expires after its end: a time (without zone: UTC), or a duration from now
	// such as 30d. Without it, the batch does not expire.
	ExpiresAt string `json:"expires_at,omitempty" jsonschema:"maxLength=256"`
}

// BatchCallbackIn is a job that is enqueued when a batch ends.
type BatchCallbackIn struct {
	// On is ready, partial or failed, or end for each of them.
	On string `json:"on" jsonschema:"enum=ready,enum=partial,enum=failed,enum=end"`
	// Kind is the kind of the job.
	Kind string `json:"kind" jsonschema:"maxLength=64"`
	// Queue is the queue of the job; by default the queue of the kind.
	Queue string `json:"queue,omitempty" jsonschema:"maxLength=64"`
	// Priority is 1 (runs first) to 4.
	Priority int `json:"priority,omitempty" jsonschema:"minimum=0,maximum=4"`
	// Payload is any JSON value. It becomes the field data of the payload, beside the counts of the batch.
	Payload json.RawMessage `json:"payload,omitempty"`
}

// createBatch creates a batch.
func (a *API) createBatch(c *Call) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	var in BatchIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	spec, err := a.batchSpec(c, &in, key)
	if err != nil {
		return err
	}
	h, err := a.client.NewBatch(c.Context(), c.By(""), spec)
	if errors.Is(err, redrive.ErrConflict) {
		at := Mistake{Pointer: "/key", Detail: plain(err)}
		if in.Key == "" {
			at = Mistake{Header: headerKey, Detail: plain(err)}
		}
		return KeyReused.Mistaken(at)
	}
	if err != nil {
		return err
	}
	b, err := a.visibleBatch(c, h)
	if err != nil {
		return err
	}
	if h.Existing() {
		c.W.Header().Set("Idempotent-Replayed", "true")
		return c.JSON(http.StatusOK, a.batchOut(c, &b))
	}
	c.W.Header().Set("Location", fmt.Sprintf("%s/api/batches/%d", a.o.Base, b.ID))
	return c.JSON(http.StatusCreated, a.batchOut(c, &b))
}

// batchSpec reads a batch that the caller may create.
func (a *API) batchSpec(c *Call, in *BatchIn, key string) (redrive.BatchSpec, error) {
	spec := redrive.BatchSpec{Key: cmp.Or(in.Key, key), Name: in.Name, Owner: in.Owner}
	var wrong []Mistake
	if key != "" && in.Key != "" && in.Key != key {
		wrong = append(wrong, Mistake{Header: headerKey, Detail: "differs from \"key\" in the body; send one of them, or the same"})
	}
	if c.Caller.Owner != "" {
		if in.Owner != "" && in.Owner != c.Caller.Owner {
			return spec, Forbidden.Mistaken(Mistake{Pointer: "/owner", Detail: "this caller may create batches only for the owner for whom it acts; leave the field out"})
		}
		spec.Owner = c.Caller.Owner
	}
	if len(in.Attrs) > 0 {
		attrs, err := json.Marshal(in.Attrs)
		if err != nil {
			return spec, InvalidField.Mistaken(Mistake{Pointer: "/attrs", Detail: err.Error()})
		}
		spec.Attrs = attrs
	}
	for i := range in.Callbacks {
		callback, err := a.callback(c, &in.Callbacks[i], fmt.Sprintf("/callbacks/%d", i))
		if p, ok := errors.AsType[*Problem](err); ok && p.kind == Forbidden {
			return spec, p
		} else if ok {
			wrong = append(wrong, p.Errors...)
		}
		spec.Callbacks = append(spec.Callbacks, callback)
	}
	at, err := a.future("/expires_at", in.ExpiresAt)
	if p, ok := errors.AsType[*Problem](err); ok {
		wrong = append(wrong, p.Errors...)
	}
	if spec.ExpiresAt = at; len(wrong) > 0 {
		return spec, InvalidField.Mistaken(wrong...)
	}
	if err := spec.Validate(); err != nil {
		return spec, kindOf(err).Mistaken(Mistake{Detail: plain(err)})
	}
	return spec, nil
}

// callback reads a callback. The caller must be allowed to submit such a job.
func (a *API) callback(c *Call, in *BatchCallbackIn, at string) (redrive.BatchCallback, error) {
	kind, known := a.o.Kinds[in.Kind]
	out := redrive.BatchCallback{On: in.On, Kind: in.Kind, Queue: cmp.Or(in.Queue, kind.Queue, redrive.DefaultQueue), Priority: int8(in.Priority), Payload: in.Payload}
	var wrong []Mistake
	if a.o.Kinds != nil && !known {
		wrong = append(wrong, Mistake{Pointer: at + "/kind", Detail: suggest.Unknown("kind", in.Kind, a.kindNames())})
	}
	if a.o.Queues != nil && in.Queue != "" && !slices.Contains(a.o.Queues, in.Queue) {
		wrong = append(wrong, Mistake{Pointer: at + "/queue", Detail: suggest.Unknown("queue", in.Queue, a.o.Queues)})
	}
	if in.Priority < 0 || in.Priority > job.PriorityMax {
		wrong = append(wrong, Mistake{Pointer: at + "/priority", Detail: fmt.Sprintf("must be %d to %d", job.PriorityMin, job.PriorityMax), Bound: job.PriorityMax})
	}
	switch allowed := &c.Caller; {
	case allowed.Kinds != nil && !slices.Contains(allowed.Kinds, in.Kind):
		return out, Forbidden.Mistaken(Mistake{Pointer: at + "/kind", Detail: "the caller may only submit jobs of the kinds " + suggest.List(allowed.Kinds)})
	case allowed.Queues != nil && !slices.Contains(allowed.Queues, out.Queue):
		return out, Forbidden.Mistaken(Mistake{Pointer: at + "/queue", Detail: "the caller may only submit jobs to the queues " + suggest.List(allowed.Queues)})
	case len(wrong) > 0:
		return out, InvalidField.Mistaken(wrong...)
	}
	return out, nil
}
