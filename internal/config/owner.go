package config

import (
	"strings"

	"github.com/redrive/redrive/internal/yamlfile"
)

// Owner says what callers of the server that are restricted to an owner may do with their jobs of a
// kind, beyond seeing them.
type Owner struct {
	// Retry allows retries of dead jobs. Default false.
	Retry bool
	// MaxRetries is the number of retries of a job by its owner; 0 means no limit. Default 0.
	MaxRetries int
	// Change lists the JSON pointers into the payload that a retry may set. Default none.
	Change []string
	// Cancel allows to cancel jobs that wait. Default false.
	Cancel bool
	// Feedback allows feedback on jobs. Default true.
	Feedback bool
}

const ownerWanted = "a mapping such as {retry: true, max_retries: 3, change: [/quality]}"

func (r *reader) owner(into *Owner) func(value) {
	return func(v value) {
		r.Fields(v, ownerWanted, []field{
			{"retry", r.Boolean(&into.Retry)},
			{"max_retries", r.Integer(&into.MaxRetries, ownerRetriesMin, ownerRetriesMax, "")},
			{"change", r.pointers(&into.Change)},
			{"cancel", r.Boolean(&into.Cancel)},
			{"feedback", r.Boolean(&into.Feedback)},
		})
		for _, key := range [...]string{"max_retries", "change"} {
			if at := v.Get(key); at != nil && !into.Retry {
				r.Addf(at.Pos, "%s.%s needs \"retry: true\"; without it owners cannot retry jobs", v.Path, key)
			}
		}
	}
}

// pointers reads a list of JSON pointers.
func (r *reader) pointers(into *[]string) func(value) {
	return func(v value) {
		yamlfile.ListOf(r.Reader, into, "a list of JSON pointers such as [/quality, /options/size]", r.Words)(v)
		for _, item := range v.Items {
			if item.Shape == yamlfile.Text && !strings.HasPrefix(item.Text, "/") {
				r.Addf(item.Pos, "%s is a list of JSON pointers into the payload, found %s; write /%s", v.Path, item.Describe(), yamlfile.Clip(item.Text))
			}
		}
		r.NoRepeats(v)
	}
}
