package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
)

// Filter selects jobs and gives the order of a list of them. A job must match all fields that
// are not zero.
type Filter struct {
	States      []job.State `json:"states,omitempty"`
	Kind        string      `json:"kind,omitempty"`
	Queue       string      `json:"queue,omitempty"`
	Owner       string      `json:"owner,omitempty"`
	Batch       int64       `json:"batch,omitempty"`
	Worker      string      `json:"worker,omitempty"` // the name of the process that runs the job or has run it last
	Correlation string      `json:"correlation,omitempty"`
	// Key selects the job of Kind and Owner that holds this idempotency key now. It needs
	// Kind. Without Owner, it selects a job that has no owner.
	Key  string `json:"key,omitempty"`
	Attr Attr   `json:"attr,omitzero"`
	// Class, Group and Text select retrying and dead jobs by their last failure. Group is a
	// fingerprint. Text is a part of the failure's message, compared without regard to case.
	Class  string     `json:"class,omitempty"`
	Group  string     `json:"group,omitempty"`
	Text   string     `json:"text,omitempty"`
	Reason job.Reason `json:"reason,omitempty"` // the reason of a death; selects only dead jobs

	Created Span `json:"created,omitzero"` // range of times at which the job was enqueued
	Ended   Span `json:"ended,omitzero"`   // range of times at which the job was completed or cancelled, or became dead
	Due     Span `json:"due,omitzero"`     // range of times at which a waiting or retrying job may start

	Order Order  `json:"order,omitzero"`
	From  Cursor `json:"from,omitzero"`   // the field Next of the previous page; the zero value starts at the beginning
	Limit int    `json:"limit,omitempty"` // maximum number of jobs on the page, 1 to job.PageMax; 0 means 50
}

// Attr selects jobs that have an attribute with this value. A number or a boolean is
// compared with its JSON text. An empty Name selects everything.
type Attr struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Span is a range of time. A zero field means no bound.
type Span struct {
	Since job.Micros `json:"since,omitempty"` // the range begins at this time and includes it
	Until job.Micros `json:"until,omitempty"` // the range ends before this time
}

// Has reports whether the given time is in the range. The value 0 means that the time is not set;
// only a range without bounds contains an unset time.
func (s Span) Has(at job.Micros) bool {
	return s == Span{} || at != 0 && at >= s.Since && (s.Until == 0 || at < s.Until)
}

// Order is the order of a list of jobs.
type Order uint8

// The orders of a list.
const (
	Newest Order = 0 // all jobs, the highest id first
	Due    Order = 1 // waiting and retrying jobs, the earliest due time first
	Ended  Order = 2 // completed, cancelled and dead jobs, the latest end first
)

var orderNames = [...]string{"newest", "due", "ended"}

// String returns the name of the order.
func (o Order) String() string {
	if int(o) < len(orderNames) {
		return orderNames[o]
	}
	return fmt.Sprintf("order(%d)", uint8(o))
}

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts the names that String
// returns.
func (o *Order) UnmarshalText(text []byte) error {
	i := slices.Index(orderNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("order %q is unknown: it must be newest, due or ended", text)
	}
	*o = Order(i)
	return nil
}

// States returns the states of the jobs that a list in this order can contain. It returns nil
// if jobs in all states are possible.
func (o Order) States() []job.State {
	switch o {
	case Due:
		return []job.State{job.Waiting, job.Retrying}
	case Ended:
		return []job.State{job.Completed, job.Dead, job.Cancelled}
	case Newest:
	}
	return nil
}

// Cursor is a position in a list: the last job of a page, or the last examined job. The
// position stays valid when this job changes or is removed.
type Cursor struct {
	At job.Micros // the time of the job in the order of the list (due time or end time); 0 in the order Newest
	ID job.ID
}

// IsZero reports whether the cursor is the beginning of a list.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// String returns the cursor as text. It returns "" for the beginning of the list. ParseCursor
// reads the text.
func (c Cursor) String() string {
	switch {
	case c.IsZero():
		return ""
	case c.At == 0:
		return c.ID.String()
	}
	return strconv.FormatInt(int64(c.At), 10) + "." + c.ID.String()
}

// ParseCursor reads the text of a cursor. It returns an ErrInvalid if the text does not come
// from Cursor.String.
func ParseCursor(s string) (c Cursor, err error) {
	at, id, timed := strings.Cut(s, ".")
	if !timed {
		at, id = "0", at
	}
	n, err := strconv.ParseInt(at, 10, 64)
	if err == nil {
		c.At = job.Micros(n)
		c.ID, err = job.ParseID(id)
	}
	if err != nil || c.String() != s || c.At < 0 {
		return Cursor{}, fmt.Errorf("cursor %q: it must be the \"next\" of an earlier page: %w", clip(s), ErrInvalid)
	}
	return c, nil
}

// clip returns at most the first 80 bytes of a text, for an error message.
func clip(s string) string { return s[:min(len(s), 80)] }

// MarshalText implements encoding.TextMarshaler.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*c = Cursor{}
		return nil
	}
	*c, err = ParseCursor(string(text))
	return err
}

// Page is one page of a list.
type Page struct {
	Jobs []job.Job
	// Next is the value of From for the next page. On the last page it is the zero value. A
	// page may have fewer rows than its limit, or none, although a next page follows: a list
	// stops after it has examined a limited number of rows.
	Next Cursor
	// Searched is the time of the last examined job if the page stopped before it was full.
	// The time is the due time, the end time or, in the order Newest, the creation time.
	// Searched is 0 when the page is full or is the last page.
	Searched job.Micros
}

