package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/human"
)

// OverrideMax is the largest size, in bytes, of an encoded Override.
const OverrideMax = 1 << 10

// Override contains the settings that a job, or the message that created it, brings for its
// own retries. They take precedence over the settings of the policy, within the limits of
// the policy. The zero value sets nothing.
type Override struct {
	Retry           *bool `json:"retry,omitempty"`
	MaxRetries      *int  `json:"max_retries,omitempty"`       // largest number of retries after the first attempt
	MaxTotalRetries *int  `json:"max_total_retries,omitempty"` // largest number of retries over all classes
	// MaxAttempts is the largest number of attempts in one life. Limits.MaxAttempts also
	// applies: the lower of the two limits wins.
	MaxAttempts *int   `json:"max_attempts,omitempty"`
	MaxCost     *int64 `json:"max_cost,omitempty"` // largest cost in millionths of a US dollar
	Waits       Waits  `json:"waits,omitempty"`    // waits between attempts; the last wait repeats
	// MessageRetries is the number of retries that the message allows which created the job, such as
	// a record of a topic. The other settings of the job take precedence over it.
	MessageRetries *int `json:"message_retries,omitempty"`
}

// Waits are durations. In JSON, each is a string such as "1m30s".
type Waits []time.Duration

// MarshalJSON implements json.Marshaler.
func (w Waits) MarshalJSON() ([]byte, error) {
	words := make([]string, len(w))
	for i, d := range w {
		words[i] = d.String()
	}
	return json.Marshal(words)
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *Waits) UnmarshalJSON(b []byte) error {
	var words []string
	if err := json.Unmarshal(b, &words); err != nil {
		return errors.New(`waits must be a list of durations such as ["1m", "5m"]`)
	}
	waits := make(Waits, len(words))
	for i, word := range words {
		d, err := human.ParseDuration(word)
		if _, bound := errors.AsType[human.BoundError](err); bound {
			return fmt.Errorf("waits[%d]: %w", i, err)
		}
		if err != nil {
			return fmt.Errorf("waits[%d] %q: must be a duration such as 90s, 1h30m or 2d", i, word)
		}
		waits[i] = d
	}
	*w = waits
	return nil
}

// ParseOverride decodes an Override. It returns an error for unknown fields and for values
// out of range. For empty input it returns nil and no error.
func ParseOverride(b []byte) (*Override, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) > OverrideMax {
		return nil, fmt.Errorf("settings of the job: they have %d bytes, at most %d are allowed", len(b), OverrideMax)
	}
	var o Override
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return nil, fmt.Errorf("settings of the job: %w", err)
	}
	if dec.More() {
		return nil, errors.New("settings of the job: there is more text after the JSON object")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &o, nil
}

// Encode returns the Override in the format that ParseOverride reads. It returns nil if the
// Override sets nothing.
func (o *Override) Encode() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic("policy: an override cannot be encoded: " + err.Error())
	}
	if s := string(b); s == "{}" || s == "null" {
		return nil
	}
	return b
}

// Validate returns all mistakes as one error.
func (o *Override) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("settings of the job: "+format, args...))
		}
	}
	for _, n := range []struct {
		name  string
		value *int
	}{{"max_retries", o.MaxRetries}, {"max_total_retries", o.MaxTotalRetries}, {"message_retries", o.MessageRetries}} {
		check(n.value == nil || *n.value >= 0, "%s must not be negative", n.name)
	}
	check(o.MaxAttempts == nil || *o.MaxAttempts >= 1 && *o.MaxAttempts <= MaxAttemptsLimit,
		"max_attempts must be 1 to %d", MaxAttemptsLimit)
	check(o.MaxCost == nil || *o.MaxCost >= 0, "max_cost must not be negative")
	if len(o.Waits) > 0 {
		for _, m := range (&backoff.Backoff{Waits: o.Waits}).Mistakes() {
			check(false, "%s: %s", m.Field, m.Message)
		}
	}
	return errors.Join(errs...)
}

// Message returns the settings of the message that created the job; nil if it has none.
func (o *Override) Message() *Override {
	if o == nil || o.MessageRetries == nil {
		return nil
	}
	return &Override{MaxRetries: o.MessageRetries, MaxTotalRetries: o.MessageRetries}
}

// lowered returns the policy with the job's own limit on attempts, if this limit is lower
// than that of the policy; otherwise it returns the policy unchanged.
func (p *Policy) lowered(o *Override) *Policy {
	if o == nil || o.MaxAttempts == nil || *o.MaxAttempts < 1 || *o.MaxAttempts >= p.limits.MaxAttempts {
		return p
	}
	q := *p
	q.limits.MaxAttempts, q.ceilingFrom = *o.MaxAttempts, LevelJob
	return &q
}

// settings converts the override to settings of a policy.
func (o *Override) settings() *Settings {
	s := &Settings{Retry: o.Retry, MaxRetries: o.MaxRetries, MaxTotalRetries: o.MaxTotalRetries, MaxCost: o.MaxCost}
	if len(o.Waits) > 0 {
		s.Backoff = &backoff.Backoff{Waits: o.Waits}
	}
	return s
}
