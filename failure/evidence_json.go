package failure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
)

// EvidenceVersion is the format of Evidence as JSON.
const EvidenceVersion = 1

// wire is Evidence as JSON. Waits are whole microseconds, rounded up.
type wire struct {
	V           int             `json:"v"`
	Message     string          `json:"message"`
	Code        string          `json:"code,omitempty"`
	Class       string          `json:"class,omitempty"`
	Permanent   bool            `json:"permanent,omitempty"`
	RetryAfter  int64           `json:"retry_after_us,omitempty"`
	RetryMark   bool            `json:"retry_mark,omitempty"`
	NotBefore   time.Time       `json:"not_before,omitzero"`
	Dependency  string          `json:"dependency,omitempty"`
	Snooze      int64           `json:"snooze_us,omitempty"`
	Cancel      bool            `json:"cancel,omitempty"`
	HandOver    int64           `json:"hand_over_us,omitempty"`
	Timeout     bool            `json:"timeout,omitempty"`
	Canceled    bool            `json:"canceled,omitempty"`
	HTTPStatus  int             `json:"http_status,omitempty"`
	GRPC        string          `json:"grpc,omitempty"`
	SQLState    string          `json:"sql_state,omitempty"`
	Errno       string          `json:"errno,omitempty"`
	ServiceCode string          `json:"service_code,omitempty"`
	Types       []string        `json:"types,omitempty"`
	Sent        Sent            `json:"sent,omitempty"`
	Exit        *int            `json:"exit_code,omitempty"`
	Signal      string          `json:"signal,omitempty"`
	Details     json.RawMessage `json:"details,omitempty"`
	Stderr      string          `json:"stderr,omitempty"`
	Stdout      string          `json:"stdout,omitempty"`
}

// MarshalJSON returns the evidence as one JSON object: "v", which is
// EvidenceVersion, "message", and what else is known, each named like its field
// in lower case with underscores ("service_code", "exit_code"). Waits are whole
// microseconds, rounded up ("retry_after_us", "snooze_us", "hand_over_us"), times are of RFC
// 3339, "details" is an object, "stderr" and "stdout" are texts. It fails on evidence whose
// details are not JSON.
func (e Evidence) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{
		V: EvidenceVersion, Message: e.Message, Code: e.Code, Class: string(e.Class), Permanent: e.Permanent,
		RetryAfter: micros(e.RetryAfter), RetryMark: e.RetryMark, NotBefore: e.NotBefore, Dependency: e.Dependency,
		Snooze: micros(e.Snooze), Cancel: e.Cancel, HandOver: micros(e.HandOver), Timeout: e.Timeout, Canceled: e.Canceled,
		HTTPStatus: e.HTTPStatus, GRPC: e.GRPC, SQLState: e.SQLState, Errno: e.Errno, ServiceCode: e.ServiceCode,
		Types: e.Types, Sent: e.Sent, Exit: e.Exit, Signal: e.Signal, Details: e.Details, Stderr: string(e.Stderr), Stdout: string(e.Stdout),
	})
}

// UnmarshalJSON reads what MarshalJSON returns, from wherever it comes. Texts
// above their limits are cut with a visible mark, as Of does. Whatever else
// evidence cannot hold is an error, and all such mistakes are named: another
// version, unknown fields, negative waits, statuses and codes that do not exist.
func (e *Evidence) UnmarshalJSON(b []byte) error {
	var w wire
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("evidence: more than one JSON value")
	}
	if w.V != EvidenceVersion {
		return fmt.Errorf("evidence: format %d, this program reads %d", w.V, EvidenceVersion)
	}
	w.Details = mendDetails(w.Details)
	if err := w.validate(); err != nil {
		return err
	}
	*e = w.evidence()
	return nil
}

