package cli

import (
	"encoding"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// past returns the time that a text means: a time, or a duration before now. It returns 0
// for "".
func past(flag, text string, now time.Time) (job.Micros, error) { return whenOf(flag, text, now, true) }

// future returns the time that a text means: a time, or a duration after now. It returns 0
// for "".
func future(flag, text string, now time.Time) (job.Micros, error) {
	return whenOf(flag, text, now, false)
}

func whenOf(flag, text string, now time.Time, ago bool) (job.Micros, error) {
	if text == "" {
		return 0, nil
	}
	at, err := human.ParseTime(text, now, ago)
	if err != nil {
		return 0, usagef("%s: %w", flag, err)
	}
	return job.At(at), nil
}

// span is the value of a flag: a duration that is not negative, such as 90s or 3d.
type span time.Duration

var _ encoding.TextUnmarshaler = (*span)(nil)

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	d, err := human.ParseDuration(string(text))
	if _, bound := errors.AsType[human.BoundError](err); bound {
		return err
	}
	if err != nil {
		return fmt.Errorf("%.40q must be %s", text, human.DurationForms)
	}
	*s = span(d)
	return nil
}

// spans returns the durations of a flag that can be repeated.
func spans(list []span) []time.Duration {
	out := make([]time.Duration, len(list))
	for i, s := range list {
		out[i] = time.Duration(s)
	}
	return out
}
