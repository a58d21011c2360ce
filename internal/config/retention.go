package config

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/yamlfile"
)

// Retention says how long jobs and other records are kept. The value Forever keeps them without
// end.
type Retention struct {
	// Completed applies to completed and cancelled jobs. Default 24h.
	Completed time.Duration
	// Failures applies to failure records. Default 7d.
	Failures time.Duration
	// Dead applies to resolved and ignored dead letters. Default 30d.
	Dead time.Duration
	// DropPending also removes pending dead letters by their age. Default false.
	DropPending bool
	// Events applies to events. Default 7d.
	Events time.Duration
	// Batches applies to batches that have ended. Default 30d.
	Batches time.Duration
}

// Forever is a duration without end; the file writes it as "forever".
const Forever time.Duration = -1

const forever = "forever"

func defaultRetention() Retention {
	return Retention{
		Completed: yamlfile.Day, Failures: 7 * yamlfile.Day, Dead: 30 * yamlfile.Day, Events: 7 * yamlfile.Day,
		Batches: 30 * yamlfile.Day,
	}
}

func (r *reader) retention(v value, into *Retention) {
	r.Fields(v, "a mapping such as {completed: 24h, dead: 30d}", []field{
		{"completed", r.span(&into.Completed)},
		{"failures", r.span(&into.Failures)},
		{"dead", r.span(&into.Dead)},
		{"drop_pending", r.Boolean(&into.DropPending)},
		{"events", r.span(&into.Events)},
		{"batches", r.span(&into.Batches)},
	})
}

// span reads how long something is kept: a duration or "forever".
func (r *reader) span(into *time.Duration) func(value) {
	want := fmt.Sprintf("a time from %s to %s such as 12h or 30d, or %s", yamlfile.Span(keptMin), yamlfile.Span(keptMax), forever)
	return func(v value) {
		d, err := human.ParseDuration(v.Text)
		switch {
		case v.Shape == yamlfile.Text && v.Text == forever:
			*into = Forever
		case v.Shape != yamlfile.Text || err != nil || d < keptMin || d > keptMax:
			cure := ""
			if v.Shape == yamlfile.Number {
				cure = fmt.Sprintf(" without a unit; write %[1]sh or %[1]sd", yamlfile.Clip(v.Text))
			}
			r.Mismatch(v, want, cure)
		default:
			*into = d
		}
	}
}
