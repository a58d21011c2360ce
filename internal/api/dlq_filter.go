package api

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
)

// DeadFilterIn selects dead letters. A dead letter must match all fields that are set. The fields
// are the parameters of GET /api/admin/dlq.
type DeadFilterIn struct {
	// Status has the statuses: pending, retried, resolved, ignored. Without it an action selects the
	// statuses that it changes.
	Status []string `json:"status,omitempty"`
	// TaskType is the kind of the jobs.
	TaskType string `json:"task_type,omitempty" jsonschema:"maxLength=256"`
	// FromDate selects deaths at this time or later: a time (without zone: UTC), or a duration ago.
	FromDate string `json:"from_date,omitempty" jsonschema:"maxLength=256"`
	// ToDate selects deaths at this time or earlier.
	ToDate string `json:"to_date,omitempty" jsonschema:"maxLength=256"`
	Class  string `json:"class,omitempty" jsonschema:"maxLength=256"`
	Queue  string `json:"queue,omitempty" jsonschema:"maxLength=256"`
	Owner  string `json:"owner,omitempty" jsonschema:"maxLength=256"`
	Reason string `json:"reason,omitempty" jsonschema:"maxLength=256"`
	// Group is a fingerprint: the dead letters of one cause.
	Group       string `json:"group,omitempty" jsonschema:"maxLength=256"`
	Correlation string `json:"correlation,omitempty" jsonschema:"maxLength=256"`
	// Text is a part of the message of the last failure.
	Text string `json:"text,omitempty" jsonschema:"maxLength=256"`
	// Redrive selects the dead letters that this redrive was the last to retry.
	Redrive int64 `json:"redrive,omitempty" jsonschema:"minimum=0"`
	// All selects all dead letters. Without another field, it is needed.
	All bool `json:"all,omitempty"`
}

// deadParams returns the parameters that select dead letters.
func deadParams() []Param {
	q := func(name, doc string) Param { return Param{Name: name, In: "query", Doc: doc} }
	return []Param{
		{Name: "status", In: "query", Doc: "Dead letters with these statuses.", Many: true, Enum: statusNames()},
		q("task_type", "Dead letters of jobs of this kind."),
		q("from_date", "Deaths at this time or later: a time (without zone: UTC), or a duration ago such as 2h."),
		q("to_date", "Deaths at this time or earlier, in the same forms."),
		q("class", "Deaths of this class of failure."), q("queue", "Dead letters of this queue."), q("owner", "Dead letters of this owner."),
		q("reason", "Deaths for this reason, such as max_retries_exceeded."), q("group", "Dead letters of this cause: its fingerprint."),
		q("correlation", "Dead letters with this correlation id."), q("text", "Deaths with this text in the message."),
		{Name: "redrive", In: "query", Doc: "Dead letters that this redrive was the last to retry.", Type: "integer"},
	}
}

func statusNames() []string {
	names := make([]string, len(job.Statuses))
	for i, s := range job.Statuses {
		names[i] = s.String()
	}
	return names
}

// statusOf returns the status that a word names.
func statusOf(word string) (job.Status, error) {
	names := statusNames()
	if i := slices.Index(names, word); i >= 0 {
		return job.Statuses[i], nil
	}
	return 0, fmt.Errorf("%s", suggest.Unknown("status", word, names))
}

// deadFilter reads a filter of dead letters from the query.
func (q *queryReader) deadFilter(c *Call) redrive.DeadFilter {
	in := DeadFilterIn{
		Status: q.list("status"), TaskType: q.text("task_type"), FromDate: q.text("from_date"), ToDate: q.text("to_date"), Class: q.text("class"),
		Queue: q.text("queue"), Owner: q.text("owner"), Reason: q.text("reason"), Group: q.text("group"), Correlation: q.text("correlation"),
		Text: q.text("text"), Redrive: q.number("redrive", 1, 1<<62, 0),
	}
	f, mistakes := in.filter(q.now)
	for _, m := range mistakes {
		q.mistakes = append(q.mistakes, Mistake{Parameter: strings.TrimPrefix(m.Pointer, "/"), Detail: m.Detail, Bound: m.Bound})
	}
	owner := c.Caller.Owner
	if owner == "" {
		return f
	}
	if f.Owner != "" && f.Owner != owner {
		q.add("owner", "this caller may see only dead letters of the owner for whom it acts; leave the parameter out", nil)
	}
	f.Owner = owner
	for _, inside := range [...]string{"text", "group", "queue", "redrive"} { // an owner does not see them, and must not guess them either
		if q.values.Get(inside) != "" {
			q.add(inside, "callers with an owner cannot select by it; leave the parameter out", nil)
		}
	}
	return f
}

// filter returns the filter of the store, and the mistakes with pointers into the filter.
func (in *DeadFilterIn) filter(now time.Time) (redrive.DeadFilter, []Mistake) {
	var wrong []Mistake
	f := redrive.DeadFilter{
		Kind: in.TaskType, Class: in.Class, Queue: in.Queue, Owner: in.Owner, Reason: job.Reason(in.Reason), Group: in.Group,
		Correlation: in.Correlation, Text: in.Text, Redrive: in.Redrive,
	}
	for _, word := range in.Status {
		s, err := statusOf(word)
		if err != nil {
			wrong = append(wrong, Mistake{Pointer: "/status", Detail: err.Error()})
		} else if !slices.Contains(f.Statuses, s) {
			f.Statuses = append(f.Statuses, s)
		}
	}
	slices.Sort(f.Statuses)
	when := func(name, text string) job.Micros {
		if text == "" {
			return 0
		}
		at, err := human.ParseTimeIn(time.UTC, text, now, true)
		if err != nil {
			wrong = append(wrong, Mistake{Pointer: "/" + name, Detail: err.Error()})
			return 0
		}
		return job.At(at)
	}
	f.Since = when("from_date", in.FromDate)
	if f.Until = when("to_date", in.ToDate); f.Until != 0 {
		f.Until++ // to_date is included
		if f.Until <= f.Since {
			wrong = append(wrong, Mistake{Pointer: "/to_date", Detail: "is before from_date"})
		}
	}
	if len(wrong) > 0 {
		return f, wrong
	}
	if err := f.Validate(); err != nil {
		wrong = append(wrong, Mistake{Detail: plain(err)})
	}
	return f, wrong
}

// bodyFilter returns the filter of a body in which it is the field filter.
func (a *API) bodyFilter(in *DeadFilterIn) (redrive.DeadFilter, error) {
	if in == nil {
		return redrive.DeadFilter{}, InvalidField.Mistaken(Mistake{Pointer: "/filter", Detail: "is missing"})
	}
	f, wrong := in.filter(a.o.Now())
	for i := range wrong {
		wrong[i].Pointer = "/filter" + wrong[i].Pointer
	}
	if rest := *in; len(wrong) == 0 {
		rest.All, rest.Status = false, nil
		if given := !reflect.ValueOf(rest).IsZero() || len(in.Status) > 0; given == in.All {
			wrong = append(wrong, Mistake{Pointer: "/filter", Detail: "must have at least one field; all: true, and no other field, selects all dead letters"})
		}
	}
	if len(wrong) > 0 {
		return f, InvalidField.Mistaken(wrong...)
	}
	return f, nil
}

// flag returns the value of a boolean parameter, or false if it is not given.
func (q *queryReader) flag(name string) bool {
	switch text := q.values.Get(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		q.add(name, fmt.Sprintf("%.40q: must be true or false", text), nil)
		return false
	}
}
