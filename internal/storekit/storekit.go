// Package storekit holds small rules that the stores in this repository share. Other
// implementations of a store do not need it: the documentation of package store states each
// rule.
package storekit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Settled compares an outcome with a job whose run has already ended. It returns nil when
// the same outcome was written before, and store.ErrLeaseLost otherwise. It looks at the
// present state and token of the job, and at whether the run has the failure record of a
// crash, which only a rescue writes. A job that the run has completed, for example in a
// transaction of its handler, refuses every other outcome of that run.
func Settled(state job.State, current job.Token, o *job.Outcome, crashed bool) error {
	if o.Token < 1 || state == job.None || current != o.Token || state == job.Running || crashed ||
		state == job.Completed && o.To != job.Completed {
		return store.ErrLeaseLost
	}
	return nil
}

// Repeats reports whether a stored job was created by an earlier call of the same enqueue,
// or is another job with the same id. It compares the fields that are still stored.
func Repeats(j *job.Job, n *job.New) bool {
	if j.Kind != n.Kind || j.Owner != n.Owner || j.Correlation != n.Correlation || j.Key != n.Key || j.Batch != n.Batch {
		return false
	}
	// A job in a later life or an ended job may have a changed or a removed payload.
	if j.Life > 1 || j.State == job.Completed || j.State == job.Cancelled {
		return true
	}
	return bytes.Equal(j.Payload, n.Payload)
}

// GroupMessage shortens a message that is stored with its group to at most
// store.GroupMessageMax bytes. It does not cut a character.
func GroupMessage(message string) string {
	most := store.GroupMessageMax
	if len(message) <= most {
		return message
	}
	for most > 0 && !utf8.RuneStart(message[most]) {
		most--
	}
	return message[:most]
}

// TooManyLanes returns an error that wraps store.ErrTooLarge, for a job whose queue, kind
// and dependencies would need a new lane when the store has no room for more lanes.
func TooManyLanes(queue, kind, deps string) error {
	return fmt.Errorf("queue %q, kind %q, dependencies %q: the store has %d such combinations already, the most it keeps; "+
		"use fewer names: %w", queue, kind, deps, job.LanesMax, store.ErrTooLarge)
}
