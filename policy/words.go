package policy

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// States returns the words of the states that Words.States may rename, alone or
// followed by a colon and a reason of death: "dead:stalled".
func States() []string {
	words := make([]string, len(job.States))
	for i, s := range job.States {
		words[i] = s.String()
	}
	return words
}

// The fields of an error object, in the order in which it has them.
var errorFields = [...]string{
	"class", "code", "message", "user_message", "permanent", "at", "details", "stack",
	"attempt", "retries", "max_retries", "next_retry_at", "context",
}

// ErrorFields returns the fields that Words.Error may name, in the order in which
// an error object has them.
func ErrorFields() []string { return append([]string(nil), errorFields[:]...) }

// State returns the outside name of a state; reason is that of a dead job, or
// empty. A state without an outside name keeps its own.
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

// Class returns what the outside calls a class.
func (w *Words) Class(class failure.Class) string {
	if word, ok := w.Classes[class]; ok {
		return word
	}
	return string(class)
}

// ErrorValues is what an error object can say about a failure.
type ErrorValues struct {
	Class       failure.Class
	Code        string // "" gives null
	Message     string // sanitised
	UserMessage string
	Permanent   bool
	At          time.Time // in UTC; zero gives null
	Details     []byte    // a JSON object; nil leaves the field out
	Stack       string    // "" leaves the field out
	Attempt     int       // of the failure, from 1
	Retries     int       // so far
	MaxRetries  int
	NextRetryAt time.Time // zero gives null: now, or never
	Context     []byte    // a JSON object; nil gives an empty one
}

// ErrorObject returns a failure as a JSON object with the fields that Error
// names, called as it says, in the order of ErrorFields. Without Error the fields
// are all there and have our names. Details and context that are not JSON are
// left out, as if there were none.
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

// field returns a field's value as JSON, nil to leave it out.
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

// timeOrNull writes a time as RFC 3339 in UTC, with as many digits as it has.
func timeOrNull(t time.Time) []byte {
	if t.IsZero() {
		return []byte("null")
	}
	return appendText(nil, t.UTC().Format(time.RFC3339Nano))
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("policy: a text can always be encoded: " + err.Error())
	}
	return append(b, text...)
}