// validate returns every mistake of what was sent.
func (w *wire) validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("evidence: "+format, args...))
		}
	}
	bad(w.RetryAfter < 0 || w.RetryAfter > waitMax, "retry_after_us is %d: must be 0 to %d", w.RetryAfter, waitMax)
	bad(w.Snooze < 0 || w.Snooze > waitMax, "snooze_us is %d: must be 0 to %d", w.Snooze, waitMax)
	bad(w.HandOver < 0 || w.HandOver > waitMax, "hand_over_us is %d: must be 0 to %d", w.HandOver, waitMax)
	bad(w.HTTPStatus != 0 && (w.HTTPStatus < statusMin || w.HTTPStatus > statusMax),
		"http_status is %d: must be %d to %d, or left out", w.HTTPStatus, statusMin, statusMax)
	bad(w.GRPC != "" && !isGRPC(w.GRPC), "grpc is %q: must be the canonical name of a failure, such as UNAVAILABLE", plaintext.Clip(w.GRPC, CodeMax))
	bad(w.SQLState != "" && !isSQLState(w.SQLState), "sql_state is %q: must be five digits and capital letters, and a failure", plaintext.Clip(w.SQLState, CodeMax))
	bad(w.Errno != "" && !isCode(w.Errno), "errno is %q: must be a name such as ECONNRESET", plaintext.Clip(w.Errno, CodeMax))
	bad(w.ServiceCode != "" && !isCode(w.ServiceCode),
		"service_code is %q: must be one word of at most %d bytes, not an HTTP status", plaintext.Clip(w.ServiceCode, CodeMax), CodeMax)
	bad(w.Sent != SentUnknown && w.Sent != NotSent, "sent is %q: must be %q, or left out", plaintext.Clip(string(w.Sent), CodeMax), NotSent)
	bad(len(w.Types) > TypesMax, "%d types: at most %d", len(w.Types), TypesMax)
	bad(slices.Contains(w.Types, ""), "an empty name in types: leave it out")
	bad(w.Exit != nil && *w.Exit < 0, "exit_code is negative: leave it out for a process that was killed, and give the signal")
	bad(len(w.Details) > DetailsMax, "details of %d bytes: at most %d", len(w.Details), DetailsMax)
	bad(w.Details != nil && !isObject(w.Details), "details must be an object")
	return errors.Join(errs...)
}

// waitMax is the longest wait in microseconds.
const waitMax = math.MaxInt64 / int64(time.Microsecond)

// mendDetails makes valid UTF-8 of details; null means no details.
func mendDetails(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || bytes.Equal(b, []byte("null")) {
		return nil
	}
	return bytes.ToValidUTF8(b, []byte(string(utf8.RuneError)))
}

// isObject reports whether JSON that is known to be well formed is an object.
func isObject(b json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

func (w *wire) evidence() Evidence {
	e := Evidence{
		Message: Message(w.Message), Code: plaintext.Clip(w.Code, CodeMax), Class: Class(plaintext.Clip(w.Class, CodeMax)),
		Permanent: w.Permanent, RetryAfter: time.Duration(w.RetryAfter) * time.Microsecond, RetryMark: w.RetryMark && w.RetryAfter > 0,
		NotBefore:  w.NotBefore,
		Dependency: plaintext.Clip(w.Dependency, CodeMax), Snooze: time.Duration(w.Snooze) * time.Microsecond, Cancel: w.Cancel,
		HandOver: time.Duration(w.HandOver) * time.Microsecond,
		Timeout:  w.Timeout, Canceled: w.Canceled, HTTPStatus: w.HTTPStatus, GRPC: w.GRPC, SQLState: w.SQLState,
		Errno: w.Errno, ServiceCode: w.ServiceCode, Sent: w.Sent, Exit: w.Exit, Signal: plaintext.Clip(w.Signal, CodeMax),
		Details: w.Details,
	}
	for _, name := range w.Types {
		e.addType(plaintext.Clip(name, CodeMax))
	}
	e.Stderr, e.Stdout = Output([]byte(w.Stderr)), Output([]byte(w.Stdout))
	return e
}

// micros is a wait in microseconds, rounded up so that it is not cut short.
func micros(d time.Duration) int64 {
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 && us < waitMax {
		us++
	}
	return us
}
