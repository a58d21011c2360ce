package wire

import (
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// Cleaned returns everything that is stored about a job with the secrets of its payload, its
// attributes and its result removed. The store has them as they were given. If the options are nil,
// nothing is removed.
func Cleaned(d *words.Details, o *failure.SanitizeOptions) *words.Details {
	if o == nil {
		return d
	}
	clean := *d
	clean.Job = cleanJob(&d.Job, o)
	return &clean
}

// CleanedDead is like Cleaned for everything that is stored about a dead letter. It also cleans the
// payload that a retry has changed.
func CleanedDead(d *words.DeadDetails, o *failure.SanitizeOptions) *words.DeadDetails {
	if o == nil {
		return d
	}
	clean := *d
	clean.Details = Cleaned(d.Details, o)
	if d.Original != nil {
		original := *d.Original
		original.Payload = CleanedBytes(original.Payload, o)
		clean.Original = &original
	}
	return &clean
}

func cleanJob(j *job.Job, o *failure.SanitizeOptions) job.Job {
	clean := *j
	clean.Payload, clean.Result, clean.Attrs = CleanedBytes(j.Payload, o), CleanedBytes(j.Result, o), CleanedBytes(j.Attrs, o)
	return clean
}

// CleanedBytes returns a payload or a result without its secrets. JSON stays JSON; of a value of
// more than 64 KiB only a note with its size is left. Bytes that are no text stay as they are, unless
// they are a text in UTF-16.
func CleanedBytes(b []byte, o *failure.SanitizeOptions) []byte {
	switch {
	case o == nil || len(b) == 0:
		return b
	case isJSON(b):
		return failure.SanitizeJSON(b, o)
	case utf8.Valid(b):
		return []byte(failure.Sanitize(string(b), o))
	}
	if text := plaintext.Clean(b); utf8.Valid(text) {
		if clean := failure.Sanitize(string(text), o); clean != string(text) {
			return []byte(clean)
		}
	}
	return b
}
