package server

import (
	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
)

// KindOptions say how jobs of a kind are accepted.
type KindOptions struct {
	Queue    string // the queue of a job that names none; default redrive.DefaultQueue
	Priority int    // the priority of a job that has none
	// Text means that the payload is a JSON string whose text becomes the payload. Otherwise
	// the JSON value itself is the payload, byte for byte.
	Text bool
	// Attempts is the number of attempts in the schedule of the kind; 0 if it has none.
	Attempts int
	// Limit and Rate are the limits of the kind (HandlerOptions). They are for explanations only.
	Limit int
	Rate  redrive.Rate
	// Owner says what owners may do with their jobs, beyond seeing them.
	Owner OwnerRules
}

// OwnerRules say what callers with an owner may do with their jobs of a kind. The zero value
// allows them to see their jobs only.
type OwnerRules struct {
	Retry      bool     // retry dead jobs
	MaxRetries int      // the number of retries of a job by its owner; 0 means no limit
	Change     []string // the JSON pointers into the payload that a retry may set by a patch
	Cancel     bool     // cancel jobs that wait
	NoFeedback bool     // no feedback on jobs
}

// kindsOf returns the options of kinds in the form of package api. It returns nil for nil, which
// means that every name is accepted.
func kindsOf(kinds map[string]KindOptions) map[string]api.KindOptions {
	if kinds == nil {
		return nil
	}
	out := make(map[string]api.KindOptions, len(kinds))
	for name, k := range kinds {
		out[name] = api.KindOptions{Queue: k.Queue, Priority: k.Priority, Text: k.Text, Attempts: k.Attempts, Limits: words.Pace{Running: k.Limit, Rate: k.Rate}, Owner: api.OwnerRules(k.Owner)}
	}
	return out
}

// limitsOf returns the limits of queues in the form of package api.
func limitsOf(queues map[string]redrive.Queue) map[string]words.Pace {
	out := make(map[string]words.Pace, len(queues))
	for name, q := range queues {
		out[name] = words.Pace{Running: q.Limit, Rate: q.Rate}
	}
	return out
}
