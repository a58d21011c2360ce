package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
)

// Cron is a job that is enqueued periodically.
type Cron struct {
	// Expression is a cron expression in the form that internal/cron reads.
	Expression string
	// Timezone is the IANA name of a time zone. Default "UTC".
	Timezone string
	// Catch is the longest delay with which a slot may still be fired. 0 means that a slot may
	// be fired until the next slot. Default 0.
	Catch time.Duration
	// Kind names a kind of the same Config.
	Kind string
	// Payload is JSON or a text, depending on the setting Payload of the kind. Default "{}" for
	// JSON and "" for a text.
	Payload []byte
	// Queue names a queue of the same Config. Default: the queue of the kind.
	Queue string
	// Priority is 1 to 4. Default: the priority of the kind.
	Priority int
	// Owner is the owner of the job. Default "".
	Owner string
	// Correlation is the correlation id of the job. Default "", which means that redrive.Cron
	// sets the id.
	Correlation string
	// Attrs are the job's attributes, whose numbers have the type json.Number. Default nil.
	Attrs map[string]any
}

func (r *reader) cron(v value, c *Config) {
	r.Named(v, `a mapping such as {nightly: {schedule: "0 3 * * *", kind: report}}`, "schedule", func(name string, at position, v value) {
		if c.Cron == nil {
			c.Cron = map[string]Cron{}
		}
		c.Cron[name] = r.cronJob(v, at, c)
		c.CronNames = append(c.CronNames, name)
	})
}

func (r *reader) cronJob(v value, at position, c *Config) Cron {
	s := Cron{Timezone: "UTC"}
	var payload value
	r.Fields(v, `a mapping such as {schedule: "0 3 * * *", kind: report}`, []field{
		{"schedule", r.schedule(&s.Expression)},
		{"timezone", r.timezone(&s.Timezone)},
		{"catch", r.Duration(&s.Catch, catchMin, catchMax)},
		{"kind", r.NonEmpty(&s.Kind)},
		{"payload", func(v value) { payload = v }},
		{"queue", r.NonEmpty(&s.Queue)},
		{"priority", r.Integer(&s.Priority, priorityMin, priorityMax, "")},
		{"owner", r.NonEmpty(&s.Owner)},
		{"correlation", r.NonEmpty(&s.Correlation)},
		{"attrs", r.attrs(&s.Attrs)},
	})
	if v.Shape != yamlfile.Mapping && v.Shape != yamlfile.Null {
		return s
	}
	if v.Get("schedule") == nil {
		r.Addf(at, `%s has no schedule; add one such as schedule: "*/5 * * * *"`, v.Path)
	}
	if queue := v.Get("queue"); queue != nil && s.Queue != "" {
		r.checkQueue(queue.Pos, v.Path+".queue", s.Queue, c)
	}
	kind := v.Get("kind")
	switch k, ok := c.Kinds[s.Kind]; {
	case kind == nil:
		r.Addf(at, "%s has no kind; name one of \"kinds\"", v.Path)
	case s.Kind == "": // the mistake in the value of kind is already reported
	case !ok:
		names := slices.DeleteFunc(slices.Clone(c.KindNames), func(name string) bool { return !yamlfile.IsName(name) })
		hint := suggest.DidYouMean(s.Kind, names)
		if hint == "" {
			hint = "; use one of them or define it"
		}
		r.Addf(kind.Pos, "%s.kind %s is not defined under \"kinds\" (defined: %s)%s",
			v.Path, yamlfile.Quote(s.Kind), suggest.List(names), hint)
	default:
		s.Payload = r.payload(payload, &k, c)
		if s.Queue == "" {
			s.Queue = k.Queue
		}
		if s.Priority == 0 {
			s.Priority = k.Priority
		}
	}
	return s
}