// ByCause reports whether the filter selects jobs by their last failure.
func (f *Filter) ByCause() bool { return f.Class != "" || f.Group != "" || f.Text != "" }

// Wants reports whether a list with this filter and its order can contain jobs in the state s.
func (f *Filter) Wants(s job.State) bool {
	of := f.Order.States()
	return (len(f.States) == 0 || slices.Contains(f.States, s)) && (of == nil || slices.Contains(of, s)) &&
		(f.Reason == "" || s == job.Dead) && (!f.ByCause() || s == job.Dead || s == job.Retrying) &&
		(f.Ended == Span{} || s.Terminal()) && (f.Due == Span{} || s == job.Waiting || s == job.Retrying)
}

// Match reports whether the filter selects a job by the fields of the job. It ignores Class,
// Group and Text; MatchCause checks them. j.Attrs must be set if the filter has an Attr.
func (f *Filter) Match(j *job.Job) bool {
	return f.Wants(j.State) &&
		(f.Kind == "" || f.Kind == j.Kind) &&
		(f.Queue == "" || f.Queue == j.Queue) &&
		(f.Owner == "" || f.Owner == j.Owner) &&
		(f.Batch == 0 || f.Batch == j.Batch) &&
		(f.Worker == "" || f.Worker == j.Holder) &&
		(f.Correlation == "" || f.Correlation == j.Correlation) &&
		(f.Key == "" || f.Key == j.Key && f.Owner == j.Owner) &&
		(f.Reason == "" || f.Reason == j.Reason) &&
		f.Created.Has(j.CreatedAt) &&
		f.Ended.Has(j.FinishedAt) &&
		f.Due.Has(j.RunAt) &&
		f.Attr.Matches(j.Attrs)
}

// MatchCause reports whether the job's last failure has the Class, Group and Text of the
// filter.
func (f *Filter) MatchCause(class, group, message string) bool {
	return (f.Class == "" || f.Class == class) && (f.Group == "" || f.Group == group) &&
		(f.Text == "" || strings.Contains(strings.ToLower(message), strings.ToLower(f.Text)))
}

// Matches reports whether the attributes of a job, a JSON object, have this value. The zero
// value matches everything.
func (a Attr) Matches(attrs []byte) bool {
	if a.Name == "" {
		return true
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(attrs, &all) != nil {
		return false
	}
	value, ok := all[a.Name]
	if !ok {
		return false
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text == a.Value
	}
	return string(bytes.TrimSpace(value)) == a.Value
}

// Validate returns an ErrInvalid or ErrTooLarge that names the wrong field.
func (f *Filter) Validate() error {
	if len(f.States) > len(job.States) {
		return fmt.Errorf("filter: %d states are named, but there are only %d: name each once: %w", len(f.States), len(job.States), ErrTooLarge)
	}
	for _, s := range f.States {
		if !slices.Contains(job.States[:], s) {
			return fmt.Errorf("filter: state %d is unknown: %w", uint8(s), ErrInvalid)
		}
	}
	for _, span := range [...]struct {
		name string
		Span
	}{{"created", f.Created}, {"ended", f.Ended}, {"due", f.Due}} {
		switch {
		case span.Since < 0 || span.Until < 0:
			return fmt.Errorf("filter: the times of %s must not be negative: %w", span.name, ErrInvalid)
		case span.Until != 0 && span.Until <= span.Since:
			return fmt.Errorf("filter: %s: Until must be after Since: %w", span.name, ErrInvalid)
		}
	}
	for _, t := range [...]struct{ name, value string }{
		{"kind", f.Kind}, {"queue", f.Queue}, {"owner", f.Owner}, {"worker", f.Worker}, {"correlation", f.Correlation}, {"key", f.Key},
		{"attribute", f.Attr.Name}, {"value of the attribute", f.Attr.Value}, {"class", f.Class}, {"group", f.Group}, {"text", f.Text},
		{"reason", string(f.Reason)},
	} {
		if len(t.value) > job.TextMax {
			return fmt.Errorf("filter: %s of %d bytes: at most %d bytes are allowed: %w", t.name, len(t.value), job.TextMax, ErrTooLarge)
		}
	}
	switch {
	case f.Batch < 0:
		return fmt.Errorf("filter: batch %d must not be negative: %w", f.Batch, ErrInvalid)
	case f.Key != "" && f.Kind == "":
		return fmt.Errorf("filter: a key needs a kind, because keys are unique for each owner and kind: %w", ErrInvalid)
	case f.Attr.Name == "" && f.Attr.Value != "":
		return fmt.Errorf("filter: the value of an attribute needs the attribute's name: %w", ErrInvalid)
	case int(f.Order) >= len(orderNames):
		return fmt.Errorf("filter: %s is unknown: it must be newest, due or ended: %w", f.Order, ErrInvalid)
	case f.From.At < 0 || f.From.ID < 0 || f.Order == Newest && f.From.At != 0, f.Order != Newest && f.From.At == 0 && f.From.ID != 0:
		return fmt.Errorf("filter: cursor %q is not from a list in the order %s: %w", f.From, f.Order, ErrInvalid)
	case f.Limit < 0 || f.Limit > job.PageMax:
		return fmt.Errorf("page of %d jobs: a page has 1 to %d jobs: %w", f.Limit, job.PageMax, ErrInvalid)
	}
	return nil
}

// isUTF8 reports whether all texts of the filter are UTF-8, so that JSON can hold them.
func (f *Filter) isUTF8() bool {
	for _, text := range [...]string{
		f.Kind, f.Queue, f.Owner, f.Worker, f.Correlation, f.Key, f.Attr.Name, f.Attr.Value, f.Class, f.Group, f.Text, string(f.Reason),
	} {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}
