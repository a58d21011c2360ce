package policy

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// States returns the states for which Words.States may have names. Each can be followed by
// a colon and a reason of death: "dead:stalled".
func States() []string {
	words := make([]string, len(job.States))
	for i, s := range job.States {
		words[i] = s.String()
	}
	return words
}

// errorFields are the names of the fields of an error object, in their order.
var errorFields = [...]string{
	"class", "code", "message", "user_message", "permanent", "at", "details", "stack",
	"attempt", "retries", "max_retries", "next_retry_at", "context",
}

// ErrorFields returns the fields for which Words.Error may have names, in the order of an
// error object.
func ErrorFields() []string { return append([]string(nil), errorFields[:]...) }

// State returns the external name of a state. The reason is a dead job's reason of death; it
// is empty for other jobs. If a state has no external name, State returns the stored name.
func (w *Words) State(state job.State, reason job.Reason) string {
	own := state.String()
	if reason != "" {
		if word, ok := w.States[own+":"+string(reason)]; ok {
			return word
		}
	}
	if word, ok := w.States[own]; ok {
		return word
	}
	return own
}

// Class returns the external name of a class, or the class itself if it has no external
// name.
func (w *Words) Class(class failure.Class) string {
	if word, ok := w.Classes[class]; ok {
		return word
	}
	return string(class)
}

// ErrorValues contains the values for an error object about a failure.
type ErrorValues struct {
	Class       failure.Class
	Code        string // the code of the failure; "" is written as null
	Message     string // the message, without secrets
	UserMessage string
	Permanent   bool
	At          time.Time // time of the failure in UTC; zero is written as null
	Details     []byte    // the details as a JSON object; nil means that the field is left out
	Stack       string    // the stack; "" means that the field is left out
	Attempt     int       // number of the failed attempt, starting at 1
	Retries     int       // number of retries so far
	MaxRetries  int       // negative is written as null: the number is not known
	NextRetryAt time.Time // the time of the next retry; zero is written as null: the job is due now, or there is no retry
	Context     []byte    // the context as a JSON object; nil is written as an empty object
}

// ErrorObject returns a failure as a JSON object. It contains the fields that Words.Error
// names, under their external names, in the order of ErrorFields. If Words.Error is empty,
// all fields are present under their stored names. Details and context that are not valid
// JSON are left out.
func (w *Words) ErrorObject(t *ErrorValues) []byte {
	b := []byte{'{'}
	for _, field := range errorFields {
		name, wanted := w.Error[field]
		if len(w.Error) == 0 {
			name, wanted = field, true
		}
		value := w.field(field, t)
		if !wanted || value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		b = append(b, value...)
	}
	return append(b, '}')
}

// retryFields are the fields of an error object that say how the retries of a job stand.
var retryFields = [...]string{"retries", "max_retries", "next_retry_at"}

// RetryFields returns those of the fields retries, max_retries and next_retry_at that Words.Error
// names, under their external names, as the members of a JSON object without its braces. They
// belong to the job as well as to its failure. It returns nil if Words.Error names none of them.
func (w *Words) RetryFields(t *ErrorValues) []byte {
	var b []byte
	for _, field := range retryFields {
		name, wanted := w.Error[field]
		if !wanted {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(appendText(b, name), ':'), w.field(field, t)...)
	}
	return b
}

// field returns the value of a field as JSON; nil means that the field is left out.
func (w *Words) field(field string, t *ErrorValues) []byte {
	switch field {
	case "class":
		return appendText(nil, w.Class(t.Class))
	case "code":
		if t.Code == "" {
			return []byte("null")
		}
		return appendText(nil, t.Code)
	case "message":
		return appendText(nil, t.Message)
	case "user_message":
		return appendText(nil, t.UserMessage)
	case "permanent":
		return strconv.AppendBool(nil, t.Permanent)
	case "at":
		return timeOrNull(t.At)
	case "details":
		return object(t.Details, nil)
	case "stack":
		if t.Stack == "" {
			return nil
		}
		return appendText(nil, t.Stack)
	case "attempt":
		return strconv.AppendInt(nil, int64(t.Attempt), 10)
	case "retries":
		return strconv.AppendInt(nil, int64(t.Retries), 10)
	case "max_retries":
		if t.MaxRetries < 0 {
			return []byte("null")
		}
		return strconv.AppendInt(nil, int64(t.MaxRetries), 10)
	case "next_retry_at":
		return timeOrNull(t.NextRetryAt)
	}
	return object(t.Context, []byte("{}"))
}

func object(text, without []byte) []byte {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return without
	}
	return text
}

// timeOrNull formats a time as RFC 3339 in UTC, with as many digits as needed.
func timeOrNull(t time.Time) []byte {
	if t.IsZero() {
		return []byte("null")
	}
	return appendText(nil, t.UTC().Format(time.RFC3339Nano))
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("policy: a text cannot be encoded: " + err.Error())
	}
	return append(b, text...)
}