// schedule reads a cron expression and reports the exact position of a mistake.
func (r *reader) schedule(into *string) func(value) {
	return func(v value) {
		r.NonEmpty(into)(v)
		if v.Shape != yamlfile.Text || v.Text == "" {
			return
		}
		if _, err := cron.Parse(v.Text, nil); err != nil {
			at := v.Pos
			if problem, ok := errors.AsType[*cron.Problem](err); ok && problem.Offset > 0 {
				at = r.Inside(v, problem.Offset)
			}
			r.Addf(at, "%s: %s", v.Path, err)
		}
	}
}

func (r *reader) timezone(into *string) func(value) {
	return func(v value) {
		r.NonEmpty(into)(v)
		if v.Shape != yamlfile.Text || v.Text == "" {
			return
		}
		if _, err := cron.Zone(v.Text); err != nil {
			r.Addf(v.Pos, "%s is %s: %s", v.Path, yamlfile.Quote(v.Text), err)
		}
	}
}

// payload reads the payload of the jobs of one kind. For a kind with JSON payloads, any value is
// allowed and is encoded as JSON. For other kinds, the value must be a text.
func (r *reader) payload(v value, k *Kind, c *Config) (payload []byte) {
	asJSON := k.Payload == PayloadJSON
	switch {
	case v.Node == nil && asJSON:
		return []byte("{}")
	case v.Node == nil:
		return nil
	case !asJSON:
		var text string
		r.Words(&text)(v)
		payload = []byte(text)
	case v.Shape == yamlfile.Text && (bytes.HasPrefix([]byte(v.Text), []byte("{")) || bytes.HasPrefix([]byte(v.Text), []byte("["))) &&
		json.Valid([]byte(v.Text)):
		r.Addf(v.Pos, "%s would be a text that holds JSON; write it without the quotes", v.Path)
	default:
		payload, _ = r.asJSON(v)
	}
	if len(payload) > c.Limits.PayloadBytes {
		r.Addf(v.Pos, "%s has %d bytes, more than the %d of limits.payload; store large data elsewhere and put only its address into the payload",
			v.Path, len(payload), c.Limits.PayloadBytes)
	}
	return payload
}

func (r *reader) attrs(into *map[string]any) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, "a mapping such as {customer: acme, minutes: 90}") {
			return
		}
		text, ok := r.asJSON(v)
		if !ok {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			r.Addf(v.Pos, "%s cannot be written as JSON: %s", v.Path, err)
		}
	}
}

// asJSON returns a value of the file as JSON, or reports a value that JSON cannot
// express.
func (r *reader) asJSON(v value) (text []byte, ok bool) {
	switch v.Shape {
	case yamlfile.Null:
		return []byte("null"), true
	case yamlfile.Number:
		if !json.Valid([]byte(v.Text)) {
			r.Mismatch(v, "a number as JSON has it, such as 12 or -0.5", "; or put it in quotes")
			return nil, false
		}
		return []byte(v.Text), true
	case yamlfile.Bool:
		var b bool
		r.Boolean(&b)(v)
		return []byte(v.Text), v.Shape == yamlfile.Bool
	case yamlfile.Text:
		text, err := json.Marshal(v.Text)
		return text, err == nil
	case yamlfile.List:
		text, ok = []byte{'['}, true
		for i := range v.Items {
			item, itemOK := r.asJSON(v.Item(i))
			text, ok = join(text, item), ok && itemOK
		}
		return append(text, ']'), ok
	case yamlfile.Mapping:
		text, ok = []byte{'{'}, true
		for _, e := range v.Entries {
			key, err := json.Marshal(e.Key)
			item, itemOK := r.asJSON(value{Node: e.Value, Path: yamlfile.Join(v.Path, yamlfile.Clip(e.Key))})
			text, ok = append(append(join(text, key), ':'), item...), ok && itemOK && err == nil
		}
		return append(text, '}'), ok
	case yamlfile.Invalid:
	}
	return nil, false
}

// join appends an item to the text of a JSON list. It puts a comma before every item except the
// first.
func join(text, item []byte) []byte {
	if len(text) > 1 {
		text = append(text, ',')
	}
	return append(text, item...)
}
