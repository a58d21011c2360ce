// Package storekit holds small rules that the stores of redrive share. A store of
// somebody else does not need them: the contract in package store states each rule.
package storekit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Settled decides about a settle whose run is not running any more: nil when the
// same outcome was written before, else store.ErrLeaseLost. It looks at what that first
// write left: the job's present state and token, and whether the run has a failure
// record of a crash, which only a rescue writes.
func Settled(state job.State, current, asked job.Token, crashed bool) error {
	if asked < 1 || state == job.None || current != asked || state == job.Running || crashed {
		return store.ErrLeaseLost
	}
	return nil
}

// Repeats reports whether a stored job is the one that a repeated enqueue has
// written before, judged by what is still stored of it, rather than another job
// with the same id.
func Repeats(j *job.Job, n *job.New) bool {
	if j.Kind != n.Kind || j.Owner != n.Owner || j.Correlation != n.Correlation || j.Key != n.Key || j.Batch != n.Batch {
		return false
	}
	if j.Life > 1 || j.State == job.Completed || j.State == job.Cancelled { // the payload may have changed or is gone
		return true
	}
	return bytes.Equal(j.Payload, n.Payload)
}

// GroupMessage returns the start of a message that is kept with its group: at most
// store.GroupMessageMax bytes, cut between two characters.
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

// TooManyLanes returns the store.ErrTooLarge of a job for whose queue, kind and
// dependencies there is no room.
func TooManyLanes(queue, kind, deps string) error {
	return fmt.Errorf("queue %q, kind %q, dependencies %q: the store has %d such combinations already, the most it keeps; "+
		"use fewer names: %w", queue, kind, deps, job.LanesMax, store.ErrTooLarge)
}
