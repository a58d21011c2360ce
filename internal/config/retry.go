package config

import (
	"fmt"
	"time"
)

// retry reads the section retry of a kind. The section contains the number of retries, or the
// number of attempts, which is one more. If it contains neither, there are as many retries as
// waits. An empty section gives a nil Retry.
func (r *reader) retry(set **Retry, ceiling int) func(value) {
	return func(v value) {
		own := Retry{Waits: []time.Duration{30 * time.Second}}
		into := &own
		if len(v.Entries) > 0 {
			*set = into
		}
		const unset = -1
		retries, attempts := unset, unset
		var waits []time.Duration // waits stays nil if the waits in the file are wrong
		note := fmt.Sprintf(" (the file's max_attempts is %d)", ceiling)
		r.Fields(v, "a mapping such as {max_retries: 3, waits: [1s, 10s, 1m]}", []field{
			{"max_retries", r.Integer(&retries, 0, ceiling-1, note)},
			{"max_attempts", r.Integer(&attempts, 1, ceiling, note)},
			{"waits", r.waits(&waits)},
		})
		if len(waits) > 0 {
			into.Waits = waits
		}
		switch {
		case retries != unset && attempts != unset && attempts != retries+1:
			r.Addf(v.Get("max_attempts").Pos, "%s.max_attempts is %d, but \"max_retries: %d\" means %d executions; keep one of the two",
				v.Path, attempts, retries, retries+1)
		case retries != unset:
			into.MaxRetries = retries
		case attempts != unset:
			into.MaxRetries = attempts - 1
		case v.Get("max_retries") != nil || v.Get("max_attempts") != nil: // the mistake in this number is already reported
		case len(waits) > ceiling-1:
			r.Addf(v.Get("waits").Pos, "%s.waits gives %d retries, but \"max_attempts: %d\" allows %d; shorten it or set max_retries",
				v.Path, len(waits), ceiling, ceiling-1)
		case len(waits) > 0:
			into.MaxRetries = len(waits)
		}
	}
}
